"""How a plan's figures are written: hours, money, shares, and differences with their sign."""

from __future__ import annotations

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.bound import Bound
from gpu_pipeline.plan.model import Wait
from gpu_pipeline.plan.summary import Plan

UNKNOWN = "unknown"
# Between a number and its unit no line may end.
_GAP = "\N{NO-BREAK SPACE}"
_DAY = 86400.0
# Differences that rounding alone makes are none.
_NOTHING = 0.5


def in_days(seconds: float) -> str:
    """How many days a long time is, with a semicolon to go on from; nothing for a short one."""
    return f"{seconds / _DAY:.1f} days; " if seconds >= 2 * _DAY else ""


def node_hours(seconds: float) -> str:
    """Node seconds as hours with one decimal."""
    return f"{seconds / 3600:,.1f}{_GAP}h"


def share(value: float) -> str:
    """A share of 1 in percent, "100 %" only for all of it."""
    percent = 100 * value
    text = f"{percent:.0f}"
    return f"{percent:.1f}{_GAP}%" if text == "100" and percent < 99.95 else f"{text}{_GAP}%"


def money(amount: float | None, currency: str) -> str:
    """An amount with its currency, or that it is unknown."""
    return UNKNOWN if amount is None else f"{amount:,.2f}{_GAP}{currency}".rstrip()


def times(factor: float) -> str:
    """How many times: "1.36 ×"."""
    return f"{factor:.2f}{_GAP}×"


def binds(bound: Bound) -> str:
    """What keeps a run from being shorter, and where."""
    return f"{bound.limit} ({bound.pool})"


def above_bound(plan: Plan) -> str:
    """How far the makespan is from the lower bound, and what binds."""
    if plan.bound is None:
        return "there are no jobs"
    what = f"what binds: {binds(plan.bound)}"
    bound = f"the lower bound of {format_duration(plan.bound.seconds)}"
    if plan.schedule.stuck:
        return f"without the jobs that never start, which {bound} includes; {what}"
    if plan.is_shortest:
        return f"no plan can be shorter; {what}"
    return f"{100 * plan.above_bound:.1f}{_GAP}% above {bound}; {what}"


def waits(found: tuple[Wait, ...]) -> str:
    """What a job waited for, with how long, in the order of time."""
    return "; ".join(f"{wait.reason} {format_duration(wait.end - wait.start)}" for wait in found)


def time_difference(ours: float, theirs: float) -> str:
    """How much longer (+) or shorter (−) `ours` is, with the share of `theirs`."""
    change = ours - theirs
    if abs(change) < _NOTHING:
        return "none"
    return f"{_sign(change)}{format_duration(abs(change))}{_of(change, theirs)}"


def hours_difference(ours: float, theirs: float) -> str:
    """The same for node hours."""
    change = ours - theirs
    if abs(change) < 180:
        return "none"
    return f"{_sign(change)}{node_hours(abs(change))}{_of(change, theirs)}"


def money_difference(ours: float | None, theirs: float | None, currency: str) -> str:
    """The same for amounts of one currency."""
    if ours is None or theirs is None:
        return UNKNOWN
    change = ours - theirs
    if abs(change) < 0.005:
        return "none"
    return f"{_sign(change)}{money(abs(change), currency)}{_of(change, theirs)}"


def share_difference(ours: float, theirs: float) -> str:
    """The difference of two shares, in percentage points."""
    change = 100 * (ours - theirs)
    return "none" if abs(change) < 0.5 else f"{_sign(change)}{abs(change):.0f} points"


def amount_difference(ours: float, theirs: float) -> str:
    """The difference of two counts."""
    change = round(ours - theirs)
    return f"{_sign(change)}{abs(change)}" if change else "none"


def _sign(change: float) -> str:
    return "+" if change > 0 else "−"


def _of(change: float, whole: float) -> str:
    percent = abs(100 * change / whole) if whole else 0.0
    return f" ({_sign(change)}{percent:.0f}{_GAP}%)" if percent >= 0.5 else ""
