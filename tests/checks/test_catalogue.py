"""Every finding has its page, and examples that show it and its absence."""

from __future__ import annotations

import pytest

from gpu_pipeline.checks.catalogue import CATALOGUE
from gpu_pipeline.reports.findings import index
from tests.conftest import ROOT

PAGES = ROOT / "docs" / "findings"
EXAMPLES = ROOT / "tests" / "findings"


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_code_has_its_page_and_its_examples(code: str) -> None:
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: {CATALOGUE[code].title}\n")
    assert page.splitlines()[2].startswith(f"**{CATALOGUE[code].severity}**. ")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## Why", "## Fix", "## Example"]
    assert list((EXAMPLES / code).glob("bad*")), "a file that has it"
    assert list((EXAMPLES / code).glob("good*")), "a file that has not"


def test_nothing_is_documented_that_does_not_exist() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(CATALOGUE)
    assert {path.name for path in EXAMPLES.iterdir()} == set(CATALOGUE)


def test_the_index_is_current() -> None:
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    assert text == index() + "\n", "`make golden` writes it anew"
