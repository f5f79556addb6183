"""Good and bad routing files, found by glob.

A bad file says in comments what must be found: `# expect: LINE: beginning of the rest`. The
problems found are exactly those, all in one run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT, Result

HERE = ROOT / "tests" / "routing"
BAD = sorted((HERE / "bad").glob("*.toml"))
GOOD = sorted((HERE / "good").glob("*.toml"))
GOOD += [*sorted((ROOT / "examples").glob("*.toml")), ROOT / "routing.toml"]


def expectations(path: Path) -> list[str]:
    encoding = "utf-16" if path.stem == "utf16" else "latin-1"
    text = path.read_bytes().decode(encoding)
    return re.findall(r"^# expect: (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_each_problem_is_named_with_its_line(path: Path, run: Callable[..., Result]) -> None:
    result = run("--routing", path)
    assert result.code == 2
    assert result.out == ""
    expected = expectations(path)
    assert expected, "a bad file says what is wrong with it"
    found = [line.removeprefix(f"{path}:") for line in result.err.splitlines()]
    assert len(found) == len(expected), result.err
    for problem, beginning in zip(found, sorted(expected, key=line_of), strict=True):
        line, _, rest = beginning.partition(": ")
        assert problem.startswith(f"{line}: {rest}"), f"\nfound    {problem}\nexpected {beginning}"
    assert not Path("child-pipeline.yml").exists()


def line_of(expectation: str) -> tuple[int, list[str]]:
    line, *rest = expectation.split(": ")
    return int(line), rest


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_file_renders(path: Path, run: Callable[..., Result]) -> None:
    result = run("--quiet", "--routing", path)
    assert (result.code, result.err) == (0, "")
    assert yaml.safe_load(Path("child-pipeline.yml").read_text(encoding="utf-8"))


def test_strings_of_every_key_survive(run: Callable[..., Result]) -> None:
    assert run("--quiet", "--routing", HERE / "good" / "every-key.toml").code == 0
    child = yaml.safe_load(Path("child-pipeline.yml").read_text(encoding="utf-8"))
    assert child[".train-rl-base"]["variables"]["PIPELINE_WIDE"] == "0,1"
    assert child[".train-rl-base"]["variables"]["NOTE"] == (
        "tab\there, \"quotes\", 'more', #hash: {{ x }} $(id) é 😀"
    )
    moved = child["hyperopt-m.2"]
    assert moved["extends"] == ".train-validate-base"
    assert moved["tags"] == ["m2"]
    assert moved["image"] == "registry.example.com/m2:1"
    assert moved["needs"] == ["train-validate-f.1"]


def test_a_missing_file_is_named_with_its_option(run: Callable[..., Result]) -> None:
    result = run("--routing", "nowhere.toml")
    assert result.code == 2
    assert "nowhere.toml: cannot be read" in result.err
    assert "--routing" in result.err
