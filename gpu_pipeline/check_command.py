"""The command `check`: findings about the child and the parent, in several formats."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline import report_findings
from gpu_pipeline.checks.finding import Finding, Severity
from gpu_pipeline.checks.parent import check_parent
from gpu_pipeline.checks.rendering import planned_findings
from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.loading import Loaded, load, show
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.yaml_text import YamlError

_OUTPUT = "child-pipeline.yml"


def run_check(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print all findings; exit 1 if one is as bad as --fail-on says."""
    loaded = load(options, environment)
    found = _child(loaded)
    found += _parent(loaded, options.parent)
    show(report_findings.findings(found, options.format))
    failing = {Severity.ERROR, *([Severity.WARNING] if options.fail_on == "warning" else [])}
    return EXIT_DIFFERS if any(each.severity in failing for each in found) else EXIT_OK


def _child(loaded: Loaded) -> list[Finding]:
    """Findings about the child under every kind of parent pipeline."""
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    return planned_findings(loaded.jobs, child, [outcome_of(child, each) for each in contexts])


def _parent(loaded: Loaded, path: Path) -> list[Finding]:
    try:
        text = read_bytes(path, "--parent").decode("utf-8")
        file = parse_ci_file(text, display(path))
    except UnicodeDecodeError:
        raise UsageError(f"{display(path)}: is not UTF-8") from None
    except YamlError as error:
        raise UsageError(f"{display(path)}:{error.line}: {error}") from None
    contexts = parent_contexts(loaded.routing)
    child = loaded.child(contexts[0])
    return check_parent(
        file, contexts, child, lambda context: outcome_of(child, context), output=_OUTPUT
    )
