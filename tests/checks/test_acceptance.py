"""Findings that routing.toml accepts, for a reason and until a day."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline.checks.acceptance import apply_acceptances
from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Place
from gpu_pipeline.problems import Origin
from gpu_pipeline.routing_model import Acceptance
from tests.conftest import REFERENCE, ROOT, Result

EXAMPLES = sorted((ROOT / "tests/findings").glob("ACC*/*.toml"))
TODAY = datetime.date(2026, 12, 1)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_example_has_exactly_the_findings_it_names(
    path: Path, run: Callable[..., Result]
) -> None:
    parent = REFERENCE / ".gitlab-ci.yml"
    result = run("check", "--routing", path, "--parent", parent, "--format", "json")
    found = sorted(
        (each["code"], each["line"])
        for each in json.loads(result.out)
        if each["code"].startswith(("ACC", "FIT"))
    )
    expected = re.findall(r"^# expect: (\w+) (\d+)$", path.read_text(encoding="utf-8"), re.M)
    assert found == sorted((code, int(line)) for code, line in expected)
    assert path.stem.startswith("bad") == (path.parent.name in [code for code, _ in found])


def accept(**keys: object) -> Acceptance:
    return Acceptance(**({"code": "FIT103", "reason": "r", "until": TODAY} | keys))


def applied(*acceptances: Acceptance) -> tuple[list[str], list[str]]:
    """The codes that are left, and the jobs whose finding is accepted."""
    found = [
        finding("FIT103", Place(file="f", line=n, job=job), "m", fix="x")
        for n, job in enumerate(("train-a", "train-b", "tune-a"), 1)
    ]
    left, accepted = apply_acceptances(
        found, acceptances, today=TODAY,
        locate=lambda path: Origin(file="routing.toml", line=9, key=path),
        looked_for=("FIT",),
    )  # fmt: skip
    return [each.code for each in left], [each.place.job for each in accepted]


def test_the_last_day_still_counts() -> None:
    assert applied(accept()) == ([], ["train-a", "train-b", "tune-a"])
    yesterday = TODAY - datetime.timedelta(days=1)
    assert applied(accept(until=yesterday)) == (["FIT103"] * 3 + ["ACC101"], [])


def test_a_glob_accepts_for_some_jobs() -> None:
    assert applied(accept(job="train-*")) == (["FIT103"], ["train-a", "train-b"])


def test_two_entries_share_the_work() -> None:
    left, accepted = applied(accept(job="tune-*"), accept(job="train-*"))
    assert (left, sorted(accepted)) == ([], ["train-a", "train-b", "tune-a"])


def test_an_entry_that_comes_too_late_is_not_needed() -> None:
    assert applied(accept(), accept(job="train-*"))[0] == ["ACC103"]


def test_an_accepted_error_no_longer_fails(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    bad = ("concurrency = 2 ", "concurrency = 9 ")
    assert run("check", "--routing", edit(bad)).code == 1
    entry = '[[accept]]\ncode = "FIT102"\nreason = "r"\nuntil = 9999-01-01\n\n[models.dqn]'
    result = run("check", "--routing", edit(bad, ("[models.dqn]", entry)))
    assert "FIT102" not in result.out
    assert "accepted by" in result.err
    assert "FIT102 (1)" in result.err


def test_nothing_is_rendered_that_fits_on_no_node(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    bad = ("concurrency = 2 ", "concurrency = 9 ")
    refused = run("render", "--routing", edit(bad), "-o", "-")
    assert (refused.code, refused.out) == (1, "")
    assert "FIT102" in refused.err
    entry = '[[accept]]\ncode = "FIT102"\nreason = "r"\nuntil = 9999-01-01\n\n[models.dqn]'
    assert run("render", "--routing", edit(bad, ("[models.dqn]", entry)), "-o", "-").code == 0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('code = "FIT103"\nuntil = 2027-01-01', "reason: is missing"),
        ('code = "FIT103"\nreason = "r"', "until: is missing"),
        ('code = "FIT103"\nreason = "r"\nuntil = "2027-01-01"', "remove the quotes"),
        ('code = "FIT103"\nreason = "r"\nuntil = 2027', "expected date, got integer 2027"),
    ],
)
def test_an_acceptance_needs_code_reason_and_day(
    entry: str, message: str, run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    result = run("check", "--routing", edit(("[models.dqn]", f"[[accept]]\n{entry}\n[models.dqn]")))
    assert result.code == 2
    assert f"accept[0].{message}" in result.err or message in result.err


def test_rendering_honours_an_acceptance_also_after_its_day(
    run: Callable[..., Result], edit: Callable[..., Path], templates: Path
) -> None:
    """A night's training does not begin to fail by the calendar; `check` asks to look again."""
    base = templates / "bases/_base.yml.j2"
    text = base.read_text(encoding="utf-8").replace("max: 2", "max: 5")
    base.write_text(text, encoding="utf-8")
    options = ("--quiet", "--templates", templates)
    assert run(*options).code == 1
    entry = '[[accept]]\ncode = "PIP120"\nreason = "r"\nuntil = 2020-01-01\n\n[models.dqn]'
    routing = edit(("[models.dqn]", entry))
    assert run(*options, "--routing", routing).code == 0
    result = run("check", "--routing", routing, "--templates", templates)
    assert result.code == 1
    assert "error ACC101" in result.out
