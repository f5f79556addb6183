"""Every command under circumstances that nobody chose: odd files, paths, streams and neighbours."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gpu_pipeline.errors import EXIT_INTERNAL

from .conftest import ROOT, SHIPPED, TEMPLATES, Result

SCRIPT = ROOT / "generate_pipeline.py"
Run = Callable[..., Result]
# Each command with what it needs besides --routing; those that read a routing.
COMMANDS: dict[str, tuple[str, ...]] = {
    "render": ("render", "-o", "-"),
    "preview": ("preview",),
    "preview --all": ("preview", "--all"),
    "preview --why": ("preview", "--why", "hyperopt-dqn"),
    "explain": ("explain", "hyperopt-dqn"),
    "check": ("check",),
    "cluster runner": ("cluster", "runner"),
    "cluster sharing": ("cluster", "sharing"),
    "cluster fit": ("cluster", "fit"),
    "plan": ("plan",),
    "plan --against": ("plan", "--against", str(ROOT / "examples" / "single-pool.toml")),
    "plan --sweep": ("plan", "--sweep", "concurrency=1..3"),
    "plan --suggest": ("plan", "--suggest", "--job", "train-*"),
    "plan, HTML": ("plan", "--format", "html"),
    "diff": ("diff", str(ROOT / "examples" / "single-pool.toml")),
}
every_command = pytest.mark.parametrize("name", COMMANDS)


def start(*arguments: str | Path, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@every_command
def test_line_ends_of_windows_change_nothing(name: str, run: Run, tmp_path: Path) -> None:
    results = []
    for folder, end in (("unix", b"\n"), ("windows", b"\r\n")):
        path = tmp_path / folder / "routing.toml"
        path.parent.mkdir()
        path.write_bytes(SHIPPED.read_bytes().replace(b"\n", end))
        os.chdir(path.parent)
        results.append(run(*COMMANDS[name], "--routing", "routing.toml"))
    unix, windows = results
    assert windows.code == unix.code == 0
    # The fingerprint is that of the bytes, and a patch says that it has such line ends.
    lines = [line for line in windows.out.splitlines() if "CRLF" not in line]
    assert len(lines) == len(unix.out.splitlines())


@every_command
def test_blanks_and_letters_of_all_kinds_in_a_path(name: str, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mein Ordner – 訓練 'é\""
    folder.mkdir()
    (folder / "routing.toml").write_bytes(SHIPPED.read_bytes())
    result = run(*COMMANDS[name], "--routing", folder / "routing.toml")
    assert result.code == 0
    assert "error" not in result.err


@every_command
def test_a_link_leads_where_it_leads(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(SHIPPED)
    (tmp_path / "templates").symlink_to(TEMPLATES)
    options = ("--routing", "link.toml", "--templates", tmp_path / "templates")
    assert run(*COMMANDS[name], *options).code == 0
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    assert run(*COMMANDS[name], "--routing", "loop.toml").code == 2


@pytest.mark.parametrize("name", ["render", "check", "cluster fit", "plan", "diff"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"\xff\xfe[\x00p\x00",
        b"[pools" + b"." * 50_000,
        b"a = " + b"[" * 20_000,
        b"x = 1\n" * 20_000,
        b"#" * (17 * 2**20),
    ],
    ids=["empty", "zeros", "UTF-16", "dots", "nested", "repeated", "huge"],
)
def test_what_is_no_routing_gets_a_message(
    content: bytes, name: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "routing.toml"
    path.write_bytes(content)
    result = run(*COMMANDS[name], "--routing", path)
    assert result.code == 2
    assert result.out == ""
    assert "routing.toml" in result.err
    assert len(result.err) < 5_000


@every_command
def test_a_folder_in_place_of_a_file(name: str, run: Run, tmp_path: Path) -> None:
    result = run(*COMMANDS[name], "--routing", tmp_path)
    assert result.code == 2
    assert "cannot be read" in result.err


@pytest.mark.parametrize("name", ["render", "check", "plan", "diff"])
@pytest.mark.parametrize("stream", [">&-", ">/dev/full"])
def test_a_result_that_nobody_gets_is_no_success(stream: str, name: str, tmp_path: Path) -> None:
    arguments = " ".join(f"'{each}'" for each in COMMANDS[name])
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' '{SCRIPT}' {arguments} {stream}"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"stdout" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("render",), ("plan",), ("plan", "--format", "html"), ("diff", str(SHIPPED))],
    ids=["render", "plan", "plan, HTML", "diff"],
)
def test_an_output_that_cannot_be_written_leaves_the_old_one(
    arguments: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "keep").write_text("kept", encoding="utf-8")
    for target in (old, old / "keep" / "below", tmp_path / "absent" / "file"):
        result = run(*arguments, "-o", target)
        assert result.code == 2
        assert "Traceback" not in result.err
    assert [each.name for each in old.iterdir()] == ["keep"]
    assert (old / "keep").read_text(encoding="utf-8") == "kept"


def test_renders_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    sources = ("push", "web", "api", "push", "web", "api")
    processes = [
        start("render", "--source", source, "--branch", "main", folder=tmp_path)
        for source in sources
    ]
    assert [process.wait(60) for process in processes] == [0] * len(sources)
    for process in processes:
        process.communicate()
    assert [each.name for each in tmp_path.iterdir()] == ["child-pipeline.yml"]
    child = yaml.safe_load((tmp_path / "child-pipeline.yml").read_text(encoding="utf-8"))
    assert child["variables"]["PARENT_PIPELINE_SOURCE"] in sources


@pytest.mark.parametrize("name", ["render", "check", "plan --suggest"])
def test_an_interrupt_at_any_moment_loses_nothing(name: str, tmp_path: Path) -> None:
    """What was written before is there, whole, or the new file is."""
    output = tmp_path / "child-pipeline.yml"
    output.write_text("old", encoding="utf-8")
    arguments = ("render",) if name == "render" else COMMANDS[name]
    draw = random.Random(name)
    for _ in range(3):
        process = start(*arguments, folder=tmp_path)
        time.sleep(draw.uniform(0.05, 0.6))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        # Python itself, while it starts, ends as it likes; nothing of ours has run by then.
        ours = b"gpu_pipeline" in err or b"Traceback" not in err
        assert process.returncode in (0, 130, -signal.SIGINT) or not ours, err
        assert b"Traceback" not in err or not ours, err
        text = output.read_text(encoding="utf-8")
        assert text == "old" or text.endswith("\n")
        assert [each.name for each in tmp_path.iterdir()] == [output.name]


@pytest.mark.parametrize("locale", ["C", "POSIX", "tr_TR.UTF-8", "xx_YY"])
def test_an_odd_locale_changes_nothing(locale: str, tmp_path: Path) -> None:
    environment = {**os.environ, "LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "plan"],
        cwd=tmp_path, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "×1.36" in done.stdout.decode("utf-8")


def test_none_of_this_is_an_internal_error(run: Run, tmp_path: Path) -> None:
    """The last resort would hide a mistake behind a message; nothing above may need it."""
    codes = {run(*COMMANDS[name], "--routing", tmp_path / "absent").code for name in COMMANDS}
    assert codes == {2}
    assert EXIT_INTERNAL not in codes
