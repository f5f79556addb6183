"""Findings as text, JSON and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from gpu_pipeline.checks.finding import Finding, Severity
from gpu_pipeline.report import count


def findings(found: Sequence[Finding], output_format: str) -> str:
    """All findings and their number."""
    if output_format == "json":
        return json.dumps([_facts(each) for each in found], indent=2, ensure_ascii=False)
    if output_format == "markdown":
        lines = [
            f"- **{each.severity} {each.code}** `{each.place}`: {each.message}. *{each.fix}.*"
            for each in found
        ]
    else:
        lines = [
            f"{each.place}: {each.severity} {each.code}\n    {each.message}\n    fix: {each.fix}"
            for each in found
        ]
    return "\n".join([*lines, *([""] if lines else []), summary(found)])


def summary(found: Sequence[Finding]) -> str:
    """How many findings of each kind there are."""
    numbers = Counter(each.severity for each in found)
    if not numbers:
        return "no findings"
    return ", ".join(count(numbers[each], each.value) for each in Severity if numbers[each])


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
