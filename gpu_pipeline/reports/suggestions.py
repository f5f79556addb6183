"""Better routings: what each changes and why, and the patch of routing.toml that makes it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.suggest import Goal, Step, Suggestion
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.plan.units import Unit, cards_unknown
from gpu_pipeline.record import Record
from gpu_pipeline.reports.layout import as_json
from gpu_pipeline.reports.plan import listed_section, money
from gpu_pipeline.reports.plan_data import totals
from gpu_pipeline.words import count, difference


class Proposal(Record):
    """A suggestion with the patch (a unified diff) that makes it so."""

    suggestion: Suggestion
    patch: str


class Proposals(Record):
    """All that `plan --suggest` found.

    `units` are what could have been moved; `refused` says by goal why what was found is left out.
    """

    now: Plan
    found: Sequence[Proposal]
    units: Sequence[Unit]
    looked_at: int
    refused: Mapping[Goal, str]


def suggestions(proposals: Proposals, output_format: str) -> str:
    """All proposals, or that there is none."""
    if output_format == "json":
        return _json(proposals)
    now = proposals.now
    blocks = [f"Now: done after {format_duration(now.makespan)}, {money(now.cost, now)}."]
    better = [each for each in proposals.found if not each.suggestion.goal.is_trade]
    if not better:
        blocks.append(
            f"Nothing better: of {count(proposals.looked_at, 'plan')} looked at, none is "
            "cheaper and not slower,\nor faster and not dearer."
        )
    blocks += [_proposal(now, each, output_format) for each in proposals.found]
    held = [
        f"{unit.name}{f' to {pool}' if pool else ''}: {why}"
        for unit in proposals.units
        for pool, why in unit.held.items()
    ]
    held += [
        f"more at once on {pool}: whether they fit the card is not known ({why})"
        for pool, why in cards_unknown(now.schedule.workload).items()
    ]
    held += [f"a {goal.value} plan: {why}" for goal, why in proposals.refused.items()]
    if held:
        blocks.append(listed_section("Not considered", held, output_format))
    return "\n\n".join(blocks)


def step_text(step: Step, homes: str = "") -> str:
    """One step in words."""
    if step.unit is None:
        return f"{step.pool}: {step.concurrency} at once on a node"
    kind = "family" if step.unit.family is not None else "model"
    return f"{kind} {step.unit.name}: {homes or step.unit.home} → {step.pool}"


def loss(plan: Plan, without: Plan) -> str:
    """What a plan loses without a step, in words."""
    parts = []
    later = without.makespan - plan.makespan
    if abs(later) >= 1:
        parts.append(f"{format_duration(abs(later))} {'later' if later > 0 else 'earlier'}")
    if plan.cost is not None and without.cost is not None:
        dearer = without.cost - plan.cost
        if abs(dearer) >= 0.005:
            amount = money(abs(dearer), plan)
            parts.append(f"{amount} {'dearer' if dearer > 0 else 'cheaper'}")
    return " and ".join(parts) or "nothing by itself, but the other steps need it"


def _proposal(now: Plan, proposal: Proposal, output_format: str) -> str:
    suggestion = proposal.suggestion
    plan = suggestion.plan
    title = suggestion.goal.value.capitalize()
    if suggestion.goal.is_trade:
        other = "slower" if suggestion.goal is Goal.CHEAPEST else "dearer"
        title += f", but {other}"
    text = (
        f"{title}: done after {format_duration(plan.makespan)} "
        f"({difference(now.makespan, plan.makespan)}), {money(plan.cost, plan)}"
    )
    if plan.cost is not None and now.cost is not None:
        text += f" ({difference(now.cost, plan.cost)})"
    lines = [
        f"{step_text(step)}; without it {loss(plan, without)}" for step, without in suggestion.steps
    ]
    patch = proposal.patch.replace("\r\n", "\n").removesuffix("\n")
    if "\r\n" in proposal.patch:
        lines.append("lines end in CRLF here: apply the patch with `git apply --ignore-whitespace`")
    if output_format == "markdown":
        patch = f"```diff\n{patch}\n```"
    return f"{listed_section(text, lines, output_format)}\n\n{patch}"


def _json(proposals: Proposals) -> str:
    return as_json(
        {
            "now": totals(proposals.now),
            "looked_at": proposals.looked_at,
            "suggestions": [
                {
                    "goal": each.suggestion.goal.value,
                    **totals(each.suggestion.plan),
                    "steps": [
                        {
                            "step": step_text(step),
                            "unit": step.unit.name if step.unit else None,
                            "pool": step.pool,
                            "concurrency": step.concurrency,
                            "without": totals(without),
                        }
                        for step, without in each.suggestion.steps
                    ],
                    "patch": each.patch,
                }
                for each in proposals.found
            ],
            "not_moved": [
                {"unit": unit.name, "pool": pool or None, "why": why}
                for unit in proposals.units
                for pool, why in unit.held.items()
            ],
            "not_raised": [
                {"pool": pool, "why": f"whether more fit the card is not known: {why}"}
                for pool, why in cards_unknown(proposals.now.schedule.workload).items()
            ],
            "refused": [
                {"goal": goal.value, "why": why} for goal, why in proposals.refused.items()
            ],
        }
    )
