"""When a job runs, in rules that a child pipeline decides the same way.

In a child CI_PIPELINE_SOURCE is always `parent_pipeline`; what started the parent is in
PARENT_PIPELINE_SOURCE. `only` and `except` become the rules that mean the same
(lib/gitlab/ci/build/policy/refs.rb, doc/ci/yaml/deprecated_keywords).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_pipeline.adopt.handwritten import HandFile, HandJob
from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.checks.child.shapes import text_in
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import rules_in
from gpu_pipeline.context import SOURCES
from gpu_pipeline.names import PARENT_SOURCE

SOURCE = "CI_PIPELINE_SOURCE"
_SOURCE = re.compile(rf"\${SOURCE}\b")
_ONLY_CHILD = re.compile(
    rf"""\${SOURCE}\s*==\s*(["'])parent_pipeline\1|(["'])parent_pipeline\2\s*==\s*\${SOURCE}\b"""
)
# Keywords of only:refs, and the source each stands for: it without "_event", and its plural.
_SOURCES = {
    name: source
    for source in SOURCES
    for singular in [source.removesuffix("_event")]
    for name in (singular, f"{singular}{'es' if singular.endswith('sh') else 's'}")
}
_REFS = {"branches": "$CI_COMMIT_BRANCH != null", "tags": "$CI_COMMIT_TAG != null"}

Rules = list[dict[str, object]]


def rules_of(job: HandJob, notes: Notes) -> Rules:
    """The rules of a job as they decide in its own file; each says what it leaves to the job."""
    listed = job.tree.get("rules")
    if listed is not None and ruby_plain(listed) is not None:
        return [_rule(rule, job, notes) for rule in rules_in(listed)]
    return list(_policies(job, notes))


def for_child(rules: Rules) -> Rules:
    """The rules in terms of a child pipeline."""
    return [
        {**rule, "if": _SOURCE.sub(f"${PARENT_SOURCE}", str(rule["if"]))} if "if" in rule else rule
        for rule in rules
    ]


def runs_in_child(jobs: Iterable[HandJob]) -> HandJob | None:
    """The first job with a rule that only a child pipeline matches, None when there is none."""
    for job in jobs:
        for rule in rules_of(job, Notes()):
            if rule.get("when") != "never" and _ONLY_CHILD.search(str(rule.get("if", ""))):
                return job
    return None


def workflow_variables(file: HandFile) -> dict[str, int]:
    """The variables that rules of `workflow` set, each with its line."""
    rules = file.workflow.get("rules") if file.workflow else None
    blocks = (rule.get("variables") for rule in rules_in(rules))
    return {name: tree.line for block in blocks if block for name, tree in block.items()}


def names_read(rules: Rules) -> set[str]:
    """The variables that the conditions of rules mention."""
    return {
        name for rule in rules for name in re.findall(r"\$([A-Za-z_]\w*)", str(rule.get("if", "")))
    }


def _rule(tree: Tree, job: HandJob, notes: Notes) -> dict[str, object]:
    rule: dict[str, object] = {}
    for key, value in tree.items():
        plain = ruby_plain(value)
        if plain is None:
            continue
        if key in ("changes", "exists"):
            rule[key] = _paths(key, value, job, notes)
        elif key == "variables":
            texts = {name: variable_text(name, each) for name, each in value.items()}
            rule[key] = {name: text for name, text in texts.items() if text is not None}
        elif key == "if":
            rule[key] = " ".join(str(plain).split()) if "\n" in str(plain) else plain
        elif key in ("when", "start_in", "allow_failure"):
            rule[key] = plain
        else:
            notes.lost(value.line, f"{job.name}:rules:{key}", "a rule of the routing cannot say it")
    when = rule.get("when") or text_in(job.tree.get("when")) or "on_success"
    if rule.get("when") is None and when != "on_success":
        rule["when"] = when
    if "allow_failure" not in rule and when != "never":
        optional = _optional(job, notes)
        if optional or when == "manual":
            rule["allow_failure"] = optional
    return rule


def _paths(key: str, tree: Tree, job: HandJob, notes: Notes) -> object:
    for name in ("compare_to", "project", "ref"):
        if tree.get(name):
            notes.lost(
                tree.line, f"{job.name}:rules:{key}:{name}", "a rule of the routing has paths only"
            )
    found = ruby_plain(tree.get("paths") or tree)
    return [found] if isinstance(found, str) else found


def _optional(job: HandJob, notes: Notes) -> bool:
    """The job's own `allow_failure`; without one, a manual job is optional, any other is not."""
    tree = job.tree.get("allow_failure")
    value = ruby_plain(tree) if tree else None
    if isinstance(value, dict) and tree:
        notes.lost(
            tree.line,
            f"{job.name}:allow_failure",
            "the routing takes true or false; after an exit code the job is a failed one now",
        )
        return False
    if isinstance(value, bool):
        return value
    return text_in(job.tree.get("when")) == "manual"


def _policies(job: HandJob, notes: Notes) -> Iterator[dict[str, object]]:
    """The rules that `only`, `except` and `when` amount to."""
    refs, variables, changes = _policy(job, "except", notes)
    for rule in ({"if": _any(refs + variables)} if refs or variables else {}, changes):
        if rule:
            yield {**rule, "when": "never"}
    refs, variables, changes = _policy(job, "only", notes)
    if not refs and not _says_refs(job):  # what GitLab assumes when `only` names no refs
        refs = list(_REFS.values())
    if not refs:
        return  # `only` names none that could match
    parts = [_any(part) for part in (refs, variables) if part]
    rule = {"if": " && ".join(f"({part})" for part in parts) if len(parts) > 1 else parts[0]}
    when = text_in(job.tree.get("when")) or "on_success"
    optional = _optional(job, notes)
    yield {
        **rule,
        **changes,
        "when": when,
        **({"allow_failure": optional} if optional or when == "manual" else {}),
        **({"start_in": text_in(job.tree.get("start_in"))} if when == "delayed" else {}),
    }


def _any(conditions: list[str]) -> str:
    return " || ".join(conditions)


def _says_refs(job: HandJob) -> bool:
    only = job.tree.get("only")
    return only is not None and (isinstance(only.value, list) or only.get("refs") is not None)


def _policy(job: HandJob, key: str, notes: Notes) -> tuple[list[str], list[str], dict[str, object]]:
    """The conditions on refs and on variables of `only` or `except`, and its paths."""
    policy = job.tree.get(key)
    if policy is None:
        return [], [], {}
    names = ruby_plain(policy.get("refs") or policy)
    names = [names] if isinstance(names, str) else names
    refs = [
        condition
        for name in (names if isinstance(names, list) else [])
        if (condition := _ref(str(name), policy.line, f"{job.name}:{key}", notes))
    ]
    conditions = ruby_plain(found) if (found := policy.get("variables")) else []
    conditions = list(map(str, conditions)) if isinstance(conditions, list) else []
    conditions = [f"({each})" if "||" in each else each for each in conditions]
    paths = ruby_plain(found) if (found := policy.get("changes")) else None
    if policy.get("kubernetes"):
        notes.lost(policy.line, f"{job.name}:{key}:kubernetes", "no rule can ask for a cluster")
    return refs, conditions, {"changes": paths} if paths else {}


def _ref(name: str, line: int, about: str, notes: Notes) -> str | None:
    name, at, project = name.partition("@")  # also in a regex: doc/ci/jobs/job_rules wants \\x40
    if '"' in project:
        notes.lost(line, about, f'"{name}@{project}": a rule cannot name that project')
        return None
    condition = _condition(name, line, about, notes)
    return f'$CI_PROJECT_PATH == "{project}" && ({condition})' if at and condition else condition


def _condition(name: str, line: int, about: str, notes: Notes) -> str | None:
    if name in _REFS:
        return _REFS[name]
    if name in _SOURCES:
        return f'${SOURCE} == "{_SOURCES[name]}"'
    if re.fullmatch(r"/.*/i?", name):
        return f"$CI_COMMIT_BRANCH =~ {name} || $CI_COMMIT_TAG =~ {name}"
    if '"' in name:
        notes.lost(line, about, f'"{name}": a rule cannot name that ref')
        return None
    return f'$CI_COMMIT_BRANCH == "{name}" || $CI_COMMIT_TAG == "{name}"'
