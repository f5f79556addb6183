"""Each job as a whole: its name, its keys, its stage, and that it has something to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpu_pipeline.checks.child.job_keys import JOB_KEYS, KEY_CHECKS, TRIGGER_KEYS
from gpu_pipeline.checks.child.keys_flow import check_flow
from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.parallel import MAX_NAME, check_expanded_names
from gpu_pipeline.checks.child.scripts import SCRIPT_KEYS, check_comment, check_shell
from gpu_pipeline.checks.child.shapes import is_null, shown, text_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import CiJob
from gpu_pipeline.names import did_you_mean

_WORK = ("script", "run", "trigger")
# GitLab takes these names for a job, but something else gives them a meaning.
_LOADED_NAMES = {
    "pages": "GitLab publishes the artifacts of a job named pages as a web site",
    "pages:deploy": "GitLab adds a job of this name itself",
    "default": "default is the keyword for what jobs inherit",
    "workflow": "workflow is the keyword for the rules of the whole pipeline",
}


def check_jobs(child: Child, findings: Findings) -> None:
    """All visible jobs. What several of them inherit is looked at once."""
    checker = _Checker(child, findings)
    for job in child.visible:
        checker.check(job)


class _Checker:
    def __init__(self, child: Child, findings: Findings) -> None:
        self._child, self._findings = child, findings
        self._checked: dict[tuple[str, int, int], list[Problem]] = {}

    def check(self, job: CiJob) -> None:
        add = self._findings.add_all
        add(_check_name(job.name, job.line), job.name)
        add(_check_keys(job), job.name)
        if _has_work(job):
            add(_check_stage(job, self._child.stages), job.name)
        else:
            self._findings.add(_no_work(job), job.name)
        add(check_flow(job.tree), job.name)
        add(check_expanded_names(job), job.name)
        for key, tree in job.tree.items():
            for problem in self._value(key, tree, job):
                self._findings.add(problem, job.name)

    def _value(self, key: str, tree: Tree, job: CiJob) -> list[Problem]:
        before = job.tree.get("before_script") if key == "script" else None
        identity = (key, id(tree), id(before))
        if identity not in self._checked:
            self._checked[identity] = list(self._problems(key, tree, before))
        return self._checked[identity]

    def _problems(self, key: str, tree: Tree, before: Tree | None) -> Iterator[Problem]:
        if check := KEY_CHECKS.get(key):
            yield from check(tree, key)
        if key in SCRIPT_KEYS:
            yield from check_shell(tree, key, before)
            yield from check_comment(tree, key, self._child.lines)


def _check_name(name: str, line: int) -> Iterator[Problem]:
    """Whether GitLab takes the name of a job, and for what it is meant."""
    if not name.strip():
        yield Problem(
            code="PIP104", line=line, key="", message="a job has a blank name", fix="name it"
        )
    elif len(name) > MAX_NAME:
        yield Problem(
            code="PIP104",
            line=line,
            key="",
            message=f"the name has {len(name)} characters, and GitLab allows {MAX_NAME}",
            fix="shorten it",
        )
    elif name in _LOADED_NAMES:
        yield Problem(
            code="PIP105",
            line=line,
            key="",
            message=f'a job is named "{name}": {_LOADED_NAMES[name]}',
            fix="choose another name, such as one with a prefix",
        )


def _has_work(job: CiJob) -> bool:
    return not all(is_null(job.tree.get(key)) for key in _WORK)


def _no_work(job: CiJob) -> Problem:
    script = job.tree.get("script")
    return Problem(
        code="PIP108",
        line=script.line if script else job.line,
        key="script" if script else "",
        message="the job has nothing to do: no script, run or trigger",
        fix="write its script, or put a dot before its name if others extend it",
    )


def _check_keys(job: CiJob) -> Iterator[Problem]:
    is_trigger = job.tree.get("trigger") is not None
    known: Collection[str] = TRIGGER_KEYS if is_trigger else JOB_KEYS
    for key, tree in job.tree.items():
        if key in known:
            continue
        if is_trigger and key in JOB_KEYS:
            message, fix = f"a trigger job cannot have {key}", "remove it, or the trigger"
        else:
            message = f'a job has no key "{key}"{did_you_mean(key, known)}'
            fix = f'correct the name or remove "{key}"'
        yield Problem(code="PIP109", line=tree.line, key=key, message=message, fix=fix)


def _check_stage(job: CiJob, stages: tuple[str, ...] | None) -> Iterator[Problem]:
    tree = job.tree.get("stage")
    if tree is not None and not is_null(tree) and text_in(tree) is None:
        return  # no text: reported with the other values
    stage = text_in(tree) or "test"
    if stages is None or stage in stages:
        return
    given = f"the stage {shown(tree)}" if text_in(tree) and tree else "the default stage test"
    yield Problem(
        code="PIP110",
        line=tree.line if tree else job.line,
        key="stage",
        message=f"{given} does not exist{did_you_mean(stage, stages)}",
        fix="use a stage of the list stages, or add it there",
    )
