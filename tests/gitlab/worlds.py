"""Worlds in which pipelines run: a parent with its trigger job, a child with on-demand jobs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.conftest import REFERENCE
from tests.gitlab_server import Job, Pipeline, World


def make_ready(world: World) -> None:
    """Give the project all that a night needs."""
    world.add_runner("kapsule", "gpu", maximum_timeout=86_400)
    world.add_runner("kapsule", description="cpu")
    world.set_variable("REGISTRY", "registry.example.com/team")
    for name in (".gitlab-ci.yml", "routing.toml"):
        world.put_file(name, (REFERENCE / name).read_bytes())
    world.put_folder("templates", REFERENCE / "templates")
    schedule = world.add_schedule(variables={"TRAIN_VALIDATE": "true"})
    schedule.pipelines.append(world.add_pipeline(source="schedule", status="success"))


ON_DEMAND = ("hyperopt-dqn", "hyperopt-ppo", "hyperopt-tft", "train-validate-rl")


class OnDemand:
    """Gives each pipeline that is started a child of manual jobs; jobs that are played end well.

    The child appears at the second look at the parent, as in GitLab, which must first render it.
    """

    def __init__(
        self, world: World, names: Sequence[str] = ON_DEMAND, *, end: str = "success"
    ) -> None:
        self.world = world
        self.names = names
        self.end = end
        self.parent: Pipeline | None = None
        self.child: Pipeline | None = None
        self.played: list[str] = []
        world.on_pipeline = self._start
        world.on_play = self._play

    def _start(self, parent: Pipeline) -> None:
        self.parent, parent.status = parent, "running"
        self.world.add_job(parent, "generate-pipeline", stage="generate", status="running")
        bridge = self.world.add_bridge(parent, "train-on-demand", status="created")
        self.world.later.extend((lambda: None, lambda: self._make_child(bridge)))

    def _make_child(self, bridge: Job) -> None:
        bridge.downstream = self.child = self.world.add_pipeline(
            source="parent_pipeline", status="skipped"
        )
        bridge.status = bridge.pipeline.status = "success"
        for name in self.names:
            self.world.add_job(self.child, name, status="manual", allow_failure=True)

    def _play(self, job: Job) -> None:
        self.played.append(job.name)
        job.status = "running"
        self.world.later.extend((lambda: None, lambda: self._finish(job)))

    def _finish(self, job: Job) -> None:
        job.status = self.end
        if self.child:
            self.child.status = "success"  # an optional job fails no pipeline
