"""What `cluster runner` prints is enough, and nothing less is."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from gpu_pipeline.errors import GeneratorError

from ..conftest import ROOT, SHIPPED, Result
from .examples import check

Run = Callable[..., Result]
ROUTINGS = [SHIPPED, *sorted((ROOT / "examples").glob("*.toml"))]
ROUTINGS += [ROOT / "tests/runner/routings/variables.toml"]
ROUTINGS += sorted((ROOT / "tests/routing/good").glob("*.toml"))


def settings(routing: Path, run: Run, *options: str) -> str:
    result = run("cluster", "runner", "--routing", routing, *options)
    assert (result.code, result.err) == (0, "")
    return result.out


def findings(text: str, routing: Path, tmp_path: Path, *options: str) -> list[str]:
    """The runner's findings about a file with this text; a file that is refused counts as one."""
    path = tmp_path / ("values.yaml" if "--helm" in options else "config.toml")
    path.write_text(text, encoding="utf-8")
    try:
        found = check(routing, "--runner", path)
    except GeneratorError as error:
        return [str(error)]
    return [f"{f.code} {f.place} {f.message}" for f in found if f.code.startswith("RUN")]


def without_notes_on_variables(found: list[str]) -> list[str]:
    """A value that the job expands can never be decided here, however it is permitted."""
    return [each for each in found if not each.startswith("RUN126")]


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda path: path.stem)
def test_it_passes_without_a_finding(routing: Path, run: Run, tmp_path: Path) -> None:
    found = findings(settings(routing, run), routing, tmp_path)
    assert without_notes_on_variables(found) == []


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda path: path.stem)
def test_as_helm_values_it_passes_too(routing: Path, run: Run, tmp_path: Path) -> None:
    tag_sets = re.findall(r"the tags (.*);", settings(routing, run))
    for tags in tag_sets:
        text = settings(routing, run, "--format", "helm", "--tags", tags.replace(" ", ""))
        assert yaml.safe_load(text)["runners"]["tags"] == tags.replace(" ", "")
        found = findings(text, routing, tmp_path, "--helm")
        beyond = [each for each in found if not each.startswith(("RUN124", "RUN126"))]
        assert beyond == []


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda path: path.stem)
def test_no_line_can_be_left_out(routing: Path, run: Run, tmp_path: Path) -> None:
    lines = settings(routing, run).splitlines()
    for number, line in enumerate(lines):
        if line.strip() and not line.strip().startswith("#"):
            less = "\n".join(lines[:number] + lines[number + 1 :])
            assert without_notes_on_variables(findings(less, routing, tmp_path)), line


SMALLER = [
    (r"^((?:  )?\w+ = )(\d+)$", lambda m: f"{m[1]}{int(m[2]) - 1}"),
    (r"^(    poll_timeout = )(\d+)$", lambda m: f"{m[1]}{int(m[2]) - 1}"),
    (r'^(    \w+_max_allowed = ")([\d.]+)(\w*")$', lambda m: f"{m[1]}{Decimal(m[2]) / 2}{m[3]}"),
    (r"^(    \w+_overwrite_allowed = '\^)(.*)\$'$", lambda m: f"{m[1]}{m[2]}x$'"),
    (r"^(    \w+_overwrite_allowed = '\^)\(\?:([^|]*)\|.*\)\$'$", lambda m: f"{m[1]}{m[2]}$'"),
    (r"^(    \w+_overwrite_allowed = )true$", lambda m: f"{m[1]}false"),
    (r"^(      \"\S+\" = ')(.*)'$", lambda m: f"{m[1]}{m[2]}x'"),
    (r'^( +nvidia.com/gpu: ")1"$', lambda m: f'{m[1]}0"'),
    (r"^(    FF_\w+ = )true$", lambda m: f"{m[1]}false"),
]


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda path: path.stem)
def test_no_value_can_be_smaller(routing: Path, run: Run, tmp_path: Path) -> None:
    lines = settings(routing, run).splitlines()
    tried = 0
    for number, line in enumerate(lines):
        for pattern, smaller in SMALLER:
            tighter = re.sub(pattern, smaller, line)
            if tighter != line and "job=.*" not in line:
                text = "\n".join([*lines[:number], tighter, *lines[number + 1 :]])
                assert without_notes_on_variables(findings(text, routing, tmp_path)), tighter
                tried += 1
    assert tried >= 7


def test_tags_choose_one_of_several_runners(run: Run) -> None:
    routing = ROOT / "examples/other-cloud.toml"
    assert settings(routing, run).count("[[runners]]") == 2
    one = settings(routing, run, "--tags", "gke,gpu-large")
    assert one.count("[[runners]]") == 1
    assert "a100-large" in one
    wrong = run("cluster", "runner", "--routing", routing, "--tags", "gke")
    assert wrong.code == 2
    assert "jobs have gke,gpu or gke,gpu-large" in wrong.err
    helm = run("cluster", "runner", "--routing", routing, "--format", "helm")
    assert helm.code == 2
    assert "choose --tags gke,gpu or --tags gke,gpu-large" in helm.err


def test_a_default_pool_without_a_label_is_named(run: Run) -> None:
    result = run("cluster", "runner", "--routing", ROOT / "tests/runner/routings/no-label.toml")
    assert result.code == 2
    assert "pools.ci-compile.label is missing" in result.err
    assert re.search(r"no-label\.toml:\d+", result.err)


def test_sharing_is_a_config_map_with_an_entry_for_each_pool(run: Run) -> None:
    result = run("cluster", "sharing")
    config = yaml.safe_load(result.out)
    assert config["kind"] == "ConfigMap"
    assert set(config["data"]) == {"default", "ci-compile", "ci-training"}
    for pool, replicas in (("ci-compile", 2), ("ci-training", 4)):
        entry = yaml.safe_load(config["data"][pool])
        assert entry["version"] == "v1"
        assert entry["sharing"]["timeSlicing"] == {
            "renameByDefault": False,
            "failRequestsGreaterThanOne": True,
            "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}],
        }
        assert f"nvidia.com/device-plugin.config={pool}" in result.out
    assert yaml.safe_load(config["data"]["default"]) == {"version": "v1"}
    assert "not isolated" in result.out
    assert "the autoscaler knows of its GPUs, not of replicas" in result.out


def test_mps_says_how_much_memory_each_job_gets_and_an_unshared_pool_has_no_entry(run: Run) -> None:
    result = run("cluster", "sharing", "--routing", ROOT / "examples/other-cloud.toml")
    config = yaml.safe_load(result.out)
    assert yaml.safe_load(config["data"]["a100"])["sharing"]["mps"]["resources"] == [
        {"name": "nvidia.com/gpu", "replicas": 3}
    ]
    assert "1/3 of the GPU's memory, 13.3 GB" in result.out
    assert "a100-large" not in config["data"]


def test_jobs_under_mps_get_no_variable_that_the_plugin_sets(run: Run) -> None:
    result = run("-o", "-", "--routing", ROOT / "examples/other-cloud.toml")
    assert "CUDA_MPS" not in result.out


def test_fit_names_the_binding_resource(run: Run) -> None:
    result = run("cluster", "fit")
    rows = {line.split()[0]: line for line in result.out.splitlines()[2:]}
    assert re.search(r" 2 +cpu +2$", rows["ci-compile"])
    assert re.search(r" 5 +memory +4$", rows["ci-training"])
    helper = ROOT / "tests/findings/FIT102/helper.toml"
    with_helper = run("cluster", "fit", "--runner", helper).out
    assert "3100m cpu" in with_helper
    assert "too many" not in result.out


def test_fit_marks_where_fewer_fit_than_planned(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "routing.toml"
    text = SHIPPED.read_text(encoding="utf-8").replace("concurrency = 2 ", "concurrency = 3 ")
    path.write_text(text, encoding="utf-8")
    rows = {
        line.split()[0]: line
        for line in run("cluster", "fit", "--routing", path).out.splitlines()[2:]
    }
    assert rows["ci-compile"].endswith("3 (too many)")
    assert rows["ci-training"].rstrip().endswith(" 4")
