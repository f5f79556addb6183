"""`gitlab history`: past jobs become durations, each pipeline fetched once."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from gpu_pipeline.durations_file import Durations, read_durations
from gpu_pipeline.gitlab.measured import PastJob, PastRun, measured, percentile
from tests.conftest import REFERENCE
from tests.gitlab_server import GitLabServer, World

from .conftest import GitLab
from .nights import START, good_log, night, planned

INPUTS = ("--routing", REFERENCE / "routing.toml", "--templates", REFERENCE / "templates")
DAY = datetime.timedelta(days=1)


def written(gitlab: GitLab) -> Durations:
    return read_durations(gitlab.folder / "durations.json")


def nights(world: World, number: int) -> None:
    for n in range(number):
        night(world, begin=START + n * DAY, stretch=1 + n / 10)


def test_the_durations_of_past_nights_are_measured(gitlab: GitLab, world: World) -> None:
    nights(world, 3)
    done = gitlab("history", *INPUTS)
    assert done.code == 0, done.err
    found = {job.name: job for job in written(gitlab).jobs}
    assert set(found) == {job.name for job in planned()}
    first = planned()[0]
    job = found[first.name]
    assert (job.pool, job.samples) == (first.pool, 3)
    assert (job.p50, job.mean) == (660.0, 660.0)
    assert job.p90 == pytest.approx(708.0)
    assert (job.task, job.model) == ("hyperopt", "dqn")
    assert found["train-validate-rl"].model is None
    assert [run.created for run in written(gitlab).runs] == [START + n * DAY for n in (2, 1, 0)]
    one = written(gitlab).runs[-1].jobs[0]
    assert (one.queued, one.started, one.finished) == (595.0, 600.0, 1200.0)
    assert f"{first.name}" in done.out
    assert "19 jobs, 57 samples, 3 runs" in done.err


def test_what_was_fetched_is_not_fetched_again(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    nights(world, 2)
    assert gitlab("history", *INPUTS).code == 0
    before = written(gitlab)
    assert len(server.requests) == 1 + 2 * (1 + 19)  # a list, then of each pipeline jobs and logs
    server.requests.clear()
    again = gitlab("history", *INPUTS)
    assert again.code == 0
    assert "fetched 0 child pipelines" in again.err
    assert len(server.requests) == 1
    assert written(gitlab) == before
    night(world, begin=START + 5 * DAY)
    assert "fetched 1 child pipeline\n" in gitlab("history", *INPUTS).err
    assert len(written(gitlab).runs) == 3


def test_a_run_that_broke_off_goes_on_where_it_was(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    nights(world, 3)
    oldest = min(each.id for each in world.pipelines.values() if each.source == "parent_pipeline")
    server.faults.always("GET", rf"/pipelines/{oldest}/jobs", "503")
    broken = gitlab("history", *INPUTS, "--deadline", "1")
    assert broken.code == 4
    assert not (gitlab.folder / "durations.json").exists()
    server.faults.__init__()
    done = gitlab("history", *INPUTS)
    assert done.code == 0
    assert "fetched 1 child pipeline\n" in done.err
    assert len(written(gitlab).runs) == 3


def test_a_pipeline_that_changed_is_fetched_again(gitlab: GitLab, world: World) -> None:
    _, child = night(world, statuses={"hyperopt-dqn": "failed"})
    assert gitlab("history", *INPUTS).code == 0
    assert "hyperopt-dqn" not in {job.name for job in written(gitlab).jobs}
    failed = next(job for job in world.jobs_of(child) if job.name == "hyperopt-dqn")
    times = {"started_at": START, "finished_at": START + DAY / 24, "duration": 3600.0}
    world.retry(failed, status="success", trace=good_log(planned()[0]), **times)
    child.updated_at = START + DAY
    assert gitlab("history", *INPUTS).code == 0
    assert {job.name: job.p50 for job in written(gitlab).jobs}["hyperopt-dqn"] == 3600.0


def test_only_so_many_pipelines_and_at_most_so_many_requests_at_once(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    nights(world, 4)
    done = gitlab("history", *INPUTS, "--pipelines", "2", "--samples", "1", "--parallel", "2")
    assert done.code == 0
    assert len(written(gitlab).runs) == 2
    assert {job.samples for job in written(gitlab).jobs} == {1}
    assert server.most_at_once <= 2
    assert all("per_page=100" in url for url in server.asked("GET", r"/(jobs|pipelines)\?"))


def test_running_pipelines_and_other_branches_are_left_out(gitlab: GitLab, world: World) -> None:
    night(world)
    _, running = night(world, begin=START + DAY)
    running.status = "running"
    _, other = night(world, begin=START + 2 * DAY)
    other.ref = "topic"
    assert gitlab("history", *INPUTS, "--ref", "main").code == 0
    assert len(written(gitlab).runs) == 1


@pytest.mark.parametrize("logs", [True, False])
def test_without_any_measured_job_nothing_is_written(
    logs: bool, gitlab: GitLab, world: World
) -> None:
    if logs:
        night(world, logs={job.name: b"" for job in planned()})
    done = gitlab("history", *INPUTS)
    assert done.code == 3
    assert "durations.json is not written" in done.err
    assert not (gitlab.folder / "durations.json").exists()


def test_what_is_refused_is_named(gitlab: GitLab, world: World, server: GitLabServer) -> None:
    _, child = night(world)
    server.faults.always("GET", rf"/pipelines/{child.id}/jobs", "403")
    done = gitlab("history", *INPUTS)
    assert done.code == 4
    assert f"the jobs of pipeline {child.id}: GitLab answers" in done.err


def test_the_cache_keeps_only_what_is_looked_at(gitlab: GitLab, world: World) -> None:
    def cached() -> int:
        text = (gitlab.folder / "durations.json.cache").read_text(encoding="utf-8")
        return len(json.loads(text)["runs"])

    nights(world, 3)
    assert gitlab("history", *INPUTS).code == 0
    assert cached() == 3
    assert "fetched 0 child pipelines" in gitlab("history", *INPUTS, "--pipelines", "1").err
    assert cached() == 1


def test_a_cache_that_is_too_large_is_begun_anew(gitlab: GitLab, world: World) -> None:
    nights(world, 1)
    (gitlab.folder / "durations.json.cache").write_bytes(b" " * (16 * 2**20 + 1))
    done = gitlab("history", *INPUTS)
    assert done.code == 0, done.err
    assert "durations.json.cache cannot be read and is begun anew" in done.err


def test_a_damaged_cache_is_begun_anew(gitlab: GitLab, world: World) -> None:
    night(world)
    (gitlab.folder / "durations.json.cache").write_text("{", encoding="utf-8")
    done = gitlab("history", *INPUTS)
    assert done.code == 0
    assert "durations.json.cache cannot be read and is begun anew" in done.err
    assert "fetched 0" in gitlab("history", *INPUTS).err
    cache = json.loads((gitlab.folder / "durations.json.cache").read_text(encoding="utf-8"))
    assert cache["format"] == "gpu-pipeline history 1"


def test_faults_on_the_way_change_nothing(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    night(world)
    server.faults.each_get(2)
    assert gitlab("history", *INPUTS).code == 0
    assert len(written(gitlab).jobs) == 19


def a_run(pipeline: int, *jobs: tuple[str, str | None, str, float]) -> PastRun:
    return PastRun(
        pipeline=pipeline,
        created=START,
        updated="",
        jobs=tuple(
            PastJob(
                id=pipeline, name=name, pool=pool, epochs=epochs, seconds=seconds, queued=0.0,
                started=1.0, finished=1.0 + seconds, ended=START + pipeline * DAY,
            )
            for name, pool, epochs, seconds in jobs
        ),
    )  # fmt: skip


def test_samples_are_of_one_pool_and_of_the_epochs_that_are_run_now() -> None:
    runs = [
        a_run(1, ("h", "l40s", "15", 9000.0)),
        a_run(2, ("h", "l4", "15", 8000.0)),
        a_run(3, ("h", "l4", "8", 4000.0)),
        a_run(4, ("h", "l4", "8", 4400.0), ("gone", "l4", "8", 1.0), ("h2", None, "8", 1.0)),
    ]
    found = measured(runs, {"h": ("hyperopt", "h"), "h2": ("hyperopt", None)}, samples=20)
    assert [(job.pool, job.samples, job.p50) for job in found.jobs] == [
        ("l4", 2, 4200.0), ("l40s", 1, 9000.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7.0], 90, 7.0),
        ([1.0, 3.0], 50, 2.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([float(n) for n in range(11)], 90, 9.0),
        ([1.0, 2.0], 100, 2.0),
        ([1.0, 2.0], 0, 1.0),
    ],
)
def test_a_percentile_lies_between_its_neighbours(
    values: list[float], percent: float, expected: float
) -> None:
    assert percentile(values, percent) == pytest.approx(expected)


def test_the_output_may_stand_in_another_folder(gitlab: GitLab, world: World) -> None:
    night(world)
    (gitlab.folder / "data").mkdir()
    output = Path("data") / "d.json"
    assert gitlab("history", *INPUTS, "-o", output).code == 0
    assert (gitlab.folder / "data" / "d.json.cache").exists()
