"""Faults planted at random jobs of the shipped child are found at their line; no edit breaks it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import pytest
import yaml

from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.finding import Finding
from tests.conftest import ROOT
from tests.effort import examples

CHILD = (ROOT / "tests/golden/shipped-push.yml").read_text(encoding="utf-8")
LINES = CHILD.splitlines()
JOBS = [
    line[:-1] for line in LINES if line and line[0].isalpha() and line[:5] in ("train", "hyper")
]
SEEDS = range(3)

# What is added to a job as its last key (one line or several), the code, and the line in it.
ADDED = {
    "unknown key": ("memory: 5", "PIP109", 0),
    "misspelt key": ("allow_failures: true", "PIP109", 0),
    "retry too high": ("retry: 3", "PIP120", 0),
    "retry in quotes": ('retry: "2"', "PIP120", 0),
    "retry for an unknown reason": ("retry:\n  max: 1\n  when: [oom]", "PIP120", 2),
    "tags no list": ("tags: gpu", "PIP122", 0),
    "tag a number": ("tags:\n  - gpu\n  - 5", "PIP122", 2),
    "too many tags": (f"tags: [{', '.join(f't{n}' for n in range(50))}]", "PIP122", 0),
    "parallel zero": ("parallel: 0", "PIP123", 0),
    "matrix too large": (f"parallel:\n  matrix:\n    - A: {list(range(201))}", "PIP123", 1),
    "artifacts path": ("artifacts:\n  path: [x]", "PIP124", 1),
    "artifacts expiry": ("artifacts:\n  paths: [x]\n  expire_in: soon", "PIP124", 2),
    "artifacts when": ("artifacts:\n  when: sometimes", "PIP124", 1),
    "environment name": ("environment: prod!", "PIP126", 0),
    "image without name": ("image:\n  entrypoint: ['']", "PIP127", 0),
    "image of nothing": ("image: ''", "PIP127", 0),
    "interruptible in quotes": ('interruptible: "true"', "PIP128", 0),
    "cache without paths": ("cache: .cache", "PIP129", 0),
    "cache policy": ("cache:\n  paths: [a]\n  policy: pulls", "PIP130", 2),
    "allow_failure a text": ('allow_failure: "yes"', "PIP131", 0),
    "when unknown": ("when: sometimes", "PIP131", 0),
    "only beside rules": ("only: [main]", "PIP131", 0),
    "rule with braces": ("rules:\n  - if: ${A} == '1'", "RUL101", 1),
    "rule with unknown key": ("rules:\n  - when: always\n  - iff: $A", "RUL101", 2),
    "rule variable a number": (
        "rules:\n  - when: always\n    variables:\n      N: 5", "PIP154", 3
    ),
    "no rules": ("rules: []", "RUL101", 0),
    "stage unknown": ("stage: trian", "PIP110", 0),
    "need of nobody": ("needs:\n  - nobody", "NED101", 1),
    "need of a hidden job": ("needs: [.train-rl-base]", "NED101", 0),
    "need twice": ("needs:\n  - hyperopt-dqn\n  - hyperopt-dqn", "PIP115", 2),
    "needs no list": ("needs: hyperopt-dqn", "PIP114", 0),
    "too many needs": (f"needs: [{', '.join(f'j{n}' for n in range(51))}]", "NED104", 0),
    "dependency unknown": ("dependencies: [nobody]", "PIP117", 0),
    "trigger": ("trigger: other/project", "PIP113", 0),
    "empty after_script item": ("after_script:\n  - echo\n  - a: b", "PIP140", 2),
    "reference to nothing": ("after_script: [!reference [.nobody, script]]", "PIP112", 0),
    "services no list": ("services: redis", "PIP127", 0),
    "key with a date": ("id_tokens: {A: {aud: 2024-01-31}}", "PIP160", 0),
    "tee": ("after_script:\n  - make | tee log", "PIP143", 1),
    "several commands": ("after_script:\n  - |\n    make\n    make fit", "PIP142", 1),
    "schema only": ("id_tokens: {A: {audience: x}}", "PIP180", 0),
}  # fmt: skip


def job_lines(lines: list[str], job: str) -> tuple[int, int]:
    """The first line of a job and the one after its last, from 0."""
    start = lines.index(f"{job}:")
    end = start + 1
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    return start, end


def found_at(lines: list[str], code: str, line: int) -> list[Finding]:
    found = check_child("\n".join(lines) + "\n", "child.yml")
    return [finding for finding in found if finding.code == code and finding.place.line == line]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", ADDED)
def test_a_fault_added_to_a_job_is_found_in_its_line(fault: str, seed: int) -> None:
    job = random.Random(f"{fault}{seed}").choice(JOBS)
    text, code, offset = ADDED[fault]
    lines = list(LINES)
    key = text.partition(":")[0]
    _, end = job_lines(lines, job)
    assert f"  {key}:" not in "\n".join(lines[lines.index(f"{job}:") : end])
    lines[end:end] = [f"  {line}" for line in text.split("\n")]
    found = found_at(lines, code, end + 1 + offset)
    assert found
    assert found[0].place.job == job


def _in_job(old: str, new: str) -> Callable[[list[str], str], int]:
    """Replaces a text in the lines of a job; gives the line, from 0."""

    def edit(lines: list[str], job: str) -> int:
        start, end = job_lines(lines, job)
        number = next(n for n in range(start, end) if old in lines[n])
        lines[number] = lines[number].replace(old, new)
        return number

    return edit


def _repeated_key(lines: list[str], job: str) -> int:
    _, end = job_lines(lines, job)
    lines.insert(end, '  timeout: "1h"')
    return end


def _repeated_job(lines: list[str], job: str) -> int:
    lines += [f"{job}:", "  script: [make]"]
    return len(lines) - 2


def _renamed(lines: list[str], job: str) -> int:
    number = lines.index(f"{job}:")
    lines[number] = f"{'n' * 256}:"
    return number


def _circle(lines: list[str], job: str) -> int:
    _, end = job_lines(lines, job)
    lines.insert(end, f"  needs: [{job}]")
    return end


def _without_script(lines: list[str], job: str) -> int:
    start, end = job_lines(lines, job)
    number = next(n for n in range(start, end) if lines[n] == "  script:")
    while lines[number + 1].startswith("    -"):
        del lines[number + 1]
    return number


CHANGED: dict[str, tuple[Callable[[list[str], str], int], str]] = {
    "extends misspelt": (_in_job("extends: .train", "extends: .tarin"), "PIP111"),
    "timeout a number": (_in_job('"12h"', "3600"), "PIP121"),
    "timeout of years": (_in_job('"12h"', '"2 years"'), "PIP121"),
    "timeout without unit": (_in_job('"12h"', '"90"'), "PIP132"),
    "timeout a clock": (_in_job('"12h"', "12:30"), "PIP121"),
    "resource group with a colon": (_in_job('_group: "ci-', '_group: "ci:'), "PIP125"),
    "resource group a number": (_in_job("resource_group: \"", 'resource_group: 1 # "'), "PIP125"),
    "variable octal": (_in_job("ROUTE_EPOCHS: ", "ROUTE_EPOCHS: 010 # "), "PIP151"),
    "variable a date": (_in_job("ROUTE_EPOCHS: ", "ROUTE_EPOCHS: 2024-1-1 # "), "PIP160"),
    "variable a list": (_in_job("ROUTE_EPOCHS: ", "ROUTE_EPOCHS: [1] # "), "PIP150"),
    "variable name": (_in_job("ROUTE_EPOCHS", "ROUTE-EPOCHS"), "PIP153"),
    "command a mapping": (_in_job("    - 'trainer", "    - echo epochs: 8 # '"), "PIP140"),
    "command cut by a comment": (_in_job("    - 'trainer", "    - echo \"run #'"), "PIP141"),
    "bracket left open": (_in_job('timeout: "12h"', 'timeout: ["12h"'), "PIP101"),
    "key twice": (_repeated_key, "PIP103"),
    "job twice": (_repeated_job, "PIP103"),
    "name too long": (_renamed, "PIP104"),
    "need of itself": (_circle, "NED103"),
    "script of nothing": (_without_script, "PIP108"),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", CHANGED)
def test_a_fault_put_into_a_job_is_found_in_its_line(fault: str, seed: int) -> None:
    hyperopt = [job for job in JOBS if job.startswith("hyperopt")]
    edit, code = CHANGED[fault]
    lines = list(LINES)
    number = edit(lines, random.Random(f"{fault}{seed}").choice(hyperopt))
    assert found_at(lines, code, number + 1)


def test_no_random_edit_raises() -> None:
    """Edits of a shorter child: a line lost, moved, repeated or cut, a character changed."""
    chance = random.Random(1)
    start, _ = job_lines(LINES, "hyperopt-ppo")
    for _ in range(examples(800)):
        lines = LINES[:start]
        for _ in range(chance.randint(1, 3)):
            _edit(lines, chance)
        for finding in check_child("\n".join(lines), "child.yml"):
            assert 1 <= finding.place.line <= len(lines) + 1


PIECES = [": ", "- ", "[", "]", "{", "}", "&a ", "*a", "!reference ", "<<: ", "#", "'", '"', "|"]
PIECES += ["\t", "  ", "null", "5", "2024-01-01", "é", "\x00", "$X", "extends: ", "needs: "]


def _edit(lines: list[str], chance: random.Random) -> None:
    number = chance.randrange(len(lines))
    line = lines[number]
    at = chance.randint(0, len(line))
    key, colon, _ = line.partition(":")
    lines[number] = chance.choice(
        (
            "",
            line[:at],
            line[:at] + chance.choice(PIECES) + line[at:],
            line[:at] + line[at + 1 :],
            " " * chance.randint(0, 6) + line.strip(),
            f"{key}{colon} {chance.choice(PIECES)}{chance.choice(PIECES)}",
            f"{line}\n{chance.choice(lines)}",
        )
    )


def test_no_odd_value_anywhere_raises() -> None:
    """Children of which one or two values, of any depth, are replaced by odd ones."""
    chance = random.Random(2)
    start, _ = job_lines(LINES, "hyperopt-ppo")
    text = "\n".join(LINES[:start]) + EVERY_KEY
    assert not [finding for finding in check_child(text, "child.yml") if finding.code == "PIP101"]
    loaded = yaml.safe_load(text)
    for _ in range(examples(200)):
        child = copy.deepcopy(loaded)
        for _ in range(chance.randint(1, 2)):
            _replace(child, chance)
        check_child(yaml.dump(child, Dumper=DUMPER, sort_keys=False), "child.yml")


DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


EVERY_KEY = """
include: [local.yml]
default:
  services: [{name: redis, alias: r}]
other:
  stage: train
  environment: {name: prod, action: start, auto_stop_in: 1 day}
  cache: [{key: k, paths: [a], policy: pull}]
  parallel: {matrix: [{A: [a, b], B: c}]}
  needs: [hyperopt-dqn, {job: hyperopt-dqn, optional: true}]
  dependencies: [hyperopt-dqn]
  inherit: {default: [image], variables: false}
  image: {name: i, pull_policy: always, docker: {user: r}}
  allow_failure: {exit_codes: [1]}
  rules: [{if: $A, variables: {B: c}, needs: [hyperopt-dqn]}, [{when: always}]]
  script: [make, [make, $A]]
trigger-it:
  stage: train
  trigger: {include: [{artifact: a.yml, job: other}], strategy: depend, forward: {}}
"""
ODD: list[object] = [None, True, 0, -1, 1.5, float("inf"), "", " ", "x", "$X", "0,1", "2024-1-1"]
ODD += [":a", "hyperopt-dqn", ".train-rl-base", [], {}, [[]], [None], [{"a": None}], {"a": []}]
ODD += [{"job": None}, ["hyperopt-dqn"] * 60, {"matrix": [{"a": [1] * 300}]}, "9" * 400, 10**30]


def _replace(value: object, chance: random.Random) -> None:
    """Goes down a random path and puts an odd value, or an odd key, at its end."""
    while isinstance(value, dict | list) and value:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not isinstance(value[key], dict | list) or not value[key] or chance.random() < 0.25:
            value[key] = copy.deepcopy(chance.choice(ODD))
            if isinstance(value, dict) and chance.random() < 0.2:
                value[chance.choice([1, True, None, 1.5, "x", "", "1,2"])] = value.pop(key)
            return
        value = value[key]
