"""Each PIP code has a page, a file that shows it and one that does not, all found by glob.

`# expect: CODE LINE JOB:KEY` lines at the end of a bad file list all its findings; notes are listed
only in the files of their own code.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gpu_pipeline.checks.catalogue import CATALOGUE
from gpu_pipeline.checks.child import check_child, ci_schema
from gpu_pipeline.checks.finding import Finding, Severity
from tests.conftest import ROOT

CODES = [code for code in CATALOGUE if code.startswith("PIP")]
FINDINGS = ROOT / "tests" / "findings"
BAD = sorted(FINDINGS.glob("PIP*/bad*.yml"))
GOOD = sorted(FINDINGS.glob("PIP*/good*.yml"))


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def check(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    if path.match("PIP181/bad*.yml"):  # shows only where the schema's packages are absent
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        ci_schema._validator.cache_clear()
    return check_child(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", BAD, ids=name)
def test_a_bad_file_has_the_findings_it_lists(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    expected = re.findall(r"^# expect: (\w+) (\d+) ([^\n]*)$", text, re.MULTILINE)
    found = [
        (finding.code, str(finding.place.line), f"{finding.place.job}:{finding.place.key}")
        for finding in check(path, monkeypatch)
        if finding.severity is not Severity.NOTE or finding.code == path.parent.name
    ]
    assert found == expected
    assert path.parent.name in {code for code, _, _ in found}


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_a_good_file_has_no_finding_of_its_code(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check(path, monkeypatch)
    assert not [finding for finding in found if finding.code == path.parent.name]


@pytest.mark.parametrize("path", BAD, ids=name)
def test_every_finding_says_what_to_do(path: Path) -> None:
    for finding in check_child(path.read_text(encoding="utf-8"), path.name):
        assert finding.message
        assert finding.fix
        assert "\n" not in finding.message + finding.fix
        assert finding.place.file == path.name


@pytest.fixture(autouse=True)
def _schema_is_asked_again() -> None:
    ci_schema._validator.cache_clear()
