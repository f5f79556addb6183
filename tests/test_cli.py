"""Commands, options, exit codes and what reaches the disk."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT, SHIPPED, TEMPLATES, Result

SCRIPT = ROOT / "generate_pipeline.py"


def test_no_command_means_render(run: Callable[..., Result]) -> None:
    assert run("--quiet").code == 0
    first = Path("child-pipeline.yml").read_bytes()
    assert run("render", "--quiet").code == 0
    assert Path("child-pipeline.yml").read_bytes() == first


def test_it_works_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quiet"], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout == b""
    assert yaml.safe_load((tmp_path / "child-pipeline.yml").read_bytes())["stages"] == ["train"]


def test_render_says_what_it_wrote(run: Callable[..., Result]) -> None:
    result = run("--source", "push", "--branch", "main", "--var", "REGISTRY=r")
    assert result.out == ""
    told = "wrote child-pipeline.yml: 19 jobs for a parent pipeline from push on main\n"
    assert result.err == told


@pytest.mark.parametrize("options", [("-o", "-"), ("--dry-run",), ("--dry-run", "-o", "x.yml")])
def test_printing_writes_nothing(options: tuple[str, ...], run: Callable[..., Result]) -> None:
    result = run(*options)
    assert result.code == 0
    assert result.out.startswith("# Written by generate_pipeline.py")
    assert list(Path().iterdir()) == []


def test_check_compares_with_the_file_on_disk(run: Callable[..., Result]) -> None:
    missing = run("--check", "--quiet")
    assert (missing.code, missing.out) == (1, "")
    assert "does not exist" in missing.err
    run("--quiet")
    assert run("--check", "--quiet").code == 0
    path = Path("child-pipeline.yml")
    edited = path.read_text(encoding="utf-8").replace('"12h"', '"13h"', 1)
    path.write_text(edited, encoding="utf-8")
    differs = run("--check", "--quiet")
    assert differs.code == 1
    assert '-  timeout: "13h"\n+  timeout: "12h"' in differs.out
    assert path.read_text(encoding="utf-8") == edited, "--check writes nothing"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rendr"], 2, 'unknown command "rendr"; did you mean "render"?'),
        (["--frobnicate"], 2, 'unknown option "--frobnicate"'),
        (["explain"], 2, "required: JOB"),
        (["explain", "hyperopt-dqm"], 2, 'no job "hyperopt-dqm"; did you mean "hyperopt-dqn"?'),
        (["preview", "--format", "xml"], 2, "invalid choice: 'xml'"),
        (["--var", "REGISTRY"], 2, "--var REGISTRY: write NAME=VALUE"),
        (["--var", "A-B=c"], 2, "--var A-B=c: write NAME=VALUE"),
        (["--job", "nothing-*"], 3, 'no job matches "nothing-*"'),
        (["--job", "hyperopt-dqm"], 3, 'did you mean "hyperopt-dqn"?'),
        (["--job", "hyperopt-dqn", "--job", "kann"], 3, 'no job matches "kann"'),
        (["-o", "no/such/folder/child.yml"], 2, "cannot be written (No such file or directory)"),
        (["-o", "."], 2, "is not a regular file"),
        (["-o", os.devnull], 2, "is not a regular file"),
        (["-o", str(SHIPPED)], 2, "this is an input"),
        (["-o", str(TEMPLATES / "tasks/hyperopt.yml.j2")], 2, "this is an input"),
        (["--routing", "."], 2, "cannot be read (Is a directory)"),
        (["--dry-run", "--check"], 2, "not allowed with argument"),
        (["--check", "-o", "-"], 2, "--check compares with a file"),
        (["--source", "push", "--branch", "topic"], 3, "nothing would run"),
        (["--source", "schedule", "--var", "TRAIN_VALIDATE=True"], 3, "case and blanks count"),
        (["preview", "--why", "hyperopt-dqm"], 2, 'did you mean "hyperopt-dqn"?'),
        (["eval", "$A = 1"], 2, "write == to compare"),
    ],
)
def test_wrong_usage_gets_a_message_and_an_exit_code(
    arguments: list[str], code: int, message: str, run: Callable[..., Result]
) -> None:
    result = run(*arguments)
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_train_jobs_selects_like_job(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    monkeypatch.setenv("TRAIN_JOBS", " hyperopt-dqn,  *-tft ")
    names = [job["name"] for job in json.loads(run("preview", "--format", "json").out)["jobs"]]
    assert names == ["hyperopt-dqn", "hyperopt-tft", "train-validate-tft"]
    names = [
        job["name"]
        for job in json.loads(run("preview", "--format", "json", "--job", "*-kan").out)["jobs"]
    ]
    assert names == ["hyperopt-kan", "train-validate-kan"], "--job wins over the variable"
    monkeypatch.setenv("TRAIN_JOBS", "  ")
    assert len(json.loads(run("preview", "--format", "json").out)["jobs"]) == 19
    monkeypatch.setenv("TRAIN_JOBS", "$(touch x) `id`; rm -rf /")
    assert run().code == 3
    assert list(Path().iterdir()) == []


def test_writing_replaces_the_file_in_one_step(run: Callable[..., Result]) -> None:
    target = Path("real.yml")
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link = Path("child-pipeline.yml")
    link.symlink_to(target)
    assert run("--quiet").code == 0
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("# Written")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in Path().iterdir()) == ["child-pipeline.yml", "real.yml"]


def test_a_new_file_gets_ordinary_permissions(run: Callable[..., Result]) -> None:
    mask = os.umask(0o022)
    try:
        run("--quiet")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(Path("child-pipeline.yml").stat().st_mode) == 0o644


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    Path("child-pipeline.yml").write_text("old", encoding="utf-8")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    result = run("--quiet")
    assert result.code == 2
    assert "child-pipeline.yml: cannot be written (No space left on device)" in result.err
    assert [path.name for path in Path().iterdir()] == ["child-pipeline.yml"]
    assert Path("child-pipeline.yml").read_text(encoding="utf-8") == "old"


def test_preview_as_text(run: Callable[..., Result]) -> None:
    out = run("preview", "--source", "schedule", "--branch", "main").out
    lines = out.splitlines()
    row = next(line for line in lines if line.startswith("hyperopt-kan"))
    assert row.split() == ["hyperopt-kan", "2", "1000m/2000m", "16Gi/40Gi", "15", "12h", "absent"]
    above = out[: out.index(row)]
    pool = "ci-training (NVIDIA L40S): 16 jobs (supervised), 4 at once on each of at most 1"
    assert above.index("ci-compile (NVIDIA L4): 3 jobs (rl)") < above.index(pool)
    assert "0.79\nEUR per node and hour" in above
    assert max(map(len, lines)) <= 80, "it fits a terminal"
    assert "19 jobs for a parent pipeline from schedule on main" in out


def test_preview_as_json_and_markdown_say_the_same(run: Callable[..., Result]) -> None:
    jobs = json.loads(run("preview", "--format", "json").out)["jobs"]
    rows = [
        line for line in run("preview", "--format", "markdown").out.splitlines() if line[:1] == "|"
    ]
    assert len(rows) == 2 + len(jobs) == 21
    for row, job in zip(rows[2:], jobs, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == job["name"]
        assert cells[4] == f"{job['requests']['cpu']}/{job['limits']['cpu']}"
        assert cells[6] == str(job["epochs"])
        assert cells[8] == job["resource_group"]
        assert cells[9] == job["mode"] == "manual"


def test_explain_shows_each_value_with_its_line_and_the_reason(run: Callable[..., Result]) -> None:
    out = run("explain", "hyperopt-dqn", "--routing", SHIPPED).out
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    epochs = next(line for line in out.splitlines() if line.startswith("epochs"))
    number = int(epochs.split("routing.toml:")[1].split()[0])
    assert lines[number - 1].startswith("epochs = 8")
    assert "Why ci-compile: CPU-bound (environment simulation)" in out
    assert "trains dqn on NVIDIA L4" in out
    assert "2h 27m" in out


def test_explain_as_json(run: Callable[..., Result]) -> None:
    found = json.loads(run("explain", "train-validate-rl", "--format", "json").out)
    values = {value["name"]: value for value in found["values"]}
    assert found["reason"].startswith("CPU-bound")
    assert values["pool"]["value"] == "ci-compile"
    assert values["pool"]["key"] == "families.rl.pool"
    assert values["rules[1]"]["key"] == "pipeline.rules[1]"
    assert values["rules[1]"]["line"] != values["rules[0]"]["line"]


def test_markdown_escapes_what_would_break_a_table(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(('tags = ["kapsule", "gpu"]', 'tags = ["a|b"]'))
    out = run("explain", "hyperopt-dqn", "--format", "markdown", "--routing", routing).out
    assert r"| a\|b" in next(line for line in out.splitlines() if line.startswith("| tags"))


def test_the_reason_is_that_of_whoever_chose_the_pool(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    moved = edit(("[models.dqn]", '[models.kan]\npool = "ci-compile"\n[models.dqn]'))
    out = run("explain", "hyperopt-kan", "--routing", moved).out
    assert "Why ci-compile: no reason is given where the pool is chosen" in out
    told = edit(("[models.dqn]", '[models.kan]\npool = "ci-compile"\nreason = "r"\n[models.dqn]'))
    assert "Why ci-compile: r (" in run("explain", "hyperopt-kan", "--routing", told).out


def test_a_disabled_job_is_no_typo(run: Callable[..., Result], edit: Callable[..., Path]) -> None:
    routing = edit(("[models.dqn]", "[models.kan.tasks.hyperopt]\nenabled = false\n[models.dqn]"))
    result = run("explain", "hyperopt-kan", "--routing", routing)
    assert result.code == 2
    assert re.search(r'job "hyperopt-kan" is disabled: \S*routing.toml:\d+', result.err)


def test_a_model_that_is_left_out_of_a_shared_job_disables_no_job(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    off = "[models.{}.tasks.train-validate]\nenabled = false\n"
    some = edit(("[models.dqn]", f"{off.format('dqn')}[models.dqn]"))
    result = run("explain", "train-validate-dqn", "--routing", some)
    assert result.code == 2
    assert 'no job "train-validate-dqn"' in result.err
    assert "`preview` lists all jobs" in result.err
    both = edit(("[models.dqn]", f"{off.format('dqn')}{off.format('ppo')}[models.dqn]"))
    result = run("explain", "train-validate-rl", "--routing", both)
    assert 'job "train-validate-rl" is disabled' in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--source", "push"], "--source: goes with CHILD"),
        (["check", "--var", "REGISTRY=r"], "--var: goes with CHILD"),
        (["check", "--runner-name", "n"], "--runner-name: goes with --runner"),
        (["check", "--runner-max-timeout", "1h"], "--runner-max-timeout: goes with --runner"),
        (["plan", "--runner-tags", "a"], "--runner-tags: goes with --runner"),
        (["cluster", "fit", "--runner-name", "n"], "--runner-name: goes with --runner"),
        (["cluster", "fit", "--runner-max-timeout", "1h"], "--runner-max-timeout"),
        (["explain", "hyperopt-dqn", "--branch", "main"], "--branch"),
    ],
)
def test_an_option_without_effect_is_refused(
    arguments: list[str], message: str, run: Callable[..., Result]
) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{sys.executable}' '{SCRIPT}' -o - --quiet | head -1"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("# Written")
    assert done.stderr == ""


def test_output_is_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "-o", "-", "--quiet", "--var", "REGISTRY=é"],
        cwd=tmp_path, capture_output=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )  # fmt: skip
    assert 'REGISTRY: "é"' in done.stdout.decode("utf-8")


def test_help_names_every_command_and_needs_no_third_party_import(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", SCRIPT, "--help"], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    for command in ("render", "preview", "explain", "schema"):
        assert f"    {command} " in done.stdout
    assert "exit codes:" in done.stdout


def test_interrupting_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    from gpu_pipeline.commands import show

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "run_preview", interrupt)
    assert run("preview").code == 130


def test_the_temporary_file_stands_in_the_same_folder(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    """Only then is the last step a rename, which cannot be half done."""
    import tempfile

    folders = []
    original = tempfile.mkstemp

    def watch(**options: object) -> tuple[int, str]:
        folders.append(options["dir"])
        return original(**options)  # type: ignore[call-overload]

    monkeypatch.setattr(tempfile, "mkstemp", watch)
    Path("below").mkdir()
    assert run("-o", "below/child.yml", "--quiet").code == 0
    assert folders == [Path("below").resolve()]


@pytest.mark.parametrize("command", [("preview",), ("preview", "--all"), ("plan",)])
def test_what_render_refuses_is_said_where_it_is_shown(
    command: tuple[str, ...], run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    too_many = edit(("concurrency = 2 ", "concurrency = 3 "))
    result = run(*command, "--routing", too_many)
    assert result.out
    assert "render refuses this: " in result.err
    assert " FIT102: " in result.err
    assert run(*command, "--routing", too_many, "--quiet").err == ""
    assert "refuses" not in run(*command).err


def test_a_child_that_is_not_written_anew_is_said_to_be_old(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    assert run().code == 0
    result = run("--routing", edit(("epochs = 15", "epochs = 0")))
    assert result.code == 2
    assert result.err.endswith(
        "child-pipeline.yml was not written: the one there is an older one\n"
    )
