"""Mistakes that people met in the field, each with the outcome it should have had."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.cluster.fit import how_many, node_size
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.routing_model import Pool, Resources

from ..conftest import ROOT, SHIPPED
from .examples import check

BARE = """\
concurrent = 6
[[runners]]
  executor = "kubernetes"
  [runners.kubernetes]
    image = "alpine"
{more}
    [runners.kubernetes.node_selector]
      "k8s.scaleway.com/pool-name" = "ci-compile"
"""


def found(
    tmp_path: Path, code: str, *, more: str = "", routing: str | None = None
) -> list[Finding]:
    config = tmp_path / "config.toml"
    config.write_text(BARE.format(more=more), encoding="utf-8")
    path = SHIPPED
    if routing is not None:
        path = tmp_path / "routing.toml"
        path.write_text(routing, encoding="utf-8")
    return [each for each in check(path, "--runner", config) if each.code == code]


def test_a_new_user_learns_which_16_jobs_land_on_l4_and_which_line_to_add(tmp_path: Path) -> None:
    [finding] = found(tmp_path, "RUN101")
    assert "landing on ci-compile (NVIDIA L4): 16 jobs (train-validate-tft, " in finding.message
    assert finding.message.count("hyperopt-") == finding.message.count("train-validate-") == 8
    line = "node_selector_overwrite_allowed = '^k8s\\.scaleway\\.com/pool-name=ci-training$'"
    assert finding.fix == f"add to [runners.kubernetes]: {line}"
    assert finding.place.line == 4
    assert not found(tmp_path, "RUN101", more=f"    {line}")


MAXIMA = [
    ("4", "4000m", None),
    ("4", "4001m", "RUN106"),
    ("", "4", "RUN103"),
    ("4.0", "4", None),
]


@pytest.mark.parametrize(("maximum", "planned", "code"), MAXIMA)
def test_a_maximum_is_compared_exactly(
    maximum: str, planned: str, code: str | None, tmp_path: Path
) -> None:
    text = SHIPPED.read_text(encoding="utf-8").replace('"3800m"', f'"{planned}"')
    more = f'    cpu_limit_overwrite_max_allowed = "{maximum}"'
    for each in ("RUN103", "RUN106"):
        findings = found(tmp_path, each, more=more, routing=text)
        about = [f for f in findings if f.place.key == "cpu_limit_overwrite_max_allowed"]
        assert bool(about) is (each == code)


def test_binary_and_decimal_units_differ() -> None:
    assert parse_quantity("4G") < parse_quantity("4Gi") < parse_quantity("5G")


@pytest.mark.parametrize(
    ("cpu", "memory", "fits", "binding"),
    [("2100m", "6400Mi", 3, "cpu"), ("8", "1Gi", 0, "cpu"), ("500m", "6Gi", 5, "memory")],
)
def test_fit_is_the_least_over_the_resources(
    cpu: str, memory: str, fits: int, binding: str
) -> None:
    pool = Pool(
        gpu="NVIDIA L4",
        concurrency=1,
        allocatable=Resources(cpu="8", memory="32Gi"),
        daemonsets=Resources(cpu="500m", memory="2Gi"),
    )
    request = {"cpu": parse_quantity(cpu), "memory": parse_quantity(memory)}
    assert how_many(request, node_size(pool)) == (fits, binding)


def test_nothing_is_claimed_of_a_node_that_nobody_measured() -> None:
    pool = Pool(gpu="NVIDIA L4", concurrency=1)
    assert how_many({"cpu": Decimal(1)}, node_size(pool)) == (None, None)


def test_without_a_gpu_request_the_number_of_jobs_on_a_gpu_is_said(tmp_path: Path) -> None:
    text = SHIPPED.read_text(encoding="utf-8").replace(
        'capacity = { cpu = 8, memory = "96G" }', 'capacity = { cpu = 24, memory = "960G" }'
    )
    text = text.replace('cpu = "1000m"', 'cpu = "4"').replace('cpu = "2000m"', 'cpu = "4"')
    [finding] = found(tmp_path, "RUN116", routing=text)
    assert "6 jobs by CPU and memory on the GPU of a ci-training node" in finding.message


def test_a_request_above_the_runners_own_limit_names_both_sources(tmp_path: Path) -> None:
    more = '    cpu_limit = "2"\n    cpu_request_overwrite_max_allowed = "3"'
    [finding] = found(tmp_path, "RUN119", more=more)
    assert "request 3000m (" in finding.message
    assert "routing.toml:" in finding.message
    assert "limit 2 (" in finding.message
    assert "config.toml:6)" in finding.message


def test_the_shipped_routing_has_notes_only() -> None:
    assert {each.severity for each in check(SHIPPED)} <= {"note"}
    assert any("75.8 GB too much" in each.message for each in check(SHIPPED))


def test_a_variable_that_no_runner_reads_needs_no_runner_file_to_be_found() -> None:
    routing = ROOT / "tests/runner/routings/unread.toml"
    found = [each for each in check(routing) if each.code == "RUN123"]
    assert len(found) == 2
    lines = routing.read_text(encoding="utf-8").splitlines()
    for each in found:
        assert each.place.file.endswith("unread.toml")
        assert "KUBERNETES_" in lines[each.place.line - 1]
    assert any("a pod_spec patch asks for them" in each.message for each in found)
