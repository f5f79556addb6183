"""The command `plan`: what a run takes and costs, next to other routings, and what is better."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.checks.finding import Severity
from gpu_pipeline.checks.fit import check_fit
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, RoutingError, UsageError
from gpu_pipeline.files import display, resolved
from gpu_pipeline.loading import LoadedRouting, parse_routing, refuse_input, tell_of_refusals
from gpu_pipeline.plan.measured import compare_jobs, compare_runs
from gpu_pipeline.plan.patch import routing_edits, unified_diff
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.suggest import Choice, Search, Step, chosen
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.sweep import read_sweep
from gpu_pipeline.plan.units import units_of
from gpu_pipeline.plan.variants import timed
from gpu_pipeline.plan.whatif import changes
from gpu_pipeline.planner import Planner
from gpu_pipeline.problems import dotted
from gpu_pipeline.reports import plan as reports
from gpu_pipeline.reports import plan_others
from gpu_pipeline.reports.plan_data import plan_json
from gpu_pipeline.reports.suggestions import Proposal, Proposals, step_text, suggestions
from gpu_pipeline.results import deliver, output_of
from gpu_pipeline.toml_lines import Path as KeyPath


def run_plan(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print a plan or a comparison; exit 1 if the plan has jobs that never start or time out."""
    if options.measured and not options.durations:
        raise UsageError("--measured needs --durations FILE, which `gitlab history` writes")
    if options.format == "html" and (options.sweep or options.suggest or options.measured):
        raise UsageError("--format html shows a plan, alone or --against another")
    output = output_of(options)
    if output:
        others = [options.against, options.durations, options.runner]
        refuse_input(output, options, *(path for path in others if path))
    planner = Planner(options, environment)
    plan = planner.plan(planner.loaded)
    deliver(_report(planner, plan, options), options)
    tell_of_refusals(planner.loaded)
    return EXIT_OK if plan.is_sound else EXIT_DIFFERS


def _report(planner: Planner, plan: Plan, options: argparse.Namespace) -> str:
    if options.sweep:
        return _sweep(planner, options)
    if options.suggest:
        return suggestions(_proposals(planner, plan, options), options.format)
    if options.measured and planner.durations:
        return plan_others.measured(
            compare_jobs(planner.unmeasured(), planner.durations),
            compare_runs(plan, planner.durations),
            options.format,
        )
    return _plan(planner, plan, options)


def _plan(planner: Planner, plan: Plan, options: argparse.Namespace) -> str:
    """The plan, alone or next to another."""
    name, other = display(options.routing), None
    if options.against:
        other = (display(options.against), planner.plan(planner.other(options.against)))
    if options.format == "html":
        from gpu_pipeline.reports.plan_html import plan_html

        return plan_html(plan, title=name, other=other)
    if other:
        return plan_others.against((name, plan), other, options.format)
    if options.format == "json":
        return plan_json(plan, changes(plan))
    return reports.plan_report(plan, changes(plan), options.format)


def _sweep(planner: Planner, options: argparse.Namespace) -> str:
    sweep = read_sweep(options.sweep, planner.loaded.routing)
    curves = []
    for path in sweep.paths:
        points: list[tuple[object, Plan | str]] = []
        for value in sweep.values:
            try:
                routed = _edited(planner, {path: value}, options)
            except RoutingError as error:
                points.append((value, error.problems[0].message))
            else:
                points.append((value, planner.plan(planner.select(routed))))
        curves.append((dotted(path), points))
    return plan_others.sweep(curves, options.format)


def _edited(
    planner: Planner, values: Mapping[KeyPath, object], options: argparse.Namespace
) -> LoadedRouting:
    """The routing at hand with some keys changed. Raises RoutingError or UsageError."""
    from gpu_pipeline.plan.edits import edited

    data = edited(planner.loaded.routed.data, values, display(options.routing))
    return parse_routing(data, display(options.routing), resolved(options.templates))


def _proposals(planner: Planner, plan: Plan, options: argparse.Namespace) -> Proposals:
    workload = plan.schedule.workload
    units = units_of(workload)

    def edits(choice: Choice) -> dict[KeyPath, object]:
        return routing_edits(choice, workload, units, planner.loaded.routed.jobs, _reason)

    def realise(choice: Choice) -> Plan | str:
        """The plan of the routing so edited, or why not: it does not load, or fits worse."""
        model = chosen(workload, {unit.name: unit for unit in units}, choice)
        try:
            routed = _edited(planner, edits(choice), options)
        except RoutingError as error:
            first = error.problems[0]
            return f"the routing that it needs is refused: {first.path}: {first.message}"
        except UsageError as error:
            return str(error)
        if model is None or _errors(routed) > _errors(planner.loaded.routed):
            return "its jobs would fit their nodes worse than now; `check` says how"
        return summarise(simulate(timed(planner.workload(planner.select(routed)), model)))

    search = Search(workload, units, realise)
    found = [
        Proposal(suggestion=each, patch=_patch(planner, edits(each.choice), options.routing))
        for each in search.suggestions()
    ]
    return Proposals(
        now=plan, found=found, units=units, looked_at=search.looked_at, refused=search.refused
    )


def _errors(routed: LoadedRouting) -> int:
    found = check_fit(routed.jobs, locate=routed.lines.origin)
    return sum(each.severity is Severity.ERROR for each in found)


def _reason(step: Step) -> str:
    return f"moved from {step.unit.home} by a plan" if step.unit else step_text(step)


def _patch(planner: Planner, edits: Mapping[KeyPath, object], path: Path) -> str:
    """A unified diff that `git apply` takes at the root of the repository."""
    from gpu_pipeline.plan.edits import edited

    data = planner.loaded.routed.data
    return unified_diff(data, edited(data, edits, display(path)), display(path))
