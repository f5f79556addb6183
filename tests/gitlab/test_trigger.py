"""`gitlab trigger`: one pipeline whatever happens, on-demand jobs by name, refusals explained."""

from __future__ import annotations

import json
import re
import signal

import pytest

from tests.gitlab_server import DEVELOPER, REPORTER, GitLabServer, Pipeline, World

from .conftest import GitLab
from .worlds import OnDemand

QUICK = ("--interval", "0.01")


def test_a_pipeline_is_started_with_its_variables(gitlab: GitLab, world: World) -> None:
    done = gitlab("trigger", "--ref", "main", "--var", "TRAIN_JOBS=hyperopt-* *-tft")
    (pipeline,) = world.pipelines.values()
    assert done.code == 0
    assert (
        done.out
        == f"pipeline {pipeline.id} on main: https://gitlab.example.com/team/training/-/pipelines/{pipeline.id}\n"
    )
    sent = {each["key"]: each["value"] for each in pipeline.variables}
    assert sent.pop("TRAIN_JOBS") == "hyperopt-* *-tft"
    assert list(sent) == ["ROUTE_RUN_ID"]
    assert "an access token (GITLAB_TOKEN)" in done.err


def test_the_default_branch_is_the_projects(gitlab: GitLab, world: World) -> None:
    world.project.default_branch = "trunk"
    world.project.branches["trunk"] = True
    assert gitlab("trigger").code == 0
    assert [each.ref for each in world.pipelines.values()] == ["trunk"]


@pytest.mark.parametrize("kind", ["lost", "cut", "truncate", "html"])
def test_a_lost_answer_makes_no_second_pipeline(
    kind: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    for _ in range(3):
        world.add_pipeline(source="api")
    server.faults.add("POST", "/pipeline$", kind)
    done = gitlab("trigger", "--ref", "refs/heads/main", "--format", "json")
    assert done.code == 0
    assert len(world.pipelines) == 4
    assert json.loads(done.out)["id"] == max(world.pipelines)
    assert "looking whether the pipeline was started" in done.err
    assert len(server.asked("POST", "/pipeline$")) == 1


@pytest.mark.parametrize("kind", ["reset", "502"])
def test_a_request_that_may_have_been_lost_is_not_repeated(
    kind: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.add("POST", "/pipeline$", kind)
    done = gitlab("trigger", "--deadline", "2")
    assert done.code == 4
    assert not world.pipelines
    run_id = re.search(r"--run-id (\w+)", done.err)
    assert run_id
    again = gitlab("trigger", "--run-id", run_id[1])
    assert again.code == 0
    assert len(world.pipelines) == 1
    assert gitlab("trigger", "--run-id", run_id[1]).out == again.out
    assert len(world.pipelines) == 1
    assert len(server.asked("POST", "/pipeline$")) == 2


def test_a_busy_server_is_asked_again(gitlab: GitLab, world: World, server: GitLabServer) -> None:
    server.faults.add("POST", "/pipeline$", "429", "429")
    assert gitlab("trigger").code == 0
    assert len(world.pipelines) == 1
    assert len(server.asked("POST", "/pipeline$")) == 3


def test_faults_in_every_request_start_one_pipeline_and_play_each_job_once(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    night = OnDemand(world)
    server.faults.each_get(2)
    server.faults.lose_posts()
    done = gitlab("trigger", "--play", "hyperopt-*", "--wait", *QUICK)
    assert done.code == 0, done.err
    assert [each.source for each in world.pipelines.values()] == ["api", "parent_pipeline"]
    assert sorted(night.played) == ["hyperopt-dqn", "hyperopt-ppo", "hyperopt-tft"]


def test_pipelines_of_others_are_passed_over_in_the_search(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    from tests.gitlab_server.world import User

    other = User(id=2, username="bob", name="Bob")
    server.faults.add("POST", "/pipeline$", "lost")
    world.on_pipeline = lambda made: world.add_pipeline(source="api", user=other) and None
    done = gitlab("trigger", "--format", "json", token=world.token(access=DEVELOPER))
    assert done.code == 0, done.err
    assert json.loads(done.out)["id"] == min(world.pipelines)


def test_without_variables_the_lost_pipeline_is_the_only_new_one(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    world.project.settings["ci_pipeline_variables_minimum_override_role"] = "no_one_allowed"
    old = world.add_pipeline(source="api")
    server.faults.add("POST", "/pipeline$", "lost")
    done = gitlab("trigger", "--no-variables", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["id"] == max(world.pipelines) != old.id
    assert world.pipelines[max(world.pipelines)].variables == []


def test_without_variables_two_new_pipelines_are_not_told_apart(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.add("POST", "/pipeline$", "lost")
    world.on_pipeline = lambda made: world.add_pipeline(source="api") and None
    done = gitlab("trigger", "--no-variables")
    assert done.code == 4
    assert "one of them may be ours" in done.err


def test_jobs_are_played_by_name_and_waited_for(gitlab: GitLab, world: World) -> None:
    night = OnDemand(world)
    done = gitlab("trigger", "--play", "hyperopt-dqn", "--play", "*-rl", "--wait", *QUICK)
    assert done.code == 0, done.err
    assert sorted(night.played) == ["hyperopt-dqn", "train-validate-rl"]
    assert "played: hyperopt-dqn, train-validate-rl" in done.out
    assert "hyperopt-dqn: success" in done.out


def test_a_played_job_that_fails_is_told_although_the_pipeline_passes(
    gitlab: GitLab, world: World
) -> None:
    night = OnDemand(world, end="failed")
    done = gitlab("trigger", "--play", "hyperopt-dqn", "--wait", *QUICK)
    assert night.child
    assert night.child.status == "success"
    assert done.code == 1
    assert "hyperopt-dqn: failed" in done.out


def test_a_glob_that_matches_no_job_is_refused_before_any_is_played(
    gitlab: GitLab, world: World
) -> None:
    night = OnDemand(world)
    done = gitlab("trigger", "--play", "hyperopt-dqn", "--play", "hyperopt-dqm", *QUICK)
    assert done.code == 3
    assert 'did you mean "hyperopt-dqn"?' in done.err
    assert night.played == []


def test_a_failed_pipeline_is_an_exit_code(gitlab: GitLab, world: World) -> None:
    world.on_pipeline = lambda pipeline: setattr(pipeline, "status", "failed")
    done = gitlab("trigger", "--wait", *QUICK)
    assert done.code == 1
    assert done.out.endswith("failed\n")


def test_the_childs_own_children_are_waited_for(gitlab: GitLab, world: World) -> None:
    below = world.add_pipeline(source="parent_pipeline", status="running")

    def start(parent: Pipeline) -> None:
        child = world.add_pipeline(source="parent_pipeline", status="success")
        world.add_bridge(parent, "train", downstream=child)
        world.add_bridge(child, "further", downstream=below)
        parent.status = "success"
        world.later.extend((lambda: None, lambda: setattr(below, "status", "failed")))

    world.on_pipeline = start
    done = gitlab("trigger", "--wait", *QUICK)
    assert done.code == 1
    assert f"pipeline {below.id}: failed" in done.out


def test_waiting_has_an_end(gitlab: GitLab, world: World) -> None:
    done = gitlab("trigger", "--wait", "--timeout", "0.1", *QUICK)
    assert done.code == 4
    assert "it goes on: https://gitlab.example.com/" in done.err


def test_an_interrupted_wait_leaves_the_pipeline_alone(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    with gitlab.start("trigger", "--wait", "--interval", "60") as process:
        assert process.stderr
        said = b""
        while b"created" not in said:
            said += process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    done = gitlab.checked(process.returncode, out, said + err)
    assert done.code == 130
    assert "goes on: https://gitlab.example.com/" in done.err
    assert not server.asked("POST", "/cancel")


@pytest.mark.parametrize(
    ("role", "access"), [("no_one_allowed", 40), ("maintainer", DEVELOPER), ("owner", 40)]
)
def test_refused_variables_are_explained(
    role: str, access: int, gitlab: GitLab, world: World
) -> None:
    world.project.settings["ci_pipeline_variables_minimum_override_role"] = role
    done = gitlab("trigger", token=world.token(access=access))
    assert done.code == 4
    assert "Insufficient permissions to set pipeline variables" in done.err
    assert "--no-variables" in done.err
    assert "Minimum role to use pipeline variables" in done.err
    assert ("The setting is" in done.err) == (access == 40)
    assert gitlab("trigger", "--no-variables", token=world.token(access=access)).code == 0


@pytest.mark.parametrize(
    ("refusal", "hint"),
    [
        ("Insufficient permissions to create a new pipeline", "is protected"),
        (
            "Pipeline will not run for the selected trigger. The rules configuration prevented any "
            "jobs from being added to the pipeline.",
            "preview --why JOB --source api --branch main",
        ),
        ("jobs:a config contains unknown keys: b", "gitlab lint"),
    ],
)
def test_what_gitlab_refuses_is_explained(
    refusal: str, hint: str, gitlab: GitLab, world: World
) -> None:
    world.refusals = [refusal]
    done = gitlab("trigger")
    assert done.code == 4
    assert refusal in done.err
    assert hint in done.err


def test_an_unknown_branch_is_explained(gitlab: GitLab) -> None:
    done = gitlab("trigger", "--ref", "mian")
    assert done.code == 4
    assert 'there is no branch or tag "mian" on the server' in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--var", "novalue"], "write NAME=VALUE"),
        (["--var", "ROUTE_RUN_ID=x"], "--run-id sets this one"),
        (["--no-variables", "--var", "A=b"], "leave --var"),
        (["--run-id", "a b"], "--run-id: letters"),
        (["--play", ""], "the glob is empty"),
        (["--deadline", "soon"], "is not a number of seconds"),
        (["--deadline", "nan"], "is not a number of seconds"),
        (["--timeout", "2000000"], "above 0 and below 1000000, 11 days"),
    ],
)
def test_wrong_usage_asks_the_server_nothing(
    arguments: list[str], said: str, gitlab: GitLab, server: GitLabServer
) -> None:
    done = gitlab("trigger", *arguments)
    assert done.code == 2
    assert said in done.err
    assert not server.requests


def test_a_role_that_is_too_low_is_named(gitlab: GitLab, world: World) -> None:
    done = gitlab("trigger", token=world.token(access=REPORTER))
    assert done.code == 4
    assert "the token's role in the project is too low: this needs Developer" in done.err
