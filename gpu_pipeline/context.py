"""What a parent pipeline is: its source, its branch or tag, the variables that reach the child."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import field

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import CHILD_SOURCE, did_you_mean
from gpu_pipeline.record import Record

# Values of CI_PIPELINE_SOURCE (doc/ci/jobs/job_rules: predefined variable CI_PIPELINE_SOURCE).
SOURCES = """
    api chat external external_pull_request_event merge_request_event ondemand_dast_scan
    ondemand_dast_validation parent_pipeline pipeline push schedule
    security_orchestration_policy trigger web webide
    """.split()
MERGE_REQUEST = "merge_request_event"
# Of the variables of a CI job, those that rules of a child pipeline see with the same value
# (doc/ci/variables/predefined_variables: pre-pipeline and pipeline variables).
_SHARED_WITH_CHILD = re.compile(
    r"CI_(?:COMMIT_\w+|DEFAULT_BRANCH\w*|MERGE_REQUEST_\w+|OPEN_MERGE_REQUESTS|PROJECT_(?!DIR)\w+"
    r"|SERVER(?:_\w+)?|REGISTRY(?:_IMAGE)?|PAGES_\w+|API_V4_URL)|GITLAB_USER_\w+|CI|GITLAB_CI"
)


class Context(Record):
    """A parent pipeline, as far as the child has to know it.

    `branch` is None for merge requests and tags. `variables` are the captured ones that are set;
    `predefined` is what GitLab itself defines, as far as it is known here.
    """

    name: str
    source: str
    branch: str | None
    tag: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    predefined: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """What it runs on, as the tail of a sentence: " on main", " on tag v1.0", or nothing."""
        if self.branch:
            return f" on {self.branch}"
        return f" on tag {self.tag}" if self.tag else ""

    @property
    def predefined_in_parent(self) -> dict[str, str]:
        """Predefined variables that the rules of the parent see."""
        return {**self.predefined, "CI_PIPELINE_SOURCE": self.source}

    @property
    def predefined_in_child(self) -> dict[str, str]:
        """Predefined variables that the rules of the child see."""
        return {**self.predefined, "CI_PIPELINE_SOURCE": CHILD_SOURCE}


def make_context(
    name: str,
    source: str,
    *,
    branch: str | None = None,
    tag: str | None = None,
    variables: Mapping[str, str],
    known: Mapping[str, str] | None = None,
) -> Context:
    """A context with the predefined variables that follow from it; `known` ones win."""
    predefined = {"CI": "true", "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "main"}
    if branch is not None:
        predefined |= {"CI_COMMIT_BRANCH": branch, "CI_COMMIT_REF_NAME": branch}
    if tag is not None:
        predefined |= {"CI_COMMIT_TAG": tag, "CI_COMMIT_REF_NAME": tag}
    if source == MERGE_REQUEST:
        predefined |= {
            "CI_MERGE_REQUEST_IID": "1",
            "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_COMMIT_REF_NAME": "topic",
        }
    return Context(
        name=name,
        source=source,
        branch=branch,
        tag=tag,
        variables=variables,
        predefined={**predefined, **(known or {})},
    )


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether this is a job of a CI pipeline."""
    return "CI_PIPELINE_SOURCE" in environment


def context_from(
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
    as_it_is = in_ci(environment) and source is None and branch is None
    if source is None:
        source = environment.get("CI_PIPELINE_SOURCE", "web")
        if not re.fullmatch(r"[a-z][a-z_]*", source):
            raise UsageError(
                f'CI_PIPELINE_SOURCE is "{source}", which is no pipeline source; --source says '
                "which parent is meant"
            )
    elif source not in SOURCES:
        raise UsageError(f'--source: unknown source "{source}"{did_you_mean(source, SOURCES)}')
    for name in overrides:
        if name not in capture:
            raise UsageError(
                f"--var {name}: the routing does not capture this variable, so nothing would "
                f"change{did_you_mean(name, capture)}"
            )
    found = {name: environment[name] for name in capture if name in environment} | dict(overrides)
    for name, value in found.items():
        _check_value(name, value)
    if as_it_is:
        branch, tag = environment.get("CI_COMMIT_BRANCH"), environment.get("CI_COMMIT_TAG")
        known = {n: v for n, v in environment.items() if _SHARED_WITH_CHILD.fullmatch(n)}
    else:
        default = environment.get("CI_COMMIT_BRANCH", current_branch)
        branch = branch if branch is not None or source == MERGE_REQUEST else default
        tag, known = None, {}
    return make_context(
        source,
        source,
        branch=branch or None,
        tag=tag or None,
        variables={name: found[name] for name in capture if name in found},
        known=known,
    )


def _check_value(name: str, value: str) -> None:
    if "\x00" in value:
        raise UsageError(f"the value of {name} contains a NUL character, which no variable can")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UsageError(f"the value of {name} is not valid UTF-8")
