"""What the rules decide, shown: the matrix over all kinds of parent, and the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gpu_pipeline.context import Context
from gpu_pipeline.jobs import Job
from gpu_pipeline.outcomes import Mode, Outcome, mode_of
from gpu_pipeline.reports.layout import as_json, fill, table
from gpu_pipeline.rules import Decision, Origin, RuleRead, RuleResult
from gpu_pipeline.words import count

_CELLS = {
    Mode.AUTOMATIC: "runs",
    Mode.MANUAL: "button",
    Mode.BLOCKING: "BLOCKS",
    Mode.ABSENT: "-",
}
_LEGEND = (
    "runs: by itself; button: manual and optional; BLOCKS: manual, and the pipeline waits for it; "
    "-: not in the pipeline"
)


def matrix(outcomes: Sequence[Outcome], output_format: str) -> str:
    """Jobs × kinds of parent pipeline, with totals."""
    names = list(outcomes[0].decisions)
    totals = {o.context.name: Counter(o.modes.values()) for o in outcomes}
    if output_format == "json":
        return as_json(
            {
                "contexts": [_context_facts(outcome) for outcome in outcomes],
                "jobs": {n: {o.context.name: o.modes[n] for o in outcomes} for n in names},
                "totals": {
                    name: {mode: counter[mode] for mode in Mode} for name, counter in totals.items()
                },
            }
        )
    text = output_format == "text"  # has no room for names above narrow columns
    headers = {
        o.context.name: str(n) if text else o.context.name for n, o in enumerate(outcomes, 1)
    }
    rows: list[dict[str, object]] = [
        {"job": name, **{headers[o.context.name]: _CELLS[o.modes[name]] for o in outcomes}}
        for name in names
    ]
    for mode in (Mode.AUTOMATIC, Mode.MANUAL, Mode.BLOCKING):
        if any(counter[mode] for counter in totals.values()):
            cells = {headers[name]: str(counter[mode]) for name, counter in totals.items()}
            rows.append({"job": f"total: {_CELLS[mode]}", **cells})
    parts = [table(rows, output_format), "", fill(_LEGEND) if text else _LEGEND]
    if text:
        parts[:0] = [*(f"{number}  {name}" for name, number in headers.items()), ""]
    return "\n".join(parts)


def why(job: Job, outcomes: Sequence[Outcome], output_format: str) -> str:
    """For each kind of parent: what was decided about a job, and every rule that was looked at."""
    if output_format == "json":
        return as_json(
            {
                "job": job.name,
                "contexts": [
                    {**_context_facts(o), **_decision_facts(o.decisions[job.name], job, o.context)}
                    for o in outcomes
                ],
            }
        )
    lines = []
    for outcome in outcomes:
        decision = outcome.decisions[job.name]
        bullet, indent = ("- ", "  - ") if output_format == "markdown" else ("", "  ")
        lines.append(f"{bullet}{outcome.context.name}: {job.name} {_verdict(decision)}")
        lines += [f"{indent}{_sentence(result, job, outcome.context)}" for result in decision.rules]
    return "\n".join(lines)


def why_empty(outcome: Outcome, jobs: Sequence[Job]) -> str:
    """Why no job is left: for each group of jobs with the same fate, the rules they failed on."""
    by_name = {job.name: job for job in jobs}
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, decision in outcome.decisions.items():
        reasons = tuple(
            _sentence(result, by_name[name], outcome.context) for result in decision.rules
        )
        groups.setdefault(reasons, []).append(name)
    context = outcome.context
    lines = [f"nothing would run for a parent pipeline from {context.source}{context.place}:"]
    for reasons, names in groups.items():
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        lines.append(f"  {count(len(names), 'job')} ({shown}):")
        lines += [f"    {reason}" for reason in reasons]
    lines.append("  `preview --all` shows when each job runs")
    return "\n".join(lines)


def _verdict(decision: Decision) -> str:
    number = "no rule" if decision.rule is None else f"rule {decision.rule + 1}"
    mode = mode_of(decision)
    if mode is Mode.ABSENT:
        return "is left out: " + (
            "no rule matches" if decision.rule is None else f"{number} says so"
        )
    shown = {
        Mode.AUTOMATIC: f"runs by itself (when: {decision.when})",
        Mode.MANUAL: "waits for a click, optionally",
        Mode.BLOCKING: "waits for a click, and the pipeline waits with it",
    }[mode]
    return f"{shown}: {number} decides"


def _sentence(result: RuleResult, job: Job, context: Context) -> str:
    """One rule, the line it stands in, whether it matched, and the values it read."""
    origins = job.values.rules.items if job.values.rules else ()
    place = f" ({origins[result.index]})" if result.index < len(origins) else ""
    verdict = "matches" if result.matched else "does not match"
    condition = "has no condition" if result.condition is None else result.condition
    reads = [_read(read, context) for read in result.reads]
    facts = "; ".join([*reads, *result.notes])
    return f"rule {result.index + 1}{place} {verdict}: {condition}" + (
        f" [{facts}]" if facts else ""
    )


def _read(read: RuleRead, context: Context) -> str:
    if read.value is None:
        return f"${read.name} is {_origin(read, context)}"
    return f'${read.name} is "{read.value}" ({_origin(read, context)})'


def _origin(read: RuleRead, context: Context) -> str:
    """Where a variable comes from; a name that GitLab does not own is only assumed undefined."""
    if read.origin is Origin.CHILD and read.name in context.variables:
        return "captured"
    if read.origin is Origin.UNDEFINED and not read.name.startswith("CI_"):
        return "assumed undefined"
    return read.origin


def _context_facts(outcome: Outcome) -> dict[str, Any]:
    context = outcome.context
    return {
        "name": context.name,
        "source": context.source,
        "branch": context.branch,
        "tag": context.tag,
        "variables": dict(context.variables),
    }


def _decision_facts(decision: Decision, job: Job, context: Context) -> dict[str, Any]:
    origins = job.values.rules.items if job.values.rules else ()
    return {
        "mode": mode_of(decision),
        "when": decision.when,
        "allow_failure": decision.allow_failure,
        "decided_by": None if decision.rule is None else decision.rule + 1,
        "rules": [
            {
                "rule": result.index + 1,
                "file": origins[result.index].file,
                "line": origins[result.index].line,
                "if": result.condition,
                "matched": result.matched,
                "reads": {
                    read.name: {"value": read.value, "origin": _origin(read, context)}
                    for read in result.reads
                },
                "notes": result.notes,
            }
            for result in decision.rules
        ],
    }
