"""Logs and what they prove: each file in traces/ has its expected verdict beside it.

The jobs are those of traces/child-pipeline.yml, a child of a schedule as it was shipped, or of the
`child` that the expectation names.
"""

from __future__ import annotations

import tomllib
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.evidence import Evidence, read_evidence
from gpu_pipeline.gitlab.planned import PlannedJob, planned_jobs
from gpu_pipeline.gitlab.trace import clean_lines
from gpu_pipeline.gitlab.verdict import JobVerdict, judge

TRACES = Path(__file__).parent / "traces"
LOGS = sorted(TRACES.glob("*.log"))


def plan(name: str) -> dict[str, PlannedJob]:
    file = parse_ci_file((TRACES / name).read_text(encoding="utf-8"), name)
    return {job.name: job for job in planned_jobs(file, {"CI_COMMIT_BRANCH": "main"})}


PLANS = {path.name: plan(path.name) for path in TRACES.glob("*.yml")}
PLAN = PLANS["child-pipeline.yml"]


def evidence_of(data: bytes, size: int = 4096) -> Evidence:
    return read_evidence(clean_lines(data[n : n + size] for n in range(0, len(data), size)))


def verdict_on(path: Path, size: int = 4096) -> JobVerdict:
    expected = tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))
    attempt = Attempt(
        id=5001,
        name=expected["job"],
        status=expected["status"],
        failure_reason=expected.get("failure_reason", ""),
        project=7,
        pipeline=901,
    )
    jobs = PLANS[expected.get("child", "child-pipeline.yml")]
    return judge(jobs[expected["job"]], attempt, evidence_of(path.read_bytes(), size))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_log_gets_its_verdict(path: Path) -> None:
    expected = tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))
    found = verdict_on(path)
    wanted = expected["aspects"]
    others = wanted.pop("others")
    shown = {each.name: each.verdict.value for each in found.aspects}
    assert shown == {**dict.fromkeys(shown, others), **wanted}, found.aspects
    assert (found.ending, found.verdict) == (expected["ending"], expected["verdict"])
    assert all(each.detail for each in found.aspects)


def test_what_is_printed_after_the_preparation_overwrites_nothing() -> None:
    """As by a hook of the repository, while the sources are fetched."""
    job = PLAN["hyperopt-tft"]
    log = (TRACES / "selector-missing.log").read_bytes()
    (selector,) = job.selectors.items()
    fake = f'"NodeSelector" "{selector[0]}" overwritten with "{selector[1]}"\n'.encode()
    at = log.index(b"\n", log.index(b"Using Kubernetes namespace")) + 1
    attempt = Attempt(id=1, name=job.name, status="success", project=7, pipeline=1)
    found = judge(job, attempt, evidence_of(log[:at] + fake + log[at:]))
    assert {each.name: each.verdict for each in found.aspects}["routed"] == "FAIL"


def test_there_are_many_logs_and_each_has_its_expectation() -> None:
    assert len(LOGS) >= 36
    assert {path.stem for path in LOGS} == {path.stem for path in TRACES.glob("*.toml")}


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_a_verdict_does_not_depend_on_how_a_log_is_cut_into_pieces(size: int) -> None:
    for name in ("good-rl", "good-continued-lines", "wrong-gpu", "good-progress-bars"):
        path = TRACES / f"{name}.log"
        assert verdict_on(path, size) == verdict_on(path), name


WORDS = [
    b"gpu-route: family=supervised pool=ci-training gpu='NVIDIA L40S' epochs=15 job=hyperopt-tft "
    b"fingerprint=" + PLAN["hyperopt-tft"].fingerprint.encode(),
    b'"NodeSelector" "k8s.scaleway.com/pool-name" overwritten with "ci-training"',
    b'"MemoryLimit" overwritten with "40Gi"',
    b"|   0  NVIDIA L40S               On  |   00000000:01:00.0 Off |        0 |",
    b"|   0  NVIDIA L4                 On  |   00000000:01:00.0 Off |        0 |",
    b"Using Kubernetes namespace: ci-gpu",
    b"Job succeeded",
    b"ERROR: Job failed: command terminated with exit code 1",
    PLAN["hyperopt-tft"].script[0].encode(),
    b"\r",
]
GOOD = [path for path in LOGS if path.stem.startswith("good-")]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_no_beginning_of_a_good_log_is_ever_a_failure(path: Path) -> None:
    """What is not there yet is unproven: nothing fails, and nothing passes, by being cut off."""
    data = path.read_bytes()
    expected = tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))
    attempt = Attempt(id=1, name=expected["job"], status="running", project=7, pipeline=1)
    passing: set[str] = set()
    for end in range(0, len(data), max(1, len(data) // 60)):
        found = judge(PLAN[expected["job"]], attempt, evidence_of(data[:end]))
        shown = {each.name: each.verdict.value for each in found.aspects}
        assert "FAIL" not in shown.values(), (end, found.aspects)
        now = {name for name, verdict in shown.items() if verdict == "PASS"}
        assert passing <= now, f"{passing - now} passed before, at {end}"
        passing = now


@pytest.mark.parametrize(
    "piece",
    [
        b"epoch 1 loss=0.31\n" * 3000,
        b"x" * 60_000,
        b"\r 33% |###   |" * 4000,
        b"\x1b[32;1m$ echo again\x1b[0;m\n" * 2000,
        b"2026-01-01T03:04:06.123456Z 00O+go on\n" * 1500,
    ],
    ids=["lines", "one endless line", "one endless progress bar", "commands", "continuations"],
)
def test_a_log_of_any_length_takes_little_memory(piece: bytes) -> None:
    def pieces() -> Iterator[bytes]:
        yield (TRACES / "good-rl.log").read_bytes()
        for _ in range(20):
            yield bytes(piece)

    tracemalloc.start()
    try:
        seen = read_evidence(clean_lines(pieces()))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen.commands
    assert most < 1.5 * 2**20


@given(noise=st.lists(st.binary(max_size=80) | st.sampled_from(WORDS), max_size=30))
def test_noise_alone_proves_nothing(noise: list[bytes]) -> None:
    """Whatever is in a log, without the runner's preparation and the echoed commands."""
    seen = evidence_of(b"\n".join(noise))
    for status, passing in (("success", {"outcome"}), ("running", set())):
        attempt = Attempt(id=1, name="hyperopt-tft", status=status, project=7, pipeline=1)
        found = judge(PLAN["hyperopt-tft"], attempt, seen)
        assert {each.name for each in found.aspects if each.verdict == "PASS"} <= passing


@given(
    noise=st.lists(st.binary(max_size=60) | st.sampled_from(WORDS), min_size=1, max_size=20),
    data=st.data(),
)
def test_what_a_training_prints_never_turns_a_failure_into_a_pass(
    noise: list[bytes], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(["selector-missing", "size-line-missing", "wrong-gpu",
                                      "fingerprint-differs", "l40s-unguarded"]))  # fmt: skip
    path = TRACES / f"{name}.log"
    expected = tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))
    failing = {aspect for aspect, verdict in expected["aspects"].items() if verdict == "FAIL"}
    log = path.read_bytes()
    end = log.rindex(b"section_end", 0, log.rindex(b"cleanup_file_variables"))
    at = log.rindex(b"\n", 0, end) + 1
    job = PLAN[expected["job"]]
    attempt = Attempt(id=1, name=job.name, status=expected["status"], project=7, pipeline=1,
                      failure_reason=expected.get("failure_reason", ""))  # fmt: skip
    printed = b"\n".join(noise) + b"\n"
    found = judge(job, attempt, evidence_of(log[:at] + printed + log[at:]))
    shown = {each.name: each.verdict for each in found.aspects}
    assert {shown[aspect] for aspect in failing} == {"FAIL"}
