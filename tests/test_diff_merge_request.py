"""What the parent pipeline's merge request job makes of a comparison."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import REFERENCE, ROOT, Result
from .repository import Repository, two_branches


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = two_branches(tmp_path / "work")
    monkeypatch.chdir(made.path)
    return made


PREVIEW = yaml.safe_load((REFERENCE / ".gitlab-ci.yml").read_text(encoding="utf-8"))[
    "preview-pipeline"
]


@pytest.fixture
def merge_request(repository: Repository, tmp_path: Path) -> Callable[[str], Result]:
    """Run the comparison of `preview-pipeline` in a shallow clone, as a runner does."""
    shutil.copy(ROOT / "generate_pipeline.py", repository.path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "gpu_pipeline", repository.path / "gpu_pipeline", ignore=ignored)
    shutil.copy(REFERENCE / ".gitlab-ci.yml", repository.path)
    repository.commit("with the generator")
    clone = tmp_path / "clone"

    def run_job(base: str) -> Result:
        url = repository.path.as_uri()
        subprocess.run(["git", "clone", "-q", "--depth", "1", url, clone], check=True)
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "python").write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8"
        )
        (tools / "python").chmod(0o755)
        lines = PREVIEW["script"][2:]
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
            cwd=clone, capture_output=True, text=True, check=False,
            env={
                "PATH": f"{tools}:{os.environ['PATH']}",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            },
        )  # fmt: skip
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    return run_job


def test_a_merge_request_is_compared_with_the_commit_it_starts_from(
    merge_request: Callable[[str], Result], repository: Repository, tmp_path: Path
) -> None:
    base = repository.git("rev-parse", "main")
    result = merge_request(base)
    assert (result.code, result.err) == (0, "")
    assert f"routing.toml@{base[:12]}:94 → routing.toml:94" in result.out
    note = (tmp_path / "clone/routing-diff.md").read_text(encoding="utf-8")
    assert note.startswith("**Routing: 2 jobs changed; ")
    assert "```mermaid\n" in note
    assert "routing-diff.md" in PREVIEW["artifacts"]["paths"]
    assert PREVIEW["artifacts"]["expose_as"]


def test_the_first_merge_request_has_nothing_to_compare_with(
    merge_request: Callable[[str], Result], repository: Repository
) -> None:
    repository.git("switch", "-q", "--orphan", "empty")
    base = repository.commit("nothing yet")
    repository.git("switch", "-q", "topic")
    result = merge_request(base)
    assert result.code == 0
    assert "all new" in result.out
    assert "does not exist, so everything is new" in result.err


def test_a_target_that_does_not_load_is_a_warning_with_its_reason(
    merge_request: Callable[[str], Result], repository: Repository, tmp_path: Path
) -> None:
    repository.git("switch", "-q", "main")
    repository.edit("concurrency = 4", "concurency = 4")
    base = repository.commit("broken")
    repository.git("switch", "-q", "topic")
    result = merge_request(base)
    assert PREVIEW["allow_failure"] == {"exit_codes": result.code}
    assert "does not load" in result.err
    assert f"routing.toml@{base[:12]}:62" in result.err
    assert not (tmp_path / "clone/routing-diff.md").exists()


def test_a_commit_that_cannot_be_fetched_is_a_warning_with_its_reason(
    merge_request: Callable[[str], Result],
) -> None:
    result = merge_request("1" * 40)
    assert PREVIEW["allow_failure"] == {"exit_codes": result.code}
    assert "1111111" in result.err
