"""A comparison as Markdown for a note on a merge request.

What files and people named is shown in code spans, in which GitLab finds no mention, reference,
quick action or markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpu_pipeline.plan_diff import PlanDiff
from gpu_pipeline.reports import diff_words as words
from gpu_pipeline.reports.layout import code
from gpu_pipeline.reports.mermaid import LARGEST, gantt
from gpu_pipeline.routing_diff import Change, OneSided, RoutingDiff, grouped
from gpu_pipeline.routing_facts import Fact
from gpu_pipeline.words import count


def as_markdown(diff: RoutingDiff, plan: PlanDiff) -> str:
    """A headline, the figures, all changes in a fold, and the plan after as a chart."""
    sentence = words.headline(diff, plan)
    blocks = [
        f"**Routing: {sentence}**",
        f"From {code(diff.before)} to {code(diff.after)}.",
    ]
    if diff.is_empty:
        return "\n\n".join(blocks)
    blocks += [
        _table(_total(plan)),
        _table(_pools(plan)),
        *_details(diff, plan),
        *_chart(diff, plan),
    ]
    return "\n\n".join(block for block in blocks if block)


def _total(plan: PlanDiff) -> Iterator[Sequence[str]]:
    yield ("a run", "before", "after", "difference")
    for row in words.figure_rows(plan.total, plan, total=True):
        yield row.name, row.before, row.after, row.difference


def _pools(plan: PlanDiff) -> Iterator[Sequence[str]]:
    """A row a pool: each figure before and after."""
    for i, (name, figures) in enumerate(plan.pools.items()):
        rows = words.figure_rows(figures, plan, total=False)
        if i == 0:
            yield ("pool", *(row.name for row in rows))
        yield (code(name), *(_both(row) for row in rows))


def _both(row: words.Row) -> str:
    return row.after if row.before == row.after else f"{row.before} → {row.after}"


def _details(diff: RoutingDiff, plan: PlanDiff) -> Iterator[str]:
    parts = [
        *_one_sided("Jobs added", diff.added),
        *_one_sided("Jobs removed", diff.removed),
        *_changes("Jobs moved or changed", "jobs", _grouped(diff)),
        *_one_sided("Pools added", diff.pools_added),
        *_one_sided("Pools removed", diff.pools_removed),
        *_changes(
            "Pools changed",
            "pool",
            [(code(pool.name), each) for pool in diff.pools_changed for each in pool.changes],
        ),
        *_changes("Pipeline", "table", [(code("pipeline"), each) for each in diff.settings]),
    ]
    if diff.templates:
        parts.append(
            f"Templates changed: {_codes(diff.templates)}. What their jobs run may differ."
        )
    if diff.redealt:
        parts.append(
            f"{count(diff.redealt, 'job')} of the same pool got another slot (resource group)."
        )
    yield _folded("What changes, and in which line", parts)
    yield _folded(
        "What the figures rest on", ["\n".join(f"- {each}" for each in words.basis(plan))]
    )


def _grouped(diff: RoutingDiff) -> Iterator[tuple[str, Change]]:
    for group in grouped(diff.changed):
        number = f"{len(group.names)} jobs: " if len(group.names) > 1 else ""
        yield f"{number}{_codes(group.names)}", group.change


def _one_sided(title: str, found: Sequence[OneSided]) -> Iterator[str]:
    if found:
        rows = [("name", "pool", "GPU", "line")]
        rows += [
            (code(each.name), code(each.pool), code(each.gpu), code(words.place(each)))
            for each in found[: words.NAMES_AT_MOST]
        ]
        more = len(found) - words.NAMES_AT_MOST
        rest = f"\n\nAnd {more} more; `--format json` lists all." if more > 0 else ""
        yield f"{title}:\n\n{_table(rows)}{rest}"


def _changes(title: str, noun: str, found: Iterable[tuple[str, Change]]) -> Iterator[str]:
    rows = [
        (names, code(change.key), _side(change.before), _side(change.after))
        for names, change in found
    ]
    if rows:
        yield f"{title}:\n\n{_table([(noun, 'value of', 'before', 'after'), *rows])}"


def _side(fact: Fact | None) -> str:
    if fact is None:
        return "not set"
    place = f" in {code(str(fact.origin))}" if fact.origin else ""
    return f"{code(words.value(fact))}{place}"


def _chart(diff: RoutingDiff, plan: PlanDiff) -> Iterator[str]:
    moved = {each.name for each in diff.changed} | {each.name for each in diff.added}
    chart = gantt(plan.after.schedule, moved)
    if chart is None:
        if plan.after.schedule.runs:
            yield (
                f"The plan is not drawn: its chart would have more than {LARGEST:,} characters, "
                "above which GitLab draws none by itself."
            )
        return
    marked = "highlighted jobs are new or changed" if ":active" in chart else ""
    late = "red ones are ended by their timeout" if ":crit" in chart else ""
    rows = "one row a slot" if " x " not in chart else "jobs of a task and family together"
    legend = "; ".join(filter(None, [f"The plan after, {rows}, boot first", marked, late]))
    yield f"{legend}:\n\n```mermaid\n{chart}\n```"


def _folded(title: str, parts: Sequence[str]) -> str:
    inner = "\n\n".join(parts)
    return f"<details><summary>{title}</summary>\n\n{inner}\n\n</details>" if parts else ""


def _table(rows: Iterable[Sequence[str]]) -> str:
    """A table whose first row is its head; no table without further ones."""
    lines = [[cell(each) for each in row] for row in rows]
    if len(lines) < 2:
        return ""
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])


def cell(markdown: str) -> str:
    """Markdown as a table's cell: a bar that would end it is escaped, also in a code span.

    Backslashes before a bar are made even in number, so that none of them takes the escape's part.
    """
    return re.sub(r"(\\*)\|", lambda bar: bar[1] + "\\" * (len(bar[1]) % 2) + r"\|", markdown)


def _codes(found: Sequence[str]) -> str:
    shown = ", ".join(code(name) for name in found[: words.NAMES_AT_MOST])
    more = len(found) - words.NAMES_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
