"""Nineteen jobs as a team had them by hand: not one setting is lost on the way."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ..conftest import ROOT, Result

HERE = Path(__file__).resolve().parent / "good"
SUPERVISED = ["tft", "mamba2", "tggn", "tlob", "liquid", "kan", "xlstm", "diffusion"]
NAMES = {
    "train-validate-rl",
    *(f"train-validate-{model}" for model in SUPERVISED),
    *(f"hyperopt-{model}" for model in ["dqn", "ppo", *SUPERVISED]),
}
GENERATED = ("ROUTE_EPOCHS", "ROUTE_FINGERPRINT", "PARENT_PIPELINE_SOURCE")
ROUTE = re.compile(r"gpu-route|^gpu_names=")


def merge(base: object, over: object) -> object:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: merge(base[key], value) if key in base else value
                       for key, value in over.items()}}  # fmt: skip


def effective(text: str) -> dict[str, dict]:
    """What GitLab makes of a file, in a few lines of its own: `extends`, `default`, variables."""
    document = yaml.safe_load(text)

    def extended(name: str) -> dict:
        job = document[name]
        bases = job.get("extends", [])
        merged: object = {}
        for base in [bases] if isinstance(bases, str) else bases:
            merged = merge(merged, extended(base))
        return {k: v for k, v in merge(merged, job).items() if k != "extends"}

    shared = {
        name: value["value"] if isinstance(value, dict) else value
        for name, value in document.get("variables", {}).items()
    }
    jobs = {}
    for name, job in document.items():
        if name.startswith(".") or not isinstance(job, dict) or "--epochs" not in str(job):
            continue
        found = {**document.get("default", {}), **extended(name)}
        variables = {**shared, **found.get("variables", {})}
        found["variables"] = {n: v for n, v in variables.items() if n not in GENERATED}
        found["before_script"] = [c for c in found["before_script"] if not ROUTE.search(c)]
        jobs[name] = found
    return jobs


def in_the_childs_terms(job: dict) -> dict:
    """A hand-written job as its child must have it."""
    rules = [
        {key: str(value).replace("$CI_PIPELINE_SOURCE", "$PARENT_PIPELINE_SOURCE")
         if key == "if" else value for key, value in rule.items()}
        for rule in job["rules"]
    ]  # fmt: skip
    pool = "pool-name=ci-training" in str(job["variables"])
    group = "ci-training/1" if pool else "runner-default/1"
    return {**job, "rules": rules, "resource_group": group}


@pytest.fixture(params=["team-one-pool", "team-two-pools"])
def child(request: pytest.FixtureRequest, run: Callable[..., Result]) -> tuple[str, str]:
    """The hand-written text and the child that the adopted routing renders."""
    source = HERE / f"{request.param}.yml"
    gpus = ["--gpu", 'ci-training="NVIDIA L40S"']
    if request.param == "team-two-pools":
        gpus += ["--gpu", "runner-default=NVIDIA L4"]
    shutil.copy(source, "ci.yml")
    result = run("init", "--from", "ci.yml", "-o", "new", *gpus)
    assert result.code == 0, result.err
    assert "19 jobs rendered and compared with the file: 19 the same." in result.out
    assert "To fill in" not in result.out
    rendered = run(
        "render", "-o", "-", "--quiet", "--routing", "new/routing.toml",
        "--templates", "new/templates", "--source", "web", "--branch", "main",
        "--var", "TRAIN_VALIDATE=false",
    )  # fmt: skip
    assert (rendered.code, rendered.err) == (0, "")
    return source.read_text(encoding="utf-8"), rendered.out


def test_every_job_comes_out_as_it_was(child: tuple[str, str]) -> None:
    before, after = map(effective, child)
    assert set(before) == set(after) == NAMES
    for name, job in before.items():
        assert after[name] == in_the_childs_terms(job), name


def test_one_pool_is_routed_as_the_example_routes_it(run: Callable[..., Result]) -> None:
    """The state before the routing is kept as an example too: both give each job the same."""
    run(
        "init",
        "--from",
        HERE / "team-one-pool.yml",
        "-o",
        "new",
        "--gpu",
        "ci-training=NVIDIA L40S",
    )
    options = ("render", "-o", "-", "--quiet", "--source", "web", "--branch", "main")
    example = effective(run(*options, "--routing", ROOT / "examples/single-pool.toml").out)
    adopted = effective(
        run(*options, "--routing", "new/routing.toml", "--templates", "new/templates").out
    )
    assert set(example) == set(adopted)
    for name, job in example.items():
        for key in ("stage", "image", "tags", "timeout", "resource_group"):
            assert adopted[name][key] == job[key], (name, key)
        sizes = {n: v for n, v in adopted[name]["variables"].items() if n.startswith("KUBERNETES_")}
        assert sizes == {n: v for n, v in job["variables"].items() if n.startswith("KUBERNETES_")}
        epochs = [
            re.findall(r"--epochs (\d+)", str(each["script"])) for each in (job, adopted[name])
        ]
        assert epochs[0] == epochs[1]
