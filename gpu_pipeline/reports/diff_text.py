"""A comparison for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from gpu_pipeline.plan_diff import PlanDiff
from gpu_pipeline.reports import diff_words as words
from gpu_pipeline.reports.layout import fill, table
from gpu_pipeline.routing_diff import Change, Changed, Group, OneSided, RoutingDiff, grouped
from gpu_pipeline.words import count

_NAME_WIDTH = 26


def as_text(diff: RoutingDiff, plan: PlanDiff) -> str:
    """What moves, then what it costs or saves."""
    blocks = [
        fill(f"{diff.before} → {diff.after}: {words.headline(diff, plan)}"),
        *_moves(diff),
    ]
    if not diff.is_empty:
        blocks += [_figures(plan), "\n".join(map(fill, words.basis(plan)))]
    return "\n\n".join(blocks)


def _moves(diff: RoutingDiff) -> Iterator[str]:
    yield from _one_sided("Jobs added", diff.added)
    yield from _one_sided("Jobs removed", diff.removed)
    yield from _changes("Jobs moved or changed", grouped(diff.changed), "job")
    yield from _one_sided("Pools added", diff.pools_added)
    yield from _one_sided("Pools removed", diff.pools_removed)
    yield from _pools(diff.pools_changed)
    if diff.settings:
        yield "\n".join(["Pipeline", *(_change(each) for each in diff.settings)])
    if diff.templates:
        found = f"{words.names(diff.templates)}: what their jobs run may differ"
        yield f"Templates changed\n{fill(found, indent='  ')}"
    if diff.redealt:
        yield fill(
            f"{count(diff.redealt, 'job')} of the same pool got another slot (resource group)."
        )


def _one_sided(title: str, found: Sequence[OneSided]) -> Iterator[str]:
    """What is on one side only, by pool."""
    if not found:
        return
    lines = [title]
    for shown in found[: words.NAMES_AT_MOST]:
        where = f" on {shown.pool}" if shown.pool != shown.name else ""
        lines.append(fill(f"{shown.name}{where}, {shown.gpu} ({words.place(shown)})", indent="  "))
    more = len(found) - words.NAMES_AT_MOST
    if more > 0:
        lines.append(f"  and {more} more (--format json lists all)")
    yield "\n".join(lines)


def _changes(title: str, groups: Iterable[Group], noun: str) -> Iterator[str]:
    """Changes by those that they happen to: who first, then what."""
    lines = []
    for shared, same in groupby(groups, key=lambda group: group.names):
        number = f"{count(len(shared), noun)}: " if len(shared) > 1 else ""
        lines.append(fill(f"{number}{words.names(shared)}", indent="  "))
        lines += [_change(group.change, 4) for group in same]
    if lines:
        yield "\n".join([title, *lines])


def _pools(changed: Sequence[Changed]) -> Iterator[str]:
    if changed:
        lines = ["Pools changed"]
        for each in changed:
            lines.append(fill(each.name, indent="  "))
            lines += [_change(change, 4) for change in each.changes]
        yield "\n".join(lines)


def _change(change: Change, indent: int = 2) -> str:
    """The value on both sides and, below, the lines that set it."""
    before, after = change.before, change.after
    shown = fill(f"{change.key}: {words.value(before)} → {words.value(after)}", indent=" " * indent)
    places = [str(each.origin) if each and each.origin else "-" for each in (before, after)]
    return f"{shown}\n{fill(' → '.join(places), indent=' ' * (indent + 2))}"


def _figures(plan: PlanDiff) -> str:
    rows: list[dict[str, object]] = []
    for name, figures in [("all", plan.total), *plan.pools.items()]:
        if rows:
            rows.append(dict.fromkeys(rows[0], ""))
        label = "" if name == "all" and not rows else _short(name)
        if label:
            rows.append({**dict.fromkeys(rows[0], ""), "plan": label})
        rows += [
            {
                "plan": f"{'  ' if label else ''}{row.name}",
                "before": row.before,
                "after": row.after,
                "difference": row.difference,
            }
            for row in words.figure_rows(figures, plan, total=not label)
        ]
    return table(rows, "text")


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"
