"""The children that the generator writes are clean, in every context there is an example of."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.finding import Severity
from tests.conftest import ROOT

GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.yml"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_generated_child_has_no_error_and_no_warning(path: Path) -> None:
    found = check_child(path.read_text(encoding="utf-8"), path.name)
    assert not [finding for finding in found if finding.severity is not Severity.NOTE]


def test_findings_are_sorted_by_place() -> None:
    found = check_child("b: {script: 1}\na: {retry: 3, timeout: 5}\n", "child.yml")
    assert [finding.place.line for finding in found] == sorted(f.place.line for f in found)
    assert len(found) == 4
