"""`plan --sweep`: the curve over one number of routing.toml."""

from __future__ import annotations

import json

import pytest

from .told import Edit, Run, facts


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("concurrency=1,2,4", 3),
        ("ci-training.max_nodes=1..3", 3),
        ("pools.ci-training.boot_time=5m..20m..5m", 4),
        ("rl.requests.cpu=1000m..3000m..500m", 5),
        ("supervised.gpu_utilization=0.1..0.5..0.1", 5),
        ("families.rl.tasks.hyperopt.epochs=4..8..2", 3),
        ("rl.tasks.hyperopt.requests.cpu=1,2", 2),
        ("hyperopt.epochs=5,10", 2),
        ("dqn.seconds_per_epoch=500,1000", 2),
    ],
)
def test_any_number_of_the_routing_can_be_swept(key: str, count: int, run: Run) -> None:
    result = run("plan", "--sweep", key, "--format", "json")
    assert result.code == 0, result.err
    for curve in json.loads(result.out):
        assert len(curve["points"]) == count
        assert all("makespan" in point for point in curve["points"])


def test_more_nodes_are_never_slower_and_more_epochs_never_faster(run: Run) -> None:
    for key, sign in (("ci-training.max_nodes=1..6", -1), ("hyperopt.epochs=1..15..2", 1)):
        points = json.loads(run("plan", "--sweep", key, "--format", "json").out)[0]["points"]
        times = [sign * point["makespan"] for point in points]
        assert times == sorted(times)


def test_a_model_without_a_table_can_be_swept(run: Run) -> None:
    (curve,) = facts(run, "--sweep", "tft.epochs=4,40")
    assert curve["key"] == "models.tft.epochs"
    assert [point["value"] for point in curve["points"]] == [4, 40]


def test_the_longest_name_that_fits_is_meant(run: Run, edit: Edit) -> None:
    routing = edit(
        ("[pools.ci-training]", '[pools."ci.training"]'), ('"ci-training"', '"ci.training"')
    )
    text = routing.read_text(encoding="utf-8").replace("ci-compile", "ci")
    routing.write_text(text, encoding="utf-8")
    (curve,) = facts(run, "--sweep", "ci.training.concurrency=1,2", "--routing", routing)
    assert curve["key"] == 'pools."ci.training".concurrency'


def test_a_value_that_the_routing_refuses_is_said_at_its_place(run: Run) -> None:
    result = run("plan", "--sweep", "ci-training.concurrency=0..2")
    assert result.code == 0
    assert "Not possible:" in result.out
    assert "  0: " in result.out


DEEP = "dqn.tasks.hyperopt.epochs=1,2"


def test_a_model_in_an_inline_table_can_be_swept(run: Run, edit: Edit) -> None:
    routing = edit(("[models.dqn]\nseconds", "[models]\ndqn = { seconds"), ("= 1100", "= 1100 }"))
    (curve,) = facts(run, "--sweep", DEEP, "--routing", routing, "--job", "hyperopt-dqn")
    few, many = (point["makespan"] for point in curve["points"])
    assert few < many


def test_a_table_of_dotted_keys_is_refused_and_not_written_elsewhere(run: Run, edit: Edit) -> None:
    routing = edit(("[models.dqn]\n", "[models]\ndqn."))
    result = run("plan", "--sweep", DEEP, "--routing", routing)
    assert result.code == 2
    assert "routing.toml spells models.dqn with dotted keys; write [models.dqn]" in result.err
    facts(run, "--sweep", "dqn.epochs=1,2", "--routing", routing)


def test_jobs_that_were_added_are_told_once(run: Run, edit: Edit) -> None:
    routing = edit(("[tasks.hyperopt]", '[tasks.hyperopt]\nneeds = ["train-validate"]'))
    result = run("plan", "--sweep", "ci-training.max_nodes=1..3", "--job", "hyperopt-tft",
                 "--routing", routing)  # fmt: skip
    assert result.err.count("added because a selected job needs them: train-validate-tft") == 1
