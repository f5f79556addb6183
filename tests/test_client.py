"""gitlab-ci-local, a client that is not ours, lists and runs the pipelines with stand-in tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from .client import Client, Run, needs_client
from .conftest import Result

pytestmark = needs_client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(tmp_path_factory.mktemp("client"))


@pytest.fixture
def child(client: Client, run: Callable[..., Result]) -> dict:
    """The child of a training schedule, rendered into the client's repository."""
    path = client.repository / "child-pipeline.yml"
    options = ("--source", "schedule", "--branch", "main", "--var", "TRAIN_VALIDATE=true")
    assert run("--quiet", "-o", path, *options).code == 0
    return yaml.safe_load(path.read_text(encoding="utf-8"))


RUN = ("--force-shell-executor", "--shell-isolation", "--file", "child-pipeline.yml")


def test_the_client_lists_the_jobs_of_the_child(client: Client, child: dict) -> None:
    found = client("--file", "child-pipeline.yml", "--list-json")
    jobs = json.loads(found.stdout)
    assert {job["name"] for job in jobs} == {
        name for name in child if "script" in child[name] and not name.startswith(".")
    }
    assert {(job["when"], job["allow_failure"]) for job in jobs} == {("on_success", False)}


def test_the_client_resolves_extends_to_what_was_meant(client: Client, child: dict) -> None:
    found = client("--file", "child-pipeline.yml", "--preview")
    preview = yaml.safe_load(found.stdout)
    for name in ("hyperopt-dqn", "train-validate-tft"):
        base = child[child[name]["extends"]]
        assert preview[name]["variables"] == {**base["variables"], **child[name]["variables"]}
        assert preview[name]["before_script"] == base["before_script"]
        assert preview[name]["script"] == child[name]["script"]
        assert preview[name]["tags"] == ["kapsule", "gpu"]


def test_a_job_trains_on_the_right_gpu_only(client: Client, child: dict) -> None:
    right = {
        "hyperopt-dqn": "NVIDIA L4",
        "hyperopt-ppo": "NVIDIA L4\nNVIDIA L4",
        "train-validate-tft": "NVIDIA L40S",
    }
    wrong = {
        "hyperopt-tft": "NVIDIA L4",
        "hyperopt-kan": "NVIDIA L40",
        "hyperopt-tlob": "",
        "train-validate-rl": "NVIDIA L4\nNVIDIA L40S",
        "train-validate-kan": "NVIDIA L40S MIG 1g",
    }
    found = client(*RUN, *right, *wrong, gpus={**right, **wrong})
    assert found.code != 0
    assert sorted(found.trained) == [
        "hyperopt --model dqn --epochs 8 --output ./output",
        "hyperopt --model ppo --epochs 8 --output ./output",
        "train --model tft --epochs 1 --output ./output",
    ]
    end = f"fingerprint={child['variables']['ROUTE_FINGERPRINT']}"
    assert found.lines_of("hyperopt-dqn")[0] == (
        f"gpu-route: family=rl pool=ci-compile gpu='NVIDIA L4' epochs=8 job=hyperopt-dqn {end}"
    )
    assert found.lines_of("train-validate-tft")[0] == (
        "gpu-route: family=supervised pool=ci-training gpu='NVIDIA L40S' epochs=1 "
        f"job=train-validate-tft {end}"
    )
    artifacts = client.repository / ".gitlab-ci-local/artifacts"
    for job in right:
        assert (artifacts / job / "output/model.bin").read_text(encoding="utf-8") == "checkpoint\n"
    for job in wrong:
        assert any("gpu-route: wrong GPU: found" in line for line in found.lines_of(job)), job


def test_stub_libraries_are_dropped_from_the_search_path(
    client: Client, child: dict, tmp_path: Path
) -> None:
    path = client.repository / "child-pipeline.yml"
    text = path.read_text(encoding="utf-8")
    libraries = "/cuda/lib64/stubs:/usr/lib:/opt/stubs/:/lib"
    show = "  script:\n    - 'echo \"libraries=$LD_LIBRARY_PATH\"'\n"
    changed = text.replace("  script:\n", show).replace(
        "  before_script:\n", f"  before_script:\n    - 'export LD_LIBRARY_PATH={libraries}'\n"
    )
    path.write_text(changed, encoding="utf-8")
    assert "libraries=/usr/lib:/lib" in client(*RUN, "hyperopt-dqn").lines_of("hyperopt-dqn")


def parent(client: Client, source: str, *variables: str, gpu: str) -> Run:
    options = [part for v in variables for part in ("--variable", v)]
    return client(
        "--force-shell-executor", "--shell-isolation", "--variable", f"CI_PIPELINE_SOURCE={source}",
        *options, gpu=gpu,
    )  # fmt: skip


def passed(found: Run) -> set[str]:
    return set(re.findall(r"^ ?PASS\s+(.*\S)", found.output, re.MULTILINE))


def test_a_schedule_runs_parent_and_child_end_to_end(client: Client) -> None:
    found = parent(
        client, "schedule", "TRAIN_VALIDATE=true", "TRAIN_JOBS=hyperopt-dqn train-validate-rl",
        gpu="NVIDIA L4",
    )  # fmt: skip
    assert passed(found) == {
        "generate-pipeline",
        "train-scheduled",
        "[train-scheduled] -> hyperopt-dqn",
        "[train-scheduled] -> train-validate-rl",
    }, found.output
    assert sorted(found.trained) == [
        "hyperopt --model dqn --epochs 8 --output ./output",
        "train --model dqn --epochs 1 --output ./output",
        "train --model ppo --epochs 1 --output ./output",
    ]


def test_a_schedule_on_the_wrong_gpu_trains_nothing(client: Client) -> None:
    found = parent(
        client, "schedule", "TRAIN_VALIDATE=true", "TRAIN_JOBS=hyperopt-dqn", gpu="NVIDIA L40S"
    )
    assert "generate-pipeline" in passed(found)
    assert "[train-scheduled] -> hyperopt-dqn" not in passed(found)
    assert found.trained == []


def test_a_push_to_main_offers_buttons_and_trains_nothing(client: Client) -> None:
    found = parent(client, "push", gpu="NVIDIA L4")
    assert {"test", "generate-pipeline", "train-on-demand"} <= passed(found), found.output
    assert "train-scheduled" not in passed(found)
    assert found.trained == []


def test_a_schedule_of_another_purpose_generates_nothing(client: Client) -> None:
    found = parent(client, "schedule", "TRAIN_VALIDATE=false", gpu="NVIDIA L4")
    assert passed(found) == set(), found.output


def test_a_misspelt_schedule_fails_instead_of_doing_nothing(client: Client) -> None:
    found = parent(client, "schedule", "TRAIN_VALIDATE=True", gpu="NVIDIA L4")
    assert found.code != 0
    assert 'TRAIN_VALIDATE is "True"' in found.output


def test_a_merge_request_previews_and_triggers_nothing(client: Client) -> None:
    found = parent(
        client, "merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA=HEAD", gpu="NVIDIA L4"
    )
    assert passed(found) == {"test", "check-pipeline", "preview-pipeline"}, found.output
    assert "19 jobs for a parent pipeline from push on main" in found.output
    assert "nothing differs: 19 jobs, routed alike" in found.output
    assert found.trained == []
