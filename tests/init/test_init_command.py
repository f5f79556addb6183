"""The command itself: what it writes, what it never replaces, its options and exit codes."""

from __future__ import annotations

import os
import shutil
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import TEMPLATES, Result

TEAM = Path(__file__).resolve().parent / "good/team-two-pools.yml"
PLAIN = """\
train-tft:
  tags: [gpu]
  script: ./train --model tft --epochs 2
"""


def adopt(run: Callable[..., Result], *options: str | Path, text: str = "") -> Result:
    if text:
        Path("ci.yml").write_text(text, encoding="utf-8")
    else:
        shutil.copy(TEAM, "ci.yml")
    return run("init", "--from", "ci.yml", *options)


def tree() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_help_shows_an_example(run: Callable[..., Result]) -> None:
    result = run("init", "--help")
    assert result.code == 0
    assert "init --from ci.yml -o cluster --gpu" in result.out


def test_it_writes_a_routing_and_all_templates_that_it_needs(run: Callable[..., Result]) -> None:
    assert adopt(run, "-o", "cluster").code == 0
    written = {name for name in tree() if name.startswith("cluster/")}
    assert written == {
        "cluster/routing.toml",
        "cluster/templates/child-pipeline.yml.j2",
        "cluster/templates/nothing-to-run.yml.j2",
        *(f"cluster/templates/bases/{name}.yml.j2"
          for name in ("_base", "train-rl-base", "train-validate-base")),
        *(f"cluster/templates/tasks/{name}.yml.j2"
          for name in ("_task", "train-validate", "hyperopt")),
    }  # fmt: skip


def test_the_default_is_the_current_folder(run: Callable[..., Result]) -> None:
    assert adopt(run).code == 0
    assert Path("routing.toml").is_file()
    assert Path("templates/tasks/hyperopt.yml.j2").is_file()


def test_a_file_name_is_taken_for_the_routing(run: Callable[..., Result]) -> None:
    assert adopt(run, "-o", "deep/mine.toml").code == 0
    assert Path("deep/mine.toml").is_file()
    assert Path("deep/templates/bases/_base.yml.j2").is_file()


def test_stdout_gets_the_routing_alone_and_nothing_is_written(run: Callable[..., Result]) -> None:
    result = adopt(run, "-o", "-")
    assert result.code == 0
    assert tomllib.loads(result.out)["families"]["rl"]["models"] == ["dqn", "ppo"]
    assert "19 the same" in result.err
    assert list(tree()) == ["ci.yml"]
    assert adopt(run, "-o", "-", "--quiet").err == ""


def test_nothing_that_is_there_is_replaced_without_force(run: Callable[..., Result]) -> None:
    shutil.copytree(TEMPLATES, "templates")
    Path("routing.toml").write_text("mine", encoding="utf-8")
    shutil.copy(TEAM, "ci.yml")
    before = tree()
    refused = adopt(run)
    assert (refused.code, refused.out) == (2, "")
    assert "routing.toml" in refused.err
    assert "templates/tasks/hyperopt.yml.j2" in refused.err
    assert "_base.yml.j2" not in refused.err, "what is the same already is in nobody's way"
    assert "--force" in refused.err
    assert tree() == before
    assert adopt(run, "--force").code == 0
    assert Path("routing.toml").read_text(encoding="utf-8") != "mine"
    again = tree()
    assert adopt(run).code == 0, "the same once more replaces nothing"
    assert tree() == again


def test_what_a_file_does_not_say_can_be_assumed(run: Callable[..., Result]) -> None:
    bare = adopt(run, "-o", "-", text=PLAIN)
    assert bare.code == 0
    for key in ("image", "requests.cpu", "limits.memory"):
        assert f"# TODO {key}: train-tft had none" in bare.out
        assert f"(--assume {key}=…)" in bare.err
    assumed = ("image=x/y:1", "requests.cpu=1", "limits.cpu=2", "requests.memory=4Gi",
               "limits.memory=8Gi", "timeout=3h")  # fmt: skip
    options = [part for each in assumed for part in ("--assume", each)]
    gpu = ("--gpu", "runner-default=NVIDIA L4")
    full = adopt(run, "-o", "new", *options, *gpu, text=PLAIN)
    assert full.code == 0
    assert "To fill in" not in full.out
    routing = ("--routing", "new/routing.toml", "--templates", "new/templates")
    rendered = run("render", "-o", "-", *routing, "--branch", "main")
    assert rendered.code == 0, rendered.err
    assert 'timeout: "3h"' in rendered.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpu", "ci-trainin=NVIDIA L4"], '--gpu: no pool "ci-trainin"; did you mean'),
        (["--gpu", "ci-training"], '--gpu ci-training: write POOL="NVIDIA L4"'),
        (["--gpu", "ci-training=?"], '--gpu ci-training: "?" is no GPU name'),
        (["--assume", "limits.memry=1Gi"], 'unknown key "limits.memry"; did you mean'),
        (["--assume", "limits.memory=40"], "--assume limits.memory=40: "),
        (["--assume", "timeout=90"], "--assume timeout=90: "),
        (["--templates", "nowhere"], "nowhere: holds no child-pipeline.yml.j2"),
        (["-o", "ci.yml"], "ci.yml/templates: Not a directory; name another folder with -o"),
        (["--from", "missing.yml"], "missing.yml: cannot be read"),
    ],
)
def test_wrong_options_are_told(
    options: list[str], message: str, run: Callable[..., Result]
) -> None:
    result = adopt(run, *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert list(tree()) == ["ci.yml"]


def test_from_is_required(run: Callable[..., Result]) -> None:
    result = run("init")
    assert result.code == 2
    assert "--from" in result.err


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a: \xe9", b"\x00", b"&a [*a]", b"[" * 5000])
def test_any_bytes_end_in_a_message(data: bytes, run: Callable[..., Result]) -> None:
    Path("ci.yml").write_bytes(data)
    result = run("init", "--from", "ci.yml")
    assert (result.code, result.out) == (2, "")
    assert "ci.yml" in result.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(run: Callable[..., Result]) -> None:
    Path("locked").mkdir()
    Path("locked").chmod(stat.S_IRUSR | stat.S_IXUSR)
    result = adopt(run, "-o", "locked/new")
    assert result.code == 2
    assert "Permission denied" in result.err


def test_it_grows_with_the_jobs_and_not_faster(run: Callable[..., Result]) -> None:
    """Many jobs of one shape become one family, with nothing said twice."""
    head = TEAM.read_text(encoding="utf-8").partition("\nbuild:")[0]
    jobs = "".join(
        f"\ntrain-m{n}:\n  extends: .train-validate-base\n  timeout: 2h\n"
        f"  script: [./train --model m{n} --epochs 3]\n"
        for n in range(150)
    )
    result = adopt(run, "-o", "-", text=head + jobs)
    assert result.code == 0, result.err
    routing = tomllib.loads(result.out)
    assert routing["families"]["general"]["models"] == [f"m{n}" for n in range(150)]
    assert "models" not in routing
    assert routing["tasks"] == {"train": {"epochs": 3, "timeout": "2h"}}
