"""Random edits of a runner's file never end in a traceback, and planted faults are found."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from gpu_pipeline.checks.fit import check_fit
from gpu_pipeline.checks.runner import check_runner, runners_of
from gpu_pipeline.cluster.runner_file import read_runner_file
from gpu_pipeline.cluster.runner_settings import runner_helm, runner_toml
from gpu_pipeline.errors import GeneratorError
from gpu_pipeline.loading import load_routing
from tests.effort import examples

from ..conftest import SHIPPED, TEMPLATES

ROUTED = load_routing(SHIPPED, TEMPLATES)
LOCATE = ROUTED.lines.origin
TOML = runner_toml(ROUTED.jobs, ROUTED.routing, locate=LOCATE)
HELM = runner_helm(ROUTED.jobs, ROUTED.routing, locate=LOCATE)
PIECES = [
    *("[", "]", "[[", "]]", "{", "}", "=", '"', "'", "'''", ":", "|", "-", "#", "\n", "\t", "\\"),
    *(
        "0",
        "-1",
        "99999999999999999999",
        "true",
        "1.5",
        '""',
        "nan",
        "900",
        "1e3",
        "16GB",
        "é",
        "$X",
    ),
    *("poll_timeout", "[runners.kubernetes]", "[[runners]]", "name", "null", "{{ x }}", "*a", "&a"),
    *("(?i)", "(", ".*", "(?=a)", "\x00", "\u2028", "executor = 'docker'\n", "patch_path = 'x'\n"),
]


def findings(text: str, name: str) -> list[tuple[str, int]]:
    file = read_runner_file(text.encode("utf-8", "surrogatepass"), name)
    runners = runners_of(ROUTED.jobs, file)
    found = check_runner(ROUTED.jobs, ROUTED.routing, file, locate=LOCATE)
    found += check_fit(ROUTED.jobs, locate=LOCATE, runner_of=lambda job: runners.get(job.name))
    return [(each.code, each.place.line) for each in found if str(each.place)]


def edit(text: str, rng: random.Random) -> str:
    """One random change: of characters, of lines, or of a value."""
    lines = text.split("\n")
    at, line = rng.randrange(len(text)), rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        return text[:at] + rng.choice(PIECES) + text[at:]
    if kind == 1:
        return text[:at] + text[at + rng.randrange(1, 12) :]
    if kind == 2:
        lines.pop(line)
    elif kind == 3:
        lines.insert(rng.randrange(len(lines)), lines[line])
    elif kind == 4:
        key, equals, _ = lines[line].partition("=")
        lines[line] = f"{key}{equals} {rng.choice(PIECES)}"
    else:
        return text[:at]
    return "\n".join(lines)


def refusal(text: str, name: str) -> str | None:
    """The error that names the file, if it cannot be read at all."""
    try:
        findings(text, name)
    except GeneratorError as error:
        if name in str(error) and error.exit_code == 2:
            return str(error)
        raise
    return None


@pytest.mark.parametrize(("text", "name"), [(TOML, "config.toml"), (HELM, "values.yaml")])
def test_random_edits_end_in_findings_or_in_a_clear_error(text: str, name: str) -> None:
    rng = random.Random(20261201)
    refused = 0
    for _ in range(examples(400)):
        changed = text
        for _ in range(rng.randrange(1, 4)):
            changed = edit(changed, rng) or "\n"
        refused += refusal(changed, name) is not None
    assert 100 < refused < 950, "edits are neither all harmless nor all fatal"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`old` becomes `new`, and `code` is found on the line where `at` stands then."""

    code: str
    old: str
    new: str
    at: str


def replaced(old: str, new: str, code: str, at: str | None = None) -> Fault:
    return Fault(code=code, old=old, new=new, at=at or new)


def dropped(line: str, code: str, at: str) -> Fault:
    return Fault(code=code, old=f"{line}\n", new="", at=at)


KUBERNETES, RUNNERS = "[runners.kubernetes]", "[[runners]]"
POD = "[[runners.kubernetes.pod_spec]]"  # faults inside a patch are found where it begins
SELECTOR = "node_selector_overwrite_allowed = '^k8s\\.scaleway\\.com/pool-name=ci-training$'"
DEFAULT = "\"k8s.scaleway.com/pool-name\" = 'ci-compile'"
GPU = 'nvidia.com/gpu: "1"'
FLAG = "FF_USE_ADVANCED_POD_SPEC_CONFIGURATION = "
POLL, EXECUTOR = "    poll_timeout", "  executor"
FAULTS = [
    dropped(f"    {SELECTOR}", "RUN101", KUBERNETES),
    replaced(SELECTOR, 'node_selector_overwrite_allowed = ""', "RUN101"),
    dropped('    cpu_limit_overwrite_max_allowed = "3800m"', "RUN103", KUBERNETES),
    replaced('memory_request_overwrite_max_allowed = "16Gi"',
             'memory_request_overwrite_max_allowed = ""', "RUN103"),
    replaced("=ci-training$'", "=ci-trainin$'", "RUN105"),
    replaced('"40Gi"', '"40G"', "RUN106"),
    replaced('"3000m"', '"2.999"', "RUN106"),
    replaced('"40Gi"', '"40GB"', "RUN107"),
    replaced("=ci-training$'", "=(ci-training$'", "RUN107"),
    replaced("=ci-training$'", "=ci-training'", "RUN108"),
    replaced("'^k8s", "'k8s", "RUN108"),
    replaced(POLL, f"    namespace_overwrite_allowed = '.*'\n{POLL}", "RUN109", "namespace_over"),
    replaced(DEFAULT, f'{DEFAULT}\n"node.kubernetes.io/instance-type" = "L4-1-24G"', "RUN110",
             '"node.kubernetes.io'),
    replaced(DEFAULT, f'{DEFAULT}\n"zone" = "par2"', "RUN111", '"zone"'),
    replaced("'ci-compile'", "'ci-training'", "RUN112"),
    replaced("poll_timeout = 900", "poll_timeout = 600", "RUN113"),
    dropped("    poll_timeout = 900", "RUN113", KUBERNETES),
    replaced("concurrent = 6", "concurrent = 4", "RUN114"),
    replaced(EXECUTOR, f"  limit = 2\n{EXECUTOR}", "RUN114", "limit = 2"),
    dropped("  request_concurrency = 6", "RUN115", RUNNERS),
    replaced(GPU, 'nvidia.com/gpu: "0"', "RUN116", POD),
    replaced(f"{FLAG}true", f"{FLAG}false", "RUN117", POD),
    replaced("- name: build", "- nam: build", "RUN117", POD),
    replaced(GPU, 'nvidia.com/gpu: "2"', "RUN118", POD),
    replaced(GPU, 'nvidia.com/gpu.shared: "1"', "RUN118", POD),
    replaced(POLL, f'    helper_cpu_request = "2"\n    helper_cpu_limit = "1"\n{POLL}', "RUN119",
             "helper_cpu_limit"),
    replaced("cpu_limit_overwrite_max", "cpu_limit_overwite_max", "RUN122"),
    replaced(EXECUTOR, f"  poll_timeout = 1\n{EXECUTOR}", "RUN122", "poll_timeout = 1\n"),
    replaced(DEFAULT, f'{DEFAULT}\n"cpu_limit" = "2"', "RUN122", '"cpu_limit"'),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.code} {fault.old[:30]}")
def test_a_planted_fault_is_found_at_its_line(fault: Fault, seed: int) -> None:
    rng = random.Random(seed)
    lines = TOML.splitlines()
    for _ in range(rng.randrange(8)):
        lines.insert(rng.randrange(8), "# a comment")
    before = "\n".join(lines) + "\n"
    assert fault.old in before
    text = before.replace(fault.old, fault.new, 1)
    line = text[: text.index(fault.at)].count("\n") + 1
    found = findings(text, "config.toml")
    assert (fault.code, line) in found, found
