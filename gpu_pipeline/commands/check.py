"""The command `check`: everything that would go otherwise than meant, in several formats."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from gpu_pipeline.checks.acceptance import apply_acceptances
from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.child_jobs import child_jobs
from gpu_pipeline.checks.child_rules import check_child_rules
from gpu_pipeline.checks.finding import Finding, Severity
from gpu_pipeline.checks.parent import check_parent
from gpu_pipeline.checks.rendering import never_added, planned_findings
from gpu_pipeline.ci_file import CiFile, parse_ci_file
from gpu_pipeline.commands.cluster import runner_findings
from gpu_pipeline.console import tell
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import display, read_text, resolved, write_atomically
from gpu_pipeline.loading import Loaded, load, refuse_input
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.render import Templates
from gpu_pipeline.reports import findings as reports
from gpu_pipeline.results import deliver, output_of
from gpu_pipeline.yaml_text import YamlError

_OUTPUT = "child-pipeline.yml"
# What is said elsewhere: RUL105 tells of a variable whose value matters what PIP157 tells of every
# one, and RUN123 is found in the routing, at the line to change.
_SAID_OF_ROUTING = ("PIP157", "RUN123")


def run_check(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print all findings; exit 1 if one is as bad as --fail-on says.

    A child file given by name is checked alone, unless --parent or --runner name more. Otherwise
    the routing, its child in every kind of parent pipeline, the parent and the nodes are.
    """
    inputs = [options.child, options.parent or options.default_parent, options.runner]
    _refuse_options(options)
    output, report = output_of(options), options.codequality
    for path, option in ((output, "-o"), (report, "--codequality")):
        if path:
            refuse_input(path, options, *filter(None, inputs), option=option)
    if output and report and resolved(output) == resolved(report):
        raise UsageError("-o and --codequality name the same file; each needs its own")
    loaded = load(options, environment)
    if options.child is None:
        found = _routing_findings(loaded, options)
        found += _parent_findings(loaded, options.parent or options.default_parent)
        found += runner_findings(loaded.routed, options)
    else:
        found = _child_findings(loaded, options)
        found += _parent_findings(loaded, options.parent) if options.parent else []
    left, accepted = apply_acceptances(
        _distinct(found),
        loaded.routing.accept or (),
        today=datetime.datetime.now(datetime.UTC).date(),
        locate=loaded.routed.lines.origin,
        looked_for=_looked_for(options),
    )
    if report:
        write_atomically(report, reports.codequality(left) + "\n", "--codequality")
    deliver(reports.findings(left, options.format), options)
    if accepted:
        tell(f"accepted by {display(options.routing)}: {reports.codes(accepted)}")
    failing = {Severity.ERROR, *([Severity.WARNING] if options.fail_on == "warning" else [])}
    return EXIT_DIFFERS if any(each.severity in failing for each in left) else EXIT_OK


def _refuse_options(options: argparse.Namespace) -> None:
    """Raise UsageError for options that this run would not look at, or could not follow."""
    parent = {"--source": options.source, "--branch": options.branch, "--var": options.variables}
    if str(options.codequality) == "-":
        raise UsageError("--codequality: names a file; `--format codequality` prints the report")
    given = [option for option, value in parent.items() if value]
    if given and options.child is None:
        raise UsageError(
            f"{given[0]}: goes with CHILD; without one, every kind of parent pipeline is checked"
        )


def _looked_for(options: argparse.Namespace) -> tuple[str, ...]:
    """The first letters of all codes that a run of this kind finds wherever they apply."""
    if options.child is not None:  # one file cannot tell what the routing needs
        return ()
    return ("PIP", "RUL", "NED", "PAR", "FIT", *(["RUN"] if options.runner else []))


def _distinct(found: Iterable[Finding]) -> list[Finding]:
    """Each finding once: two checks may see the same fault, or one in several contexts."""
    first: dict[tuple[object, ...], Finding] = {}
    for each in sorted(found, key=lambda each: each.sort_key):
        place = each.place
        # What was rendered in memory has other lines in each kind of parent pipeline.
        line = 0 if place.file == _OUTPUT else place.line
        first.setdefault((each.code, place.file, line, place.job, place.key, each.message), each)
    return list(first.values())


def _routing_findings(loaded: Loaded, options: argparse.Namespace) -> list[Finding]:
    """Findings about the routing's child under every kind of parent pipeline."""
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    outcomes = [outcome_of(child, each) for each in contexts]
    templates = Templates(resolved(options.templates))
    found = planned_findings(loaded.jobs, child, outcomes)
    for outcome in outcomes:
        if not outcome.is_empty:
            rendered = loaded.child(outcome.context)
            text = templates.render(rendered)
            about = check_child(text, _OUTPUT, given=child.capture)
            found += [each for each in about if each.code not in _SAID_OF_ROUTING]
    return [*found, *never_added(loaded.jobs, outcomes)]


def _child_findings(loaded: Loaded, options: argparse.Namespace) -> list[Finding]:
    """Findings about a child file, also one that was written by hand."""
    capture = loaded.pipeline.capture or ()
    text, name = read_text(options.child, "CHILD"), display(options.child)
    found = check_child(text, name, given=capture)
    try:
        file = parse_ci_file(text, name)
    except YamlError:
        return found  # one of the findings says so
    # RUL105 says of a variable whose value matters what PIP157 says of every one.
    found = [each for each in found if each.code != "PIP157"]
    found += check_child_rules(file, loaded.context, capture=capture)
    return found + (_contract_findings(loaded, file, options) if options.runner else [])


def _contract_findings(loaded: Loaded, file: CiFile, options: argparse.Namespace) -> list[Finding]:
    """What the runner does to the jobs of a child file."""
    jobs = child_jobs(file, loaded.routing.pools or {})
    if not jobs:
        return []
    found = runner_findings(replace(loaded.routed, jobs=jobs), options)
    return [each for each in found if each.code != "RUN123"]  # said of the file alone


def _parent_findings(loaded: Loaded, path: Path) -> list[Finding]:
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    return check_parent(
        _parsed(path, "--parent"),
        contexts,
        child,
        lambda context: outcome_of(child, context),
        output=_OUTPUT,
    )


def _parsed(path: Path, option: str) -> CiFile:
    """A CI file. Raises UsageError for one that is not YAML."""
    try:
        return parse_ci_file(read_text(path, option), display(path))
    except YamlError as error:
        raise UsageError(
            f"{display(path)}:{error.line}: {error}; name another file with {option}"
        ) from None
