"""Order and resource groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpu_pipeline.demand import training_times
from gpu_pipeline.jobs import Job
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.resolve import resolve_jobs
from gpu_pipeline.routing import read_routing

from .conftest import SHIPPED


def jobs_of(path: Path) -> list[Job]:
    routing, problems = read_routing(path.read_bytes(), path.name)
    jobs = resolve_jobs(routing, problems)
    problems.raise_if_any()
    return jobs


def test_a_model_never_measured_counts_as_the_mean_of_its_pool() -> None:
    times = training_times(jobs_of(SHIPPED))
    assert times["hyperopt-dqn"].seconds == 8 * 1100
    assert not times["hyperopt-dqn"].assumed
    assert times["hyperopt-ppo"].seconds == 8 * 1100, "only dqn was measured"
    assert (
        times["hyperopt-ppo"].assumed == "1100 s an epoch: the mean of what is known on ci-compile"
    )
    assert times["train-validate-rl"].seconds == 2 * 1100
    assert times["hyperopt-tft"].seconds == 15 * 1100, "nothing in this pool was measured"
    assert times["hyperopt-tft"].assumed == "1100 s an epoch: the mean of what is known elsewhere"


def test_expected_time_is_known_only_where_every_model_was_measured() -> None:
    jobs = {job.name: job for job in jobs_of(SHIPPED)}
    assert jobs["hyperopt-dqn"].expected_seconds == 8800
    assert jobs["hyperopt-ppo"].expected_seconds is None
    assert jobs["train-validate-rl"].expected_seconds is None


def test_jobs_go_to_the_slot_with_the_least_work(edit: Callable[..., Path]) -> None:
    """Measured: tft 10 times as long as the rest, so its slot gets nothing else."""
    models = '"tft", "mamba2", "tggn", "tlob"'
    measured = "".join(
        f"[models.{name}]\nseconds_per_epoch = {seconds}\n"
        for name, seconds in (("tft", 1000), ("mamba2", 100), ("tggn", 100), ("tlob", 100))
    )
    routing = edit(
        ('"tft", "mamba2", "tggn", "tlob", "liquid", "kan", "xlstm", "diffusion"', models),
        ("concurrency = 4", "concurrency = 2"),
        ("[models.dqn]", f"{measured}[models.dqn]"),
    )
    jobs = jobs_of(routing)
    groups = {each.job.name: each.group for each in queue_up(jobs, None)}
    slot = groups["hyperopt-tft"]
    assert [name for name, group in groups.items() if group == slot] == ["hyperopt-tft"]
    order = [name for name, group in groups.items() if group and "ci-training/" in group]
    assert order[:4] == ["hyperopt-tft", "hyperopt-mamba2", "hyperopt-tggn", "hyperopt-tlob"]
    assert order[4] == "train-validate-tft"
