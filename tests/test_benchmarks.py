"""A comparison of speeds is worth something only if both write the same jobs."""

from __future__ import annotations

import copy
from typing import Any

import yaml

from benchmarks.peers import differences, resolved
from benchmarks.workload import workload


def _wanted() -> dict[str, dict[str, Any]]:
    return resolved(yaml.load(workload(19).render(), yaml.CSafeLoader))


def _as_gcip_writes(jobs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    written: dict[str, Any] = {"stages": ["train"]}
    for name, job in copy.deepcopy(jobs).items():
        job["image"] = {"name": job["image"]}
        job["artifacts"] |= {"name": "theirs", "paths": ["output"]}
        written[f"{name}-{job['stage']}"] = job
    return written


def test_jobs_are_compared_with_extends_worked_out() -> None:
    job = _wanted()["hyperopt-tft"]
    assert job["tags"] == ["kapsule", "gpu"]
    assert job["variables"]["ROUTE_EPOCHS"] == "15"
    assert job["variables"]["KUBERNETES_CPU_REQUEST"] == "1000m"
    assert job["script"][0].startswith("echo")
    assert job["script"][-1].startswith("trainer hyperopt")
    assert differences(_wanted(), _as_gcip_writes(_wanted())) == []


def test_a_value_a_job_or_a_key_that_differs_is_named() -> None:
    written = _as_gcip_writes(_wanted())
    written["hyperopt-tft-train"]["variables"]["ROUTE_EPOCHS"] = "14"
    del written["hyperopt-kan-train"]["timeout"]
    written["hyperopt-ppo-train"]["interruptible"] = True
    written["further-train"] = {}
    assert set(differences(_wanted(), written)) == {
        "further-train", "hyperopt-kan:timeout", "hyperopt-ppo:interruptible",
        "hyperopt-tft:variables",
    }  # fmt: skip
    del written["hyperopt-dqn-train"]
    assert "hyperopt-dqn:script" in differences(_wanted(), written)
