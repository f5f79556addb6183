"""Variables that live on in the commands alone: the routing puts their value there itself."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable

from gpu_pipeline.adopt.handwritten import HandFile, HandJob
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.places import Worker
from gpu_pipeline.adopt.starting import workflow_variables
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.ci_jobs import rules_in

FROZEN = "whoever sets it where a pipeline is started changes nothing any more"


def absorbed_by(worker: Worker) -> frozenset[str]:
    """The variables of a job that only its training command used."""
    return frozenset(
        name
        for name in worker.training.used
        if not used_elsewhere(name, worker.hand) and not _still_read(name, worker)
    )


def _still_read(name: str, worker: Worker) -> bool:
    """Whether commands mention a variable where its value was not put in, such as `${#MODEL}`."""
    return re.search(rf"(?<!\w){name}(?!\w)", "\n".join(worker.training.plain)) is not None


def used_elsewhere(name: str, job: HandJob) -> bool:
    """Whether anything but the commands refers to a variable."""
    rest = {
        key: ruby_plain(tree)
        for key, tree in job.tree.items()
        if key not in ("before_script", "script", "parallel", "variables")
    }
    others = [each.value for other, each in job.variables.items() if other != name]
    text = json.dumps([rest, others], default=str)
    return re.search(rf"\$(?:{name}\b|\{{{name}\b)", text) is not None


def mentions(name: str, worker: Worker) -> bool:
    """Whether a job does anything with a variable besides what the routing does by now."""
    return used_elsewhere(name, worker.hand) or _still_read(name, worker)


def note_frozen(workers: Iterable[Worker], file: HandFile, notes: Notes) -> None:
    """Say of each job which variables no longer reach its command."""
    by_workflow = workflow_variables(file)
    for worker in workers:
        job, training = worker.hand, worker.training
        _note_rules(worker, notes)
        for name in sorted((training.used | training.open) & by_workflow.keys()):
            notes.lost(
                by_workflow[name], f"workflow:rules:variables:{name}",
                f"the command of {job.name} gets its value from the routing now",
            )  # fmt: skip
        absorbed = absorbed_by(worker)
        for name in sorted(training.used | training.epochs_in | training.models_in):
            _note_used(name, worker, name in absorbed, file.offered, notes)
        for name in sorted(training.open):
            notes.assumed(
                job.line_of("script"), f"{job.name}:script",
                f"${{{name}}} was only its default; {FROZEN}",
            )  # fmt: skip


def _note_used(
    name: str, worker: Worker, is_absorbed: bool, offered: Collection[str], notes: Notes
) -> None:
    about = f"{worker.hand.name}:variables:{name}"
    line = worker.hand.variables[name].line
    if name in offered:
        notes.assumed(line, about, f"the job gets its value from the routing now, so {FROZEN}")
    if is_absorbed:
        notes.assumed(
            line, about,
            "only the command used it, which gets the value from the routing now; a program "
            "that reads it from its environment needs it in [pipeline.variables] or below",
        )  # fmt: skip


def _note_rules(worker: Worker, notes: Notes) -> None:
    """Rules that set what the command takes from the routing."""
    job, training = worker.hand, worker.training
    for rule in rules_in(job.tree.get("rules")):
        block = rule.get("variables")
        for name, tree in block.items() if block else ():
            if name in training.used | training.open:
                notes.lost(
                    tree.line, f"{job.name}:rules:variables:{name}",
                    "a rule sets it, but the command gets its value from the routing now",
                )  # fmt: skip
