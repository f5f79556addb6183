"""The jobs that a child file plans, and what each must prove once it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpu_pipeline.child import MARKER
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob, resolve_ci_jobs, resolved_at
from gpu_pipeline.cluster.runner_keys import RESOURCE_KEYS
from gpu_pipeline.names import EPOCHS, FINGERPRINT
from gpu_pipeline.outcomes import Mode, mode_of
from gpu_pipeline.record import Record
from gpu_pipeline.rules import RuleError, decide

SELECTOR, TOLERATION = "NodeSelector", "NodeTolerations"
_WORDS = {"cpu": "CPU", "memory": "Memory", "ephemeral": "Ephemeral", "storage": "Storage"}
SIZES = {
    "".join(_WORDS.get(word, word.capitalize()) for word in key.split("_")): key
    for key in RESOURCE_KEYS
}
"""What the runner calls a size, such as CPURequest or HelperMemoryLimit, and its key."""
_SELECTORS, _TOLERATIONS = "KUBERNETES_NODE_SELECTOR_", "KUBERNETES_NODE_TOLERATIONS_"
_ROUTE = re.compile(
    rf"{MARKER}: family=(?P<family>\S+) pool=(?P<pool>\S+) gpu='(?P<gpu>[^']*)' "
    r"epochs=(?P<epochs>\S*) job=(?P<job>.*?)(?: fingerprint=(?P<fingerprint>\S*))?"
)


class Route(Record):
    """What a marker line says; as text, for in a planned marker variables stand for values."""

    family: str
    pool: str
    gpu: str
    epochs: str
    job: str
    fingerprint: str | None


class PlannedJob(Record):
    """One job of the child, as far as its log can prove it.

    `selectors` are label → value, `tolerations` key → effect, `sizes` the runner's name of a
    resource → quantity. `setup` are the commands of before_script, `script` those of the task.
    """

    name: str
    mode: Mode
    route: Route | None
    fingerprint: str
    epochs: str
    selectors: Mapping[str, str]
    tolerations: Mapping[str, str]
    sizes: Mapping[str, str]
    setup: tuple[str, ...]
    script: tuple[str, ...]

    @property
    def pool(self) -> str:
        """The pool that the marker names."""
        return self.route.pool if self.route else ""


def parse_route(line: str) -> Route | None:
    """The route that a marker line names, or None for any other line."""
    found = _ROUTE.fullmatch(line)
    return Route(**found.groupdict()) if found else None


def planned_jobs(file: CiFile, predefined: Mapping[str, str]) -> list[PlannedJob]:
    """Every job that the child's rules add to its pipeline, in the order of the file.

    `predefined` are the variables that GitLab itself gives to the child. A job whose rules cannot
    be read is expected to run by itself.
    """
    shared = _texts(resolved_at(file, "variables"))
    return [
        planned
        for job in resolve_ci_jobs(file)[0].values()
        if not job.hidden and job.tree.get("trigger") is None
        for planned in [_planned(job, shared, predefined)]
        if planned.mode is not Mode.ABSENT
    ]


def _planned(job: CiJob, shared: Mapping[str, str], predefined: Mapping[str, str]) -> PlannedJob:
    plain = job.tree.plain()
    try:
        decision = decide(
            plain if isinstance(plain, dict) else {},
            global_variables=shared,
            predefined=predefined,
        )
    except RuleError:
        mode, variables = Mode.AUTOMATIC, {**shared, **_texts(job.tree.get("variables"))}
    else:
        mode, variables = mode_of(decision), dict(decision.variables)
    setup = tuple(_commands(job.tree.get("before_script")))
    return PlannedJob(
        name=job.name,
        mode=mode,
        route=next(filter(None, map(_route_in, setup)), None),
        fingerprint=variables.get(FINGERPRINT, ""),
        epochs=variables.get(EPOCHS, ""),
        selectors=dict(_pairs(variables, _SELECTORS, "=")),
        tolerations=dict(_pairs(variables, _TOLERATIONS, ":")),
        sizes={
            field: value
            for field, key in SIZES.items()
            if (value := variables.get(f"KUBERNETES_{key.upper()}", ""))
        },
        setup=setup,
        script=tuple(_commands(job.tree.get("script"))),
    )


def _route_in(command: str) -> Route | None:
    """The route of the command that prints the marker."""
    printed = re.fullmatch(rf'echo "({MARKER}: .*)"', command)
    return parse_route(printed[1]) if printed else None


def _texts(block: Tree | None) -> dict[str, str]:
    """Names and values of a block of variables; a value with further keys stands in `value`."""
    found = {}
    for name, tree in block.items() if block else ():
        value = tree.plain_at("value") if isinstance(tree.value, dict) else tree.plain()
        if value is not None:
            found[name] = str(value)
    return found


def _pairs(variables: Mapping[str, str], prefix: str, separator: str) -> Iterator[tuple[str, str]]:
    """The two halves of each variable's value, as the runner splits it (overwrites.go)."""
    for name, value in variables.items():
        if name.startswith(prefix):
            key, _, rest = value.partition(separator)
            yield key, rest


def _commands(tree: Tree | None) -> Iterator[str]:
    """The commands of a script as texts, those of nested lists included."""
    if tree is None:
        return
    if isinstance(tree.value, list):
        for item in tree.value:
            yield from _commands(item)
    elif isinstance(tree.value, str):
        yield tree.value
