"""What the parent pipeline is: its source, its branch and the captured variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean

# Values of CI_PIPELINE_SOURCE (doc/ci/jobs/job_rules: predefined variable CI_PIPELINE_SOURCE).
SOURCES = """
    api chat external external_pull_request_event merge_request_event ondemand_dast_scan
    ondemand_dast_validation parent_pipeline pipeline push schedule
    security_orchestration_policy trigger web webide
    """.split()


@dataclass(frozen=True, kw_only=True)
class Context:
    """The parent pipeline, as far as the child has to know it.

    `branch` is None for merge requests and tags; `variables` holds the captured ones that are set.
    """

    source: str
    branch: str | None
    variables: Mapping[str, str] = field(default_factory=dict)


def build_context(
    environment: Mapping[str, str],
    capture: Sequence[str],
    *,
    source: str | None = None,
    branch: str | None = None,
    overrides: Mapping[str, str],
    current_branch: str | None = None,
) -> Context:
    """The context that the environment of a CI job gives, with the options a person chose.

    Without CI_PIPELINE_SOURCE this is no CI job: then the source is `web`, on `current_branch`.
    Raises UsageError for a source GitLab does not have, an override that nothing would read, and
    a value that cannot stand in a pipeline file.
    """
    in_ci = "CI_PIPELINE_SOURCE" in environment
    if source is None:
        source = environment["CI_PIPELINE_SOURCE"] if in_ci else "web"
        if not re.fullmatch(r"[a-z][a-z_]*", source):
            raise UsageError(f"CI_PIPELINE_SOURCE is {source!r}, which is no pipeline source")
    elif source not in SOURCES:
        raise UsageError(f'--source: unknown source "{source}"{did_you_mean(source, SOURCES)}')
    if branch is None:
        branch = environment.get("CI_COMMIT_BRANCH") if in_ci else current_branch
    for name in overrides:
        if name not in capture:
            raise UsageError(
                f"--var {name}: the routing does not capture this variable, so nothing would "
                f"change{did_you_mean(name, capture)}"
            )
    found = {name: environment[name] for name in capture if name in environment} | dict(overrides)
    for name, value in found.items():
        _check_value(name, value)
    return Context(
        source=source,
        branch=branch or None,
        variables={name: found[name] for name in capture if name in found},
    )


def _check_value(name: str, value: str) -> None:
    if "\x00" in value:
        raise UsageError(f"the value of {name} contains a NUL character, which no variable can")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UsageError(f"the value of {name} is not valid UTF-8")
