"""The shipped routing says what the team agreed on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .conftest import Result

SUPERVISED = ["tft", "mamba2", "tggn", "tlob", "liquid", "kan", "xlstm", "diffusion"]
RL_JOBS = {"train-validate-rl", "hyperopt-dqn", "hyperopt-ppo"}
SUPERVISED_JOBS = {f"{task}-{m}" for task in ("train-validate", "hyperopt") for m in SUPERVISED}


@pytest.fixture
def child_file(run: Callable[..., Result], tmp_path: Path) -> Path:
    assert run("--quiet").code == 0
    return tmp_path / "child-pipeline.yml"


@pytest.fixture
def child(child_file: Path) -> dict:
    return yaml.safe_load(child_file.read_text(encoding="utf-8"))


def visible(child: dict) -> dict:
    return {
        name: job
        for name, job in child.items()
        if not name.startswith(".") and name not in ("workflow", "stages", "variables")
    }


def test_the_jobs_are_exactly_these_nineteen(child: dict) -> None:
    assert set(visible(child)) == RL_JOBS | SUPERVISED_JOBS
    assert len(visible(child)) == 19


def test_every_number_of_the_rl_base(child: dict) -> None:
    base = child[".train-rl-base"]
    assert base["variables"] == {
        "KUBERNETES_CPU_REQUEST": "3000m",
        "KUBERNETES_CPU_LIMIT": "3800m",
        "KUBERNETES_MEMORY_REQUEST": "8Gi",
        "KUBERNETES_MEMORY_LIMIT": "16Gi",
    }


def test_every_number_of_the_supervised_base(child: dict) -> None:
    base = child[".train-validate-base"]
    assert base["variables"] == {
        "KUBERNETES_NODE_SELECTOR_POOL": "k8s.scaleway.com/pool-name=ci-training",
        "KUBERNETES_CPU_REQUEST": "1000m",
        "KUBERNETES_CPU_LIMIT": "2000m",
        "KUBERNETES_MEMORY_REQUEST": "16Gi",
        "KUBERNETES_MEMORY_LIMIT": "40Gi",
    }


def test_both_bases_share_stage_image_tags_and_rules(child: dict) -> None:
    for name in (".train-rl-base", ".train-validate-base"):
        base = child[name]
        assert base["stage"] == "train"
        assert base["image"] == "${REGISTRY}/training:${CI_COMMIT_SHA}"
        assert base["tags"] == ["kapsule", "gpu"]
        assert base["interruptible"] is False
        assert base["artifacts"]["when"] == "always"
        assert base["artifacts"]["paths"] == ["output/"]
        assert base["artifacts"]["expire_in"]
        assert 0 < base["retry"]["max"] <= 2
        assert "script_failure" not in base["retry"]["when"]
        assert [rule["when"] for rule in base["rules"]] == ["manual", "on_success", "manual"]
        assert all("allow_failure" in rule for rule in base["rules"] if rule["when"] == "manual")


@pytest.mark.parametrize(
    ("base", "family", "pool", "gpu"),
    [
        (".train-rl-base", "rl", "ci-compile", "NVIDIA L4"),
        (".train-validate-base", "supervised", "ci-training", "NVIDIA L40S"),
    ],
)
def test_a_base_proves_its_route_before_anything_else(
    child: dict, base: str, family: str, pool: str, gpu: str
) -> None:
    marker, stubs, show, names, _, guard, output, *_ = child[base]["before_script"]
    assert f"family={family} pool={pool} gpu='{gpu}' epochs=${{ROUTE_EPOCHS}}" in marker
    assert marker.endswith('fingerprint=${ROUTE_FINGERPRINT}"')
    assert "stubs" in stubs
    assert show == "nvidia-smi"
    assert "--query-gpu=name" in names
    assert f"!= '{gpu}'" in guard
    assert output == 'mkdir -p "${CI_PROJECT_DIR}/output"'


def test_epochs_of_hyperopt_are_8_for_rl_and_15_for_supervised(child: dict) -> None:
    for name, job in visible(child).items():
        if name.startswith("hyperopt-"):
            expected = 8 if name in RL_JOBS else 15
            assert f"--epochs {expected} " in job["script"][0]
            assert job["variables"]["ROUTE_EPOCHS"] == str(expected)


def test_every_job_has_a_timeout_and_a_slot_of_its_pool(child: dict) -> None:
    groups = {name: job["resource_group"] for name, job in visible(child).items()}
    assert {groups[name] for name in RL_JOBS} == {"ci-compile/1", "ci-compile/2"}
    assert {groups[name] for name in SUPERVISED_JOBS} == {f"ci-training/{n}" for n in (1, 2, 3, 4)}
    assert all(job["timeout"] in ("2h", "12h") for job in visible(child).values())


def test_jobs_stand_longest_first_within_a_pool(child: dict) -> None:
    names = list(visible(child))
    assert names[:3] == ["hyperopt-dqn", "hyperopt-ppo", "train-validate-rl"]
    assert all(name.startswith("hyperopt-") for name in names[3:11])
    assert all(name.startswith("train-validate-") for name in names[11:])


def test_no_selector_stands_anywhere_in_the_rl_part(child_file: Path) -> None:
    text = child_file.read_text(encoding="utf-8")
    start = text.index(".train-rl-base:")
    assert "NODE_SELECTOR" not in text[start : text.index(".train-validate-base:")]


def shell(command: str, folder: Path) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_grep_shows_the_base_of_the_rl_jobs(child_file: Path) -> None:
    pattern = "(train-validate-rl|hyperopt-ppo|hyperopt-dqn):"
    found = shell(f"grep -E '{pattern}' -A1 {child_file.name} | grep extends", child_file.parent)
    assert found == ["  extends: .train-rl-base"] * 3


def test_grep_shows_the_base_of_supervised_jobs(child_file: Path) -> None:
    pattern = "(train-validate-tft|train-validate-mamba2|hyperopt-tft|hyperopt-mamba2):"
    found = shell(f"grep -E '{pattern}' -A1 {child_file.name} | grep extends", child_file.parent)
    assert found == ["  extends: .train-validate-base"] * 4


def test_grep_around_8_epochs_finds_the_rl_jobs(child_file: Path) -> None:
    command = f"grep -B5 'epochs 8' {child_file.name} | grep -E '(hyperopt-ppo|hyperopt-dqn)'"
    assert shell(command, child_file.parent) == ["hyperopt-dqn:", "hyperopt-ppo:"]


def test_grep_around_15_epochs_finds_supervised_jobs_only(child_file: Path) -> None:
    found = shell(f"grep -B5 'epochs 15' {child_file.name}", child_file.parent)
    names = [line.rstrip(":") for line in found if line and line[0].isalpha()]
    assert sorted(names) == sorted(name for name in SUPERVISED_JOBS if name.startswith("hyper"))
    assert not any("rl-base" in line for line in found)
