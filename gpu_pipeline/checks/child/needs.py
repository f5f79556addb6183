"""Which jobs a job waits for: `needs` and `dependencies`, as far as the file alone tells.

Whether a needed job is left out by its rules depends on the kind of parent and is checked apart.
GitLab: lib/gitlab/ci/config/entry/need.rb, lib/gitlab/ci/yaml_processor.rb
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.parallel import expanded_names
from gpu_pipeline.checks.child.shapes import (
    Hints,
    is_boolean,
    is_mapping,
    is_null,
    items_of,
    text_in,
    texts_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import CiJob, raw_jobs
from gpu_pipeline.gitlab_limits import MAX_NEEDS
from gpu_pipeline.record import Record

_JOB_KEYS = ("job", "artifacts", "optional", "parallel")
_PROJECT_KEYS = ("job", "artifacts", "optional", "parallel", "project", "ref")
_PIPELINE_KEYS = ("job", "artifacts", "pipeline")


class Need(Record):
    """A job of the same pipeline that another one needs, and where that stands."""

    name: str
    line: int
    key: str
    optional: bool = False


def check_needs(child: Child, findings: Findings) -> None:
    """Every need of every visible job."""
    checker = _Checker(child)
    for job in child.visible:
        findings.add_all(checker.check(job), job.name)
    for name, need, circle in _circles(child.visible):
        findings.add(
            Problem(
                code="NED103",
                line=need.line,
                key=need.key,
                message=f"jobs need each other in a circle: {' → '.join(circle)}",
                fix="remove one of these needs",
            ),
            name,
        )


class _Checker:
    def __init__(self, child: Child) -> None:
        self._stages = {stage: index for index, stage in enumerate(child.stages or ())}
        self._jobs = {job.name: job for job in child.visible}
        self._raw = set(raw_jobs(child.file))
        self._names = {name for name in self._raw if not name.startswith(".")}
        self._hints = Hints(self._names)

    def check(self, job: CiJob) -> Iterator[Problem]:
        tree = job.tree.get("needs")
        if tree is not None and not is_null(tree):
            yield from _shape(tree, "needs")
        needs = list(needs_of(job))
        for need in needs:
            yield from self._target(job, need, "NED101", "needs")
        yield from _duplicates(needs)
        if len(needs) > MAX_NEEDS and tree is not None:
            yield Problem(
                code="NED104",
                line=tree.line,
                key="needs",
                message=f"GitLab allows a job {MAX_NEEDS} needs, and here are {len(needs)}",
                fix="put the job into a later stage, which waits for all jobs before it",
            )
        for index, rule in enumerate(items_of(job.tree.get("rules"))):
            for need in needs_in(rule.get("needs"), f"rules[{index}].needs"):
                yield from self._target(job, need, "NED101", "needs")
        yield from self._dependencies(job, {need.name for need in needs})

    @cached_property
    def _expanded(self) -> dict[str, str]:
        """The job of each name that `parallel` makes."""
        return {name: job.name for job in self._jobs.values() for name in expanded_names(job)}

    def _target(self, job: CiJob, need: Need, code: str, verb: str) -> Iterator[Problem]:
        name = need.name if need.name in self._names else self._expanded.get(need.name)
        if name is None:
            if need.optional:
                return  # GitLab passes over it: an include may leave the job out
            is_hidden = need.name in self._raw
            reason = "it is hidden" if is_hidden else "there is no such job"
            hint = "" if is_hidden else self._hints.near(need.name)
            yield Problem(
                code=code,
                line=need.line,
                key=need.key,
                message=f'{job.name} {verb} "{need.name}", but {reason}{hint}',
                fix="name a job that this file has",
            )
        elif self._is_later(name, job.name):
            yield Problem(
                code="PIP116",
                line=need.line,
                key=need.key,
                message=f'"{need.name}" runs in a later stage than {job.name}, which waits for it',
                fix="move one of the two to another stage",
            )

    def _is_later(self, name: str, other: str) -> bool:
        """Whether a job is in a later stage than another; false when a stage does not exist."""
        stage, other_stage = self._stage(name), self._stage(other)
        return stage is not None and other_stage is not None and stage > other_stage

    def _stage(self, name: str) -> int | None:
        job = self._jobs.get(name)
        stage = text_in(job.tree.get("stage")) if job else None
        return self._stages.get(stage or "test")

    def _dependencies(self, job: CiJob, needed: set[str]) -> Iterator[Problem]:
        needs = job.tree.get("needs")
        for index, tree in enumerate(texts_in(job.tree.get("dependencies"))):
            name = text_in(tree) or ""
            key = f"dependencies[{index}]"
            yield from self._target(
                job, Need(name=name, line=tree.line, key=key), "PIP117", "takes artifacts of"
            )
            if needed and not is_null(needs) and name not in needed and name in self._names:
                yield Problem(
                    code="PIP117",
                    line=tree.line,
                    key=key,
                    message=f'{job.name} takes artifacts of "{name}" without needing it',
                    fix="add it to needs, or remove it here",
                )


def needs_of(job: CiJob) -> Iterator[Need]:
    """The jobs of the same pipeline that a job's `needs` names."""
    yield from needs_in(job.tree.get("needs"), "needs")


def needs_in(tree: Tree | None, key: str) -> Iterator[Need]:
    """The jobs of the same pipeline that a list of needs names; `key` is what to call the list."""
    for index, item in enumerate(items_of(tree)):
        place = f"{key}[{index}]"
        named: Tree | None = item
        optional = item.get("optional")
        if is_mapping(item):
            is_foreign = item.get("pipeline") or item.get("project")
            named, place = None if is_foreign else item.get("job"), f"{place}.job"
        if named is not None and (name := text_in(named)):
            is_optional = optional is not None and optional.value is True
            yield Need(name=name, line=named.line, key=place, optional=is_optional)


def _shape(tree: Tree, key: str) -> Iterator[Problem]:
    if not isinstance(tree.value, list):
        yield wrong("PIP114", tree, key, "a list of jobs")
        return
    for index, item in enumerate(tree.value):
        place = f"{key}[{index}]"
        if is_null(item):
            continue  # GitLab passes over it
        if not is_mapping(item):
            if not text_in(item):
                yield wrong("PIP114", item, place, "the name of a job, or a mapping with job")
            continue
        yield from unknown_keys("PIP114", item, place, _keys_beside(item))
        if not text_in(item.get("job")) and not item.get("pipeline"):
            yield wrong("PIP114", item.get("job") or item, f"{place}.job", "the name of a job")
        for name in ("artifacts", "optional"):
            value = item.get(name)
            if value is not None and not is_null(value) and not is_boolean(value):
                yield wrong("PIP114", value, f"{place}.{name}", "true or false, without quotes")


def _keys_beside(item: Tree) -> tuple[str, ...]:
    """The keys that a need may have, which depend on where the needed job is."""
    if item.get("project"):
        return (*_PROJECT_KEYS, "pipeline") if item.get("pipeline") else _PROJECT_KEYS
    return _PIPELINE_KEYS if item.get("pipeline") else _JOB_KEYS


def _duplicates(needs: list[Need]) -> Iterator[Problem]:
    seen: set[str] = set()
    for need in needs:
        if need.name in seen:
            yield Problem(
                code="PIP115",
                line=need.line,
                key=need.key,
                message=f'"{need.name}" is needed twice, which GitLab refuses',
                fix="remove one of the two",
            )
        seen.add(need.name)


def _circles(jobs: list[CiJob]) -> Iterator[tuple[str, Need, list[str]]]:
    """Each circle once: the job that closes it, its need, and the names from start to start."""
    needs = {job.name: list(needs_of(job)) for job in jobs}
    finished: set[str] = set()
    for start in needs:  # noqa: PLC0206, the needs of other jobs are looked up on the way
        path: dict[str, Iterator[Need]] = {} if start in finished else {start: iter(needs[start])}
        while path:
            name = next(reversed(path))
            need = next(path[name], None)
            if need is None:
                del path[name]
                finished.add(name)
            elif need.name in path:
                names = list(path)
                yield name, need, [*names[names.index(need.name) :], need.name]
            elif need.name in needs and need.name not in finished:
                path[need.name] = iter(needs[need.name])
