"""What a GitLab Runner is configured to do, each value with the line it stands in.

Two kinds of file hold it: the runner's own config.toml, and the values.yaml of the Helm chart,
whose `runners.config` is a config.toml as text. runner_toml.py and runner_helm.py read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import field

from gpu_pipeline.cluster.runner_keys import POD_SPEC_FLAG
from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.record import Record

T = TypeVar("T")


class Setting(Record, Generic[T]):
    """A value and the line (from 1) of its key."""

    value: T
    line: int


class PodSpecPatch(Record):
    """One [[runners.kubernetes.pod_spec]]; `patch` is None when it stands in another file."""

    line: int
    patch: Setting[str] | None
    patch_type: str


class StrayKey(Record):
    """A key that the runner does not read where it stands; `meant` is one that it does.

    `fix` says what to do when it is not to write `meant` where it belongs to.
    """

    table: str
    name: str
    line: int
    meant: str
    belongs_to: str
    fix: str = ""


class Runner(Record):
    """One [[runners]] with the Kubernetes executor.

    `permissions` and `resources` are the keys of [runners.kubernetes] by name, as text. Empty ones,
    which the runner treats as absent, stand in `empty` with their lines. `tags` is None when the
    file does not say. `line` is that of [[runners]], `kubernetes_line` of [runners.kubernetes].
    `environment` are the KUBERNETES_… variables in it; `affinity` is the line of that table.
    """

    name: str
    line: int
    kubernetes_line: int
    tags: tuple[str, ...] | None = None
    limit: Setting[int] | None = None
    request_concurrency: Setting[int] | None = None
    poll_timeout: Setting[int] | None = None
    permissions: Mapping[str, Setting[str]] = field(default_factory=dict)
    resources: Mapping[str, Setting[str]] = field(default_factory=dict)
    empty: Mapping[str, int] = field(default_factory=dict)
    node_selector: Mapping[str, Setting[str]] = field(default_factory=dict)
    pod_spec: tuple[PodSpecPatch, ...] = ()
    services: int = 0
    environment: Mapping[str, Setting[str]] = field(default_factory=dict)
    affinity: int | None = None
    flags: Mapping[str, Setting[str]] = field(default_factory=dict)
    stray_keys: tuple[StrayKey, ...] = ()

    @property
    def uses_pod_spec(self) -> bool:
        """Whether the feature flag is on without which pod_spec has no effect."""
        flag = self.flags.get(POD_SPEC_FLAG)
        return flag is not None and flag.value.lower() in ("true", "1", "t")


class RunnerFile(Record):
    """A runner manager's file. `maximum_timeout` is in seconds.

    `manager_affinity` are the labels and values that the manager's own node affinity requires.
    """

    file: str
    runners: tuple[Runner, ...]
    concurrent: Setting[int] | None = None
    manager_selector: Mapping[str, Setting[str]] = field(default_factory=dict)
    manager_affinity: tuple[tuple[str, Setting[str]], ...] = ()
    maximum_timeout: Setting[int] | None = None
    stray_keys: tuple[StrayKey, ...] = ()


def select_runners(file: RunnerFile, name: str | None) -> tuple[Runner, ...]:
    """The runners to look at: the one named, or all of them. Raises UsageError."""
    names = [runner.name for runner in file.runners]
    if name is None:
        return file.runners
    chosen = tuple(runner for runner in file.runners if runner.name == name)
    if not chosen:
        known = "; it names none of its runners" if not any(names) else did_you_mean(name, names)
        raise UsageError(f"--runner-name {name}: {file.file} has no such runner{known}")
    if len(chosen) > 1:
        raise UsageError(
            f"--runner-name {name}: {file.file} has {len(chosen)} runners of this name"
        )
    return chosen


def served_tags(
    file: RunnerFile, runner: Runner, tag_sets: Sequence[tuple[str, ...]], given: Sequence[str]
) -> tuple[str, ...] | None:
    """The tags of a runner: as given by an option, by the file, or by the runner's name.

    `tag_sets` are those that jobs use. A runner is named after its tags when its name is those of
    one set, joined by `-`, as `cluster runner` writes it. None: nobody says, so it may be any.
    Raises UsageError when jobs use several sets and it matters which are meant.
    """
    if given:
        return tuple(given)
    if runner.tags is not None:
        return runner.tags
    for tags in tag_sets:
        if runner.name == runner_name_of(tags):
            return tags
    if len(tag_sets) > 1:
        sets = " and ".join("[" + ", ".join(tags) + "]" for tags in tag_sets)
        raise UsageError(
            f"{file.file}:{runner.line}: jobs use the tags {sets}, and only the server knows which "
            f"of them this runner has: say it with --runner-tags {','.join(tag_sets[0])}"
        )
    return None


def runner_name_of(tags: Sequence[str]) -> str:
    """The name that says which tags a runner has."""
    return "-".join(tags)
