"""gitlab-ci-local and our evaluator say the same of the shipped child, under every kind of parent.

Where gitlab-ci-local is wrong stands below, one line a difference: docs/gitlab-ci-local.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
import yaml

from gpu_pipeline.child import Child, plan_child
from gpu_pipeline.context import Context
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.loading import LoadedRouting, load_routing
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.render import render
from gpu_pipeline.routing_model import Pipeline
from gpu_pipeline.rules import RuleError, decide

from .client import Client, Run, needs_client
from .conftest import SHIPPED, TEMPLATES

pytestmark = needs_client

# What GitLab sets in some kinds of pipeline only, and gitlab-ci-local in all of them.
SOMETIMES_SET = ("CI_COMMIT_BRANCH", "CI_COMMIT_TAG")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return Client(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def shipped() -> LoadedRouting:
    return load_routing(SHIPPED, TEMPLATES)


CONTEXTS = parent_contexts(load_routing(SHIPPED, TEMPLATES).routing)


def list_jobs(client: Client, text: str, *options: str, undefined: tuple[str, ...] = ()) -> Run:
    (client.repository / "child.yml").write_text(text, encoding="utf-8")
    return client("--file", "child.yml", "--list-json", *options, undefined=undefined)


def verdicts(listed: Run) -> dict[str, tuple[str, object]]:
    return {job["name"]: (job["when"], job["allow_failure"]) for job in json.loads(listed.stdout)}


def defined_in_the_child_of(context: Context) -> list[str]:
    known = context.predefined_in_child
    return [part for item in known.items() for part in ("--variable", "=".join(item))]


def absent_in_the_child_of(context: Context) -> list[str]:
    absent = [name for name in SOMETIMES_SET if name not in context.predefined_in_child]
    return [part for name in absent for part in ("--unset-variable", name)]


def child_of(context: Context, shipped: LoadedRouting) -> Child:
    pipeline = shipped.routing.pipeline or Pipeline()
    return plan_child(shipped.jobs, context, pipeline=pipeline, fingerprint="0" * 16)


def test_there_are_the_eight_kinds_of_parent() -> None:
    assert len(CONTEXTS) == 8


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.name)
def test_the_client_decides_as_we_do(
    context: Context, client: Client, shipped: LoadedRouting
) -> None:
    child = child_of(context, shipped)
    listed = list_jobs(
        client,
        render(child, TEMPLATES),
        *defined_in_the_child_of(context),
        *absent_in_the_child_of(context),
        undefined=tuple(context.predefined_in_child),
    )
    assert listed.code == 0, listed.output
    decisions = outcome_of(child, context).decisions
    assert len(decisions) == 19
    assert verdicts(listed) == {
        name: (decision.when, decision.allow_failure) for name, decision in decisions.items()
    }


def test_the_client_takes_a_tag_for_a_branch_unless_told(
    client: Client, shipped: LoadedRouting
) -> None:
    """It sets CI_COMMIT_BRANCH in every pipeline, so a tag would match a rule about main."""
    tag = next(context for context in CONTEXTS if context.tag)
    child = child_of(tag, shipped)
    listed = list_jobs(
        client,
        render(child, TEMPLATES),
        *defined_in_the_child_of(tag),
        undefined=tuple(tag.predefined_in_child),
    )
    assert set(verdicts(listed).values()) == {("manual", True)}
    assert outcome_of(child, tag).is_empty


VARIABLES = {"EMPTY": "", "BLANK": "  ", "NAME": "main"}
REFUSED = "refused"


@dataclass(frozen=True)
class Difference:
    """An expression, what GitLab and we make of it, what gitlab-ci-local does, and why."""

    expression: str
    ours: bool | str
    theirs: bool | str
    reason: str


DIFFERENCES = [
    Difference("$BLANK", False, True, "a value of blanks only is false at the end"),
    Difference("$EMPTY && $NAME", True, False, "an empty text is true inside &&"),
    Difference("$EMPTY || $NAME", False, True, "and ends an ||"),
    Difference("$BLANK || $UNSET", False, True, "so does a blank one, which then is false"),
    Difference("$UNSET =~ /^$/", True, False, "what is undefined is matched as an empty text"),
    Difference("$EMPTY =~ /^$/", True, False, "an empty match is a match"),
    Difference('$NAME == "main" == "true"', True, False, "a boolean and a text are compared"),
    Difference("$NAME =~ /m/", REFUSED, True, "a regex of one character is none"),
    Difference("1 == 1", REFUSED, True, "there are no numbers"),
    Difference('$NAME === "main"', REFUSED, True, "this is JavaScript"),
    Difference('"main" =~ "main-2"', True, REFUSED, "a text on the right: is it contained there?"),
    Difference("$NAME =~ /MAIN/ismU", True, REFUSED, "flags of RE2, unknown to JavaScript"),
]


def job_with(expression: str) -> dict[str, object]:
    return {"script": ["true"], "rules": [{"if": expression}]}


@pytest.mark.parametrize("each", DIFFERENCES, ids=lambda each: each.expression)
def test_our_side_of_each_difference(each: Difference) -> None:
    try:
        ours: bool | str = decide(job_with(each.expression), global_variables=VARIABLES).included
    except RuleError:
        ours = REFUSED
    assert ours == each.ours, each.reason


def test_the_clients_side_of_the_differences_in_value(client: Client) -> None:
    listed = [each for each in DIFFERENCES if each.theirs != REFUSED]
    jobs = {f"job-{n}": job_with(each.expression) for n, each in enumerate(listed)}
    found = verdicts(list_jobs(client, yaml.safe_dump({"variables": VARIABLES, **jobs})))
    assert {name: when != "never" for name, (when, _) in found.items()} == {
        f"job-{n}": each.theirs for n, each in enumerate(listed)
    }


@pytest.mark.parametrize(
    "each",
    [each for each in DIFFERENCES if each.theirs == REFUSED],
    ids=lambda each: each.expression,
)
def test_the_client_refuses_what_gitlab_takes(each: Difference, client: Client) -> None:
    document = {"variables": VARIABLES, "job": job_with(each.expression)}
    listed = list_jobs(client, yaml.safe_dump(document))
    assert listed.code != 0, listed.output


def test_the_client_lets_a_manual_job_without_rules_block(client: Client) -> None:
    job = {"script": ["true"], "when": "manual"}
    assert verdicts(list_jobs(client, yaml.safe_dump({"job": job}))) == {"job": ("manual", False)}
    assert decide(job).allow_failure is True
