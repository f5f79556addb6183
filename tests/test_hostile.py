"""Inputs and surroundings that mean no good: a message and an exit code, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT, SHIPPED, TEMPLATES, Result

SCRIPT = ROOT / "generate_pipeline.py"
QUIET = ["--routing", str(SHIPPED), "--templates", str(TEMPLATES), "--source", "web", "--quiet"]


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a real process, for what happens to its streams and its environment."""
    program = f"'{sys.executable}' '{SCRIPT}'"
    return subprocess.run(
        ["bash", "-c", command.replace("GENERATE", program)],
        cwd=folder, capture_output=True, check=False, timeout=60,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "9" * 5000,
        "[pipeline]\nepochs = 0x" + "f" * 5000,
        "[pipeline]\nimage = 0x" + "f" * 5000,
        "[pipeline]\ntimeout = 0x" + "f" * 5000,
        "[pipeline]\nrequests.cpu = 0x" + "f" * 5000,
        '[pipeline]\nrequests.cpu = "1e' + "9" * 5000 + '"',
        "[a]\n" + "a." * 3000 + "a = 1",
        "a = " + "{a=" * 500 + "1" + "}" * 500,
        '[families.rules]\nmodels = [1, "ppo"]',
        "[pipeline]\nrules = [{ changes = [1], exists = [[]] }, 3, [4]]",
        "[[contexts]]\nsource = 3\n[[contexts]]\n",
        "contexts = [1, 'x']",
    ],
    ids=range(12),
)
def test_a_monstrous_file_gets_a_message(
    text: str, run: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "routing.toml"
    path.write_text(text, encoding="utf-8")
    result = run("--routing", path)
    assert result.code == 2
    assert "routing.toml:" in result.err
    assert max(map(len, result.err.splitlines())) < 400


def test_hundreds_of_unknown_names_are_no_reason_to_wait(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    """Each unknown name is compared with all those that exist."""
    models = ", ".join(f'"m{n}"' for n in range(500))
    unknown = "".join(f"[models.mx{n}]\nepochs = 1\n" for n in range(500))
    routing = edit(('"diffusion"]', f'"diffusion", {models}]'))
    with routing.open("a", encoding="utf-8") as stream:
        stream.write(unknown)
    result = run("--routing", routing)
    assert result.code == 2
    assert result.err.count("no family has this model") == 500


def test_templates_behind_a_link_are_inputs_too(tmp_path: Path, run: Callable[..., Result]) -> None:
    real = tmp_path / "real"
    subprocess.run(["cp", "-r", TEMPLATES, tmp_path / "T"], check=True)
    (tmp_path / "T" / "tasks").rename(real)
    (tmp_path / "T" / "tasks").symlink_to(real)
    before = (real / "hyperopt.yml.j2").read_bytes()
    for output in ("T/tasks/hyperopt.yml.j2", "real/hyperopt.yml.j2", "T/new.yml"):
        result = run("--templates", "T", "-o", output)
        assert (result.code, "this is an input" in result.err) == (2, True), output
    assert (real / "hyperopt.yml.j2").read_bytes() == before
    fingerprint = run("--templates", "T", "-o", "-").out
    (real / "hyperopt.yml.j2").write_bytes(before + b"{# changed #}")
    assert run("--templates", "T", "-o", "-").out != fingerprint


@pytest.mark.parametrize("kind", ["loop", "folder", "dangling", "fifo", "hidden"])
def test_odd_things_among_the_templates(
    kind: str, templates: Path, run: Callable[..., Result]
) -> None:
    odd = templates / ("bases/.#_base.yml.j2" if kind == "hidden" else "odd.yml.j2")
    if kind == "folder":
        odd.mkdir()
    elif kind == "fifo":
        os.mkfifo(odd)
    else:
        odd.symlink_to(odd if kind == "loop" else "nowhere")
    result = run("--templates", templates, "--quiet")
    assert result.code in (0, 2), result
    assert "internal error" not in result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  cache:\n    [a, b]: c\n", "a key is a list or mapping"),
        ('  cache: !!int "abc"\n', "the tag does not fit the value"),
        ('  cache: !!timestamp "2024-99-99"\n', "the tag does not fit the value"),
        ('  cache: {{ "\\ud800" }}\n', "half of a character"),
        ('  cache: {{ "\\ud800" | quoted }}\n', "half of a character"),
        ("  cache: {{ job.models.count }}\n", 'has no "count"'),
        ("  cache: {{ job.models[0].upper() }}\n", 'str has no "upper"'),
        ("  cache: {{ (1).real }}\n", 'int has no "real"'),
        ("  cache: {{ job.name is defnied }}\n", 'no test is named "defnied"'),
        ("  cache: {{ 1 / 0 }}\n", "division by zero"),
    ],
)
def test_odd_values_in_a_template(
    text: str, message: str, templates: Path, run: Callable[..., Result]
) -> None:
    task = templates / "tasks/_task.yml.j2"
    task.write_text(task.read_text(encoding="utf-8") + text, encoding="utf-8")
    result = run("--templates", templates, "--quiet")
    assert result.code == 2
    assert message in result.err
    assert "templates/tasks/" in result.err


def test_a_misspelt_block_is_named(templates: Path, run: Callable[..., Result]) -> None:
    base = templates / "bases/train-rl-base.yml.j2"
    text = base.read_text(encoding="utf-8").replace("block own_setup", "block own_setpu")
    base.write_text(text, encoding="utf-8")
    result = run("--templates", templates)
    assert result.code == 2
    assert "bases/train-rl-base.yml.j2:3: bases/_base.yml.j2 has no block" in result.err
    assert 'did you mean "own_setup"?' in result.err


def test_an_endfilter_without_its_plus_is_explained(
    templates: Path, run: Callable[..., Result]
) -> None:
    task = templates / "tasks/train-validate.yml.j2"
    text = task.read_text(encoding="utf-8").replace("endfilter +%}", "endfilter %}")
    task.write_text(text, encoding="utf-8")
    result = run("--templates", templates)
    assert result.code == 2
    assert "end a command with {% endfilter +%}" in result.err


@pytest.mark.parametrize("output", ["loop", "n" * 300, "file/child.yml"])
def test_an_output_that_cannot_be(output: str, run: Callable[..., Result]) -> None:
    Path("loop").symlink_to("loop")
    Path("file").write_text("x", encoding="utf-8")
    for options in (("-o", output), ("--check", "-o", output)):
        result = run(*options, "--quiet")
        assert result.code in (1, 2), result
        assert "internal error" not in result.err


def test_the_longest_file_name_works(run: Callable[..., Result]) -> None:
    name = "n" * 251 + ".yml"
    assert run("-o", name, "--quiet").code == 0
    assert Path(name).exists()


def test_check_notices_line_ends(run: Callable[..., Result]) -> None:
    run("--quiet")
    path = Path("child-pipeline.yml")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    result = run("--check", "--quiet")
    assert (result.code, result.out) == (1, "only the line ends differ\n")


@pytest.mark.parametrize(
    ("command", "code", "file"),
    [
        ("GENERATE -o c.yml 2>&-", 0, True),
        ("GENERATE -o c.yml 2>/dev/full", 0, True),
        ("GENERATE -o c.yml >&-", 0, True),
        ("GENERATE -o c.yml 2> >(exec 0<&-)", 0, True),
        ("GENERATE -o - >&-", 2, False),
        ("GENERATE -o - >/dev/full", 2, False),
        ("GENERATE preview >/dev/full", 2, False),
        ("GENERATE --routing none.toml 2>&-", 2, False),
    ],
)
def test_closed_and_full_streams(command: str, code: int, file: bool, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "c.yml").exists() == file
    assert b"Traceback" not in done.stderr


def test_a_warning_never_lands_in_the_pipeline(tmp_path: Path) -> None:
    done = shell("GENERATE -o - 2>&-", tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b"# Written by")


def test_a_reader_that_goes_away_in_the_middle_is_no_error(tmp_path: Path) -> None:
    done = shell(
        "GENERATE preview --all --format json | head -c 10; echo ${PIPESTATUS[0]}", tmp_path
    )
    assert done.stdout.endswith(b"0\n")
    assert done.stderr == b""


def test_texts_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    done = shell(
        "GENERATE -o - --quiet --var TRAIN_VALIDATE=é", tmp_path,
        REGISTRY="ü", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii",
    )  # fmt: skip
    variables = yaml.safe_load(done.stdout)["variables"]
    assert (variables["REGISTRY"], variables["TRAIN_VALIDATE"]) == ("ü", "é")
    help_text = shell("GENERATE render --help", tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert help_text.returncode == 0


def test_undecodable_bytes_are_told_not_thrown(tmp_path: Path) -> None:
    done = shell("GENERATE -o -", tmp_path, REGISTRY="x").returncode
    assert done == 0
    done_bad = subprocess.run(
        [sys.executable.encode(), os.fsencode(SCRIPT), b"preview", b"--branch", b"\xff"],
        cwd=tmp_path, capture_output=True, check=False,
        env={**os.environb, b"REGISTRY": b"a\xff"},
    )  # fmt: skip
    assert done_bad.returncode == 2
    assert b"REGISTRY is not valid UTF-8" in done_bad.stderr


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\rb", "\u202etxt", "\u2028", "\x07"])
def test_no_value_reaches_the_terminal_raw(
    hostile: str, run: Callable[..., Result], edit: Callable[..., Path], templates: Path
) -> None:
    (templates / "tasks/hyperopt.yml.j2").write_text(f"- '{hostile}", encoding="utf-8")
    escaped = hostile.encode("unicode_escape").decode().replace('"', '\\"')
    routing = edit(
        ('reason = "CPU', f'reason = "{escaped.replace(chr(92) + "x", chr(92) + "u00")} CPU')
    )
    outputs = [
        run("--job", hostile),
        run("--source", hostile),
        run("explain", hostile),
        run("--var", f"{hostile}=1"),
        run("-o", f"no/{hostile}"),
        run("preview", "--branch", hostile),
        run("preview", "--branch", hostile, "--format", "markdown"),
        run("--templates", templates),
        run("explain", "hyperopt-dqn", "--routing", routing),
        run("eval", f"$A == {hostile}"),
    ]
    for result in outputs:
        assert hostile not in result.out + result.err


def test_an_unreadable_folder_is_named(templates: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        (templates / "tasks").chmod(0)
        done = shell(f"GENERATE --templates '{templates}'", tmp_path)
        (templates / "tasks").chmod(0o755)
        assert done.returncode == 2
        assert b"cannot be read" in done.stderr
    else:
        (templates / "tasks").chmod(0o755)  # root reads everything: nothing to refuse
        assert shell(f"GENERATE --quiet --templates '{templates}'", tmp_path).returncode == 0


def test_a_deleted_working_folder_is_no_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = shell(f"cd '{folder}' && rmdir '{folder}' && GENERATE -o - --quiet", tmp_path)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 2)


def test_an_internal_error_is_one_line(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    from gpu_pipeline import console
    from gpu_pipeline.commands import show

    def fail(*_: object) -> int:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(show, "run_preview", fail)
    result = run("preview")
    assert result.code == 70
    assert result.err.startswith(
        "internal error: ZeroDivisionError: oops (set GPU_PIPELINE_DEBUG=1"
    )
    monkeypatch.setenv("GPU_PIPELINE_DEBUG", "1")
    monkeypatch.setattr(console, "_secrets", {"ZeroDivisionError: oops"})
    result = run("preview")
    assert result.code == 70
    assert "Traceback" in result.err
    assert result.err.rstrip().endswith("[MASKED]")


@pytest.mark.parametrize("text", ["x" + ".x" * 20_000 + " = 1\n", "[x" + ".x" * 20_000 + "]\n"])
def test_a_key_of_many_parts_is_refused_at_once(
    text: str, run: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "deep.toml").write_text(text, encoding="utf-8")
    result = run("--routing", "deep.toml")
    assert result.code == 2
    assert "deep.toml:1: tables or arrays are nested too deeply" in result.err


def test_a_name_that_no_file_can_have_is_told(run: Callable[..., Result]) -> None:
    for arguments in (
        ("preview", "--templates", "a" * 300),
        ("init", "--from", ROOT / "tests/init/good/odd.yml", "-o", "a" * 300),
    ):
        result = run(*arguments)
        assert result.code == 2
        assert "File name too long" in result.err


FAN = "b0:\n  script: [make]\n" + "".join(
    f"b{n}:\n  script: [{', '.join([f'!reference [b{n - 1}, script]'] * 9)}]\n"
    for n in range(1, 10)
)
DEEP = "b:\n  script: {0}x{1}\na:\n  script: {0}!reference [b, script]{1}\n".format(
    "[" * 150, "]" * 150
)


@pytest.mark.parametrize(("text", "message"), [(FAN, "too many values"), (DEEP, "nested")])
def test_references_that_explode_are_a_finding(
    text: str, message: str, run: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "ci.yml").write_text(text, encoding="utf-8")
    result = run("check", "ci.yml")
    assert result.code == 1
    assert message in " ".join(result.out.split())
    assert run("init", "--from", "ci.yml", "-o", "-").code == 2


def test_a_timeout_beyond_every_number_is_none(run: Callable[..., Result]) -> None:
    text = f"train-tft:\n  timeout: {'9' * 400}h\n  script: [./train --model tft --epochs 3]\n"
    Path("ci.yml").write_text(text, encoding="utf-8")
    result = run("init", "--from", "ci.yml", "-o", "-")
    assert result.code == 1
    assert "timeout" in result.out
