"""The share of GitLab's limits that a child uses, and that checking takes time in proportion."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

import pytest

from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.child.limits import MAX_PARSED_BYTES, parsed_size
from gpu_pipeline.ci_file import parse_ci_file
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "golden"
# A small job that repeats everything instead of extending a base.
FULL_JOB = """
  stage: train
  image: ${REGISTRY}/fit:${CI_COMMIT_SHA}
  tags: [kapsule, gpu]
  interruptible: false
  resource_group: "ci/1"
  timeout: "12h"
  variables:
    KUBERNETES_CPU_REQUEST: "3000m"
  script:
    - fit --model dqn --epochs 8
"""


def full_child(jobs: int) -> str:
    head = 'stages: [train]\nvariables:\n  REGISTRY: "registry.example.com"\n'
    return head + "".join(f"fit-{number}:{FULL_JOB}" for number in range(jobs))


def codes(text: str) -> set[str]:
    return {finding.code for finding in check_child(text, "child.yml")}


def test_everything_repeated_in_each_job_is_too_big_from_about_1700_jobs_on() -> None:
    assert "PIP171" in codes(full_child(1700))
    assert "PIP170" in codes(full_child(1730))


def test_what_extends_merges_in_is_not_counted() -> None:
    base = f".base:{FULL_JOB}"
    jobs = "".join(f"fit-{number}:\n  extends: .base\n" for number in range(1730))
    assert not codes(f'stages: [train]\nvariables: {{REGISTRY: "r"}}\n{base}{jobs}') & {
        "PIP170",
        "PIP171",
    }


@pytest.mark.parametrize(
    ("levels", "code"), [(40, None), (60, "PIP172"), (90, "PIP171"), (100, "PIP170")]
)
def test_nesting_counts_in_levels(levels: int, code: str | None) -> None:
    text = f".deep: {'[' * levels}{']' * levels}\nfit:\n  script: [make]\n"
    assert codes(text) & {"PIP170", "PIP171", "PIP172"} == ({code} if code else set())


def test_a_text_of_a_megabyte_is_a_warning() -> None:
    text = "fit:\n  script: [make]\n#" + "x" * 1_100_000
    assert "PIP171" in codes(text)


def test_many_jobs_are_a_note() -> None:
    assert "PIP172" in codes(full_child(400) + "  parallel: 200\n")


DEEP_SIZE = """
require "yaml"; require "json"; require "objspace"
def size(object)
  below = object.is_a?(Hash) ? object.to_a.flatten(1) : object.is_a?(Array) ? object : []
  ObjectSpace.memsize_of(object) + below.sum { |item| size(item) }
end
puts JSON.generate(JSON.parse(STDIN.read).map { |text|
  size(YAML.safe_load(text, permitted_classes: [Symbol], aliases: true))
})
"""


@pytest.mark.skipif(shutil.which("ruby") is None, reason="there is no Ruby to compare with")
def test_the_estimate_is_what_ruby_measures() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.yml"))]
    texts += [full_child(300), "a: &x {b: [é, *y]}\n".replace("*y", "1"), "a: &x [b]\nc: *x\n"]
    ruby = subprocess.run(
        ["ruby", "-e", DEEP_SIZE],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    for text, size in zip(texts, json.loads(ruby.stdout), strict=True):
        assert parsed_size(parse_ci_file(text, "child.yml").root) == pytest.approx(size, rel=0.02)


def test_the_estimate_of_the_shipped_child() -> None:
    """Measured with Ruby 3.1; the limit is far away."""
    text = (GOLDEN / "shipped-push.yml").read_text(encoding="utf-8")
    size = parsed_size(parse_ci_file(text, "child.yml").root)
    assert size == pytest.approx(31_443, rel=0.1)
    assert size < MAX_PARSED_BYTES / 50


def test_time_is_in_proportion_to_the_jobs() -> None:
    few, many = full_child(200), full_child(1600)
    check_child(few, "child.yml")
    seconds = [_seconds(text) for text in (few, many)]
    assert seconds[1] < seconds[0] * 8 * 3  # eight times the jobs; three for a busy machine


def _seconds(text: str) -> float:
    start = time.process_time()
    check_child(text, "child.yml")
    return time.process_time() - start
