"""`diff REVISION`: the routing and the templates as git has them, whatever it is asked for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline import revisions

from .conftest import SHIPPED, TEMPLATES, Result
from .repository import Repository, two_branches


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = two_branches(tmp_path / "work")
    monkeypatch.chdir(made.path)
    return made


@pytest.mark.parametrize("revision", ["main", "v1", "HEAD~1", "refs/heads/main", "topic^"])
def test_a_revision_is_read_and_named(
    revision: str, run: Callable[..., Result], repository: Repository
) -> None:
    result = run("diff", revision, *repository.options)
    assert result.code == 0, result.err
    assert "epochs: 8 → 9" in result.out
    assert f"routing.toml@{revision}:94 → routing.toml:94" in result.out


def test_a_hash_is_shown_short(run: Callable[..., Result], repository: Repository) -> None:
    commit = repository.git("rev-parse", "main")
    assert f"routing.toml@{commit[:12]}:94" in run("diff", commit, *repository.options).out


def test_what_is_not_committed_counts_and_nothing_is_checked_out(
    run: Callable[..., Result], repository: Repository
) -> None:
    repository.edit("concurrency = 4", "concurrency = 3")
    status = repository.git("status", "--porcelain")
    folders = set(Path(tempfile.gettempdir()).glob("routing-*"))
    found = json.loads(run("diff", "HEAD", *repository.options, "--format", "json").out)
    assert [each["name"] for each in found["pools"]["changed"]] == ["ci-training"]
    assert found["jobs"]["changed"] == []
    assert repository.git("status", "--porcelain") == status
    assert repository.git("stash", "list") == ""
    assert set(Path(tempfile.gettempdir()).glob("routing-*")) == folders


def test_a_file_wins_over_a_branch_of_that_name(
    run: Callable[..., Result], repository: Repository
) -> None:
    shutil.copy(repository.routing, repository.path / "main")
    assert "nothing differs" in run("diff", "main", *repository.options).out
    assert "1 job" not in run("diff", "refs/heads/main", *repository.options).out
    assert "epochs: 8 → 9" in run("diff", "refs/heads/main", *repository.options).out


def test_templates_of_the_revision_are_used_and_compared(
    run: Callable[..., Result], repository: Repository
) -> None:
    """A base that only today's templates have, one that only the older ones had, one changed."""
    bases = repository.path / "templates/bases"
    (bases / "train-rl-base.yml.j2").rename(bases / "fit-rl-base.yml.j2")
    repository.edit('"train-rl-base"', '"fit-rl-base"')
    with (repository.path / "templates/tasks/hyperopt.yml.j2").open("a") as stream:
        stream.write("\n")
    result = run("diff", "main", *repository.options, "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["templates"] == [
        "bases/fit-rl-base.yml.j2", "bases/train-rl-base.yml.j2", "tasks/hyperopt.yml.j2"
    ]  # fmt: skip


def test_a_linked_template_is_what_it_links_to(
    run: Callable[..., Result], repository: Repository
) -> None:
    (repository.path / "templates/tasks/export.yml.j2").symlink_to("hyperopt.yml.j2")
    repository.commit("a link")
    found = json.loads(run("diff", "HEAD", *repository.options, "--format", "json").out)
    assert found["templates"] == []


def test_files_that_git_keeps_out_of_archives_are_read(
    run: Callable[..., Result], repository: Repository
) -> None:
    attributes = "routing.toml export-ignore\ntemplates/** export-ignore\n"
    (repository.path / ".gitattributes").write_text(attributes, encoding="utf-8")
    repository.edit("epochs = 9 ", "epochs = 10 ")
    repository.commit("not for archives")
    repository.edit("epochs = 10 ", "epochs = 11 ")
    found = run("diff", "HEAD", *repository.options)
    assert (found.code, found.err) == (0, "")
    assert "epochs: 10 → 11" in found.out
    assert "emplate" not in found.out


def test_templates_elsewhere_are_those_at_hand(
    run: Callable[..., Result], repository: Repository
) -> None:
    result = run("diff", "main", "--routing", repository.routing, "--templates", TEMPLATES)
    assert (result.code, result.err) == (0, "")
    assert "epochs: 8 → 9" in result.out


def test_a_routing_in_a_folder_with_a_name_that_git_could_take_for_a_pattern(
    run: Callable[..., Result], repository: Repository
) -> None:
    folder = repository.path / ":(glob)* [x]"
    folder.mkdir()
    shutil.copy(repository.routing, folder / "routing.toml")
    repository.commit("a folder")
    routing = folder / "routing.toml"
    options = ("--routing", routing, "--templates", repository.path / "templates")
    assert "nothing differs" in run("diff", "HEAD", *options).out


def test_a_revision_without_a_routing_makes_everything_new(
    run: Callable[..., Result], repository: Repository
) -> None:
    repository.git("switch", "-q", "--orphan", "empty")
    repository.commit("nothing yet")
    repository.git("switch", "-q", "topic")
    result = run("diff", "empty", *repository.options, "--exit-code")
    assert result.code == 1
    assert result.err == "note: routing.toml@empty does not exist, so everything is new\n"
    assert "no routing before: 19 jobs, all new" in " ".join(result.out.split())
    found = json.loads(run("diff", "empty", *repository.options, "--format", "json").out)
    assert found["before_exists"] is False
    assert len(found["jobs"]["added"]) == 19
    assert found["plan"]["total"]["cost"]["before"] is None


def test_an_older_routing_that_does_not_load_says_so_with_its_lines(
    run: Callable[..., Result], repository: Repository
) -> None:
    repository.edit("concurrency = 4", "concurency = 4")
    repository.edit('pool = "ci-training"', 'pool = "ci-trainin"')
    broken = repository.commit("two mistakes")[:12]
    repository.git("checkout", "-q", "main", "--", "routing.toml")
    result = run("diff", broken, *repository.options)
    commit = repository.git("rev-parse", broken)
    assert result.code == 2
    assert result.out == ""
    assert f"routing.toml@{broken} does not load" in result.err
    assert f"routing.toml@{broken}:62: pools.ci-training.concurency" in result.err
    assert f'routing.toml@{broken}:97: families.supervised.pool: unknown pool "ci-trainin"' in (
        result.err
    )
    assert run("diff", commit, *repository.options).code == 2


def test_a_revision_without_templates_is_told(
    run: Callable[..., Result], repository: Repository
) -> None:
    shutil.rmtree(repository.path / "templates")
    repository.commit("no templates")
    repository.git("checkout", "-q", "main", "--", "templates")
    result = run("diff", "HEAD", *repository.options)
    assert result.code == 2
    assert "templates@HEAD: holds no child-pipeline.yml.j2" in result.err


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        ("mian", 'did you mean "main"?'),
        ("tpoic", 'did you mean "topic"?'),
        ("roting.toml", 'did you mean "routing.toml"?'),
        ("main..topic", ""),
        ("main:routing.toml", ""),
        ("HEAD~99", ""),
        ("", ""),
        ("templates", ""),
        ("--output=stolen", ""),
        ("-h", ""),
        ("--upload-pack=touch stolen", ""),
        ("$(touch stolen)", ""),
        ("`touch stolen`", ""),
        ("main; touch stolen", ""),
        ("main\ntouch stolen", ""),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("\udcff", "\\udcff"),
        ("x" * 5000, ""),
        ("0" * 40, ""),
    ],
)  # fmt: skip
def test_what_is_neither_file_nor_revision_is_told(
    other: str, hint: str, run: Callable[..., Result], repository: Repository
) -> None:
    before = sorted(repository.path.iterdir())
    result = run("diff", *repository.options, "--", other)
    assert result.code == 2
    assert result.out == ""
    assert "is no file, and no branch, tag or commit" in result.err
    assert hint in result.err
    assert "\x1b" not in result.err
    assert sorted(repository.path.iterdir()) == before


@pytest.mark.parametrize(
    "branch",
    ["we`ird|<b>x", "a'b\"c", "@someone", "#1;drop", "$(touch${IFS}stolen)", "über/zweig", "%%{x}"],
)
def test_a_branch_may_be_called_anything_git_allows(
    branch: str, run: Callable[..., Result], repository: Repository
) -> None:
    repository.git("branch", branch, "main")
    for output_format in ("text", "json", "markdown"):
        result = run("diff", *repository.options, "--format", output_format, branch)
        assert result.code == 0, result.err
    assert not (repository.path / "stolen").exists()


def test_outside_a_repository_a_revision_is_no_choice(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    shutil.copy(SHIPPED, tmp_path / "routing.toml")
    result = run("diff", "main", "--routing", "routing.toml")
    assert result.code == 2
    assert (
        'error: "main" is no file, and the routing\'s folder is in no git repository' in result.err
    )


def test_without_git_a_revision_is_no_choice(
    run: Callable[..., Result], repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(repository.path))
    result = run("diff", "main", *repository.options)
    assert result.code == 2
    assert "git cannot be run" in result.err
    assert run("diff", SHIPPED, *repository.options).code == 0


def test_git_that_does_not_answer_is_not_waited_for(
    run: Callable[..., Result], repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = repository.path.parent / "tools"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(revisions, "_SECONDS", 0.2)
    result = run("diff", "main", *repository.options)
    assert result.code == 2
    assert "git did not answer" in result.err


def test_a_shallow_clone_says_that_it_is_one(
    run: Callable[..., Result], repository: Repository, tmp_path: Path
) -> None:
    shallow = tmp_path / "shallow"
    url = repository.path.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth", "1", url, shallow], check=True)
    options = ("--routing", shallow / "routing.toml", "--templates", shallow / "templates")
    result = run("diff", "HEAD~1", *options)
    assert result.code == 2
    assert "this clone is shallow" in result.err
