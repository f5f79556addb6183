"""Two files held against each other, job by job: what was lost, changed or added."""

from __future__ import annotations

import enum
import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import field

from gpu_pipeline.adopt.handwritten import HandJob, Need, needs_of, tags_of
from gpu_pipeline.adopt.places import SELECTOR, TOLERATION
from gpu_pipeline.adopt.settings import SIZE
from gpu_pipeline.adopt.templates import others_of
from gpu_pipeline.adopt.training import expanded, find_training
from gpu_pipeline.adopt.workers import setup_of
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.checks.child.shapes import is_mapping, items_of, text_in
from gpu_pipeline.durations import seconds_in
from gpu_pipeline.names import EPOCHS, OWN_VARIABLES
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.record import Record

NewNames = Mapping[str, Sequence[tuple[Mapping[str, str], str]]]


class Change(enum.StrEnum):
    """What became of a value."""

    LOST = "lost"
    CHANGED = "changed"
    ADDED = "added"


class Difference(Record):
    """A key of a job that is not as it was; `before` and `after` are as a reader wants them."""

    change: Change
    job: str
    key: str
    before: str
    after: str


class Effective(Record):
    """A job as it runs: for each key what it means (equal for equal meanings) and how to show it.

    `setup`, `script` and `others` are what templates give.
    """

    meanings: Mapping[str, object]
    shown: Mapping[str, str] = field(default_factory=dict)
    setup: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    others: Mapping[str, object] = field(default_factory=dict)


def effective(
    job: HandJob,
    *,
    names: NewNames,
    absorbed: frozenset[str] = frozenset(),
    handed: Collection[str] = (),
) -> Effective:
    """What a job means. `names` gives the new names of jobs by the old one, each with its matrix.

    Variables in `absorbed` live on in the commands alone, those in `handed` come from the parent.
    """
    variables = {name: variable.value for name, variable in job.variables.items()}
    setup = setup_of(job)
    training = find_training((*setup, *job.script), variables, own=job.own_variables)
    plain = training.plain
    image = job.tree.get("image")
    needs = [name for need in needs_of(job) or [] for name in _needed(need, names)]
    variables |= {name: job.value_of(name) for name in variables if name.startswith("KUBERNETES_")}
    raw: dict[str, object] = {
        "image": text_in(image.get("name") if is_mapping(image) and image else image),
        "tags": sorted(tags_of(job)) or None,
        "timeout": _timeout(job),
        "stage": text_in(job.tree.get("stage")) or "test",
        "epochs": training.epochs,
        "commands": list(plain) or None,
        "needs": sorted(set(needs)) or None,
        "node selector": sorted(_values(variables, SELECTOR)) or None,
        "tolerations": sorted(_values(variables, TOLERATION)) or None,
        "resource group": "one" if text_in(job.tree.get("resource_group")) else None,
        "image settings": _further(job),
        "dependencies": _dependencies(job),
        "parallel": ruby_plain(found) if (found := job.tree.get("parallel")) and not job.matrix
        else None,
    }  # fmt: skip
    others = others_of(job)
    raw |= others
    raw |= {
        f"variables.{name}": _as_seen(name, value, job, handed)
        for name, value in variables.items()
        if name not in absorbed and _counts(name, value)
    }
    return Effective(
        meanings={key: _meaning(key, value) for key, value in raw.items() if value is not None},
        shown={key: _shown(value) for key, value in raw.items() if value is not None},
        setup=setup,
        script=plain[len(setup) :],
        others=others,
    )


def _counts(name: str, value: str) -> bool:
    """Whether a variable is the job's own; to the runner an empty size is none at all."""
    if name in OWN_VARIABLES or name.startswith((SELECTOR, TOLERATION)):
        return False
    return bool(value) or not SIZE.fullmatch(name)


def _as_seen(name: str, value: str, job: HandJob, handed: Collection[str]) -> str:
    """A variable's value with the job's epochs in it, marked where GitLab would replace nothing.

    What is handed down has its variables replaced before that.
    """
    if job.variables[name].expands or name in handed or "$" not in value:
        epochs = job.variables.get(EPOCHS)
        return expanded(value, {EPOCHS: epochs.value}) if epochs else value
    return f"{value} (as it stands)"


def _needed(need: Need, names: NewNames) -> list[str]:
    if need.job not in names:
        return [need.job or "another pipeline's job"]
    return [name for matrix, name in names[need.job] if not need.matrix or matrix in need.matrix]


def _timeout(job: HandJob) -> str | None:
    tree = job.tree.get("timeout")
    return str(ruby_plain(tree)) if tree else None


def _further(job: HandJob) -> object:
    image = job.tree.get("image")
    items = image.items() if image else ()
    return {key: ruby_plain(tree) for key, tree in items if key != "name"} or None


def _dependencies(job: HandJob) -> object:
    tree = job.tree.get("dependencies")
    return ruby_plain(tree) if tree and (items_of(tree) or needs_of(job)) else None


def _values(variables: Mapping[str, str], prefix: str) -> set[str]:
    return {value for name, value in variables.items() if name.startswith(prefix) and value}


def _meaning(key: str, value: object) -> object:
    if key == "timeout":
        return seconds_in(str(value)) or value
    if key.startswith("variables.KUBERNETES_"):
        try:
            return parse_quantity(str(value))
        except QuantityError:  # a variable of the runner that is no size
            return value
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: object) -> str:
    if value and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def differences(job: str, old: Effective, new: Effective) -> Iterator[Difference]:
    """Every key in which the new job differs."""
    for key in dict.fromkeys([*old.meanings, *new.meanings]):
        before, after = old.meanings.get(key), new.meanings.get(key)
        if before == after:
            continue
        change = (
            Change.ADDED if key not in old.meanings
            else Change.LOST if key not in new.meanings else Change.CHANGED
        )  # fmt: skip
        yield Difference(
            change=change,
            job=job,
            key=key,
            before=old.shown.get(key, ""),
            after=new.shown.get(key, ""),
        )
