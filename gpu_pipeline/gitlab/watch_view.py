"""The live table of `watch`, on a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpu_pipeline.console import printable
from gpu_pipeline.durations import format_duration
from gpu_pipeline.gitlab.progress import JobProgress, Progress, standing

# What somebody looks at first stands first: a terminal shows only so many lines.
_ORDER = ("failed", "running", "preparing", "pending", "waiting_for_resource", "canceled")
_STYLES = {
    "success": "green",
    "failed": "bold red",
    "canceled": "red",
    "running": "bold cyan",
    "manual": "dim",
    "skipped": "dim",
}


def table_of(progress: Progress) -> Group:
    """Everything that there is to see; texts from the server are shown as they are."""
    table = Table(box=None, pad_edge=False)
    for name in ("job", "state", "pool", "elapsed", "expected", "waits"):
        table.add_column(name, no_wrap=name != "waits")
    for job in sorted(progress.jobs, key=_rank):
        table.add_row(*_cells(job))
    ended, number = progress.counted
    bar = ProgressBar(total=max(number, 1), completed=ended, width=40)
    return Group(table, bar, _text(standing(progress)))


def _rank(job: JobProgress) -> tuple[int, int]:
    status = job.attempt.status
    return (_ORDER.index(status) if status in _ORDER else len(_ORDER), job.attempt.id)


def _cells(job: JobProgress) -> list[Text]:
    expected = job.expected.seconds if job.expected else None
    style = _STYLES.get(job.attempt.status, "")
    return [
        _text(job.attempt.name),
        _text(job.state, style),
        _text(job.expected.pool if job.expected else ""),
        _text("" if job.elapsed is None else format_duration(job.elapsed)),
        _text("" if expected is None else format_duration(expected)),
        _text(job.waiting),
    ]


def _text(text: str, style: str = "") -> Text:
    """A text in which no control character and no markup means anything."""
    return Text(printable(text), style=style)
