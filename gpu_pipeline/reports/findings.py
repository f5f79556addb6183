"""Findings as text, JSON, Markdown and GitLab's Code Quality report."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from gpu_pipeline.checks.catalogue import CATALOGUE
from gpu_pipeline.checks.finding import Finding, Severity
from gpu_pipeline.reports.layout import as_json, code, fill
from gpu_pipeline.words import count

_MARKUP = re.compile(r"[\\`*<\[|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_COPIED = re.compile(r"kubectl|`[^`]+ |[{}=\[\]]")
# GitLab: doc/ci/testing/code_quality, "Code Quality report format".
_CODE_QUALITY = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def findings(found: Sequence[Finding], output_format: str) -> str:
    """All findings, the worst first, and their number."""
    found = sorted(found, key=lambda each: (list(Severity).index(each.severity), each.sort_key))
    if output_format == "json":
        return as_json([_facts(each) for each in found])
    if output_format == "codequality":
        return codequality(found)
    if output_format == "markdown":
        lines = [_markdown(each) for each in found]
    else:
        lines = [_text(each) for each in found]
    return "\n".join([*lines, *([""] if lines else []), summary(found)])


def _text(each: Finding) -> str:
    """A finding in a few lines; a fix that holds something to copy stays on one."""
    message = fill(_one_line(each.message), indent="    ", further="    ")
    place, fix = _one_line(str(each.place)), f"    fix: {_one_line(each.fix)}"
    if not _COPIED.search(fix):
        fix = fill(fix.strip(), indent="    ", further="    ")
    return f"{place}: {each.severity} {each.code}\n{message}\n{fix}"


def _markdown(each: Finding) -> str:
    """An item of a list; what a file says is shown as it stands and means nothing here."""
    place = code(_one_line(str(each.place)))
    message, fix = (_MARKUP.sub(r"\\\g<0>", _one_line(text)) for text in (each.message, each.fix))
    return f"- **{each.severity} {each.code}** {place}: {message}. Fix: {fix}."


def _one_line(text: str) -> str:
    """A text whose line breaks can be seen and break nothing."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def summary(found: Sequence[Finding]) -> str:
    """How many findings of each kind there are."""
    numbers = Counter(each.severity for each in found)
    if not numbers:
        return "no findings"
    return ", ".join(count(numbers[each], each.value) for each in Severity if numbers[each])


def codes(found: Sequence[Finding]) -> str:
    """The codes of findings, each with how often it stands there."""
    numbers = Counter(each.code for each in found)
    return ", ".join(f"{code} ({number})" for code, number in sorted(numbers.items()))


def codequality(found: Sequence[Finding]) -> str:
    """A report that GitLab shows in a merge request; a fingerprint outlives moved lines."""
    return as_json(
        [
            {
                "description": f"{each.message}. {each.fix}.",
                "check_name": each.code,
                "fingerprint": _fingerprint(each),
                "severity": _CODE_QUALITY[each.severity],
                "location": {"path": each.place.file, "lines": {"begin": each.place.line or 1}},
            }
            for each in found
        ]
    )


def _fingerprint(each: Finding) -> str:
    parts = (each.code, each.place.file, each.place.job, each.place.key, each.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def index() -> str:
    """The list of all findings, for docs/findings."""
    rows = [
        f"| [{code}]({code}.md) | {entry.severity} | {entry.title} |"
        for code, entry in sorted(CATALOGUE.items())
    ]
    return "\n".join(
        [
            "# Findings",
            "",
            "An error fails, or does something else than was meant; a warning may; a note tells.",
            "`check` exits 1 when there is an error, with `--fail-on warning` also for a warning.",
            "",
            "| code | severity | |",
            "|---|---|---|",
            *rows,
        ]
    )


def _facts(each: Finding) -> dict[str, object]:
    place = each.place
    return {
        "code": each.code,
        "severity": each.severity.value,
        "file": place.file,
        "line": place.line or None,
        "job": place.job or None,
        "key": place.key or None,
        "message": each.message,
        "fix": each.fix,
    }
