"""What `diff` says of two routings: exactly what moves, with the lines, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, SHIPPED, Result

HYPEROPT = """\
hyperopt-tft hyperopt-mamba2 hyperopt-tggn hyperopt-tlob hyperopt-liquid hyperopt-kan
hyperopt-xlstm hyperopt-diffusion""".split()
TRAIN = [name.replace("hyperopt", "train-validate") for name in HYPEROPT]
RL = ["hyperopt-dqn", "hyperopt-ppo", "train-validate-rl"]
ALL = [*RL, *HYPEROPT, *TRAIN]


def of(names: list[str], change: str) -> set[str]:
    return {f"{name} {change}" for name in names}


# Replacements in the shipped routing, and all that has moved afterwards.
EDITS: dict[str, tuple[list[tuple[str, str]], set[str]]] = {
    "nothing": ([], set()),
    "a comment": ([("# exactly as nvidia-smi prints it", "# as it says")], set()),
    "a reason": ([('reason = "CPU-bound', 'reason = "Bound by the CPU')], set()),
    "a longer way to say the same": (
        [
            ('timeout = "2h"', 'timeout = "120 minutes"'),
            ('requests = { cpu = "1000m"', 'requests = { cpu = "1"'),
            ('tags = ["kapsule", "gpu"]', 'tags = ["gpu", "kapsule"]'),
            ("gpu_speed = 0.35", "gpu_speed = 0.35\nboot_time = '600s'\ngpus = 1\nmin_nodes = 0"),
            ('currency = "EUR"', 'currency = "EUR"\nqueue = "gitlab"'),
        ],
        set(),
    ),
    "a new model": (
        [('"diffusion"]', '"diffusion", "timesnet"]')],
        {"+ hyperopt-timesnet on ci-training", "+ train-validate-timesnet on ci-training"},
    ),
    "a model gone": (
        [(', "diffusion"]', "]")],
        {"- hyperopt-diffusion on ci-training", "- train-validate-diffusion on ci-training"},
    ),
    "a job left out": (
        [("[models.dqn]", "[models.kan.tasks.hyperopt]\nenabled = false\n[models.dqn]")],
        {"- hyperopt-kan on ci-training, left out at 109"},
    ),
    "a model moved": (
        [("[models.dqn]", '[models.kan]\npool = "ci-compile"\n[models.dqn]')],
        {
            f"{job} {change}"
            for job in ("hyperopt-kan", "train-validate-kan")
            for change in (
                "pool ci-training@97 → ci-compile@109",
                "gpu NVIDIA L40S@57 → NVIDIA L4@43",
            )
        },
    ),
    "epochs of a family's task": (
        [("epochs = 8 ", "epochs = 9 ")],
        of(["hyperopt-dqn", "hyperopt-ppo"], "epochs 8@94 → 9@94"),
    ),
    "trials where there was one": (
        [("epochs = 8 ", "trials = 3\nepochs = 8 ")],
        of(["hyperopt-dqn", "hyperopt-ppo"], "trials - → 3@94"),
    ),
    "a timeout": (
        [('timeout = "2h"', 'timeout = "3h"')],
        of(["train-validate-rl", *TRAIN], "timeout 2h@71 → 3h@71"),
    ),
    "requests and limits": (
        [
            ('requests = { cpu = "3000m"', 'requests = { cpu = "3500m"'),
            ('"16Gi" }\n\n[families.rl', '"20Gi" }\n\n[families.rl'),
        ],
        of(RL, "requests.cpu 3000m@87 → 3500m@87") | of(RL, "limits.memory 16Gi@88 → 20Gi@88"),
    ),
    "a request that there was not": (
        [('requests = { cpu = "3000m"', 'requests = { ephemeral_storage = "5Gi", cpu = "3000m"')],
        of(RL, "requests.ephemeral_storage - → 5Gi@87"),
    ),
    "image, tags and a variable of all": (
        [
            ("training:${CI_COMMIT_SHA}", "training:1"),
            ('tags = ["kapsule", "gpu"]', 'tags = ["gpu"]\nvariables = { A = "x" }'),
        ],
        of(ALL, "image ${REGISTRY}/training:${CI_COMMIT_SHA}@12 → ${REGISTRY}/training:1@12")
        | of(ALL, "tags ['kapsule', 'gpu']@13 → ['gpu']@13")
        | of(ALL, "variables.A - → x@14"),
    ),
    "stage": ([('stage = "train"', 'stage = "fit"')], of(ALL, "stage train@11 → fit@11")),
    "base": (
        [('base = "train-rl-base"', 'base = "train-validate-base"')],
        of(RL, "base train-rl-base@81 → train-validate-base@81"),
    ),
    "needs": (
        [('[tasks.hyperopt]', '[tasks.hyperopt]\nneeds = ["train-validate"]')],
        of(["hyperopt-dqn", "hyperopt-ppo"], "needs - → ['train-validate-rl']@74")
        | {f"{job} needs - → ['{need}']@74" for job, need in zip(HYPEROPT, TRAIN, strict=True)},
    ),
    "how long a model trains": (
        [("seconds_per_epoch = 1100", 'expected = "2h"')],
        of(["hyperopt-dqn", "train-validate-rl"], "seconds_per_epoch.dqn 1100.0@109 → -")
        | of(["hyperopt-dqn", "train-validate-rl"], "expected.dqn - → 2h@109"),
    ),
    "how busy a job keeps its GPU": (
        [("gpu_utilization = 0.34", "gpu_utilization = 0.5")],
        of([*HYPEROPT, *TRAIN], "gpu_utilization 0.34@102 → 0.5@102"),
    ),
    "a family's job that trains one model more": (
        [('models = ["dqn", "ppo"]', 'models = ["dqn", "ppo", "sac"]')],
        {
            "+ hyperopt-sac on ci-compile",
            "train-validate-rl models ['dqn', 'ppo']@83 → ['dqn', 'ppo', 'sac']@83",
        },
    ),
    "a rule's way to start": (
        [('when = "on_success"', 'when = "always"')],
        {line.replace("rules", "rules[1]") for line in of(ALL, "rules on_success@26 → always@26")},
    ),
    "a further rule before the others": (
        [("[[pipeline", "[[pipeline.rules]]\nif = '$A'\nwhen = 'never'\n[[pipeline")],
        of(ALL, "rules[0] - → never@21"),
    ),
    "a pool's size and price": (
        [
            ("concurrency = 4", "concurrency = 3"),
            ("price_per_hour = 1.47", "price_per_hour = 1.6\nidle_time = '5m'"),
        ],
        {
            "pool ci-training concurrency 4@62 → 3@62",
            "pool ci-training price_per_hour 1.47@65 → 1.6@65",
            "pool ci-training idle_time - → 5m@66",
        },
    ),
    "a pool's nodes": (
        [("max_nodes = 1  ", "max_nodes = 2  "), ('cpu = "7800m"', 'cpu = "7700m"')],
        {
            "pool ci-compile max_nodes 1@52 → 2@52",
            "pool ci-compile allocatable.cpu 7800m@49 → 7700m@49",
        },
    ),
    "the GPU of a pool": (
        [('gpu = "NVIDIA L4" ', 'gpu = "NVIDIA L4S" ')],
        of([*RL, "pool ci-compile"], "gpu NVIDIA L4@43 → NVIDIA L4S@43"),
    ),
    "the queue of all pools": (
        [('currency = "EUR"', 'queue = "kubernetes"\ncurrency = "EUR"')],
        {f"pool {pool} queue - → kubernetes@17" for pool in ("ci-compile", "ci-training")},
    ),
    "capture and currency": (
        [('"TRAIN_VALIDATE"]', '"TRAIN_VALIDATE", "B"]'), ('currency = "EUR"', 'currency = "USD"')],
        {
            "pipeline capture ['REGISTRY', 'TRAIN_VALIDATE']@16 → "
            "['REGISTRY', 'TRAIN_VALIDATE', 'B']@16",
            "pipeline currency EUR@17 → USD@17",
        },
    ),
}  # fmt: skip


def moves(found: dict[str, Any]) -> set[str]:
    """Everything that a comparison says has moved, a line each; rules only by their `when`."""
    return set(_moves(found))


def _moves(found: dict[str, Any]) -> Iterator[str]:
    for sign, kind in (("+", "added"), ("-", "removed")):
        for each in found["jobs"][kind]:
            left_out = f", left out at {each['left_out']['line']}" if each["left_out"] else ""
            yield f"{sign} {each['name']} on {each['pool']}{left_out}"
        yield from (f"{sign} pool {each['name']}" for each in found["pools"][kind])
    for prefix, changed in (("", found["jobs"]["changed"]), ("pool ", found["pools"]["changed"])):
        for each in changed:
            yield from (f"{prefix}{each['name']} {_change(c)}" for c in each["changes"])
    yield from (f"pipeline {_change(each)}" for each in found["pipeline"])
    yield from (f"template {name}" for name in found["templates"])


def _change(change: dict[str, Any]) -> str:
    sides = (_side(change["before"]), _side(change["after"]))
    return f"{change['key']} {sides[0]} → {sides[1]}"


def _side(side: dict[str, Any] | None) -> str:
    if side is None:
        return "-"
    value = side["value"]
    return f"{value['when'] if isinstance(value, dict) else value}@{side['line']}"


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_told_exactly(
    name: str, run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    replacements, expected = EDITS[name]
    routing = edit(*replacements)
    result = run("diff", SHIPPED, "--routing", routing, "--format", "json", "--exit-code")
    assert result.err == ""
    found = json.loads(result.out)
    assert moves(found) == expected
    assert found["differs"] is bool(expected)
    assert result.code == int(bool(expected))


@pytest.mark.parametrize("name", EDITS)
def test_the_other_way_round_is_the_opposite(
    name: str, run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(*EDITS[name][0])
    there = json.loads(run("diff", SHIPPED, "--routing", routing, "--format", "json").out)
    back = json.loads(run("diff", routing, "--routing", SHIPPED, "--format", "json").out)
    assert len(moves(there)) == len(moves(back))
    for kind in ("jobs", "pools"):
        names = [[each["name"] for each in found[kind]["added"]] for found in (there, back)]
        gone = [[each["name"] for each in found[kind]["removed"]] for found in (there, back)]
        assert names == gone[::-1]
        changes = [
            {
                (each["name"], change["key"]): [
                    change[side] and change[side]["value"] for side in order
                ]
                for each in found[kind]["changed"]
                for change in each["changes"]
            }
            for found, order in ((there, ("before", "after")), (back, ("after", "before")))
        ]
        assert changes[0] == changes[1]


def test_a_moved_job_is_listed_as_moved(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(*EDITS["a model moved"][0])
    found = json.loads(run("diff", SHIPPED, "--routing", routing, "--format", "json").out)
    assert found["jobs"]["moved"] == ["hyperopt-kan", "train-validate-kan"]


def test_a_pool_added_and_one_removed(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(
        ("[pools.ci-compile]", "[pools.small]"), ('pool = "ci-compile"', 'pool = "small"')
    )
    found = json.loads(run("diff", SHIPPED, "--routing", routing, "--format", "json").out)
    assert {"+ pool small", "- pool ci-compile"} < moves(found)
    assert found["jobs"]["moved"] == sorted(RL)


def test_another_deal_of_slots_is_said_once(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(('["tft", "mamba2"', '["mamba2", "tft"'))
    result = run("diff", SHIPPED, "--routing", routing, "--exit-code")
    assert result.code == 1
    assert "only the deal of slots differs" in " ".join(result.out.split())
    assert result.out.count("4 jobs of the same pool got another slot") == 1
    assert "hyperopt-tft" not in result.out


def test_without_exit_code_a_difference_is_no_failure(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    assert run("diff", SHIPPED, "--routing", edit(("epochs = 8 ", "epochs = 9 "))).code == 0


def test_globs_choose_jobs_of_either_side(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(('"ppo"]', '"sac"]'), ("epochs = 15", "epochs = 10"))
    options = ("diff", SHIPPED, "--routing", routing, "--format", "json")
    found = json.loads(run(*options, "--job", "hyperopt-sac", "--job", "*-ppo").out)
    assert moves(found) == {"+ hyperopt-sac on ci-compile", "- hyperopt-ppo on ci-compile"}
    assert found["plan"]["total"]["jobs"] == {
        "before": 1, "after": 1, "difference": 0, "percent": 0.0
    }  # fmt: skip
    mistyped = run(*options, "--job", "hyperopt-pppo")
    assert mistyped.code == 3
    assert 'did you mean "hyperopt-ppo"?' in mistyped.err


def test_the_plans_are_those_of_the_two_routings(run: Callable[..., Result]) -> None:
    """The headline: one pool after the other, with figures that add up."""
    before = ROOT / "examples/single-pool.toml"
    found = json.loads(run("diff", before, "--routing", SHIPPED, "--format", "json").out)["plan"]
    total, pools = found["total"], found["pools"]
    assert list(pools) == ["ci-compile", "ci-training"]
    assert total["end_seconds"]["after"] == max(p["end_seconds"]["after"] for p in pools.values())
    for key in ("cost", "paid_node_hours", "jobs"):
        assert total[key]["after"] == pytest.approx(sum(p[key]["after"] for p in pools.values()))
        assert total[key]["before"] == pools["ci-training"][key]["before"]
    for figures in (total, *pools.values()):
        for pair in figures.values():
            if pair["before"] is not None and pair["after"] is not None:
                assert pair["difference"] == pair["after"] - pair["before"]
                assert pair["percent"] == pytest.approx(100 * pair["difference"] / pair["before"])
    assert pools["ci-compile"]["cost"]["before"] is None
    assert total["cost"]["difference"] < 0
    assert total["end_seconds"]["difference"] < 0
    assert found["durations"] == {"assumed": 18, "configured": 1}


def test_costs_in_two_currencies_are_not_subtracted(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(('currency = "EUR"', 'currency = "USD"'))
    found = json.loads(run("diff", SHIPPED, "--routing", routing, "--format", "json").out)["plan"]
    assert found["currency"] == {"before": "EUR", "after": "USD"}
    assert found["total"]["cost"]["difference"] is None
    text = run("diff", SHIPPED, "--routing", routing).out
    assert re.search(r"^cost +\d+\.\d\d EUR +\d+\.\d\d USD +another currency$", text, re.MULTILINE)
    assert "costs" not in text.partition("\n\n")[0]


def test_a_side_without_any_of_the_jobs_has_an_empty_plan(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    options = ("--job", "*-sac", "--format")
    routing = edit(('"ppo"]', '"ppo", "sac"]'))
    there = json.loads(run("diff", SHIPPED, "--routing", routing, *options, "json").out)
    assert there["plan"]["total"]["cost"]["before"] == 0
    assert there["plan"]["total"]["end_seconds"]["percent"] is None
    back = run("diff", routing, "--routing", SHIPPED, *options, "markdown")
    assert back.code == 0, back.err
    assert "1 job removed" in back.out
    assert "mermaid" not in back.out


def test_jobs_that_will_not_end_well_are_named(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    """With a timeout of minutes, and queued as Pending pods instead of in GitLab."""
    routing = edit(
        ('timeout = "12h"', 'timeout = "30m"'),
        ('currency = "EUR"', 'queue = "kubernetes"\ncurrency = "EUR"'),
    )
    options = ("diff", SHIPPED, "--routing", routing)
    after = json.loads(run(*options, "--format", "json").out)["plan"]["after"]
    assert set(HYPEROPT) <= set(after["ended_by_timeout"])
    assert "train-validate-tft" in after["given_up_while_pending"]
    text = " ".join(run(*options).out.split())
    assert "Ended by their timeout in the plan after: hyperopt-" in text
    assert "Given up by the runner as Pending pods in the plan after: " in text


def test_a_dash_is_stdout(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = run("diff", ROOT / "examples/single-pool.toml", "-o", "-")
    assert there.out == run("diff", ROOT / "examples/single-pool.toml").out
    assert not list(tmp_path.iterdir())
