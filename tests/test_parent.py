"""The parent pipeline in .gitlab-ci.yml does what the design asks of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from .conftest import REFERENCE

PARENT = yaml.safe_load((REFERENCE / ".gitlab-ci.yml").read_text(encoding="utf-8"))
TRIGGERS = ["train-scheduled", "train-on-demand"]


def test_the_stages_are_test_generate_train() -> None:
    assert PARENT["stages"] == ["test", "generate", "train"]


@pytest.mark.parametrize("name", TRIGGERS)
def test_a_trigger_job_starts_the_child_and_passes_nothing_on(name: str) -> None:
    job = PARENT[name]
    base = PARENT[job["extends"]]
    assert job["trigger"]["include"] == [
        {"artifact": "child-pipeline.yml", "job": "generate-pipeline"}
    ]
    assert job["trigger"]["forward"] == {"yaml_variables": False, "pipeline_variables": False}
    assert base["inherit"] == {"variables": False}
    assert base["needs"] == ["generate-pipeline"]
    assert "variables" not in {**base, **job}


def test_only_the_scheduled_trigger_waits_for_the_child() -> None:
    assert PARENT["train-scheduled"]["trigger"]["strategy"] == "depend"
    assert "strategy" not in PARENT["train-on-demand"]["trigger"]


def test_what_the_night_did_is_verified_when_there_is_a_token() -> None:
    job = PARENT["verify-scheduled"]
    (rule,) = job["rules"]
    (scheduled,) = PARENT["train-scheduled"]["rules"]
    assert rule == {"if": f"{scheduled['if']} && $GITLAB_TOKEN", "when": "always"}
    assert [need["job"] for need in job["needs"]] == ["generate-pipeline", "train-scheduled"]
    (command,) = job["script"]
    assert '"$CI_PIPELINE_ID" --child child-pipeline.yml --strict' in command
    assert f"--junit {job['artifacts']['reports']['junit']}" in command
    assert job["artifacts"]["when"] == "always"


def test_the_generate_job_keeps_only_the_child_for_a_month() -> None:
    job = PARENT["generate-pipeline"]
    base = PARENT[job["extends"]]
    assert base["artifacts"] == {"paths": ["child-pipeline.yml"], "expire_in": "1 month"}
    assert job["script"][0] == "python generate_pipeline.py render"


def test_a_child_is_generated_exactly_when_one_is_triggered() -> None:
    generate = {rule["if"] for rule in PARENT["generate-pipeline"]["rules"]}
    triggered = {rule["if"] for name in TRIGGERS for rule in PARENT[name]["rules"]}
    assert generate == triggered


def test_a_merge_request_renders_and_previews_but_triggers_nothing() -> None:
    job = PARENT["preview-pipeline"]
    assert [rule["if"] for rule in job["rules"]] == ['$CI_PIPELINE_SOURCE == "merge_request_event"']
    commands = [line.split()[2] for line in job["script"] if line.startswith("python ")]
    assert commands == ["render", "preview", "diff", "diff", "check", "plan"]
    assert "trigger" not in job


def _preview(folder: Path, *, fails: str = "", token: str = "") -> tuple[int, list[str]]:
    """Run the job's script as the runner does, with a generator whose command `fails` exits 1.

    Returns the exit code and the commands of the generator that ran.
    """
    (folder / "python").write_text(
        '#!/bin/sh\nshift\necho "$1" >> ran\nif [ "$1" = "$FAILS" ]; then exit 1; fi\n'
    )
    (folder / "git").write_text("#!/bin/sh\n")
    for name in ("python", "git"):
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(PARENT["preview-pipeline"]["script"])],
        cwd=folder, check=False,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "FAILS": fails, "GITLAB_TOKEN": token},
    )  # fmt: skip
    return done.returncode, (folder / "ran").read_text().split()


@pytest.mark.parametrize(
    ("fails", "token", "code", "noted"),
    [
        ("", "", 0, False),
        ("", "t", 0, True),
        ("gitlab", "t", 42, True),  # a warning: the note could not be posted
        ("check", "t", 1, True),  # findings are posted, and still fail the job
        ("check", "", 1, False),
        ("plan", "t", 42, True),
        ("diff", "t", 42, False),
    ],
)
def test_a_merge_request_gets_its_note_and_no_failure_is_hidden(
    fails: str, token: str, code: int, noted: bool, tmp_path: Path
) -> None:
    assert PARENT["preview-pipeline"]["allow_failure"] == {"exit_codes": 42}
    found, ran = _preview(tmp_path, fails=fails, token=token)
    assert (found, "gitlab" in ran) == (code, noted)


def test_the_note_holds_what_moves_and_what_check_finds_also_when_the_check_failed() -> None:
    job = PARENT["preview-pipeline"]
    assert job["needs"] == []
    text = "\n".join(job["script"])
    assert "gitlab note --body-file routing-diff.md --body-file findings.md" in text
    assert 'diff "$base" --quiet --format markdown -o routing-diff.md' in text
    assert "check --format markdown > findings.md" in text
    assert {"routing-diff.md", "findings.md"} <= set(job["artifacts"]["paths"])


def test_the_form_of_run_pipeline_explains_itself() -> None:
    for name in ("TRAIN_VALIDATE", "TRAIN_JOBS", "REGISTRY"):
        assert PARENT["variables"][name]["description"]
    assert PARENT["variables"]["TRAIN_VALIDATE"]["options"] == ["false", "true"]
    assert PARENT["variables"]["TRAIN_VALIDATE"]["value"] == "false"
    assert PARENT["variables"]["TRAIN_JOBS"]["value"] == ""


def test_a_branch_with_an_open_merge_request_has_one_pipeline() -> None:
    assert PARENT["workflow"]["rules"] == [
        {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'},
        {
            "if": '$CI_PIPELINE_SOURCE == "push" && $CI_OPEN_MERGE_REQUESTS != null'
            ' && $CI_COMMIT_BRANCH != "main"',
            "when": "never",
        },
        {"if": "$CI_COMMIT_BRANCH != null"},
    ]


def test_what_triggers_training_is_what_the_team_agreed_on() -> None:
    scheduled = '$CI_PIPELINE_SOURCE == "schedule" && $TRAIN_VALIDATE == "true"'
    pushed = '$CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == "main"'
    by_hand = '$CI_PIPELINE_SOURCE == "web" || $CI_PIPELINE_SOURCE == "api"'
    assert PARENT["train-scheduled"]["rules"] == [{"if": scheduled}]
    assert PARENT["train-on-demand"]["rules"] == [{"if": pushed}, {"if": by_hand}]
    assert PARENT["generate-pipeline"]["rules"] == [
        {"if": scheduled}, {"if": pushed}, {"if": by_hand}
    ]  # fmt: skip


def test_merge_requests_and_branches_are_tested_and_nothing_else() -> None:
    rule = '$CI_PIPELINE_SOURCE == "merge_request_event" || $CI_PIPELINE_SOURCE == "push"'
    assert PARENT["test"]["rules"] == PARENT["check-pipeline"]["rules"] == [{"if": rule}]
    assert PARENT["test"]["script"] == ["make lint", "make types", "make test"]


def test_the_generator_installs_what_it_needs_and_no_more() -> None:
    assert PARENT[".render"]["before_script"] == ["pip install --quiet -r requirements.txt"]
    assert PARENT[".python"]["variables"]["PIP_CACHE_DIR"].startswith("$CI_PROJECT_DIR/")
    assert PARENT[".python"]["cache"]["paths"] == [".cache/pip"]


def test_findings_show_in_a_merge_request() -> None:
    job = PARENT["check-pipeline"]
    report = job["artifacts"]["reports"]["codequality"]
    assert f"--codequality {report}" in job["script"][-1]
    assert job["artifacts"]["when"] == "always"
