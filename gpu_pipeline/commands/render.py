"""The command `render`: load, decide, and write the child or compare it with the file on disk."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.checks.child.shell_words import names_in
from gpu_pipeline.checks.rendering import check_before_writing, check_captured
from gpu_pipeline.child import Child, nothing_to_run
from gpu_pipeline.console import say, show, tell, write_result
from gpu_pipeline.context import Context
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, GeneratorError, NothingToRunError, UsageError
from gpu_pipeline.files import display, is_file, read_bytes, resolved, write_atomically
from gpu_pipeline.loading import Loaded, load, refuse_input
from gpu_pipeline.outcomes import Outcome, outcome_of
from gpu_pipeline.render import render
from gpu_pipeline.words import count


def run_render(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write the child pipeline, print it, or compare it with the file on disk."""
    output = None if options.output == "-" or options.dry_run else Path(options.output)
    if output:
        refuse_input(output, options)
    try:
        text, loaded, child = _rendered(options, environment, output)
    except GeneratorError as error:
        if output and not options.check and is_file(output):
            error.add_note(f"{display(output)} was not written: the one there is an older one")
        raise
    if options.check:
        return _compare(output, text, loaded.context)
    if output is None:
        write_result(text)
        return EXIT_OK
    write_atomically(output, text)
    jobs = count(len(child.jobs), "job") if child.jobs else "one job that says why there is none,"
    tell(
        f"wrote {display(output)}: {jobs} for a parent pipeline from {loaded.context.source}"
        f"{loaded.context.place}",
    )
    return EXIT_OK


def _rendered(
    options: argparse.Namespace, environment: Mapping[str, str], output: Path | None
) -> tuple[str, Loaded, Child]:
    """The text of the child and what it was rendered from. Raises GeneratorError."""
    loaded = load(options, environment)
    planned = loaded.child()
    outcome = outcome_of(planned, loaded.context)
    child = _child_to_render(options, loaded, planned, outcome)
    text = render(child, resolved(options.templates))
    name = "child-pipeline.yml" if output is None else display(output)
    acceptances = loaded.routing.accept or ()
    for found in check_before_writing(
        loaded.jobs,
        child,
        outcome,
        text=text,
        name=name,
        acceptances=acceptances,
        locate=loaded.routed.lines.origin,
    ):
        tell(str(found))
    return text, loaded, child


def _child_to_render(
    options: argparse.Namespace, loaded: Loaded, child: Child, outcome: Outcome
) -> Child:
    """The child, or what --when-empty says when no job is left; warnings go to stderr."""
    if not outcome.is_empty:
        for name in _unset_in_images(child):
            tell(
                f"warning: the image uses ${{{name}}}, which is not set here; in CI the parent "
                "pipeline or the project must set it, or jobs cannot pull their image",
            )
        return child
    from gpu_pipeline.reports import rules as rule_reports

    for found in check_captured(loaded.jobs, outcome):
        tell(str(found))
    reason = rule_reports.why_empty(outcome, loaded.jobs)
    if options.when_empty == "error":
        raise NothingToRunError(reason)
    tell(f"note: {reason}")
    return nothing_to_run(child, loaded.pipeline, reason)


def _unset_in_images(child: Child) -> list[str]:
    """Captured variables in image names that are empty; a finding tells of those not captured."""
    bases = {base.name: base.settings for base in child.bases}
    unset = set()
    for job in child.jobs:
        base = bases[job.extends]
        own = base.get("variables")
        known = {**child.variables, **(own if isinstance(own, Mapping) else {}), **job.variables}
        image = str(job.overrides.get("image", base.get("image", "")))
        unset |= {name for name in names_in(image) if name in child.capture and not known.get(name)}
    return sorted(unset)


def _compare(path: Path | None, text: str, context: Context) -> int:
    """Print how the file differs from what would be rendered now."""
    if path is None:
        raise UsageError("--check compares with a file; name one with -o")
    try:
        if not path.exists():
            say(f"{display(path)} does not exist; `render` writes it")
            return EXIT_DIFFERS
        if not path.is_file():
            raise UsageError(f"{display(path)}: is not a regular file")
    except OSError as error:
        raise UsageError(f"{display(path)}: {error.strerror}") from None
    old = read_bytes(path, "-o")
    if old == text.encode("utf-8"):
        return EXIT_OK
    tell(
        f"{display(path)} differs from what a parent pipeline from {context.source}{context.place} "
        "gets now; give --check the options it was rendered with"
    )
    import difflib

    difference = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(),
        text.splitlines(),
        f"{display(path)} (on disk)",
        "rendered now",
        lineterm="",
    )
    show("\n".join(difference) or "only the line ends differ")
    return EXIT_DIFFERS
