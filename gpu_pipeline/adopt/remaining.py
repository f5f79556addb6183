"""What the jobs that stay in the file had to do with those that move into the child."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gpu_pipeline.adopt.handwritten import HandFile, HandJob, needs_of
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.places import Worker
from gpu_pipeline.checks.child.shapes import items_of, text_in, texts_in
from gpu_pipeline.ci_file import Tree


def note_remaining(file: HandFile, workers: Sequence[Worker], notes: Notes) -> None:
    """Needs that GitLab would refuse now, artifacts that do not come along, and who waits no more.

    A child's jobs get no artifacts of the parent's (doc/ci/pipelines/downstream_pipelines), and
    `needs` names jobs of the same pipeline only (doc/ci/yaml: needs).
    """
    moved = [worker.hand for worker in workers]
    names = {name for job in moved for name in (job.name, job.written)}
    remaining = [job for job in file.jobs if job.name not in names]
    awaited = []
    for job in remaining:
        for name, line, key in _needed(job):
            if name in names:
                notes.lost(
                    line, f"{job.name}:{key}",
                    f"{name} is in the child now, and GitLab refuses a pipeline that needs it; "
                    "need the trigger job, and fetch what it made from elsewhere",
                )  # fmt: skip
        behind = [each for each in moved if _waits_for(each, job, file)]
        paths = _texts(job.tree.get("artifacts", "paths")) if behind else []
        if paths and any(_downloads(each, job) for each in behind):
            notes.lost(
                job.line_of("artifacts"), f"{job.name}:artifacts",
                f"the child's jobs do not get {', '.join(paths)}; let those that read it fetch it "
                "from elsewhere",
            )  # fmt: skip
        awaited += [job] if behind else []
    if awaited:
        notes.assumed(
            awaited[0].line, ", ".join(job.name for job in awaited),
            "ran before the training; let the trigger job need what the training depends on",
        )  # fmt: skip


def _needed(job: HandJob) -> Iterator[tuple[str, int, str]]:
    """The name of each job that one needs, its line and the key that says so."""
    for need in needs_of(job) or ():
        if need.job:
            yield need.job, need.line, "needs"
    for item in items_of(job.tree.get("dependencies")):
        if name := text_in(item):
            yield name, item.line, "dependencies"


def _waits_for(job: HandJob, earlier: HandJob, file: HandFile) -> bool:
    """Whether a job without needs stands in a later stage than another."""
    return needs_of(job) is None and _stage(earlier, file.stages) < _stage(job, file.stages)


def _downloads(job: HandJob, earlier: HandJob) -> bool:
    """Whether a job takes another's artifacts along: without `dependencies` it takes all."""
    tree = job.tree.get("dependencies")
    return tree is None or earlier.name in _texts(tree)


def _texts(tree: Tree | None) -> list[str]:
    return [text_in(item) or "" for item in texts_in(tree)]


def _stage(job: HandJob, stages: Collection[str]) -> int:
    """The place of a job's stage; one that is not known is the first."""
    stage = text_in(job.tree.get("stage")) or "test"
    return list(stages).index(stage) if stage in stages else 0
