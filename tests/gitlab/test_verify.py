"""`gitlab verify`, as a process against the server: the child is found, every job is judged."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gpu_pipeline.cli import main
from tests.conftest import REFERENCE
from tests.gitlab_server import GitLabServer, World

from .conftest import GitLab
from .nights import CHILD, ON_DEMAND, TRACES, good_log, night, planned

AS_RENDERED = ("--child", CHILD)


def log(name: str) -> bytes:
    return (TRACES / f"{name}.log").read_bytes()


def test_a_good_night_passes_in_every_aspect(gitlab: GitLab, world: World) -> None:
    parent, child = night(world)
    done = gitlab("verify", parent.id, *AS_RENDERED, "--strict", "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["verdict"] == "PASS"
    assert found["counts"] == {"PASS": 19, "FAIL": 0, "UNPROVEN": 0}
    assert found["trigger_jobs"][0]["detail"] == f"pipeline {child.id}, success"
    for job in found["jobs"]:
        assert {each["verdict"] for each in job["aspects"]} == {"PASS"}
        names = {each["name"] for each in job["aspects"]}
        assert names == {
            "routed", "CPURequest", "CPULimit", "MemoryRequest", "MemoryLimit", "GPU", "marker",
            "epochs", "fingerprint", "outcome",
        }  # fmt: skip


def test_a_child_is_verified_by_its_own_number_too(gitlab: GitLab, world: World) -> None:
    _, child = night(world)
    done = gitlab("verify", child.id, *AS_RENDERED, "--strict")
    assert (done.code, done.out.splitlines()[-1]) == (0, "19 jobs: 19 PASS")


def test_one_job_on_the_wrong_gpu_fails_the_night(gitlab: GitLab, world: World) -> None:
    parent, _ = night(
        world, logs={"hyperopt-tft": log("wrong-gpu")}, statuses={"hyperopt-tft": "failed"}
    )
    done = gitlab("verify", parent.id, *AS_RENDERED, "--junit", "verdicts.xml")
    assert done.code == 1
    assert "FAIL     hyperopt-tft: GPU: NVIDIA L4, not NVIDIA L40S" in done.out or (
        "FAIL     hyperopt-tft: GPU: the job stopped itself" in done.out
    )
    assert done.out.splitlines()[-1] == "19 jobs: 18 PASS, 1 FAIL"
    suite = ET.parse(gitlab.folder / "verdicts.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    failed = [
        (case.get("classname"), case.get("name"))
        for case in suite.iter("testcase")
        if case.find("failure") is not None
    ]
    assert failed == [("hyperopt-tft", "GPU"), ("hyperopt-tft", "outcome")]
    assert suite.get("failures") == "2"
    assert len(list(suite)) == int(suite.get("tests", 0)) == 19 * 10 + 1


def test_the_newest_attempt_is_judged_and_the_older_ones_are_counted(
    gitlab: GitLab, world: World
) -> None:
    parent, child = night(
        world, logs={"hyperopt-dqn": log("pending-timeout")}, statuses={"hyperopt-dqn": "failed"}
    )
    first = next(job for job in world.jobs_of(child) if job.name == "hyperopt-dqn")
    plan = {job.name: job for job in planned()}
    second = world.retry(first, status="failed", trace=b"")
    world.retry(second, status="success", trace=good_log(plan["hyperopt-dqn"]))
    done = gitlab("verify", parent.id, *AS_RENDERED, "--strict", "--format", "json")
    assert done.code == 0, done.out
    job = next(each for each in json.loads(done.out)["jobs"] if each["name"] == "hyperopt-dqn")
    assert (job["older_attempts"], job["status"]) == (2, "success")
    assert gitlab.server.asked("GET", rf"/jobs/({first.id}|{second.id})/trace") == []


def test_unproven_fails_only_when_asked(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world, logs={"hyperopt-tft": b""})
    lenient = gitlab("verify", parent.id, *AS_RENDERED)
    assert lenient.code == 0
    assert "UNPROVEN hyperopt-tft: routed, CPURequest," in lenient.out
    assert "GPU, marker, epochs, fingerprint: there is no log" in lenient.out
    assert gitlab("verify", parent.id, *AS_RENDERED, "--strict").code == 1


def test_a_planned_job_that_is_not_there_fails_and_another_is_mentioned(
    gitlab: GitLab, world: World
) -> None:
    parent, child = night(world)
    job = next(job for job in world.jobs_of(child) if job.name == "hyperopt-kan")
    job.name = "hyperopt-other"
    done = gitlab("verify", parent.id, *AS_RENDERED)
    assert done.code == 1
    assert "FAIL     hyperopt-kan: outcome: missing: planned, but not among the jobs" in done.out
    assert "UNPROVEN hyperopt-other: planned: not in the plan" in done.out


def test_all_trigger_jobs_are_reported_however_they_ended(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    world.add_bridge(
        parent, "broken", status="failed", failure_reason="downstream_pipeline_creation_failed"
    )
    world.add_bridge(parent, "open", status="running")
    done = gitlab("verify", parent.id, *AS_RENDERED, "--format", "json")
    assert done.code == 1
    found = {each["name"]: each for each in json.loads(done.out)["trigger_jobs"]}
    assert {name: each["verdict"] for name, each in found.items()} == {
        "train-scheduled": "PASS", "broken": "FAIL", "open": "UNPROVEN",
    }  # fmt: skip
    assert "downstream_pipeline_creation_failed" in found["broken"]["detail"]


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        ("failed", 1, "FAIL     hyperopt-dqn: outcome: missing: there is no child pipeline"),
        ("skipped", 1, "FAIL     trigger job: train-scheduled: skipped: it created no child"),
        ("pending", 0, "UNPROVEN hyperopt-dqn: outcome: the pipeline that holds it is not created"),
        ("manual", 0, "UNPROVEN trigger job: train-scheduled: manual: no child pipeline yet"),
    ],
)
def test_a_child_that_was_never_created(
    status: str, code: int, text: str, gitlab: GitLab, world: World
) -> None:
    parent = world.add_pipeline(source="schedule", status="failed")
    world.add_bridge(parent, "train-scheduled", status=status)
    done = gitlab("verify", parent.id, *AS_RENDERED)
    assert done.code == code
    assert text in done.out


def test_a_parent_without_trigger_jobs_fails(gitlab: GitLab, world: World) -> None:
    parent = world.add_pipeline(source="schedule", status="success")
    world.add_job(parent, "hyperopt-dqn", status="success", trace=good_log(planned()[0]))
    done = gitlab("verify", parent.id, *AS_RENDERED)
    assert done.code == 1
    assert "no trigger job: the pipeline started no child" in done.out


def test_children_in_other_projects_and_of_children_are_found(gitlab: GitLab, world: World) -> None:
    other = world.add_project("team/elsewhere")
    parent = world.add_pipeline(source="schedule", status="success")
    middle = world.add_pipeline(source="pipeline", status="success", project=other)
    world.add_bridge(parent, "elsewhere", downstream=middle)
    below = world.add_pipeline(source="parent_pipeline", status="success", project=other)
    world.add_bridge(middle, "train", downstream=below)
    world.add_bridge(below, "around", downstream=parent)  # a circle ends the walk
    for job in planned():
        world.add_job(below, job.name, status="success", trace=good_log(job))
    done = gitlab("verify", parent.id, *AS_RENDERED)
    assert done.code == 0, done.out
    assert "19 jobs: 19 PASS" in done.out
    assert "UNPROVEN trigger job: around" in done.out


def test_the_routing_at_hand_is_the_plan_when_no_child_is_given(
    gitlab: GitLab, world: World
) -> None:
    inputs = ("--routing", REFERENCE / "routing.toml", "--templates", REFERENCE / "templates")
    child = gitlab.folder / "child.yml"
    parent = ("--source", "schedule", "--branch", "main", "--var", "TRAIN_VALIDATE=true")
    assert main(["render", "--quiet", "-o", *map(str, [child, *inputs]), *parent]) == 0
    above, _ = night(world, child=child)
    done = gitlab("verify", above.id, *inputs, "--strict")
    assert "renders for a parent pipeline from schedule on main" in done.err
    assert (done.code, done.out.splitlines()[-1]) == (0, "19 jobs: 19 PASS")
    changed = gitlab.folder / "routing.toml"
    text = (REFERENCE / "routing.toml").read_text(encoding="utf-8")
    changed.write_text(text + "\n# later\n", encoding="utf-8")
    later = gitlab("verify", above.id, "--routing", changed, *inputs[2:])
    assert later.code == 1
    assert "another routing" in later.out


def test_only_some_jobs_are_verified_when_asked(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world, logs={"hyperopt-tft": b""})
    done = gitlab("verify", parent.id, *AS_RENDERED, "--job", "hyperopt-d*", "--strict")
    assert done.out.splitlines()[-1] == "2 jobs: 2 PASS"
    assert done.code == 0
    wrong = gitlab("verify", parent.id, *AS_RENDERED, "--job", "hyperopt-dqm")
    assert wrong.code == 3
    assert 'did you mean "hyperopt-dqn"?' in wrong.err


def test_jobs_nobody_played_are_unproven_and_their_logs_are_not_asked_for(
    gitlab: GitLab, world: World
) -> None:
    parent, _ = night(world, statuses={"hyperopt-tft": "manual"})
    done = gitlab("verify", parent.id, "--child", ON_DEMAND)
    assert done.code == 0
    assert "UNPROVEN hyperopt-tft: outcome: not played: nobody has started it" in done.out
    assert len(gitlab.server.asked("GET", "/trace$")) == 18


def test_markdown_shows_what_a_log_says_as_code(gitlab: GitLab, world: World) -> None:
    bad = log("selector-other-pool").replace(b"ci-compile", b"</td>`|[x](y)")
    parent, _ = night(world, logs={"hyperopt-tft": bad})
    done = gitlab("verify", parent.id, *AS_RENDERED, "--format", "markdown")
    assert done.code == 1
    line = next(line for line in done.out.splitlines() if line.startswith("- **FAIL**"))
    assert "``routed: NodeSelector" in line


def test_what_a_log_says_cannot_break_the_report_nor_the_terminal(
    gitlab: GitLab, world: World
) -> None:
    bad = log("selector-other-pool").replace(b"ci-compile", b"a\x00\xef\xbf\xbe]]><&\xe2\x80\xae")
    parent, _ = night(world, logs={"hyperopt-tft": bad})
    done = gitlab("verify", parent.id, *AS_RENDERED, "--junit", "verdicts.xml")
    assert done.code == 1
    assert "\u202e" not in done.out
    ET.parse(gitlab.folder / "verdicts.xml")  # noqa: S314 - our own


@pytest.mark.parametrize("fault", ["cut", "reset", "503", "429"])
def test_a_log_that_breaks_off_on_the_way_is_read_again(
    fault: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = night(world)
    server.faults.add("GET", "/trace$", *[fault] * 8)
    done = gitlab("verify", parent.id, *AS_RENDERED, "--strict")
    assert (done.code, done.out.splitlines()[-1]) == (0, "19 jobs: 19 PASS"), done.err


def test_faults_in_every_request_change_no_verdict(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = night(world)
    server.faults.each_get(2)
    done = gitlab("verify", parent.id, *AS_RENDERED, "--strict", "--parallel", "8")
    assert (done.code, done.out.splitlines()[-1]) == (0, "19 jobs: 19 PASS"), done.err


def test_a_log_that_never_arrives_is_an_error_of_the_network(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = night(world)
    server.faults.always("GET", "/trace$", "cut")
    done = gitlab("verify", parent.id, *AS_RENDERED, "--deadline", "1")
    assert done.code == 4
    assert "the connection broke" in done.err
    assert "--deadline gives it longer" in done.err
    assert done.out == ""


def test_a_log_that_is_gone_leaves_its_job_unproven_and_the_others_as_they_are(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, child = night(world)
    gone = world.jobs_of(child)[0]
    server.faults.always("GET", f"/jobs/{gone.id}/trace$", "404")
    done = gitlab("verify", parent.id, *AS_RENDERED)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "19 jobs: 18 PASS, 1 UNPROVEN"


def test_a_log_of_which_the_server_sends_half_proves_less(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = night(world)
    server.faults.add("GET", "/trace$", "truncate")
    done = gitlab("verify", parent.id, *AS_RENDERED, "--parallel", "1", "--strict")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "19 jobs: 18 PASS, 1 UNPROVEN"


def test_a_job_token_gets_its_explanation(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    token = world.token(kind="job")
    environment = {"CI_JOB_TOKEN": token, "CI_SERVER_URL": gitlab.server.url}
    done = gitlab("verify", parent.id, *AS_RENDERED, token="", environment=environment)
    assert done.code == 4
    assert "a job token" in done.err
    assert "GITLAB_TOKEN" in done.err
    assert gitlab.server.requests == []


def test_a_pipeline_that_does_not_exist(gitlab: GitLab) -> None:
    done = gitlab("verify", 4711, *AS_RENDERED)
    assert done.code == 4
    assert "pipeline 4711: GitLab answers 404" in done.err


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a: [", "while parsing"),
        (b"\xff", "is not UTF-8; name another file with --child"),
        (b"stages: [train]\n", "plans no job"),
    ],
)
def test_a_child_file_that_is_none(content: bytes, text: str, gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    (gitlab.folder / "child.yml").write_bytes(content)
    done = gitlab("verify", parent.id, "--child", "child.yml")
    assert done.code in (2, 3)
    assert text in done.err


def test_a_thousand_jobs_take_as_many_requests_as_the_guide_says(
    gitlab: GitLab, world: World, tmp_path: Path
) -> None:
    """One for the pipeline, two for its bridges and the child's, ten pages of jobs, the logs."""
    names = [f"hyperopt-m{n}" for n in range(1000)]
    base = next(job for job in planned() if job.name == "hyperopt-tft")
    text = CHILD.read_text(encoding="utf-8")
    head = text[: text.index("\nhyperopt-dqn:")]
    body = "".join(
        f"{name}:\n  extends: .train-validate-base\n  script: ['{base.script[0]}']\n"
        "  variables: {ROUTE_EPOCHS: '15'}\n"
        for name in names
    )
    child = tmp_path / "child.yml"
    child.write_text(f"{head}\n{body}", encoding="utf-8")
    parent = world.add_pipeline(source="schedule", status="success")
    below = world.add_pipeline(source="parent_pipeline", status="success")
    world.add_bridge(parent, "train-scheduled", downstream=below)
    whole = good_log(base)
    for name in names:
        trace = whole.replace(b"job=hyperopt-tft", f"job={name}".encode())
        world.add_job(below, name, status="success", trace=trace)
    done = gitlab("verify", parent.id, "--child", child, "--strict", "--format", "json")
    assert done.code == 0, done.out[:2000]
    assert json.loads(done.out)["counts"]["PASS"] == 1000
    pages = math.ceil(1000 / 100)
    assert len(gitlab.server.requests) == 1 + 2 + pages + 1000
    assert gitlab.server.most_at_once <= 4
