"""Every finding about a runner or about fit has examples that show it, and a page."""

from __future__ import annotations

import pytest

from gpu_pipeline.checks.catalogue import CATALOGUE
from gpu_pipeline.checks.finding import Finding, Severity

from .examples import FINDINGS, comments, findings_of

CODES = [code for code in CATALOGUE if code.startswith(("RUN", "FIT"))]
EXAMPLES = sorted(path for kind in ("RUN", "FIT") for path in FINDINGS.glob(f"{kind}*/*"))
BAD = [path for path in EXAMPLES if path.stem.startswith("bad")]
GOOD = [path for path in EXAMPLES if path.stem.startswith("good")]


def name(path: object) -> str:
    return "/".join(str(path).split("/")[-2:])


@pytest.mark.parametrize("path", BAD, ids=name)
def test_a_bad_example_has_exactly_the_findings_it_names(path) -> None:
    code = path.parent.name
    expected = sorted(comments(path, "expect"))
    assert any(each.startswith(code) for each in expected), "it shows its own finding"
    found = [each for each in findings_of(path) if counts(each, code)]
    assert sorted(f"{each.code} {each.place.line}" for each in found) == expected
    for each in found:
        assert each.message
        assert each.fix
        assert each.place.file


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_a_good_example_has_none(path) -> None:
    assert not [str(each) for each in findings_of(path) if counts(each, path.parent.name)]


def counts(finding: Finding, code: str) -> bool:
    """Notes of other codes are beside an example's point."""
    return finding.severity is not Severity.NOTE or finding.code == code
