"""Everyday changes are edits of routing.toml alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import Result

Edit = Callable[..., Path]


@pytest.fixture
def child_of(run: Callable[..., Result]) -> Callable[..., dict]:
    def render(routing: Path, *options: str) -> dict:
        result = run("-o", "-", "--quiet", "--routing", routing, *options)
        assert result.code == 0, result.err
        return yaml.safe_load(result.out)

    return render


def jobs_of(child: dict) -> list[str]:
    return [name for name, job in child.items() if not name.startswith(".") and "script" in job]


def test_one_train_job_for_each_rl_model(edit: Edit, child_of: Callable[..., dict]) -> None:
    child = child_of(edit(('per = "family"', 'per = "model"')))
    names = jobs_of(child)
    assert {"train-validate-dqn", "train-validate-ppo"} <= set(names)
    assert "train-validate-rl" not in names
    assert len(names) == 20
    assert child["train-validate-ppo"]["extends"] == ".train-rl-base"


def test_moving_kan_to_l4_takes_its_selector_away(
    edit: Edit, child_of: Callable[..., dict]
) -> None:
    child = child_of(edit(("[models.dqn]", '[models.kan]\npool = "ci-compile"\n\n[models.dqn]')))
    for task in ("train-validate", "hyperopt"):
        job = child[f"{task}-kan"]
        base = child[job["extends"]]
        assert job["extends"] == ".train-validate-base@ci-compile"
        assert not any(
            "NODE_SELECTOR" in name for name in {**base["variables"], **job["variables"]}
        )
        assert "!= 'NVIDIA L4'" in base["before_script"][5]
        assert base["variables"]["KUBERNETES_MEMORY_REQUEST"] == "16Gi"
        assert job["resource_group"].startswith("ci-compile/")
    assert child["hyperopt-tft"]["extends"] == ".train-validate-base"
    assert "NODE_SELECTOR" in str(child[".train-validate-base"]["variables"])


def test_an_eleventh_model_is_one_word(edit: Edit, child_of: Callable[..., dict]) -> None:
    child = child_of(edit(('"diffusion"]', '"diffusion", "timesnet"]')))
    assert {"train-validate-timesnet", "hyperopt-timesnet"} <= set(jobs_of(child))
    assert len(jobs_of(child)) == 21


def test_a_third_pool_is_a_table_and_a_line(edit: Edit, child_of: Callable[..., dict]) -> None:
    pool = """
[pools.h100]
gpu = "NVIDIA H100 80GB HBM3"
node_selector = "k8s.scaleway.com/pool-name=h100"
taints = ["dedicated=large:NoSchedule"]
concurrency = 1

[models.diffusion]
pool = "h100"
limits = { memory = "80Gi" }

[models.dqn]"""
    child = child_of(edit(("[models.dqn]", pool)))
    base = child[".train-validate-base@h100"]["variables"]
    assert base["KUBERNETES_NODE_SELECTOR_POOL"] == "k8s.scaleway.com/pool-name=h100"
    assert base["KUBERNETES_NODE_TOLERATIONS_1"] == "dedicated=large:NoSchedule"
    job = child["hyperopt-diffusion"]
    assert job["variables"]["KUBERNETES_MEMORY_LIMIT"] == "80Gi"
    assert "KUBERNETES_MEMORY_REQUEST" not in job["variables"], "as the base has it"


def test_two_families_on_one_base_keep_their_own_values(
    edit: Edit, child_of: Callable[..., dict]
) -> None:
    family = """
[families.cnn]
pool = "ci-training"
base = "train-validate-base"
models = ["resnet"]
requests = { cpu = "500m", memory = "4Gi" }
limits = { cpu = "1", memory = "8Gi" }

[families.supervised]"""
    child = child_of(edit(("[families.supervised]", family)))
    own = child[child["hyperopt-resnet"]["extends"]]
    other = child[child["hyperopt-tft"]["extends"]]
    assert own["variables"]["KUBERNETES_CPU_REQUEST"] == "500m"
    assert other["variables"]["KUBERNETES_CPU_REQUEST"] == "1000m"
    assert "family=cnn" in own["before_script"][0]
    assert "family=supervised" in other["before_script"][0]


LAYERS = [
    ("models.tft.tasks.hyperopt", "[models.tft.tasks.hyperopt]"),
    ("models.tft", "[models.tft]"),
    ("families.supervised.tasks.hyperopt", "[families.supervised.tasks.hyperopt]"),
    ("families.supervised", "[families.supervised]"),
    ("tasks.hyperopt", "[tasks.hyperopt]"),
    ("pools.ci-training", "[pools.ci-training]"),
    ("pipeline", "[pipeline]"),
]


@pytest.mark.parametrize("strongest", range(len(LAYERS)), ids=[name for name, _ in LAYERS])
def test_the_strongest_layer_that_sets_a_value_wins(
    strongest: int, edit: Edit, run: Callable[..., Result]
) -> None:
    """With the value set in this layer and every weaker one, `explain` names this one."""
    routing = edit(("# --- Models", "# models"))
    text = routing.read_text(encoding="utf-8").replace('timeout = "12h"', "")
    for number, (_, header) in enumerate(LAYERS):
        if number >= strongest:
            line = f'timeout = "{number + 1}h"'
            if header in text:
                text = text.replace(header, f"{header}\n{line}", 1)
            else:
                text += f"\n{header}\n{line}\n"
    routing.write_text(text, encoding="utf-8")
    result = run("explain", "hyperopt-tft", "--routing", routing, "--format", "json")
    assert result.code == 0, result.err
    value = next(v for v in json.loads(result.out)["values"] if v["name"] == "timeout")
    assert value["value"] == f"{strongest + 1}h"
    assert value["key"] == f"{LAYERS[strongest][0]}.timeout"
    assert text.splitlines()[value["line"] - 1].startswith(f'timeout = "{strongest + 1}h"')


def test_one_quantity_can_be_overridden_alone(edit: Edit, run: Callable[..., Result]) -> None:
    routing = edit(
        ("[models.dqn]", '[models.dqn.tasks.hyperopt]\nlimits.cpu = "4"\n\n[models.dqn]')
    )
    result = run("explain", "hyperopt-dqn", "--routing", routing, "--format", "json")
    values = {v["name"]: v for v in json.loads(result.out)["values"]}
    assert values["limits.cpu"]["value"] == "4"
    assert values["limits.cpu"]["key"] == "models.dqn.tasks.hyperopt.limits.cpu"
    assert values["limits.memory"]["key"] == "families.rl.limits.memory"


def test_a_disabled_task_leaves_its_job_out(edit: Edit, child_of: Callable[..., dict]) -> None:
    routing = edit(
        ("[models.dqn]", "[models.ppo.tasks.train-validate]\nenabled = false\n[models.dqn]")
    )
    child = child_of(routing)
    assert len(child["train-validate-rl"]["script"]) == 1
    assert "--model dqn" in child["train-validate-rl"]["script"][0]


def test_needs_lead_to_the_job_that_trains_the_same_model(
    edit: Edit, child_of: Callable[..., dict], run: Callable[..., Result]
) -> None:
    routing = edit(("epochs = 15", 'epochs = 15\nneeds = ["train-validate"]'))
    child = child_of(routing)
    assert child["hyperopt-dqn"]["needs"] == ["train-validate-rl"]
    assert child["hyperopt-kan"]["needs"] == ["train-validate-kan"]
    result = run("-o", "-", "--routing", routing, "--job", "hyperopt-kan")
    assert jobs_of(yaml.safe_load(result.out)) == ["hyperopt-kan", "train-validate-kan"]
    assert "needs them: train-validate-kan" in result.err


def test_queue_kubernetes_gives_no_resource_groups(
    edit: Edit, child_of: Callable[..., dict]
) -> None:
    child = child_of(edit(('stage = "train"', 'stage = "train"\nqueue = "kubernetes"')))
    assert not any("resource_group" in child[name] for name in jobs_of(child))


def test_more_nodes_give_more_slots(edit: Edit, child_of: Callable[..., dict]) -> None:
    routing = edit(("max_nodes = 1 ", "max_nodes = 2 "), ("max_nodes = 1 ", "max_nodes = 3 "))
    child = child_of(routing)
    groups = {child[name]["resource_group"] for name in jobs_of(child)}
    assert groups <= {f"ci-compile/{n}" for n in range(1, 5)} | {
        f"ci-training/{n}" for n in range(1, 13)
    }
    trained = {group for group in groups if group.startswith("ci-training/")}
    assert len(trained) >= 8, "each of the long jobs has a slot of its own"


def test_the_pools_queue_beats_the_pipelines(edit: Edit, child_of: Callable[..., dict]) -> None:
    child = child_of(
        edit(
            ('stage = "train"', 'stage = "train"\nqueue = "kubernetes"'),
            ("concurrency = 4", 'queue = "gitlab"\nconcurrency = 4'),
        )
    )
    assert "resource_group" not in child["hyperopt-dqn"]
    assert child["hyperopt-tft"]["resource_group"] == "ci-training/1"


def test_more_than_fifty_needs_are_refused(edit: Edit, run: Callable[..., Result]) -> None:
    models = ", ".join(f'"m{n}"' for n in range(49))
    routing = edit(
        ('models = ["dqn", "ppo"]', f'models = ["dqn", "ppo", {models}]'),
        ('per = "family"', 'per = "family"\nneeds = ["hyperopt"]'),
    )
    result = run("--routing", routing)
    assert result.code == 2
    assert "train-validate-rl would need 51 jobs; GitLab allows 50" in result.err
    fewer = routing.read_text(encoding="utf-8").replace(', "m48"', "")
    routing.write_text(fewer, encoding="utf-8")
    assert run("--routing", routing, "--quiet").code == 0


@pytest.mark.parametrize(("timeout", "code"), [("30d", 0), ("720h", 0), ("31d", 2), ("721h", 2)])
def test_a_timeout_is_at_most_a_month(
    timeout: str, code: int, edit: Edit, run: Callable[..., Result]
) -> None:
    routing = edit(('timeout = "12h"', f'timeout = "{timeout}"'))
    assert run("--routing", routing, "--quiet").code == code


def test_only_what_was_not_asked_for_is_said_to_be_added(
    edit: Edit, run: Callable[..., Result]
) -> None:
    routing = edit(("epochs = 15", 'epochs = 15\nneeds = ["train-validate"]'))
    result = run("-o", "-", "--routing", routing, "--job", "*-kan", "--job", "hyperopt-tft")
    assert "needs them: train-validate-tft\n" in result.err
