"""`check`: what it looks at, how it tells, and when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Result

BAD_CHILD = """
stages: [train]
job:
  stage: train
  script: [echo]
  retry: 5
  rules:
    - if: $CI_PIPELINE_SOURCE == "push"
"""


def test_the_shipped_repository_has_notes_only(run: Callable[..., Result]) -> None:
    result = run("check", "--format", "json", "--fail-on", "warning")
    assert result.code == 0
    assert {each["severity"] for each in json.loads(result.out)} == {"note"}


def test_what_cluster_runner_prints_passes(run: Callable[..., Result]) -> None:
    Path("config.toml").write_text(run("cluster", "runner").out, encoding="utf-8")
    result = run("check", "--runner", "config.toml", "--format", "json", "--fail-on", "warning")
    assert result.code == 0
    assert not [each for each in json.loads(result.out) if each["code"].startswith("RUN")]


def test_one_run_tells_which_jobs_would_land_elsewhere(run: Callable[..., Result]) -> None:
    config = run("cluster", "runner").out
    lines = [line for line in config.splitlines() if "node_selector_overwrite" not in line]
    Path("config.toml").write_text("\n".join(lines), encoding="utf-8")
    result = run("check", "--runner", "config.toml")
    assert result.code == 1
    assert "landing on ci-compile (NVIDIA L4): 16 jobs" in result.out
    assert (
        r"node_selector_overwrite_allowed = '^k8s\.scaleway\.com/pool-name=ci-training$'"
        in result.out
    )


def test_a_child_file_is_checked_alone(run: Callable[..., Result]) -> None:
    Path("child.yml").write_text(BAD_CHILD, encoding="utf-8")
    found = json.loads(run("check", "child.yml", "--format", "json").out)
    assert {(each["code"], each["file"], each["line"], each["job"]) for each in found} == {
        ("PIP120", "child.yml", 6, "job"),
        ("PIP145", "child.yml", 7, "job"),
        ("RUL102", "child.yml", 8, "job"),
    }


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1)])
def test_fail_on_decides_the_exit_code(
    fail_on: str, code: int, run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(('== "web" ||', '== "web" || $FLAG == "1" ||'))
    result = run("check", "--routing", routing, "--fail-on", fail_on)
    assert result.code == code
    assert "warning RUL105" in result.out
    assert "$FLAG is defined neither" in result.out


def test_every_format_says_the_same(run: Callable[..., Result]) -> None:
    Path("child.yml").write_text(BAD_CHILD, encoding="utf-8")
    found = json.loads(run("check", "child.yml", "--format", "json").out)
    text = run("check", "child.yml").out
    markdown = run("check", "child.yml", "--format", "markdown").out
    quality = json.loads(run("check", "child.yml", "--format", "codequality").out)
    for each, reported in zip(found, quality, strict=True):
        assert f"child.yml:{each['line']}: job:{each['key']}: error {each['code']}" in text
        assert f"**error {each['code']}** `child.yml:{each['line']}: job:{each['key']}`" in markdown
        for rendering in (text, markdown, reported["description"]):
            assert each["message"] in " ".join(rendering.split())
            assert each["fix"] in rendering
        assert reported["check_name"] == each["code"]
        assert reported["severity"] == "critical"
        assert reported["location"] == {"path": "child.yml", "lines": {"begin": each["line"]}}
    assert len({each["fingerprint"] for each in quality}) == len(quality)
    assert text.endswith("3 errors\n")


def test_a_fingerprint_outlives_moved_lines(run: Callable[..., Result]) -> None:
    def fingerprints(text: str) -> set[str]:
        Path("child.yml").write_text(text, encoding="utf-8")
        report = json.loads(run("check", "child.yml", "--format", "codequality").out)
        return {each["fingerprint"] for each in report}

    assert fingerprints(BAD_CHILD) == fingerprints("# moved\n\n" + BAD_CHILD)


def test_the_report_of_a_merge_request_is_written_beside_the_text(
    run: Callable[..., Result],
) -> None:
    result = run("check", "--codequality", "report.json")
    assert result.out.endswith("3 notes\n")
    assert len(json.loads(Path("report.json").read_text(encoding="utf-8"))) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.yml"], "none.yml: cannot be read"),
        (["--parent", "none.yml"], "--parent names another file"),
        (["--runner", "none.toml"], "none.toml"),
        (["--parent", "broken.yml"], "broken.yml:1:"),
        (["--parent", "latin.yml"], "latin.yml: is not UTF-8"),
    ],
)
def test_an_unreadable_file_is_named(
    arguments: list[str], message: str, run: Callable[..., Result]
) -> None:
    Path("broken.yml").write_text("a: [\nb", encoding="utf-8")
    Path("latin.yml").write_bytes(b"a: \xff")
    result = run("check", *arguments)
    assert result.code == 2
    assert message in result.err


def test_render_refuses_what_gitlab_would_refuse(
    templates: Path, run: Callable[..., Result]
) -> None:
    base = templates / "bases/_base.yml.j2"
    text = base.read_text(encoding="utf-8")
    for old, new, code in (
        ("max: 2", "max: 5", "PIP120"),
        ("  retry:\n", "  retri:\n", "PIP109"),
        ('"30 days"', '"banana"', "PIP124"),
    ):
        base.write_text(text.replace(old, new), encoding="utf-8")
        result = run("--templates", templates, "--quiet")
        assert (result.code, Path("child-pipeline.yml").exists()) == (1, False), result.err
        assert f"error {code}" in result.err
