"""What each job is given, in the terms of routing.toml; what those have no words for is noted."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.adopt.absorption import absorbed_by
from gpu_pipeline.adopt.handwritten import HandFile, HandJob, needs_of, tags_of
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.places import SELECTOR, TOLERATION, Place
from gpu_pipeline.adopt.starting import Rules, for_child, names_read, rules_of
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.checks.child.shapes import is_mapping, items_of, text_in
from gpu_pipeline.durations import DurationError, format_duration, parse_duration, seconds_in
from gpu_pipeline.errors import RoutingError
from gpu_pipeline.names import EPOCHS, OWN_VARIABLES, VARIABLE_NAME
from gpu_pipeline.problems import Problems
from gpu_pipeline.record import Record
from gpu_pipeline.routing import explained
from gpu_pipeline.routing_model import Settings
from gpu_pipeline.routing_settings import check_settings
from gpu_pipeline.validation import converted, faults

Key = tuple[str, ...]
SIZE = re.compile(r"KUBERNETES_(CPU|MEMORY|EPHEMERAL_STORAGE)_(REQUEST|LIMIT)")
_PROJECT_TIMEOUT = "1h"  # GitLab: a project's own, unless somebody changed it
# What a job must be given somewhere, or rendering stops; each with what stands in for it, so that
# the rest can be proved.
REQUIRED: Mapping[Key, object] = {
    ("image",): "none", ("tags",): ["none"], ("timeout",): "1h", ("epochs",): 1,
    ("rules",): [{"when": "always"}],
    ("requests", "cpu"): "1m", ("requests", "memory"): "1Mi",
    ("limits", "cpu"): "512", ("limits", "memory"): "1000Ti",
}  # fmt: skip


class Given(Record, dict=True):
    """A job with its values by their key in routing.toml, such as ("requests", "cpu").

    `rules` are those of the hand-written file, before they were put into a child's terms, and
    `absorbed` the variables that live on in the command alone.
    """

    place: Place
    values: Mapping[Key, object]
    rules: Rules
    absorbed: frozenset[str]

    @functools.cached_property
    def read_by_rules(self) -> dict[str, str]:
        """The job's own variables that decide whether it runs."""
        variables = self.place.worker.hand.variables
        read = sorted(names_read(self.rules) & variables.keys())
        return {name: variables[name].value for name in read if not variables[name].is_global}


def settings_of(
    places: Sequence[Place],
    file: HandFile,
    *,
    captured: set[str],
    assume: Mapping[Key, object],
    notes: Notes,
) -> list[Given]:
    """What each job is given. `assume` are values for jobs that the file gives none."""
    by_name: dict[str, list[Place]] = {}
    for place in places:
        hand = place.worker.hand
        for name in dict.fromkeys((hand.written, hand.name)):
            by_name.setdefault(name, []).append(place)
    return [
        _given(
            place,
            {
                ("needs",): _needs(place, by_name, notes),
                **dict(_keys(place.worker.hand, notes)),
                **dict(_sizes(place, notes)),
                **dict(_variables(place, captured, notes)),
            },
            is_child=file.is_child,
            assume=assume,
            notes=notes,
        )
        for place in places
    ]


def _given(
    place: Place,
    read: Mapping[Key, object],
    *,
    is_child: bool,
    assume: Mapping[Key, object],
    notes: Notes,
) -> Given:
    job = place.worker.hand
    rules = rules_of(job, notes)
    absorbed = absorbed_by(place.worker)
    values: dict[Key, object] = {
        ("pool",): place.pool,
        ("epochs",): place.worker.epochs,
        ("rules",): rules if is_child else for_child(rules),
        **{key: value for key, value in read.items() if _kept(key, absorbed)},
    }
    for kind in ("cpu", "memory", "ephemeral_storage"):
        if ("limits", kind) in values and ("requests", kind) not in values:
            values["requests", kind] = values["limits", kind]
            notes.assumed(
                job.line,
                f"{job.name}:requests.{kind}",
                "only the limit is given, and Kubernetes then requests as much",
            )
    for key, value in assume.items():
        values.setdefault(key, value)
    if not job.tree.get("timeout") and ("timeout",) not in values:
        values["timeout",] = _PROJECT_TIMEOUT
        notes.assumed(
            job.line,
            f"{job.name}:timeout",
            f"not given, so the project's own holds, {_PROJECT_TIMEOUT} unless it was changed",
        )
    return Given(place=place, values=_accepted(values, job, notes), rules=rules, absorbed=absorbed)


def _kept(key: Key, absorbed: frozenset[str]) -> bool:
    return key[0] != "variables" or key[1] not in absorbed


def _keys(job: HandJob, notes: Notes) -> Iterator[tuple[Key, object]]:
    image = job.tree.get("image")
    if is_mapping(image) and image is not None:
        for key, tree in image.items():
            if key != "name":
                notes.lost(
                    tree.line, f"{job.name}:image:{key}", "the routing gives an image by its name"
                )
        image = image.get("name")
    if (name := text_in(image)) is not None:
        yield ("image",), name
    if tags := tags_of(job):
        yield ("tags",), list(tags)
    if (timeout := job.tree.get("timeout")) is not None:
        yield ("timeout",), _timeout(str(ruby_plain(timeout)))
    dependencies = job.tree.get("dependencies")
    if dependencies is not None and (items_of(dependencies) or needs_of(job)):
        notes.lost(
            dependencies.line, f"{job.name}:dependencies",
            "a job of the routing gets the artifacts of all that it needs, and of no other",
        )  # fmt: skip


def _timeout(text: str) -> str:
    """A timeout as routing.toml takes it: with units, which GitLab can do without."""
    try:
        parse_duration(text)
    except DurationError:
        seconds = seconds_in(text)
        return text if seconds is None else format_duration(seconds)
    return text


def _sizes(place: Place, notes: Notes) -> Iterator[tuple[Key, object]]:
    job = place.worker.hand
    for name, variable in job.variables.items():
        match = SIZE.fullmatch(name)
        if match and variable.value:
            yield (f"{match[2].lower()}s", match[1].lower()), job.value_of(name)
    selectors = {
        job.value_of(name): each.line
        for name, each in job.variables.items()
        if name.startswith(SELECTOR)
    }
    for value in place.worker.selectors[1:]:
        notes.lost(
            selectors[value], f"{job.name}:variables",
            f'a pool has one node selector; "{value}" is a second one',
        )  # fmt: skip


def _variables(place: Place, captured: set[str], notes: Notes) -> Iterator[tuple[Key, object]]:
    job = place.worker.hand
    for name, variable in job.variables.items():
        if name in captured or name in OWN_VARIABLES or SIZE.fullmatch(name):
            continue
        if name.startswith((SELECTOR, TOLERATION)):
            continue
        if not VARIABLE_NAME.fullmatch(name):
            notes.lost(variable.line, f"{job.name}:variables:{name}", "no shell can use that name")
            continue
        if not variable.expands and "$" in variable.value:
            notes.lost(
                variable.line, f"{job.name}:variables:{name}:expand",
                "a variable of the routing is always expanded; write $$ for a dollar sign",
            )  # fmt: skip
        yield ("variables", name), _value_of(name, place)


def _value_of(name: str, place: Place) -> str:
    """The value of a variable; one that holds the epochs then follows those of the routing."""
    follows = name in place.worker.training.epochs_in
    return f"${EPOCHS}" if follows else place.worker.hand.variables[name].value


def _needs(place: Place, by_name: Mapping[str, Sequence[Place]], notes: Notes) -> list[str]:
    """The tasks whose jobs of the same models a job waits for."""
    job = place.worker.hand
    tasks: dict[str, None] = {}
    for need in needs_of(job) or []:
        found = [
            other
            for other in by_name.get(need.job, ())
            if not need.matrix or other.worker.hand.matrix in need.matrix
        ]
        ours = [other for other in found if set(other.models) & set(place.models)]
        about = f"{job.name}:needs"
        if place in found:
            notes.lost(need.line, about, "a job cannot need itself: GitLab refuses the file")
            continue
        if not found:
            name = f'"{need.job}"' if need.job else "another pipeline's job"
            notes.lost(
                need.line, about,
                f"{name} is no job of the child pipeline; let the trigger job wait for it",
            )  # fmt: skip
        elif len(ours) < len(found):
            notes.lost(need.line, about, f'"{need.job}" is of other models; needs are by task')
        elif not need.plain:
            notes.lost(need.line, about, f'"{need.job}" is needed with options, which are dropped')
        tasks |= dict.fromkeys(other.task for other in ours)
    return list(tasks)


def _accepted(values: Mapping[Key, object], job: HandJob, notes: Notes) -> dict[Key, object]:
    """The values that routing.toml takes; the others are noted with the reason."""
    kept = {}
    for key, value in values.items():
        reason = None if key in (("pool",), ("needs",)) else refusal(key, value)
        if reason is None:
            kept[key] = value
        else:
            line = job.variables[key[1]].line if key[0] == "variables" else job.line_of(key[0])
            notes.lost(line, f"{job.name}:{'.'.join(key)}", reason)
    return kept


def refusal(key: Key, value: object) -> str | None:
    """Why routing.toml does not take a value, None if it does."""
    return _refusal(json.dumps({key[0]: {key[1]: value} if len(key) > 1 else value}))


@functools.lru_cache(maxsize=4096)
def _refusal(table: str) -> str | None:
    problems = Problems("", {})
    settings = json.loads(table)
    if found := faults(settings, Settings):
        return explained(found[0])
    try:
        check_settings(converted(settings, Settings), (), problems)
        problems.raise_if_any()
    except RoutingError as error:
        return error.problems[0].message
    return None
