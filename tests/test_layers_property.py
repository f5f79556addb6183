"""Random routings against a second reading of the rules, written from docs/routing.md alone."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_pipeline import cli
from tests.effort import examples

POOLS = {
    "small": {"gpu": "NVIDIA L4", "runner_default": True, "concurrency": 2},
    "large": {"gpu": "NVIDIA L40S", "node_selector": "pool=large", "concurrency": 3},
    "huge": {
        "gpu": "NVIDIA H100",
        "node_selector": "pool=huge",
        "taints": ["a=b:NoSchedule", "c:NoExecute"],
        "concurrency": 1,
    },
}
TASKS = ["train-validate", "hyperopt"]
FAMILIES = {"rl": ["dqn", "ppo"], "nets": ["tft", "rl", "m.2"]}
BASES = ["train-rl-base", "train-validate-base"]

VALUES = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.sampled_from(["1h", "2h", "3h", "4h"]),
        "epochs": st.integers(1, 9),
        "image": st.sampled_from(["img:1", "img:2"]),
        "tags": st.sampled_from([["a"], ["b", "c"]]),
        "requests": st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(["1", "2"])}),
        "limits": st.fixed_dictionaries({}, optional={"memory": st.sampled_from(["8Gi", "9Gi"])}),
        "variables": st.fixed_dictionaries(
            {}, optional={name: st.sampled_from(["x", "y"]) for name in ("ONE", "TWO")}
        ),
    },
)
ROUTED = st.fixed_dictionaries(
    {}, optional={"pool": st.sampled_from(list(POOLS)), "base": st.sampled_from(BASES)}
)


@st.composite
def routings(draw: st.DrawFn) -> dict:
    def layer(*, routed: bool = False) -> dict:
        return {**draw(VALUES), **(draw(ROUTED) if routed else {})}

    families = {
        name: {
            **layer(),
            "pool": draw(st.sampled_from(list(POOLS))),
            "base": draw(st.sampled_from(BASES)),
            "models": models,
            "tasks": {task: layer(routed=True) for task in TASKS if draw(st.booleans())},
        }
        for name, models in FAMILIES.items()
    }
    models = {
        model: {
            **layer(routed=True),
            "tasks": {task: layer(routed=True) for task in TASKS if draw(st.booleans())},
        }
        for members in FAMILIES.values()
        for model in members
        if draw(st.booleans())
    }
    pipeline = {
        "stage": "train",
        "image": "img:0",
        "tags": ["t"],
        "timeout": "5h",
        "epochs": 1,
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "4", "memory": "7Gi"},
        "rules": [{"when": "on_success"}],
    }
    return {
        "pipeline": pipeline,
        "pools": {name: {**layer(), **pool} for name, pool in POOLS.items()},
        "tasks": {task: layer() for task in TASKS},
        "families": families,
        "models": models,
    }


def expected(routing: dict, task: str, family: str, model: str) -> dict:
    """What docs/routing.md says a job gets: the first of seven places that has a value."""
    own = routing["models"].get(model, {})
    shared = routing["families"][family]
    places = [own.get("tasks", {}).get(task, {}), own, shared["tasks"].get(task, {}), shared]
    pool = next(place["pool"] for place in places if "pool" in place)
    places += [routing["tasks"][task], routing["pools"][pool], routing["pipeline"]]

    def first(*keys: str) -> object:
        for place in places:
            value: object = place
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                return value
        return None

    variables = {
        f"KUBERNETES_{resource.upper()}_{side.upper()}": first(f"{side}s", resource)
        for side in ("request", "limit")
        for resource in ("cpu", "memory")
    }
    chosen = routing["pools"][pool]
    if "node_selector" in chosen:
        variables["KUBERNETES_NODE_SELECTOR_POOL"] = chosen["node_selector"]
    for n, taint in enumerate(chosen.get("taints", []), 1):
        variables[f"KUBERNETES_NODE_TOLERATIONS_{n}"] = taint
    variables |= {name: first("variables", name) for name in ("ONE", "TWO")}
    variables["ROUTE_EPOCHS"] = str(first("epochs"))
    return {
        "image": first("image"),
        "tags": first("tags"),
        "timeout": first("timeout"),
        "variables": {name: value for name, value in variables.items() if value is not None},
        "base": next(place["base"] for place in places if "base" in place),
        "gpu": chosen["gpu"],
        "pool": pool,
        "epochs": first("epochs"),
        "family": family,
    }


def toml(routing: dict) -> str:
    """JSON is nearly TOML: inline tables with `=`."""

    def value(data: object) -> str:
        if isinstance(data, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in data.items()) + "}"
        if isinstance(data, list):
            return "[" + ", ".join(map(value, data)) + "]"
        return json.dumps(data)

    return "\n".join(f"{key} = {value(table)}" for key, table in routing.items())


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(routing=routings())
def test_each_job_gets_what_the_guide_says(
    routing: dict, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = {
        f"{task}-{model}": expected(routing, task, family, model)
        for task in TASKS
        for family, models in FAMILIES.items()
        for model in models
    }
    used = {job["pool"] for job in jobs.values()}
    routing["pools"] = {name: pool for name, pool in routing["pools"].items() if name in used}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "routing.toml"
        path.write_text(toml(routing), encoding="utf-8")
        code = cli.main(["--routing", str(path), "-o", "-", "--quiet"])
        out, err = capfd.readouterr()
    assert (code, err) == (0, "")
    child = yaml.safe_load(out)
    assert {name for name in child if "script" in child[name]} == set(jobs)
    for name, meant in jobs.items():
        job = child[name]
        base = child[job["extends"]]
        merged = {**base, **job, "variables": {**base["variables"], **job["variables"]}}
        for key in ("image", "tags", "timeout", "variables"):
            assert merged[key] == meant[key], (name, key)
        assert job["extends"].startswith(f".{meant['base']}")
        assert f"family={meant['family']} pool={meant['pool']} " in base["before_script"][0]
        assert any(f"!= '{meant['gpu']}'" in command for command in base["before_script"])
        assert f"--epochs {meant['epochs']} " in job["script"][0]
        slots = POOLS[meant["pool"]]["concurrency"]
        assert job["resource_group"] in [f"{meant['pool']}/{n}" for n in range(1, slots + 1)]
