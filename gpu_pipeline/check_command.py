"""The command `check`: findings about the child and the parent, in several formats."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline import report_findings
from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.child_rules import check_child_rules
from gpu_pipeline.checks.finding import Finding, Severity
from gpu_pipeline.checks.parent import check_parent
from gpu_pipeline.checks.rendering import never_added, planned_findings
from gpu_pipeline.ci_file import CiFile, parse_ci_file
from gpu_pipeline.console import show
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.loading import Loaded, load
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.yaml_text import YamlError

_OUTPUT = "child-pipeline.yml"


def run_check(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print all findings; exit 1 if one is as bad as --fail-on says.

    A child file given by name is checked alone; otherwise the routing's child and the parent are.
    """
    loaded = load(options, environment)
    if options.child is None:
        found = _planned_child(loaded) + _parent(loaded, options.parent or options.default_parent)
    else:
        found = _child_file(options.child, loaded)
        found += _parent(loaded, options.parent) if options.parent else []
    show(report_findings.findings(found, options.format))
    failing = {Severity.ERROR, *([Severity.WARNING] if options.fail_on == "warning" else [])}
    return EXIT_DIFFERS if any(each.severity in failing for each in found) else EXIT_OK


def _planned_child(loaded: Loaded) -> list[Finding]:
    """Findings about the routing's child under every kind of parent pipeline."""
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    outcomes = [outcome_of(child, each) for each in contexts]
    found = planned_findings(loaded.jobs, child, outcomes)
    found += never_added(loaded.jobs, outcomes)
    return sorted(found, key=lambda each: each.sort_key)


def _child_file(path: Path, loaded: Loaded) -> list[Finding]:
    """Findings about a child file by itself, and about what its rules decide at present."""
    text = _text(path, "CHILD")
    found = check_child(text, display(path))
    try:
        file = parse_ci_file(text, display(path))
    except YamlError:
        return found  # one of the findings says so
    # RUL105 says of a variable whose value matters what PIP157 says of every one.
    found = [each for each in found if each.code != "PIP157"]
    found += check_child_rules(file, loaded.context, capture=loaded.pipeline.capture or ())
    return sorted(found, key=lambda each: each.sort_key)


def _parent(loaded: Loaded, path: Path) -> list[Finding]:
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    return check_parent(
        _read(path, "--parent"),
        contexts,
        child,
        lambda context: outcome_of(child, context),
        output=_OUTPUT,
    )


def _read(path: Path, option: str) -> CiFile:
    """A CI file from disk. Raises UsageError for one that is not YAML."""
    try:
        return parse_ci_file(_text(path, option), display(path))
    except YamlError as error:
        raise UsageError(f"{display(path)}:{error.line}: {error}") from None


def _text(path: Path, option: str) -> str:
    """The text of a file. Raises UsageError for one that is not UTF-8."""
    try:
        return read_bytes(path, option).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{display(path)}: is not UTF-8") from None
