"""How a job is run and how often: retry, timeout, tags, parallel, interruptible, resource_group.

GitLab: lib/gitlab/ci/config/entry/{retry,timeout,tags,product/parallel,product/matrix}.rb
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import (
    is_boolean,
    is_mapping,
    is_null,
    is_text_list,
    items_of,
    number_in,
    shown,
    text_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.durations import MAX_TIMEOUT_SECONDS, seconds_in
from gpu_pipeline.gitlab_limits import MAX_TAGS
from gpu_pipeline.names import did_you_mean

MAX_RETRY, MAX_PARALLEL = 2, 200
# doc/ci/yaml: retry:when, and the other failure reasons that GitLab knows.
RETRY_WHEN = set(
    """
    always unknown_failure script_failure api_failure stuck_or_timeout_failure
    stuck_pending_with_matching_runners stuck_pending_no_matching_runners no_updates_running
    no_updates_canceling runner_system_failure runner_configuration_error
    runner_external_dependency_failure runner_interrupted runner_unsupported stale_schedule
    job_execution_timeout server_timeout_running server_timeout_canceling archived_failure
    unmet_prerequisites scheduler_failure data_integrity_failure missing_dependency_failure
    forward_deployment_failure user_blocked protected_environment_failure
    secrets_provider_not_found no_matching_runner trace_size_exceeded builds_disabled
    environment_creation_failure deployment_rejected failed_outdated_deployment_job
    ci_quota_exceeded ip_restriction_failure
    """.split()
)
# GitLab's pattern for the names of environments, which resource groups share.
ENVIRONMENT_NAME = re.compile(r"(?!/)[A-Za-z0-9_/${}. -]+(?<!/)")
ENVIRONMENT_CHARACTERS = (
    "letters, digits, blanks and - _ / $ { } . only, without a slash at either end"
)


def check_retry(tree: Tree, key: str) -> Iterator[Problem]:
    """0 to 2, or a mapping of max, when and exit_codes."""
    if is_null(tree):
        return
    if not is_mapping(tree):
        if number_in(tree) is None:
            yield wrong("PIP120", tree, key, "a number from 0 to 2 or a mapping with max and when")
        else:
            yield from _retries(tree, key)
        return
    yield from unknown_keys("PIP120", tree, key, ("max", "when", "exit_codes"))
    if maximum := tree.get("max"):
        yield from _retries(maximum, f"{key}.max")
    if when := tree.get("when"):
        yield from _retry_when(when, f"{key}.when")
    if codes := tree.get("exit_codes"):
        numbers = codes.value if isinstance(codes.value, list) else [codes]
        if any(number_in(number) is None for number in numbers):
            yield wrong("PIP120", codes, f"{key}.exit_codes", "a number or a list of numbers")


def _retries(tree: Tree, key: str) -> Iterator[Problem]:
    number = number_in(tree)
    if number is None:
        yield wrong("PIP120", tree, key, "a number from 0 to 2, without quotes")
    elif not 0 <= number <= MAX_RETRY:
        yield Problem(
            code="PIP120",
            line=tree.line,
            key=key,
            message=f"GitLab retries a job 0 to 2 times, not {number}",
            fix=f"write {min(max(number, 0), MAX_RETRY)}",
        )


def _retry_when(tree: Tree, key: str) -> Iterator[Problem]:
    if not isinstance(tree.value, list):
        entries = [(tree, key)]
    else:
        entries = [(item, f"{key}[{index}]") for index, item in enumerate(tree.value)]
    for item, place in entries:
        reason = text_in(item)
        if reason is None or reason not in RETRY_WHEN:
            hint = did_you_mean(reason, RETRY_WHEN) if reason else ""
            yield Problem(
                code="PIP120",
                line=item.line,
                key=place,
                message=f"{shown(item)} is no reason that GitLab retries for{hint}",
                fix="use a reason from the documentation of retry:when, such as "
                "runner_system_failure",
            )


def check_timeout(tree: Tree, key: str) -> Iterator[Problem]:
    """A text that GitLab reads as a duration of at most a month."""
    if is_null(tree):
        return
    yield from check_duration_text("PIP121", tree, key)
    text = text_in(tree)
    seconds = seconds_in(text) if text is not None else None
    if text is None or seconds is None:
        return
    if seconds > MAX_TIMEOUT_SECONDS:
        yield Problem(
            code="PIP121",
            line=tree.line,
            key=key,
            message=f'"{text}" is longer than the one month that GitLab allows a job',
            fix='write at most "1 month"',
        )
    elif re.fullmatch(r"\s*[0-9.]+\s*", text):
        yield Problem(
            code="PIP132",
            line=tree.line,
            key=key,
            message=f'"{text}" has no unit, so the job ends after {seconds:g} seconds',
            fix=f'write the unit, such as "{text.strip()}m" for minutes',
        )


def check_duration_text(code: str, tree: Tree, key: str) -> Iterator[Problem]:
    """A problem unless the value is a text that GitLab reads as a duration."""
    text = text_in(tree)
    if text is None or seconds_in(text) is None:
        example = 'a duration in quotes, such as "12h" or "1h 30m"'
        yield wrong(code, tree, key, example)


def check_tags(tree: Tree, key: str) -> Iterator[Problem]:
    """A list of texts, fewer than 50."""
    if is_null(tree):
        return
    if not isinstance(tree.value, list):
        yield wrong("PIP122", tree, key, "a list of texts", f"write it as a list: [{shown(tree)}]")
        return
    for index, item in enumerate(tree.value):
        if text_in(item) is None:
            fix = "put it in quotes" if not isinstance(item.value, list) else "write one flat list"
            yield wrong("PIP122", item, f"{key}[{index}]", "a text", fix)
    if len(tree.value) > MAX_TAGS:
        yield Problem(
            code="PIP122",
            line=tree.line,
            key=key,
            message=f"GitLab allows a job fewer than 50 tags, and here are {len(tree.value)}",
            fix="keep those that choose the runner",
        )


def check_parallel(tree: Tree, key: str) -> Iterator[Problem]:
    """1 to 200, or a matrix of at most 200 combinations."""
    if is_null(tree):
        return
    if is_mapping(tree):
        yield from unknown_keys("PIP123", tree, key, ("matrix",))
        if matrix := tree.get("matrix"):
            yield from _matrix(matrix, f"{key}.matrix")
        return
    number = number_in(tree)
    if number is None:
        yield wrong("PIP123", tree, key, "a number from 1 to 200 or a mapping with matrix")
    elif not 1 <= number <= MAX_PARALLEL:
        yield Problem(
            code="PIP123",
            line=tree.line,
            key=key,
            message=f"a job runs 1 to 200 times in parallel, not {number}",
            fix=f"write {min(max(number, 1), MAX_PARALLEL)}, or split the job",
        )


def _matrix(tree: Tree, key: str) -> Iterator[Problem]:
    if not isinstance(tree.value, list):
        yield wrong("PIP123", tree, key, "a list of mappings, each of names and their values")
        return
    for index, entry in enumerate(tree.value):
        if not is_mapping(entry) or not entry.value:
            yield wrong("PIP123", entry, f"{key}[{index}]", "a mapping of names and their values")
            continue
        for name, values in entry.items():
            candidates = values.value if isinstance(values.value, list) else [values]
            if not all(_is_word(item) for item in candidates):
                expected = "a text or number, or a list of them"
                yield wrong("PIP123", values, f"{key}[{index}].{name}", expected)
    if (total := matrix_size(tree)) > MAX_PARALLEL:
        yield Problem(
            code="PIP123",
            line=tree.line,
            key=key,
            message=f"the matrix makes {total} jobs, and GitLab allows 200",
            fix="shorten its lists, or write several jobs",
        )


def _is_word(tree: Tree) -> bool:
    return text_in(tree) is not None or number_in(tree) is not None


def matrix_size(tree: Tree | None) -> int:
    """How many jobs a matrix makes."""
    return sum(
        math.prod(len(items_of(values)) or 1 for _, values in entry.items())
        for entry in items_of(tree)
        if entry.value
    )


def check_interruptible(tree: Tree, key: str) -> Iterator[Problem]:
    """true or false, unquoted."""
    if not is_null(tree) and not is_boolean(tree):
        yield wrong("PIP128", tree, key, "true or false, without quotes")


def check_resource_group(tree: Tree, key: str) -> Iterator[Problem]:
    """A text of the characters that GitLab allows; with others it drops the group silently."""
    if is_null(tree):
        return
    name = text_in(tree)
    if name is None:
        yield wrong("PIP125", tree, key, "a text", "put it in quotes")
    elif name and not ENVIRONMENT_NAME.fullmatch(name):
        yield Problem(
            code="PIP125",
            line=tree.line,
            key=key,
            message=f'GitLab drops the resource group "{name}" without a word, and the jobs run '
            f"at once: a name has {ENVIRONMENT_CHARACTERS}",
            fix="replace the other characters: pool/1, not pool:1",
        )


def check_text(tree: Tree, key: str) -> Iterator[Problem]:
    """A text, whatever it says."""
    if not is_null(tree) and text_in(tree) is None:
        yield wrong("PIP128", tree, key, "a text", "put it in quotes")


def check_text_list(tree: Tree, key: str) -> Iterator[Problem]:
    """A list of texts."""
    if not is_null(tree) and not is_text_list(tree):
        yield wrong("PIP128", tree, key, "a list of texts")
