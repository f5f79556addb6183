"""Which variables a parent pipeline must hand down, and what a child cannot learn of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpu_pipeline.adopt.absorption import FROZEN, absorbed_by, mentions
from gpu_pipeline.adopt.handwritten import HandFile, HandJob
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.places import Worker
from gpu_pipeline.adopt.starting import SOURCE, names_read, rules_of, workflow_variables
from gpu_pipeline.checks.child.shapes import is_mapping, text_in
from gpu_pipeline.names import OWN_VARIABLES, VARIABLE_NAME
from gpu_pipeline.routing_settings import secret_word

# What GitLab sets for the parent and sets otherwise, or not at all, for its child
# (doc/ci/variables/predefined_variables: pipeline variables).
_OF_THE_PARENT = re.compile(r"CI_(?:PIPELINE|TRIGGER)_\w+")


def to_capture(workers: Sequence[Worker], file: HandFile, notes: Notes) -> set[str]:
    """The variables that start jobs, that images name, and that whoever starts a pipeline sets."""
    wanted = {name for worker in workers for name in _read_by(worker.hand, file, notes)}
    own = {name for worker in workers for name in worker.hand.own_variables}
    absorbed = {n for worker in workers for n in absorbed_by(worker) | worker.training.open}
    for name in dict.fromkeys([*file.offered, *workflow_variables(file)]):
        if name in own - wanted:
            _note_not_handed(name, file, notes)
        elif name not in absorbed or any(mentions(name, worker) for worker in workers):
            wanted.add(name)
    capture = {name for name in wanted if _can_be(name)}
    _note_own(workers, capture, notes)
    for name in sorted(capture & set(file.shared)):
        notes.assumed(
            file.shared[name].line, f"variables:{name}",
            "stays in the parent's variables, and the generator hands its value down (capture)",
        )  # fmt: skip
    return capture


def _note_not_handed(name: str, file: HandFile, notes: Notes) -> None:
    """Jobs set a variable themselves that the form or `workflow` sets for all of them."""
    by_workflow = workflow_variables(file)
    if name in by_workflow:
        notes.lost(
            by_workflow[name], f"workflow:rules:variables:{name}",
            "single jobs set it themselves, so it is not handed down to any",
        )  # fmt: skip
    elif name in file.shared:
        notes.assumed(
            file.shared[name].line, f"variables:{name}",
            f"single jobs set it themselves, so it is not handed down to any: {FROZEN}",
        )  # fmt: skip


def _can_be(name: str) -> bool:
    return (
        VARIABLE_NAME.fullmatch(name) is not None
        and not name.startswith(("CI_", "GITLAB_", "KUBERNETES_"))
        and name not in ("CI", *OWN_VARIABLES)
        and not secret_word(name)
    )


def _read_by(job: HandJob, file: HandFile, notes: Notes) -> Iterator[str]:
    """The variables that a job's rules and image take from the pipeline."""
    own = set(job.own_variables)
    for name in sorted(names_read(rules_of(job, Notes())) - own):
        yield name
        if _OF_THE_PARENT.fullmatch(name) and name != SOURCE and not file.is_child:
            notes.lost(
                job.line_of("rules"), f"{job.name}:rules",
                f"${name} is the parent's: in the child it is another, or not there at all",
            )  # fmt: skip
        elif secret_word(name) and VARIABLE_NAME.fullmatch(name):
            notes.assumed(
                job.line_of("rules"), f"{job.name}:rules",
                f"${name} looks like a secret, and is not handed down: the child's rules see it if "
                "it is a CI/CD variable of the project, not if whoever starts a pipeline sets it",
            )  # fmt: skip
    image = job.tree.get("image")
    text = text_in(image.get("name") if is_mapping(image) and image else image) or ""
    yield from set(re.findall(r"\$\{?([A-Za-z_]\w*)", text)) - job.variables.keys()


def _note_own(workers: Sequence[Worker], capture: set[str], notes: Notes) -> None:
    """A variable is either captured or set for single jobs: those lose what they set."""
    for worker in workers:
        job = worker.hand
        for name in sorted(capture.intersection(job.own_variables)):
            notes.lost(
                job.variables[name].line, f"{job.name}:variables:{name}",
                "rules of other jobs read it, so the parent's value is handed down to all jobs; "
                "rename one of the two",
            )  # fmt: skip
