"""Which jobs of a hand-written file train, and on what they say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gpu_pipeline.adopt.handwritten import HandFile, HandJob
from gpu_pipeline.adopt.notes import Kind, Notes
from gpu_pipeline.adopt.places import SELECTOR, Worker, as_name, route_of
from gpu_pipeline.adopt.training import Training, find_training
from gpu_pipeline.child import GPU_NAMES_COMMAND, MARKER
from gpu_pipeline.record import Record

_NO_NUMBER = "its epochs are no number in the file"
_NOTHING = "trains nothing"


def setup_of(job: HandJob) -> tuple[str, ...]:
    """The job's `before_script` without the commands of a rendered job's route and GPU check."""
    if route_of(job) is None:
        return job.before
    return tuple(
        command
        for command in job.before
        if not (
            command.startswith((f'echo "{MARKER}: ', f'gpu_names="$({GPU_NAMES_COMMAND})"'))
            or command.startswith('gpu_names="$(printf ')
            or (command.startswith('if [ "$gpu_names" != ') and f'echo "{MARKER}: ' in command)
        )
    )


class _Seen(Record):
    job: HandJob
    training: Training

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(as_name(model) for model in self.training.models))


def find_workers(file: HandFile, notes: Notes) -> list[Worker]:
    """The jobs that train, and those that do something else for their models on the same nodes."""
    seen = [
        _Seen(
            job=job,
            training=find_training(
                (*setup_of(job), *job.script),
                {name: variable.value for name, variable in job.variables.items()},
                own=job.own_variables,
            ),
        )
        for job in file.jobs
    ]
    known = {model for each in seen if each.training.epochs for model in each.models}
    pools = {_selector(each.job) for each in seen if each.training.epochs} - {""}
    workers = list(_workers(seen, known, pools, notes))
    for worker in workers:
        _note_oddities(worker, notes)
    return workers


def _workers(
    seen: Sequence[_Seen], known: set[str], pools: set[str], notes: Notes
) -> Iterator[Worker]:
    for each in seen:
        job, training = each.job, each.training
        if not job.script:
            notes.add(Kind.LEFT_OUT, job.line, job.name, "it has no script")
            continue
        selector = _selector(job)
        named = each.models or _named(job, known)
        if training.epochs is None and not (selector in pools and named):
            why = _NO_NUMBER if training.asks_epochs else "its commands give no epochs"
            why += "" if selector else ", and it has no node selector"
            if selector:
                why += ", and it is of no model that others train on these nodes"
            notes.add(Kind.LEFT_OUT, job.line, job.name, f"{why}: it stays in the file")
            continue
        if training.epochs is None:
            why = f"{_NO_NUMBER}; the command keeps them" if training.asks_epochs else _NOTHING
            notes.assumed(job.line, job.name, f"{why}, and every job has epochs: 1 in the routing")
        if not named:
            named = (as_name(as_name(job.name).rpartition("-")[2]),)
            notes.assumed(
                job.line, job.name, f"no command names a model; from its name: {named[0]}"
            )
        training = training if training.models else replace(training, models=named)
        yield Worker(
            hand=job,
            training=training,
            models=named,
            epochs=training.epochs or 1,
            route=route_of(job),
        )


def _selector(job: HandJob) -> str:
    selectors = [job.value_of(name) for name in job.variables if name.startswith(SELECTOR)]
    return next(filter(None, selectors), "")


def _named(job: HandJob, known: set[str]) -> tuple[str, ...]:
    """The longest known model whose name the job's name holds."""
    name = f"-{as_name(job.name)}-"
    held = [model for model in known if f"-{model}-" in name]
    return (max(held, key=len),) if held else ()


def _note_oddities(worker: Worker, notes: Notes) -> None:
    job, training = worker.hand, worker.training
    for other in training.other_epochs:
        notes.lost(
            job.line_of("script"),
            f"{job.name}:script",
            f"a job of the routing has one number of epochs, {worker.epochs}; {other} stays in the "
            "template as it is",
        )
