"""A plan as a Gantt chart in Mermaid's language, small enough for GitLab to draw at once.

GitLab draws the diagrams of a page by itself up to 2,000 characters of source in all; beyond that
it shows the source and a button (gitlab-org/gitlab#331076, #368393).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from gpu_pipeline.plan.model import Run, Schedule
from gpu_pipeline.record import Record

LARGEST = 2000  # characters of source
_MINUTE = 60
_DAY = 24 * 60
_LONGEST_NAME = 40
_UNSAFE = re.compile(r"[^A-Za-z0-9._/ …·-]+")
_FIRST_DAY = datetime.date(2001, 1, 1)
# What the language would take for itself at the start of a line; a date is one as well.
_WORDS = re.compile(
    r"(?:gantt|title|section|click|call|href|excludes|includes|weekday|weekend|todaymarker"
    r"|dateformat|axisformat|tickinterval|inclusiveenddates|topaxis|acctitle|accdescr|\d{4}-)",
    re.IGNORECASE,
)
# A bar over the whole width has room for about so many characters, as GitLab shows a note.
_CHARACTERS = 120


class _Bar(Record):
    """`short` stands in for a name that the bar has no room for."""

    name: str
    short: str
    mark: str
    start: float
    end: float


_Bars = Callable[[Sequence[Run]], list[_Bar]]


def gantt(schedule: Schedule, changed: Collection[str]) -> str | None:
    """The chart: a section a pool, a row a slot; jobs in `changed` and those too late are marked.

    With many jobs a bar is all jobs of one task and family; None if even that is too long, or if
    nothing runs.
    """
    if not schedule.runs:
        return None

    def apart(runs: Sequence[Run]) -> list[_Bar]:
        return [_of_job(run, changed) for run in sorted(runs, key=_by_slot)]

    for bars in (apart, _together):
        text = _chart(schedule, bars)
        if len(text) <= LARGEST:
            return text
    return None


def _chart(schedule: Schedule, bars: _Bars) -> str:
    long = schedule.makespan > _DAY * _MINUTE
    lines = [
        "---",
        "displayMode: compact",
        "---",
        "gantt",
        "dateFormat YYYY-MM-DD HH:mm",
        # A viewer's clock does not change in January, whose first day is the plan's first.
        f"axisFormat {'day %-d %H:%M' if long else '%-H:%M'}",
        *_sections(schedule, bars),
    ]
    return "\n".join(lines)


def _sections(schedule: Schedule, bars: _Bars) -> Iterator[str]:
    room = _CHARACTERS / max(schedule.makespan, 1.0)
    for pool in schedule.workload.pools:
        runs = [run for run in schedule.runs if run.job.pool == pool]
        if runs:
            yield f"section {label(pool)}"
            for bar in [*_boot(pool, schedule, runs), *bars(runs)]:
                # A bar ends where the next one of its slot begins, so both are rounded alike.
                minutes = max(round(bar.end / _MINUTE) - round(bar.start / _MINUTE), 1)
                name = _fitting(bar, int((bar.end - bar.start) * room))
                yield f"{label(name)} :{bar.mark}{_clock(bar.start)}, {minutes}m"


def _boot(pool: str, schedule: Schedule, runs: Sequence[Run]) -> Iterator[_Bar]:
    """The time until the first job of the pool can run."""
    created = min((node.created for node in schedule.nodes if node.pool == pool), default=0.0)
    start = min(run.start for run in runs)
    if start > created:
        yield _Bar(name="boot", short="boot", mark="done, ", start=created, end=start)


def _fitting(bar: _Bar, room: int) -> str:
    for name in (bar.name, bar.short):
        if len(name) <= room:
            return name
    return f"{bar.short[: room - 1]}…" if room > 2 else "·"


def _of_job(run: Run, changed: Collection[str]) -> _Bar:
    mark = "crit, " if run.is_late else "active, " if run.job.name in changed else ""
    models = run.job.models
    short = models[0] if len(models) == 1 else run.job.name
    return _Bar(name=run.job.name, short=short, mark=mark, start=run.start, end=run.end)


def _by_slot(run: Run) -> tuple[int, int, float]:
    return run.node, run.slot, run.start


def _together(runs: Sequence[Run]) -> list[_Bar]:
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.start):
        groups.setdefault((run.job.task, run.job.family), []).append(run)
    return [
        _Bar(
            name=f"{len(each)} x {task} {family}",
            short=f"{len(each)} x {task}",
            mark="",
            start=min(run.start for run in each),
            end=max(run.end for run in each),
        )
        for (task, family), each in groups.items()
    ]


def _clock(seconds: float) -> str:
    days, minutes = divmod(round(seconds / _MINUTE), _DAY)
    date = _FIRST_DAY + datetime.timedelta(days=days)
    return f"{date:%Y-%m-%d} {minutes // 60:02}:{minutes % 60:02}"


def label(name: str) -> str:
    """A name in which nothing means anything to Mermaid: no comment, separator, entity or word."""
    text = _UNSAFE.sub("_", name).strip() or "_"
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME - 1]}…"
    return f"· {text}" if _WORDS.match(text) else text
