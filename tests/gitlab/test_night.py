"""A whole night, command after command, on a good network and on a bad one."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from tests.conftest import REFERENCE
from tests.gitlab_server import GitLabServer, Job, Pipeline, World

from . import scenario
from .conftest import PARENT, SHIPPED, GitLab
from .nights import CHILD, good_log, planned
from .process import TOPICS, run_forked

QUICK = 0.01


class Night:
    """Gives a pipeline that is started its child, whose jobs run one after another and end well."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.on_pipeline = self._start

    def _start(self, parent: Pipeline) -> None:
        parent.status = "running"
        self.world.add_job(parent, "generate-pipeline", stage="generate", status="success")
        bridge = self.world.add_bridge(parent, "train-scheduled", status="created")
        self.world.later.extend([lambda: None, lambda: self._make_child(bridge)])

    def _make_child(self, bridge: Job) -> None:
        bridge.status = "running"
        bridge.downstream = child = self.world.add_pipeline(
            source="parent_pipeline", status="running"
        )
        jobs = [self.world.add_job(child, job.name, status="pending") for job in planned()]
        self.world.later.append(lambda: self._run(jobs[:4]))
        self.world.later.append(lambda: self._finish(bridge, jobs))

    def _run(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.status, job.started_at = "running", job.created_at

    def _finish(self, bridge: Job, jobs: list[Job]) -> None:
        logs = {job.name: good_log(job) for job in planned()}
        for number, job in enumerate(jobs):
            job.status, job.duration, job.queued_duration = "success", 600.0 + 60 * number, 5.0
            job.started_at = job.created_at
            job.finished_at = job.created_at + datetime.timedelta(seconds=job.duration)
            job.trace = logs[job.name]
        bridge.status = bridge.pipeline.status = "success"
        if bridge.downstream:
            bridge.downstream.status = "success"


def target(gitlab: GitLab) -> scenario.Target:
    return scenario.Target(
        gitlab=gitlab,
        project="7",
        ref="main",
        description="Nightly training",
        run_id="night-1",
        inputs=SHIPPED,
        parent=("--parent", PARENT),
        child=("--child", CHILD),
        interval=QUICK,
        timeout=100,
        measures=True,
    )


def make_ready(world: World) -> None:
    world.add_runner("kapsule", "gpu")
    world.project.notes[12] = []
    for name in (".gitlab-ci.yml", "routing.toml"):
        world.put_file(name, (REFERENCE / name).read_bytes())
    world.put_folder("templates", REFERENCE / "templates")
    Night(world)


@pytest.mark.parametrize("faulty", [False, True], ids=["good network", "bad network"])
def test_a_night_passes_from_end_to_end(
    faulty: bool, gitlab: GitLab, world: World, server: GitLabServer, tmp_path: Path
) -> None:
    """On the bad network each GET fails twice, and of each first POST the answer is lost."""
    make_ready(world)
    gitlab.as_users_do = set() if faulty else set(TOPICS)
    if faulty:
        server.faults.each_get(2)
        server.faults.lose_posts()
    scenario.prepare(target(gitlab))
    parent = scenario.train(target(gitlab))
    durations = scenario.measure(target(gitlab))
    scenario.annotate(target(gitlab), 12)

    sources = [(each.id, each.source) for each in world.pipelines.values()]
    assert [source for _, source in sources] == ["api", "parent_pipeline"]
    assert sources[0][0] == parent
    assert len(world.project.schedules) == 1
    assert len(world.project.notes[12]) == 1
    assert not gitlab.as_users_do, "every topic has been run"
    assert durations
    assert len(json.loads(durations)["jobs"]) == len(planned())
    plan = ["plan", *map(str, SHIPPED), "--source", "schedule", "--var", "TRAIN_VALIDATE=true",
            "--durations", "durations.json", "--format", "json"]  # fmt: skip
    code, out, err = run_forked(plan, gitlab.folder, gitlab.environment("", None), "", tmp_path)
    assert code == 0, err
    assert b"hyperopt-dqn" in out
