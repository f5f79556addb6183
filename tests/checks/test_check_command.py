"""`check`: what it looks at, how it tells, and when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SHIPPED, Result

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
    assert "landing on ci-compile (NVIDIA L4): 16 jobs" in " ".join(result.out.split())
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
        (["--parent", "none.yml"], "name another file with --parent"),
        (["--runner", "none.toml"], "none.toml"),
        (["--parent", "broken.yml"], "broken.yml:1:"),
        (["--parent", "latin.yml"], "latin.yml: is not UTF-8; name another file with --parent"),
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


def test_what_a_file_says_cannot_shape_the_report(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    name = "a`<img src=x>\nforged.yml:1: error RUL101"
    child = tmp_path / "child.yml"
    child.write_text(json.dumps({name: {"script": ["make"], "retry": 5}}), encoding="utf-8")
    text = run("check", child).out
    assert not any(line.startswith("forged") for line in text.splitlines())
    markdown = run("check", child, "--format", "markdown").out
    assert all(
        line.startswith(("- **", "1 error", "2 errors")) for line in markdown.splitlines() if line
    )
    assert "``" in markdown


def test_two_findings_at_one_place_are_two(run: Callable[..., Result], tmp_path: Path) -> None:
    child = tmp_path / "child.yml"
    child.write_text("a:\n  script: [make]\n  image: $ONE/$OTHER\n", encoding="utf-8")
    found = json.loads(run("check", child, "--format", "json").out)
    assert [each["code"] for each in found] == ["PIP155", "PIP155"]


def test_a_file_without_an_end_is_refused(run: Callable[..., Result]) -> None:
    result = run("check", "/dev/zero")
    assert (result.code, result.out) == (2, "")
    assert "larger than 16 MiB" in result.err


def runner_file(run: Callable[..., Result], folder: Path, *, without: str = "\0") -> Path:
    """A config.toml as `cluster runner` prints it, less the lines that contain `without`."""
    path = folder / "config.toml"
    lines = run("cluster", "runner").out.splitlines()
    path.write_text("\n".join(line for line in lines if without not in line), encoding="utf-8")
    return path


def runner_codes(result: Result) -> list[tuple[str, str]]:
    found = json.loads(result.out)
    return [
        (each["code"], each["message"])
        for each in found
        if each["code"].startswith("RUN") and each["severity"] != "note"
    ]


def test_a_child_file_is_held_against_the_runner(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    child = tmp_path / "child.yml"
    assert run("render", "-o", child).code == 0
    passing = runner_file(run, tmp_path)
    assert runner_codes(run("check", child, "--runner", passing, "--format", "json")) == []
    failing = runner_file(run, tmp_path, without="node_selector_overwrite")
    [(code, message)] = runner_codes(run("check", child, "--runner", failing, "--format", "json"))
    assert code == "RUN101"
    assert "landing on ci-compile (NVIDIA L4): 16 jobs" in message


def test_a_child_by_hand_is_held_against_the_runner(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    child = tmp_path / "child.yml"
    child.write_text(
        """
fit:
  script: [make]
  variables:
    KUBERNETES_NODE_SELECTOR_X: pool=h100
    KUBERNETES_NODE_TOLERATIONS_X: gpu=true:NoSchedule
    KUBERNETES_MEMORY_REQUEST: 900Gi
  rules: [{when: always, variables: {KUBERNETES_CPU_REQUEST: "64"}}]
""",
        encoding="utf-8",
    )
    result = run("check", child, "--runner", runner_file(run, tmp_path), "--format", "json")
    found = runner_codes(result)
    assert sorted(code for code, _ in found) == ["RUN102", "RUN105", "RUN106", "RUN106"]
    assert any("child.yml:7" in message for _, message in found)


@pytest.mark.parametrize(
    ("name", "why"),
    [("KUBERNETES_GPU_LIMIT", "pod_spec patch"), ("KUBERNETES_CPU_REQEST", "did you mean")],
)
def test_a_variable_that_no_runner_reads_is_found_in_any_child(
    run: Callable[..., Result], tmp_path: Path, name: str, why: str
) -> None:
    child = tmp_path / "child.yml"
    child.write_text(f'a:\n  script: [make]\n  variables:\n    {name}: "1"\n', encoding="utf-8")
    [found] = json.loads(run("check", child, "--format", "json").out)
    assert (found["code"], found["line"]) == ("RUN123", 4)
    assert found["key"] == f"variables.{name}"
    assert why in found["message"]


def test_the_largest_of_a_jobs_services_is_held_against_the_runner(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    services = [
        {"name": "redis", "variables": {"KUBERNETES_SERVICE_CPU_REQUEST": size}}
        for size in ("1", "3", "2500m")
    ]
    child = tmp_path / "child.yml"
    child.write_text(json.dumps({"a": {"script": ["make"], "services": services}}), "utf-8")
    config = runner_file(run, tmp_path)
    result = run("check", child, "--runner", config, "--format", "json")
    [(code, message)] = runner_codes(result)
    assert code == "RUN103"
    assert "asked for is 3," in message


@pytest.mark.parametrize("value", ["!!timestamp x", "!!bool x", '!!int ""'])
def test_a_tag_that_its_value_does_not_fit_is_told_at_its_line(
    run: Callable[..., Result], tmp_path: Path, value: str
) -> None:
    child = tmp_path / "child.yml"
    child.write_text(f"a:\n  script: [make]\n  timeout: {value}\n", encoding="utf-8")
    [found] = json.loads(run("check", child, "--format", "json").out)
    assert (found["code"], found["line"]) == ("PIP101", 3)
    assert f"is no {value.split(maxsplit=1)[0]}" in found["message"]


def test_a_number_without_an_end_in_a_runner_file_is_told(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    config = runner_file(run, tmp_path)
    config.write_text(config.read_text(encoding="utf-8") + f"\n[x]\ny = {'9' * 5000}\n", "utf-8")
    result = run("check", "--runner", config)
    assert result.code == 2
    assert "not valid TOML" in result.err


@pytest.mark.parametrize("written", ["~", "!reference []", "[1]", '""'])
def test_a_size_that_is_no_text_is_no_size(
    run: Callable[..., Result], tmp_path: Path, written: str
) -> None:
    child = tmp_path / "child.yml"
    child.write_text(
        f"a:\n  script: [make]\n  variables:\n    KUBERNETES_CPU_LIMIT: {written}\n",
        encoding="utf-8",
    )
    config = runner_file(run, tmp_path)
    result = run("check", child, "--runner", config, "--format", "json")
    codes = {each["code"] for each in json.loads(result.out)}
    assert not codes & {"PIP159", "RUN105", "RUN106", "RUN107"}
    assert "Reference(" not in result.out


def test_a_size_is_judged_as_gitlab_passes_it_on(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    child = tmp_path / "child.yml"
    child.write_text(
        "a:\n  script: [make]\n  variables:\n    KUBERNETES_CPU_LIMIT: 0x10\n", encoding="utf-8"
    )
    result = run("check", child, "--runner", runner_file(run, tmp_path), "--format", "json")
    [(code, message)] = runner_codes(result)
    assert code == "RUN106"
    assert 'requested "16"' in message


def test_each_output_has_a_file_of_its_own(run: Callable[..., Result], tmp_path: Path) -> None:
    report = tmp_path / "report"
    result = run("check", "-o", report, "--codequality", report)
    assert (result.code, report.exists()) == (2, False)
    assert "-o and --codequality name the same file" in result.err
    result = run("check", "--codequality", SHIPPED)
    assert f"--codequality {SHIPPED}: this is an input" in result.err
    result = run("check", "--codequality", tmp_path)
    assert "is not a regular file; name another with --codequality" in result.err


def test_marks_of_documents_are_no_reason_to_wait(run: Callable[..., Result]) -> None:
    Path("many.yml").write_text("---\n\n\n\n" * 500 + "fit: {script: [make]}\n", encoding="utf-8")
    assert "PIP101" in run("check", "many.yml").out
