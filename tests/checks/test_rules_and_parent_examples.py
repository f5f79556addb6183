"""Each RUL, NED and PAR code has a page, a file that shows it and one that does not, by glob.

A `.toml` is a routing, a `.yml` a parent in the PAR folders and a child in the others. `# expect:
CODE LINE JOB:KEY` lines at the end of a bad file list all its findings of these three families.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline.checks.catalogue import CATALOGUE
from tests.conftest import REFERENCE, ROOT, Result

Run = Callable[..., Result]

FAMILIES = ("RUL", "NED", "PAR")
CODES = [code for code in CATALOGUE if code.startswith(FAMILIES)]
FINDINGS = ROOT / "tests" / "findings"
FILES = sorted(path for family in FAMILIES for path in FINDINGS.glob(f"{family}*/*.*"))
BAD = [path for path in FILES if path.stem.startswith("bad")]
GOOD = [path for path in FILES if path.stem.startswith("good")]
CONTEXTS = [
    ("push", "main", None),
    ("push", "topic", None),
    ("schedule", "main", "true"),
    ("schedule", "main", "false"),
    ("web", "main", "false"),
    ("api", "topic", None),
    ("merge_request_event", None, None),
]


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def checked(run: Run, *arguments: str | Path) -> list[dict]:
    result = run("check", "--format", "json", *arguments)
    assert result.code in (0, 1), result.err
    return [each for each in json.loads(result.out) if each["code"].startswith(FAMILIES)]


def check_file(run: Run, path: Path) -> list[dict]:
    if path.suffix == ".toml":
        return checked(run, "--routing", path)
    if path.parent.name.startswith("PAR"):
        return checked(run, "--parent", path)
    return checked(run, path)


def subject(finding: dict, path: Path) -> str:
    text = f"{finding['job'] or ''}:{finding['key'] or ''}"
    return text.removeprefix(":") if path.suffix == ".toml" else text


@pytest.mark.parametrize("path", BAD, ids=name)
def test_a_bad_file_has_exactly_the_findings_it_lists(path: Path, run: Run) -> None:
    text = path.read_text(encoding="utf-8")
    expected = re.findall(r"^# expect: (\w+) (\d+) ([^\n]+)$", text, re.MULTILINE)
    found = check_file(run, path)
    assert [
        (each["code"], str(each["line"] or 0), subject(each, path)) for each in found
    ] == expected
    assert path.parent.name in {each["code"] for each in found}
    for each in found:
        assert each["message"]
        assert each["fix"]
        assert "\n" not in each["message"] + each["fix"]
        assert each["severity"] == CATALOGUE[each["code"]].severity


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_a_good_file_has_none(path: Path, run: Run) -> None:
    assert check_file(run, path) == []


def test_every_file_is_bad_or_good() -> None:
    assert {*BAD, *GOOD} == set(FILES)


def test_no_file_or_page_is_of_an_unknown_code() -> None:
    pages = {
        path.stem
        for family in FAMILIES
        for path in (ROOT / "docs" / "findings").glob(f"{family}*.md")
    }
    assert {path.parent.name for path in FILES} | pages == set(CODES)


def test_the_shipped_routing_and_parent_have_no_finding(run: Run) -> None:
    assert checked(run, "--parent", REFERENCE / ".gitlab-ci.yml") == []


@pytest.mark.parametrize(("source", "branch", "train"), CONTEXTS)
def test_the_shipped_child_has_no_finding_in_any_context(
    source: str, branch: str | None, train: str | None, run: Run, tmp_path: Path
) -> None:
    context = ["--source", source, *(["--branch", branch] if branch else [])]
    context += ["--var", f"TRAIN_VALIDATE={train}"] if train else []
    child = tmp_path / "child.yml"
    assert run("render", "--when-empty", "noop", "-o", child, *context).code == 0
    assert checked(run, child, *context) == []


def test_the_shipped_child_of_a_tag_has_no_finding(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_PIPELINE_SOURCE", "push")
    monkeypatch.setenv("CI_COMMIT_TAG", "v1.0.0")
    child = tmp_path / "child.yml"
    assert run("render", "--when-empty", "noop", "-o", child).code == 0
    assert checked(run, child) == []
