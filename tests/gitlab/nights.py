"""Nights of training on the test server: a parent, its child, and a log for each job."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.gitlab.planned import PlannedJob, planned_jobs
from gpu_pipeline.gitlab.ran import as_echoed
from tests.gitlab_server import Pipeline, World, raw_trace

TRACES = Path(__file__).parent / "traces"
CHILD = TRACES / "child-pipeline.yml"
ON_DEMAND = TRACES / "child-on-demand.yml"
START = datetime.datetime(2026, 1, 2, 3, 0, tzinfo=datetime.UTC)


def planned(path: Path = CHILD) -> list[PlannedJob]:
    """The jobs of a child file on main."""
    file = parse_ci_file(path.read_text(encoding="utf-8"), path.name)
    return planned_jobs(file, {"CI_COMMIT_BRANCH": "main"})


def good_log(job: PlannedJob, *, lines: int = 3) -> bytes:
    """What a job writes that runs as planned; `lines` is how much the training prints."""
    assert job.route
    route = job.route
    marker = (
        f"gpu-route: family={route.family} pool={route.pool} gpu='{route.gpu}' "
        f"epochs={job.epochs} job={job.name} fingerprint={job.fingerprint}"
    )
    outputs = {
        job.setup[0]: [marker],
        "nvidia-smi": [f"|   0  {route.gpu:<26}On  |   00000000:01:00.0 Off |        0 |"],
    }
    return raw_trace(
        [
            "Running with gitlab-runner 19.4.0 (0a1b2c3d)",
            "section:prepare_executor",
            'Preparing the "kubernetes" executor',
            *(f'"NodeSelector" "{k}" overwritten with "{v}"' for k, v in job.selectors.items()),
            *(f'"{field}" overwritten with "{value}"' for field, value in job.sizes.items()),
            "Using Kubernetes namespace: ci-gpu",
            "Using Kubernetes executor with image training:5f0c1e2d ...",
            "end:prepare_executor",
            "section:step_script",
            *(
                line
                for command in (*job.setup, *job.script)
                for line in (f"$ {as_echoed(command)}", *outputs.get(command, []))
            ),
            *(f"epoch {n} loss=0.1" for n in range(lines)),
            "end:step_script",
            "Job succeeded",
        ],
        start=START,
    )


def night(
    world: World,
    *,
    logs: Mapping[str, bytes] | None = None,
    statuses: Mapping[str, str] | None = None,
    child: Path = CHILD,
    begin: datetime.datetime = START,
    stretch: float = 1.0,
) -> tuple[Pipeline, Pipeline]:
    """A scheduled parent whose child ran every job; `logs` and `statuses` differ for some.

    Job number n begins 10 + n minutes after `begin` and takes 10 + n minutes, times `stretch`.
    """
    parent = world.add_pipeline(source="schedule", status="success", created_at=begin)
    world.add_job(parent, "generate-pipeline", status="success", stage="generate")
    below = world.add_pipeline(source="parent_pipeline", status="success", created_at=begin)
    world.add_bridge(parent, "train-scheduled", downstream=below)
    for number, job in enumerate(planned(child)):
        started = begin + datetime.timedelta(minutes=10 + number)
        seconds = (600.0 + 60 * number) * stretch
        status = (statuses or {}).get(job.name, "success")
        world.add_job(
            below,
            job.name,
            status=status,
            failure_reason="script_failure" if status == "failed" else None,
            created_at=begin,
            started_at=started,
            finished_at=started + datetime.timedelta(seconds=seconds),
            duration=seconds,
            queued_duration=5.0,
            trace=(logs or {}).get(job.name, good_log(job)),
        )
    return parent, below
