"""The whole way from a parsed file to a routing with its templates, and the proof of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gpu_pipeline.adopt.absorption import note_frozen
from gpu_pipeline.adopt.capture import to_capture
from gpu_pipeline.adopt.comparison import Difference
from gpu_pipeline.adopt.draft import Draft, draft_routing
from gpu_pipeline.adopt.handwritten import HandFile
from gpu_pipeline.adopt.notes import Kind, Notes
from gpu_pipeline.adopt.occasions import note_suspicions
from gpu_pipeline.adopt.places import SELECTOR, Worker, as_name, find_places
from gpu_pipeline.adopt.proof import Pairs, compared, paired, render_adopted
from gpu_pipeline.adopt.remaining import note_remaining
from gpu_pipeline.adopt.routing_text import routing_text
from gpu_pipeline.adopt.settings import Given, Key, settings_of
from gpu_pipeline.adopt.starting import runs_in_child
from gpu_pipeline.adopt.templates import BaseShape, base_shape, base_text, task_text
from gpu_pipeline.adopt.workers import find_workers
from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import PARENT_SOURCE
from gpu_pipeline.record import Record
from gpu_pipeline.routing_pools import is_selector
from gpu_pipeline.template_files import SUFFIX


class Adopted(Record):
    """The result: the routing's text, the templates to write by their path, and what to say.

    `renamed` are jobs that have another name now.
    """

    routing: str
    templates: Mapping[str, str]
    own_templates: Sequence[str]
    differences: Sequence[Difference]
    notes: Notes
    renamed: Mapping[str, str]
    jobs: Sequence[str]


def adopt(
    file: HandFile,
    shipped: Mapping[str, str],
    *,
    gpus: Mapping[str, str],
    assume: Mapping[Key, object],
) -> Adopted:
    """Make a routing of a hand-written file. `shipped` are the templates at hand, by their path.

    Raises UsageError for a file without training jobs.
    """
    notes = Notes()
    _note_file(file, notes)
    workers = find_workers(file, notes)
    if not workers:
        raise UsageError(_no_training(file, notes))
    _refuse_selectors(workers, file)
    file = _as_child(file, workers, notes)
    places = find_places(workers)
    capture = to_capture(workers, file, notes)
    givens = settings_of(places, file, captured=capture, assume=assume, notes=notes)
    note_frozen(workers, file, notes)
    note_remaining(file, workers, notes)
    note_suspicions(givens, capture, file.name, notes)
    shapes, bases, sources = _bases(givens)
    draft = draft_routing(
        givens, capture=capture, gpus=gpus, bases=bases, sources=sources, notes=notes
    )
    templates, own, found = _proved(givens, file, draft, shapes, shipped, notes=notes)
    return Adopted(
        routing=routing_text(draft, file.name),
        templates=templates,
        own_templates=own,
        differences=found,
        notes=notes,
        renamed={
            place.worker.hand.name: place.name
            for place in places
            if place.worker.hand.name != place.name
        },
        jobs=[place.name for place in places],
    )


def _refuse_selectors(workers: Sequence[Worker], file: HandFile) -> None:
    """Without knowing its nodes a job has no place in a routing. Raises UsageError."""
    problems = {}
    for worker in workers:
        for name, variable in worker.hand.variables.items():
            value = worker.hand.value_of(name)
            if name.startswith(SELECTOR) and value and not is_selector(value):
                problems[variable.line, name] = (
                    f'{file.name}:{variable.line}: {name}: "{value}" is not label=value; write it '
                    "out if it comes from outside the file"
                )
    if problems:
        raise UsageError("\n".join(text for _, text in sorted(problems.items())))


def _note_file(file: HandFile, notes: Notes) -> None:
    if file.includes is not None:
        notes.lost(file.includes.line, "include", "other files are not read; adopt the merged one")
    for fault in file.faults:
        notes.lost(fault.line, fault.job, fault.message)
    for twice in file.duplicates:
        notes.assumed(
            twice.line, twice.key, "stands twice in one place; as in GitLab the last one counts"
        )


def _as_child(file: HandFile, workers: Sequence[Worker], notes: Notes) -> HandFile:
    """The file, with what its training jobs tell of whether it is a child pipeline's."""
    if file.is_child:
        line, about = file.shared[PARENT_SOURCE].line, f"variables:{PARENT_SOURCE}"
    elif found := runs_in_child(worker.hand for worker in workers):
        line, about = found.line_of("rules"), f"{found.name}:rules"
    else:
        if file.workflow is not None:
            notes.assumed(
                file.workflow.line, "workflow",
                "stays in the parent: it says which pipelines there are",
            )  # fmt: skip
        return file
    notes.assumed(
        line, about,
        "the file is taken for a child pipeline's, so its rules stay as they are",
    )  # fmt: skip
    return replace(file, is_child=True)


def _no_training(file: HandFile, notes: Notes) -> str:
    reasons = [
        f"{file.name}:{note.line}: {note.about}: {note.message}"
        for kind in (Kind.LOST, Kind.LEFT_OUT)
        for note in notes.of(kind)
    ]
    head = f"{file.name}: no job trains: none has commands with --epochs N"
    return "\n".join([head, *reasons])


def _bases(
    givens: Sequence[Given],
) -> tuple[dict[str, BaseShape], dict[str, str], dict[str, str]]:
    """For each family what its jobs share, its base's name, and the hidden job behind that."""
    families: dict[str, list[Given]] = {}
    for given in givens:
        families.setdefault(given.place.family, []).append(given)
    shapes, names, sources = {}, {}, {}
    taken: dict[str, BaseShape] = {}
    for family, members in families.items():
        shapes[family] = base_shape(members)
        shared = [
            base
            for base in members[0].place.worker.hand.ancestors
            if all(base in each.place.worker.hand.ancestors for each in members)
        ]
        wanted = f"{family}-base"
        if shared:
            sources[family] = shared[0]
            wanted = as_name(re.split("[@/]", shared[0])[0], wanted)
        for number in range(1, len(families) + 2):
            name = wanted if number == 1 else f"{wanted[:58]}-{number}"
            if taken.setdefault(name, shapes[family]) == shapes[family]:
                break
        names[family] = name
    return shapes, names, sources


def _proved(
    givens: Sequence[Given],
    file: HandFile,
    draft: Draft,
    shapes: Mapping[str, BaseShape],
    shipped: Mapping[str, str],
    *,
    notes: Notes,
) -> tuple[dict[str, str], list[str], list[Difference]]:
    """The templates that the routing needs, which of them are its own, and what is not as it was.

    A shipped template is kept where the jobs come out of it as they were.
    """
    text = routing_text(draft, file.name, stand_ins=True)
    own = _own_templates(givens, draft, shapes)
    missing = {path: content for path, content in own.items() if path not in shipped}
    rendered = render_adopted(text, {**shipped, **missing}, file)
    pairs = paired(givens, rendered)
    wrong = {path for path in own if path in shipped and not _fits(path, pairs, draft, shapes)}
    used = {**{path: shipped[path] for path in own if path in shipped}, **missing}
    used |= {path: own[path] for path in wrong}
    if wrong:
        rendered = render_adopted(text, {**shipped, **used}, file)
        pairs = paired(givens, rendered)
    found = compared(pairs, rendered, file, draft.missing, notes)
    shared = {
        path: content
        for path, content in shipped.items()
        if "/" not in path or path.rpartition("/")[2].startswith("_")
    }
    return {**shared, **used}, sorted({*missing, *wrong}), found


def _own_templates(
    givens: Sequence[Given], draft: Draft, shapes: Mapping[str, BaseShape]
) -> dict[str, str]:
    """A template for each base and task that holds exactly what the hand-written jobs have."""
    own = {
        f"bases/{draft.bases[family]}{SUFFIX}": base_text(
            shape, family, draft.sources.get(family, "")
        )
        for family, shape in shapes.items()
    }
    orders = {family: draft.models_of(family) for family in shapes}
    for task in draft.names("tasks"):
        members = [given for given in givens if given.place.task == task]
        own[f"tasks/{task}{SUFFIX}"] = task_text(task, members, shapes, orders)
    return own


def _fits(path: str, pairs: Pairs, draft: Draft, shapes: Mapping[str, BaseShape]) -> bool:
    """Whether all jobs of a shipped base or task come out of it as they were."""
    kind, _, file = path.partition("/")
    name = file.removesuffix(SUFFIX)
    for given, old, new in pairs:
        shape = shapes[given.place.family]
        if kind == "bases" and draft.bases[given.place.family] == name:
            if (old.setup, old.others) != (new.setup, new.others):
                return False
        elif kind == "tasks" and given.place.task == name:
            if (old.script, set(old.others)) != (new.script, set(shape.others)):
                return False
            if old.setup != shape.setup:
                return False
    return True
