"""Measured durations: read, used, and compared with the plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gpu_pipeline.durations_file import Durations, MeasuredJob, durations_text, read_durations
from gpu_pipeline.errors import FileError
from gpu_pipeline.plan.measured import alone
from gpu_pipeline.plan.model import Source, Workload
from gpu_pipeline.plan.simulate import simulate

from ..conftest import Result

Run = Callable[..., Result]
NEWEST = "2026-11-30T02:10:00Z"


def measurement(name: str, pool: str, seconds: float) -> dict:
    return {
        "name": name, "task": "hyperopt", "model": name.removeprefix("hyperopt-"), "pool": pool,
        "samples": 5, "p50": seconds, "p90": seconds * 1.2, "mean": seconds, "newest": NEWEST,
    }  # fmt: skip


def file_with(tmp_path: Path, *jobs: dict, runs: list | None = None) -> Path:
    path = tmp_path / "durations.json"
    content = {"format": "gpu-pipeline durations 1", "jobs": list(jobs), "runs": runs or []}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def backwards() -> dict:
    job = {"name": "a", "queued": 0, "started": 10, "finished": 5}
    return {"pipeline": 1, "created": NEWEST, "jobs": [job]}


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    durations = Durations(
        jobs=(msgspec.convert(measurement("hyperopt-tft", "p", 10), MeasuredJob),)
    )
    path = tmp_path / "d.json"
    path.write_text(durations_text(durations), encoding="utf-8")
    assert read_durations(path) == durations


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("", ""),
        ("[]", ""),
        ("{}", "jobs"),
        ('{"format": "gpu-pipeline durations 2", "jobs": []}', "format"),
        ('{"jobs": [{"name": "a"}]}', "jobs[0].pool"),
        (json.dumps({"jobs": [measurement("a", "p", 0)]}), "jobs[0].p50"),
        (json.dumps({"jobs": [{**measurement("a", "p", 1), "samples": 0}]}), "jobs[0].samples"),
        (json.dumps({"jobs": [{**measurement("a", "p", 1), "extra": 0}]}), "jobs[0].extra"),
        ('{"jobs": [{"name": NaN}]}', ""),
        (json.dumps({"jobs": [], "runs": [backwards()]}), "runs[0].jobs[0]"),
        ('{"jobs": [{"name": ' + "[" * 100_000, ""),
        (json.dumps({"jobs": [{**measurement("a", "p", 1), "newest": "soon"}]}), "jobs[0].newest"),
    ],
)
def test_a_broken_file_is_told_with_its_place(
    content: str, place: str, tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "d.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_durations(path)
    assert any(problem.path.startswith(place) for problem in caught.value.problems)
    result = run("plan", "--durations", path)
    assert result.code == 2
    assert "d.json:1" in result.err


def test_a_measured_job_takes_as_long_in_the_plan_as_it_was_measured(shipped: Workload) -> None:
    """Its neighbours slow it down in the plan too, so alone it must be shorter."""
    jobs = tuple(
        replace(each, seconds=replace(each.seconds, value=7200.0, source=Source.MEASURED))
        if each.pool == "ci-training"
        else each
        for each in shipped.jobs
    )
    found = alone(replace(shipped, jobs=jobs))
    runs = [run for run in simulate(found).runs if run.job.pool == "ci-training"]
    assert [run.end - run.start for run in runs] == pytest.approx([7200.0] * 16, rel=1e-3)
    assert all(run.job.seconds.value < 7200 for run in runs)


def test_without_measurements_nothing_changes(shipped: Workload) -> None:
    assert alone(shipped) is shipped


def test_measured_times_are_marked_and_only_those_of_the_same_pool_count(
    run: Run, tmp_path: Path
) -> None:
    path = file_with(
        tmp_path,
        measurement("hyperopt-tft", "ci-training", 5000),
        measurement("hyperopt-dqn", "ci-training", 100),
    )
    plan = json.loads(run("plan", "--durations", path, "--format", "json").out)
    jobs = {job["name"]: job for job in plan["jobs"]}
    assert jobs["hyperopt-tft"]["seconds_alone"]["source"] == "measured"
    assert "durations.json: median of 5 runs" in jobs["hyperopt-tft"]["seconds_alone"]["origin"]
    assert jobs["hyperopt-tft"]["end"] - jobs["hyperopt-tft"]["start"] == pytest.approx(
        5000, rel=1e-3
    )
    assert jobs["hyperopt-dqn"]["seconds_alone"]["source"] == "configured", "another pool"


def test_the_plan_is_held_against_what_was_measured(run: Run, tmp_path: Path) -> None:
    finished = {"name": "hyperopt-tft", "queued": 0.0, "started": 800.0, "finished": 6000.0}
    path = file_with(
        tmp_path,
        measurement("hyperopt-tft", "ci-training", 5000),
        runs=[{"pipeline": 4711, "created": NEWEST, "jobs": [finished]}],
    )
    arguments = ("plan", "--durations", path, "--measured")
    told = json.loads(run(*arguments, "--format", "json").out)
    job = next(each for each in told["jobs"] if each["name"] == "hyperopt-tft")
    assert (job["median"], job["samples"], job["source"]) == (5000, 5, "assumed")
    measured = told["runs"][0]
    assert (measured["pipeline"], measured["jobs"], measured["makespan"]) == (4711, 1, 6000)
    assert measured["planned_makespan"] == pytest.approx(5900, rel=1e-3)
    text = run(*arguments).out
    assert "4711" in text
    assert "hyperopt-tft" in text


@pytest.mark.parametrize("seconds", [5e-324, 1e-300, 1e-9])
def test_a_job_that_takes_no_time_to_speak_of_has_a_plan(
    seconds: float, run: Run, tmp_path: Path
) -> None:
    path = file_with(tmp_path, measurement("hyperopt-tft", "ci-training", seconds))
    for arguments in ((), ("--measured",), ("--format", "html")):
        result = run("plan", "--durations", path, *arguments)
        assert (result.code, result.err) == (0, "")
