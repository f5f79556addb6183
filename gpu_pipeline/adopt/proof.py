"""Renders the adopted routing in memory and holds each job against the hand-written one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from gpu_pipeline.adopt.comparison import Change, Difference, Effective, differences, effective
from gpu_pipeline.adopt.handwritten import HandFile, HandJob, read_hand_file
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.occasions import further_contexts
from gpu_pipeline.adopt.settings import Given
from gpu_pipeline.child import Child, plan_child
from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.context import Context, make_context
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import RoutingError, TemplateError, UsageError
from gpu_pipeline.loading import LoadedRouting, parse_routing
from gpu_pipeline.names import PARENT_SOURCE
from gpu_pipeline.outcomes import Mode, mode_of, outcome_of
from gpu_pipeline.record import Record
from gpu_pipeline.render import render
from gpu_pipeline.routing_model import Pipeline
from gpu_pipeline.rules import decide

_NAME = "routing.toml"
Pairs = Sequence[tuple[Given, Effective, Effective]]


class Rendered(Record):
    """The adopted routing, rendered: the child as planned, and its jobs as they stand in it."""

    loaded: LoadedRouting
    child: Child
    jobs: Mapping[str, HandJob]


def render_adopted(routing: str, templates: Mapping[str, str], file: HandFile) -> Rendered:
    """Render a routing with templates, by their path, as a manual pipeline on main would.

    Captured variables have the values that the hand-written file gives them. Raises UsageError for
    what the generator refuses: something in the file that nothing before has noticed.
    """
    try:
        return _rendered(routing, templates, file)
    except (RoutingError, TemplateError) as error:
        raise UsageError(
            f"{file.name}: cannot be adopted; what was made of it is refused:\n{error}"
        ) from None


def _rendered(routing: str, templates: Mapping[str, str], file: HandFile) -> Rendered:
    with tempfile.TemporaryDirectory(prefix="adopt-") as name:
        folder = Path(name) / "templates"
        for path, text in templates.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8"))
        loaded = parse_routing(routing.encode("utf-8"), _NAME, folder)
        pipeline = loaded.routing.pipeline or Pipeline()
        context = make_context("web", "web", branch="main", variables=_captured(pipeline, file, {}))
        child = plan_child(loaded.jobs, context, pipeline=pipeline, fingerprint="")
        text = render(child, folder)
    hand = read_hand_file(parse_ci_file(text, "child-pipeline.yml"))
    return Rendered(loaded=loaded, child=child, jobs={job.name: job for job in hand.jobs})


def _captured(pipeline: Pipeline, file: HandFile, given: Mapping[str, str]) -> dict[str, str]:
    """What a parent pipeline made of the hand-written file hands down."""
    own = {name: variable.value for name, variable in file.shared.items()} | dict(given)
    return {name: own[name] for name in pipeline.capture or () if name in own}


def paired(givens: Sequence[Given], rendered: Rendered) -> Pairs:
    """Each hand-written job, as it was and as it comes out of the routing."""
    names: dict[str, list[tuple[Mapping[str, str], str]]] = {}
    for given in givens:
        hand = given.place.worker.hand
        for name in dict.fromkeys((hand.written, hand.name)):
            names.setdefault(name, []).append((hand.matrix, given.place.name))
    handed = rendered.child.capture
    return [
        (
            given,
            effective(given.place.worker.hand, names=names, absorbed=given.absorbed, handed=handed),
            effective(rendered.jobs[given.place.name], names={}, handed=handed),
        )
        for given in givens
    ]


def compared(
    pairs: Pairs,
    rendered: Rendered,
    file: HandFile,
    missing: Mapping[tuple[str, ...], object],
    notes: Notes,
) -> list[Difference]:
    """What is not as it was, but for the keys that the file gives to no job and a person must."""
    found = [
        _without(each) if _stands_in(each.key, given, missing) else each
        for given, old, new in pairs
        for each in differences(given.place.name, old, new)
        if each.change is not Change.ADDED or not _stands_in(each.key, given, missing)
    ]
    return [*found, *_starts(pairs, rendered, file, notes)]


def _without(difference: Difference) -> Difference:
    return replace(difference, change=Change.LOST, after="")


def _stands_in(name: str, given: Given, missing: Mapping[tuple[str, ...], object]) -> bool:
    """Whether the new value stands in for one that a person will give."""
    keys = {
        "image": ("image",), "tags": ("tags",), "timeout": ("timeout",), "epochs": ("epochs",),
        **{
            f"variables.KUBERNETES_{kind.upper()}_{side.upper()}": (f"{side}s", kind)
            for kind in ("cpu", "memory") for side in ("request", "limit")
        },
    }  # fmt: skip
    key = keys.get(name)
    return key in missing and key not in given.values


def _starts(pairs: Pairs, rendered: Rendered, file: HandFile, notes: Notes) -> Iterator[Difference]:
    """When each job runs, by what GitLab decides in every kind of pipeline worth a look.

    A job that no pipeline starts, neither before nor after, is noted: its start is not proved.
    """
    givens = [given for given, _, _ in pairs if ("rules",) in given.values]
    pipeline = rendered.loaded.routing.pipeline or Pipeline()
    idle = {given.place.name: given.place.worker.hand for given in givens}
    contexts = parent_contexts(rendered.loaded.routing)
    for context in [*contexts, *further_contexts(givens, pipeline.capture or ())]:
        inherited = _captured(pipeline, file, context.variables)
        parent = make_context(
            context.name, context.source, branch=context.branch, tag=context.tag,
            variables=inherited,
        )  # fmt: skip
        modes = outcome_of(rendered.child, parent).modes
        decided = _old_mode(file, context)
        for given in givens:
            name = given.place.name
            before, after = decided(given), modes[name]
            if before is not Mode.ABSENT or after is not Mode.ABSENT:
                idle.pop(name, None)
            if before is not after:
                yield Difference(
                    change=Change.LOST if after is Mode.ABSENT
                    else Change.ADDED if before is Mode.ABSENT else Change.CHANGED,
                    job=name, key=f"start: {context.name}",
                    before=before.value, after=after.value,
                )  # fmt: skip
    for job in idle.values():
        notes.assumed(
            job.line_of("rules"), f"{job.name}:rules",
            "of the kinds of pipeline that were tried none starts it, neither before nor after",
        )  # fmt: skip


def _old_mode(file: HandFile, context: Context) -> Callable[[Given], Mode]:
    """How a hand-written job takes part in a pipeline of a kind."""
    shared = {name: variable.value for name, variable in file.shared.items()}
    if file.is_child:  # its rules are read where it runs, below a parent
        predefined = context.predefined_in_child
        handed = {**context.variables, PARENT_SOURCE: context.source}
    else:
        predefined, handed = context.predefined_in_parent, dict(context.variables)

    known: dict[str, Mode] = {}

    def mode(given: Given) -> Mode:
        own = given.read_by_rules
        alike = repr((given.rules, own))
        if alike not in known:
            decision = decide(
                {"rules": given.rules, "variables": own},
                global_variables=shared,
                pipeline_variables=handed,
                predefined=predefined,
            )
            known[alike] = mode_of(decision)
        return known[alike]

    return mode
