"""What the settings of a job may get wrong: variables, tags and rules, at whatever layer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_pipeline.gitlab_limits import MAX_TAGS
from gpu_pipeline.names import OWN_VARIABLES, VARIABLE_NAME
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import Rule, Settings
from gpu_pipeline.rules import RuleError, RuleSyntaxError, decide
from gpu_pipeline.toml_lines import Path

_OWN_KUBERNETES = re.compile(
    r"KUBERNETES_(?:(?:CPU|MEMORY|EPHEMERAL_STORAGE)_(?:REQUEST|LIMIT)|NODE_(?:SELECTOR|TOLERATIONS)_.*)"
)
_SECRET_WORDS = ("TOKEN", "PASSWORD", "PASSWD", "SECRET", "KEY", "CREDENTIAL")
_SELF_REFERENCE = r"\$\{{?{name}\}}?"
# GitLab: config/entry/tags.rb, "must be less than the limit of 50 tags".


def check_settings(settings: Settings, path: Path, problems: Problems) -> None:
    """Add every problem with the settings at `path` to `problems`."""
    _check_variables(settings.variables, (*path, "variables"), problems)
    if settings.tags is not None and not 0 < len(settings.tags) <= MAX_TAGS:
        problems.add((*path, "tags"), f"must name 1 to {MAX_TAGS} tags")
    if settings.expected is not None and settings.seconds_per_epoch is not None:
        problems.add(
            (*path, "expected"), "and seconds_per_epoch say the same thing twice; keep one"
        )
    if settings.rules == ():
        problems.add((*path, "rules"), "is empty: the job would never run")
    for i, rule in enumerate(settings.rules or ()):
        _check_rule(rule, (*path, "rules", i), problems)


def _check_rule(rule: Rule, path: Path, problems: Problems) -> None:
    if rule == Rule() and not problems.has_cut(path):
        problems.add(path, "is empty; it would always match")
    if rule.when == "manual" and rule.allow_failure is None:
        problems.add(
            path,
            "a manual rule must say allow_failure; true makes the job optional, false lets the "
            "pipeline wait for it (GitLab's default in rules)",
        )
    if (rule.when == "delayed") != (rule.start_in is not None):
        problems.add(path, 'start_in and when = "delayed" go together')
    elif rule != Rule():
        _check_as_gitlab_does(rule, path, problems)
    _check_variables(rule.variables, (*path, "variables"), problems)


def _check_variables(variables: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Variables of a job: whatever the generator, GitLab or a secret store owns is refused."""
    for name, value in (variables or {}).items():
        message = None
        if not VARIABLE_NAME.fullmatch(name):
            message = "is not a variable name: letters, digits and _ only"
        elif name in OWN_VARIABLES or _OWN_KUBERNETES.fullmatch(name):
            message = "is set by the generator; use requests, limits, epochs, or the pool's keys"
        elif name.startswith(("CI_", "GITLAB_")):
            message = "is set by GitLab; jobs would see another value than they expect"
        elif secret := secret_word(name):
            message = (
                f"looks like a secret ({secret}): the child file is a readable artifact; make it a "
                "masked CI/CD variable, which the child's jobs see anyway"
            )
        elif re.fullmatch(_SELF_REFERENCE.format(name=name), value):
            message = "is defined as itself: jobs would get the literal text"
        if message:
            problems.add((*path, name), message)


def _check_as_gitlab_does(rule: Rule, path: Path, problems: Problems) -> None:
    try:
        decide({"rules": [rule.as_yaml]})
    except RuleSyntaxError as error:
        hint = f"; {error.hint}" if error.hint else ""
        start = error.expression[error.position :][:20]
        at = f' at "{start}"' if start else " at the end"
        problems.add((*path, "if"), f"{error.reason}{at}{hint}")
    except RuleError as error:
        # Ours is a list of one rule, so its number says nothing.
        reason = str(error).removesuffix(" (rule 1)")
        problems.add(path, f"GitLab would refuse it: {reason}")


def secret_word(name: str) -> str | None:
    """The word that makes a variable look like a secret: TOKEN in DEPLOY_TOKEN, KEY in APIKEY."""
    for part in re.split(r"[_0-9]+", name.upper()):
        for word in _SECRET_WORDS:
            if part.endswith((word, f"{word}S")):
                return word
    return None
