"""What lies along the time axis of a Gantt chart: ticks, and the use of GPUs in steps."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_pipeline.durations import format_duration
from gpu_pipeline.record import Record

# Each divides the next, so that finer ticks stand between the coarser ones.
_STEPS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_DAY = 86400
_MOST_TICKS = 10
# At these magnifications there is room for finer ticks.
ZOOMS_WITH_TICKS = (1, 4, 16)


class Tick(Record):
    """A line at `x` percent; `zoom` is the least magnification at which there is room for it."""

    x: float
    text: str
    zoom: int


class Step(Record):
    """From `start` seconds on the value holds until the next step."""

    start: float
    value: float


def tick_step(span: float, most: int = _MOST_TICKS) -> int:
    """Seconds between ticks, a round number, so that at most `most` steps fit into `span`."""
    for step in _STEPS:
        if span / step <= most:
            return step
    step = _DAY
    while span / step > most:
        step *= 2
    return step


def ticks_of(span: float) -> tuple[Tick, ...]:
    """The ticks of all magnifications, in the order of time."""
    found: dict[int, Tick] = {}
    for zoom in ZOOMS_WITH_TICKS:
        step = tick_step(span, _MOST_TICKS * zoom)
        for n in range(int(span // step) + 1):
            time = n * step
            text = f"{time // _DAY}d" if step >= _DAY and time else _clock(time)
            found.setdefault(time, Tick(x=100 * time / span, text=text, zoom=zoom))
    return tuple(found[time] for time in sorted(found))


def _clock(seconds: int) -> str:
    if not seconds:
        return "0"
    minutes, rest = divmod(seconds, 60)
    whole = format_duration(minutes * 60) if minutes else ""
    return " ".join(filter(None, (whole, f"{rest}s" if rest else "")))


def use_steps(parts: Iterable[tuple[float, float, float]]) -> tuple[Step, ...]:
    """The sum over time of parts that each add an amount from a start to an end."""
    changes: dict[float, float] = {}
    for start, end, amount in parts:
        if end > start:
            changes[start] = changes.get(start, 0.0) + amount
            changes[end] = changes.get(end, 0.0) - amount
    steps: list[Step] = []
    value = 0.0
    for time in sorted(changes):
        value += changes[time]
        # Sums of shares come back to nothing only nearly.
        rounded = round(value, 6) + 0.0
        if not steps or steps[-1].value != rounded:
            steps.append(Step(start=time, value=rounded))
    return tuple(steps)
