"""`gitlab watch`, as a process: lines elsewhere, a table on a terminal, and an end."""

from __future__ import annotations

import datetime
import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from tests.conftest import REFERENCE, ROOT
from tests.gitlab_server import GitLabServer, Pipeline, World, raw_trace

from .conftest import GitLab
from .nights import night

INPUTS = ("--routing", REFERENCE / "routing.toml", "--templates", REFERENCE / "templates")
QUICK = ("--interval", "0.05")


def at_work(world: World) -> tuple[Pipeline, Pipeline]:
    """A night in which one job runs, one waits for its pod, and the others have ended."""
    running = {"hyperopt-dqn": "running", "hyperopt-tft": "running"}
    waiting = raw_trace(
        [
            "section:prepare_script",
            "Waiting for pod ci/x to be running on the node <unknown>, status is Pending",
            b'\tUnschedulable: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."',
        ]
    )
    parent, child = night(world, statuses=running, logs={"hyperopt-tft": waiting})
    parent.status = child.status = "running"
    for job in world.jobs_of(child):
        if job.status == "running":
            job.started_at = datetime.datetime.now(datetime.UTC)
            job.finished_at = job.duration = None
    return parent, child


def finish(world: World, parent: Pipeline, child: Pipeline, status: str = "success") -> None:
    for job in world.jobs_of(child):
        if job.status == "running":
            job.status, job.duration = status, 61.0
    parent.status = child.status = status


def test_changes_are_told_line_by_line_until_the_end(gitlab: GitLab, world: World) -> None:
    parent, child = at_work(world)
    world.later.extend([lambda: None] * 4 + [lambda: finish(world, parent, child)])
    done = gitlab("watch", parent.id, *INPUTS, *QUICK)
    assert done.code == 0, done.err
    lines = [line[9:] for line in done.out.splitlines()]
    assert len([line for line in lines if line.startswith("hyperopt-kan: success")]) == 1
    assert (
        "hyperopt-tft: running on ci-training, waits for its pod: Unschedulable: 0/1 nodes are "
        "available: 1 Insufficient nvidia.com/gpu."
    ) in lines
    assert "hyperopt-dqn: running on ci-compile, expected to take 2h 27m" in lines
    assert "hyperopt-dqn: success on ci-compile, took 1m" in lines
    assert lines[-1] == f"pipeline {parent.id} success, pipeline {child.id} success; " + (
        "20 of 20 jobs ended; ended"
    )


def test_a_failed_pipeline_exits_1(gitlab: GitLab, world: World) -> None:
    parent, child = at_work(world)
    world.later.extend([lambda: None, lambda: finish(world, parent, child, "failed")])
    assert gitlab("watch", parent.id, *INPUTS, *QUICK).code == 1


@pytest.mark.parametrize(("status", "code"), [("manual", 0), ("skipped", 1)])
def test_a_child_of_buttons_ends_well_and_one_in_which_nothing_may_run_does_not(
    status: str, code: int, gitlab: GitLab, world: World
) -> None:
    child = world.add_pipeline(source="parent_pipeline", status="skipped")
    world.add_job(child, "hyperopt-dqn", status=status, allow_failure=True)
    assert gitlab("watch", child.id, *INPUTS, *QUICK).code == code


def test_the_forecast_uses_what_was_measured(gitlab: GitLab, world: World) -> None:
    night(world)
    assert gitlab("history", *INPUTS).code == 0
    parent, child = at_work(world)
    world.later.extend([lambda: None, lambda: finish(world, parent, child)])
    done = gitlab("watch", parent.id, *INPUTS, *QUICK, "--durations", "durations.json")
    assert done.code == 0
    assert "hyperopt-tft: running on ci-training" in done.out
    first = next(line for line in done.out.splitlines() if "forecast" in line)
    assert datetime.datetime.now(datetime.UTC).strftime("%Y-") in first
    assert "unknown" not in first


def test_without_a_measurement_the_forecast_is_unknown(gitlab: GitLab, world: World) -> None:
    parent, child = at_work(world)
    text = (REFERENCE / "routing.toml").read_text(encoding="utf-8")
    bare = "\n".join(
        line for line in text.splitlines() if not line.startswith(("seconds_per_epoch", "expected"))
    )
    (gitlab.folder / "routing.toml").write_text(bare, encoding="utf-8")
    world.later.extend([lambda: None, lambda: finish(world, parent, child)])
    done = gitlab("watch", parent.id, "--routing", "routing.toml", *INPUTS[2:], *QUICK)
    assert done.code == 0, done.err
    assert "forecast of the end: unknown, for nobody knows how long hyperopt-" in done.out


def test_the_time_may_run_out_and_the_pipeline_goes_on(gitlab: GitLab, world: World) -> None:
    parent, _ = at_work(world)
    done = gitlab("watch", parent.id, *INPUTS, *QUICK, "--timeout", "0.3")
    assert done.code == 4
    assert "has not ended within 0.3 s; it goes on" in done.err
    assert parent.status == "running"


def test_an_interrupt_leaves_the_pipeline_alone(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = at_work(world)
    with gitlab.start("watch", parent.id, *INPUTS, *QUICK) as process:
        assert process.stdout
        assert b":" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    done = gitlab.checked(process.returncode, out, err)
    assert done.code == 130
    assert f"pipeline {parent.id}" in done.err
    assert "is no longer watched; it goes on" in done.err
    assert {method for method, _ in server.requests} == {"GET"}
    assert parent.status == "running"


def test_a_log_is_no_longer_read_once_the_commands_run(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, child = at_work(world)
    ids = {job.name: job.id for job in world.jobs_of(child)}
    world.later.extend([lambda: None] * 5 + [lambda: finish(world, parent, child)])
    assert gitlab("watch", parent.id, *INPUTS, *QUICK).code == 0
    assert len(server.asked("GET", f"/jobs/{ids['hyperopt-dqn']}/trace")) == 1
    assert len(server.asked("GET", f"/jobs/{ids['hyperopt-tft']}/trace")) == 5
    assert len(server.asked("GET", "/trace$")) == 6


def test_a_child_that_comes_later_is_seen(gitlab: GitLab, world: World) -> None:
    parent = world.add_pipeline(source="schedule", status="running")
    world.add_job(parent, "generate-pipeline", status="running", stage="generate")
    bridge = world.add_bridge(parent, "train-scheduled", status="created")

    def triggered() -> None:
        child = world.add_pipeline(source="parent_pipeline", status="success")
        world.add_job(child, "hyperopt-tft", status="success", duration=5.0)
        bridge.downstream, bridge.status, parent.status = child, "success", "success"

    world.later.extend([lambda: None, triggered])
    done = gitlab("watch", parent.id, *INPUTS, *QUICK)
    assert done.code == 0
    assert "no training job yet" in done.out
    assert "hyperopt-tft: success on ci-training, took 5s" in done.out


def test_a_server_that_is_away_for_a_while_is_waited_for(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, child = at_work(world)

    def break_down() -> None:
        server.faults.add("GET", r"/bridges", *["503"] * 5)

    world.later.extend([lambda: None, break_down, lambda: finish(world, parent, child)])
    done = gitlab("watch", parent.id, *INPUTS, *QUICK, "--deadline", "1")
    assert done.code == 0, done.err
    assert "trying on" in done.err


def test_a_token_that_is_revoked_is_not_waited_for(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = at_work(world)
    world.later.extend([lambda: None, lambda: server.faults.always("GET", "/bridges", "401")])
    done = gitlab("watch", parent.id, *INPUTS, *QUICK)
    assert done.code == 4
    assert "the token is wrong, expired, revoked" in done.err
    assert "trying on" not in done.err


def test_faults_in_every_request_are_not_noticed(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, child = at_work(world)
    world.later.extend([lambda: None, lambda: finish(world, parent, child)])
    server.faults.each_get(2)
    done = gitlab("watch", parent.id, *INPUTS, *QUICK)
    assert done.code == 0, done.err
    assert "20 of 20 jobs ended; ended" in done.out


def test_a_pipeline_that_is_not_there_is_no_reason_to_wait(gitlab: GitLab) -> None:
    done = gitlab("watch", 4711, *INPUTS, *QUICK)
    assert done.code == 4
    assert "pipeline 4711" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_on_a_terminal_there_is_a_table(gitlab: GitLab, world: World) -> None:
    parent, child = at_work(world)
    world.later.extend([lambda: None, lambda: None, lambda: finish(world, parent, child)])
    master, slave = pty.openpty()
    command = [
        sys.executable, str(ROOT / "generate_pipeline.py"), "gitlab", "watch", str(parent.id),
        *map(str, INPUTS), *QUICK, "--server", gitlab.server.url, "--project", "7",
    ]  # fmt: skip
    environment = {"TERM": "xterm", "COLUMNS": "140", "LINES": "60"}
    with subprocess.Popen(
        command, cwd=gitlab.folder, env=gitlab.environment(None, environment),
        stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(slave)
        shown = _read(master)
        assert process.stderr
        err = process.stderr.read()
    done = gitlab.checked(process.returncode, shown, err)
    assert done.code == 0, done.err
    assert "expected" in done.out
    assert "Unschedulable: 0/1" in done.out
    assert "forecast of the end" in done.out
    assert "20 of 20 jobs ended; ended" in done.out


def _read(master: int) -> bytes:
    """Everything that a terminal gets, until the process closes it."""
    shown = b""
    while select.select([master], [], [], 60)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return shown
