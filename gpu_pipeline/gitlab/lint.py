"""`gitlab lint`: the server's own reading of the child and the parent pipeline.

Static, without `dry_run`: a dry run plays a push, so that the rules of a correct child, which ask
what started the parent, come out false and GitLab calls it empty. Which jobs run when is what
`preview --all` answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gpu_pipeline.child import Child
from gpu_pipeline.ci_file import CiFile, parse_ci_file
from gpu_pipeline.context import Context
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, NothingToRunError
from gpu_pipeline.files import display, read_text, resolved
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.lint_places import sources_of, spot_of
from gpu_pipeline.gitlab.outputs import check_outputs
from gpu_pipeline.loading import Loaded, load
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.record import Record
from gpu_pipeline.render import render
from gpu_pipeline.reports.layout import as_json
from gpu_pipeline.results import deliver
from gpu_pipeline.words import count
from gpu_pipeline.yaml_text import YamlError

_RENDERED = "child-pipeline.yml"


class Message(Record):
    """One error or warning of the server; `sources` are where to change what it is about."""

    file: str
    line: int | None
    severity: str
    message: str
    sources: tuple[str, ...]

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = self.message.replace("\r", "\\r").replace("\n", "\\n")
        origin = f" (from {', '.join(self.sources)})" if self.sources else ""
        return f"{place}: {self.severity}: {text}{origin}"


Sources = Callable[[str, CiFile | None], tuple[str, ...]]


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print what the server says; exit 1 if it would refuse one of the files."""
    check_outputs(options)
    loaded = load(options, environment)
    context, child = _child(loaded)
    if options.child is None:
        text, name = render(child, resolved(options.templates)), _RENDERED
    else:
        text, name = read_text(options.child, "--child"), display(options.child)
    parent = read_text(options.parent, "--parent")
    connection = connect(options, environment, to="use the lint API")

    def sources(message: str, file: CiFile | None) -> tuple[str, ...]:
        spot = spot_of(message, file)
        if file is None or not spot.entry:
            return ()
        jobs = {job.name: job for job in loaded.jobs}
        return tuple(sources_of(spot, file, child=child, jobs=jobs, templates=options.templates))

    found = _lint(connection, text, name, sources)
    found += _lint(connection, parent, display(options.parent), lambda *_: ())
    if options.format == "json":
        report = as_json(msgspec.to_builtins(found))
    else:
        rendered = f" (rendered for: {context.name})" if options.child is None else ""
        report = "\n".join([*map(str, found), _summary(found, f"{name}{rendered}", options.parent)])
    deliver(report, options)
    return EXIT_DIFFERS if any(each.severity == "error" for each in found) else EXIT_OK


def _child(loaded: Loaded) -> tuple[Context, Child]:
    """The child of the first kind of parent in which there is one; all have the same jobs."""
    for context in parent_contexts(loaded.routing):
        child = loaded.child(context)
        if not outcome_of(child, context).is_empty:
            return context, child
    raise NothingToRunError("no kind of parent pipeline has a job in its child; `preview --all`")


def _lint(connection: Connection, text: str, name: str, sources: Sources) -> list[Message]:
    with connection.asking(f"linting {name}"):
        result = connection.project.ci_lint.create({"content": text, "dry_run": False})
    try:
        file = parse_ci_file(text, name)
    except YamlError:
        file = None
    errors = [str(each) for each in result.attributes.get("errors") or ()]
    if not result.attributes.get("valid") and not errors:
        errors = ["the server calls this invalid and does not say why"]
    warnings = [str(each) for each in result.attributes.get("warnings") or ()]
    return [
        Message(
            file=name,
            line=spot_of(text, file).line or None,
            severity=severity,
            message=text,
            sources=sources(text, file),
        )
        for severity, texts in (("error", errors), ("warning", warnings))
        for text in texts
    ]


def _summary(found: list[Message], child: str, parent: Path) -> str:
    numbers = [
        count(number, kind)
        for kind in ("error", "warning")
        if (number := sum(each.severity == kind for each in found))
    ]
    return f"{child} and {display(parent)}: {', '.join(numbers) or 'GitLab takes both'}"
