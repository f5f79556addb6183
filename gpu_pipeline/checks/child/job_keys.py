"""Every key of a job, and which check its value goes through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gpu_pipeline.checks.child.keys_container import check_image, check_services
from gpu_pipeline.checks.child.keys_flow import check_rules
from gpu_pipeline.checks.child.keys_output import check_artifacts, check_cache, check_environment
from gpu_pipeline.checks.child.keys_run import (
    check_interruptible,
    check_parallel,
    check_resource_group,
    check_retry,
    check_tags,
    check_text,
    check_text_list,
    check_timeout,
)
from gpu_pipeline.checks.child.keys_trigger import check_trigger
from gpu_pipeline.checks.child.model import KeyCheck, Problem
from gpu_pipeline.checks.child.scripts import check_script
from gpu_pipeline.checks.child.variables import check_rule_variables, check_variables
from gpu_pipeline.ci_file import Tree

# GitLab: lib/gitlab/ci/config/entry/{processable,job,bridge}.rb, with the keys of its EE.
SHARED_KEYS = set(
    """
    allow_failure environment except extends inherit interruptible manual_confirmation needs only
    parallel resource_group rules stage variables when
    """.split()
)
JOB_KEYS = SHARED_KEYS | set(
    """
    after_script artifacts before_script cache coverage dast_configuration dependencies hooks
    id_tokens identity image inputs pages publish release retry run script secrets services start_in
    tags timeout
    """.split()
)
TRIGGER_KEYS = SHARED_KEYS | {"trigger"}


def _check_rules(tree: Tree, key: str) -> Iterator[Problem]:
    yield from check_rules(tree, key)
    yield from check_rule_variables(tree, key)


KEY_CHECKS: Mapping[str, KeyCheck] = MappingProxyType(
    {
        "after_script": check_script,
        "artifacts": check_artifacts,
        "before_script": check_script,
        "cache": check_cache,
        "coverage": check_text,
        "dependencies": check_text_list,
        "environment": check_environment,
        "image": check_image,
        "interruptible": check_interruptible,
        "parallel": check_parallel,
        "resource_group": check_resource_group,
        "retry": check_retry,
        "rules": _check_rules,
        "script": check_script,
        "services": check_services,
        "stage": check_text,
        "tags": check_tags,
        "timeout": check_timeout,
        "trigger": check_trigger,
        "variables": check_variables,
    }
)
"""`needs`, `when`, `allow_failure`, `inherit`, `only` and `except` need more than their value."""
