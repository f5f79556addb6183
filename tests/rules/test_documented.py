"""What docs/rules.md says about expressions is what the evaluator does."""

from __future__ import annotations

import re

import pytest

from gpu_pipeline.rules import RuleSyntaxError, evaluate
from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
STATES = {"undefined": {}, 'empty, `X=""`': {"X": ""}, 'blank, `X=" "`': {"X": " "}}


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, its header row first."""
    lines = TEXT.partition(f"\n## {heading}\n")[2].splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line.strip("|"))
        rows.append([cell.strip().replace(r"\|", "|") for cell in cells])
    return [rows[0], *rows[2:]]


def outcome(expression: str, variables: dict[str, str]) -> str:
    try:
        return "true" if evaluate(expression, variables) else "false"
    except RuleSyntaxError:
        return "error"


@pytest.mark.parametrize("row", table("The surprising table")[1:], ids=lambda row: row[0])
def test_gitlab_says_what_the_surprising_table_says(row: list[str]) -> None:
    expression, given, expected, said = row
    variables = dict(re.findall(r'(\w+)="([^"]*)"', given))
    assert outcome(expression.strip("`"), variables) == said
    assert {expected, said} <= {"true", "false", "error"}


def test_the_surprising_table_is_mostly_surprising() -> None:
    rows = table("The surprising table")[1:]
    assert len(rows) > 30
    assert sum(expected != said for _, _, expected, said in rows) > 30


def test_undefined_empty_and_blank_differ_as_documented() -> None:
    header, *rows = table("Two layers of truth")
    assert [row[0] for row in rows] == list(STATES)
    for state, *cells in rows:
        for expression, said in zip(header[1:], cells, strict=True):
            text = expression.removesuffix(" alone").strip("`")
            assert outcome(text, STATES[state]) == said, (state, text)


def test_99_pieces_pass_and_100_do_not() -> None:
    # An odd number of pieces is "x" && "x" && …; the parentheses add two.
    longest = " && ".join(['"x"'] * 50)
    assert outcome(longest, {}) == "true"
    assert outcome(f"!{longest}", {}) == "error"
    assert outcome(f"({longest})", {}) == "error"


def test_the_page_is_short_and_its_links_lead_somewhere() -> None:
    assert len(TEXT.splitlines()) <= 180
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / "docs" / target).is_file()
