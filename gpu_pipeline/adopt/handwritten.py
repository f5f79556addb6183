"""The jobs of a CI file as they run: inherited values and variables worked in, matrices spread."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from gpu_pipeline.adopt.training import expanded
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.checks.child.shapes import is_mapping, items_of, text_in, texts_in
from gpu_pipeline.checks.child.structure import stages_of
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.ci_file import CiFile, KeyPlace, Reference, Tree
from gpu_pipeline.ci_jobs import CiJob, Fault, raw_jobs, resolve_ci_jobs, resolved_at
from gpu_pipeline.names import PARENT_SOURCE
from gpu_pipeline.record import Record

# GitLab allows no more jobs of one matrix (doc/ci/yaml: parallel:matrix).
_MAX_MATRIX = 200


class Variable(Record):
    """A variable as a job sees it; `is_global` when it stands in the file's own `variables`.

    `expands` is whether GitLab replaces the variables in its value.
    """

    value: str
    line: int
    is_global: bool
    expands: bool = True


class HandJob(Record):
    """A job as GitLab shows it. Of a matrix each has the name that GitLab gives it.

    `written` is its name in the file, `ancestors` are the hidden jobs that it extends, the nearest
    first. `matrix` are the variables that `parallel:matrix` gave it, `variables` hold them too.
    """

    name: str
    written: str
    line: int
    tree: Tree
    ancestors: tuple[str, ...]
    variables: Mapping[str, Variable]
    matrix: Mapping[str, str]
    before: tuple[str, ...]
    script: tuple[str, ...]

    def value_of(self, name: str) -> str:
        """The value of a variable with the variables in it replaced, as far as they are known."""
        known = {name: variable.value for name, variable in self.variables.items()}
        return expanded(known[name], known)

    @property
    def own_variables(self) -> list[str]:
        """The names of variables that are not the whole file's."""
        return [name for name, variable in self.variables.items() if not variable.is_global]

    def line_of(self, *path: str) -> int:
        """The line of a key of the job, else that of the job itself."""
        found = self.tree.get(*path)
        return found.line if found else self.line


class HandFile(Record):
    """A hand-written file: its visible jobs, its own variables, and what could not be read.

    `offered` are the variables that the form "Run pipeline" shows. A file `is_child` when it is
    written for a child pipeline itself: then its rules are meant for one as they stand. A rendered
    child is known by its variables; of any other file `starting` can tell by the rules.
    """

    name: str
    jobs: tuple[HandJob, ...]
    shared: Mapping[str, Variable]
    stages: tuple[str, ...]
    offered: tuple[str, ...]
    faults: tuple[Fault, ...]
    duplicates: tuple[KeyPlace, ...]
    includes: Tree | None
    workflow: Tree | None
    is_child: bool


def read_hand_file(file: CiFile) -> HandFile:
    """The jobs of a parsed file."""
    block = resolved_at(file, "variables")
    shared = dict(_variables(block, is_global=True))
    resolved, faults = resolve_ci_jobs(file)
    raw = raw_jobs(file)
    visible = [
        _hand_job(job, raw, shared)
        for job in resolved.values()
        if not job.hidden and job.tree.get("trigger") is None
    ]
    return HandFile(
        name=file.name,
        jobs=tuple(each for job in visible for each in _spread(job)),
        shared=shared,
        stages=stages_of(file) or (),
        offered=tuple(
            name for name, tree in (block.items() if block else ()) if tree.get("description")
        ),
        faults=tuple(faults),
        duplicates=file.duplicates,
        includes=file.root.get("include"),
        workflow=file.root.get("workflow"),
        is_child=PARENT_SOURCE in shared,
    )


def _hand_job(job: CiJob, raw: Mapping[str, Tree], shared: Mapping[str, Variable]) -> HandJob:
    own = dict(_variables(job.tree.get("variables"), is_global=False))
    return HandJob(
        name=job.name,
        written=job.name,
        line=job.line,
        tree=job.tree,
        ancestors=tuple(_ancestors(job.name, raw)),
        variables={**_inherited(job.tree, shared), **own},
        matrix={},
        before=commands(job.tree.get("before_script")),
        script=commands(job.tree.get("script")),
    )


def _variables(block: Tree | None, *, is_global: bool) -> Iterator[tuple[str, Variable]]:
    for name, tree in block.items() if block else ():
        text = variable_text(name, tree)
        if text is not None:
            expands = tree.plain_at("expand") is not False
            yield name, Variable(value=text, line=tree.line, is_global=is_global, expands=expands)


def _inherited(job: Tree, shared: Mapping[str, Variable]) -> dict[str, Variable]:
    wanted = job.plain_at("inherit", "variables")
    if wanted is False:
        return {}
    names = set(map(str, wanted)) if isinstance(wanted, list) else set(shared)
    return {name: variable for name, variable in shared.items() if name in names}


def _ancestors(name: str, raw: Mapping[str, Tree]) -> Iterator[str]:
    """What a job extends, level by level; of a list the last is the strongest, so it is nearest."""
    pending, seen = deque([name]), {name}
    while pending:
        extends = raw[pending.popleft()].get("extends")
        if extends is None:
            continue
        listed = [text_in(item) for item in items_of(extends)] or [text_in(extends)]
        for base in reversed(listed):
            if base is not None and base not in seen and base in raw:
                seen.add(base)
                pending.append(base)
                yield base


def commands(tree: Tree | None) -> tuple[str, ...]:
    """The commands of a script: a text, or a list that may be nested."""
    if tree is None:
        return ()
    if isinstance(tree.value, list):
        return tuple(each for item in tree.value for each in commands(item))
    text = text_in(tree)
    return (text,) if text is not None else ()


def _spread(job: HandJob) -> Iterator[HandJob]:
    """The jobs that a matrix makes (lib/gitlab/ci/config/normalizer/matrix_strategy.rb)."""
    combinations = [
        combination
        for entry in items_of(job.tree.get("parallel", "matrix"))
        if is_mapping(entry)
        for combination in itertools.islice(_combinations(entry), _MAX_MATRIX + 1)
    ]
    if not combinations or len(combinations) > _MAX_MATRIX:
        yield job
        return
    for matrix in combinations:
        line = job.line_of("parallel")
        own = {
            name: Variable(value=value, line=line, is_global=False)
            for name, value in matrix.items()
        }
        yield replace(
            job,
            name=f"{job.name}: [{', '.join(matrix.values())}]",
            matrix=matrix,
            variables={**job.variables, **own},
        )


def _combinations(entry: Tree) -> Iterator[dict[str, str]]:
    names = [name for name, _ in entry.items()]
    lists = [
        [_text(value) for value in (items_of(values) or [values])] for _, values in entry.items()
    ]
    return (dict(zip(names, values, strict=True)) for values in itertools.product(*lists))


def _text(tree: Tree) -> str:
    value = ruby_plain(tree)
    return str(value).lower() if isinstance(value, bool) else str(value)


class Need(Record):
    """A job that another waits for; `plain` when that is all it says. `matrix` picks of several."""

    job: str
    line: int
    plain: bool
    matrix: tuple[Mapping[str, str], ...] = ()


def needs_of(job: HandJob) -> list[Need] | None:
    """What a job needs, None when it does not say. What is no job of this pipeline has no name."""
    tree = job.tree.get("needs")
    if tree is None or isinstance(tree.value, Reference) or ruby_plain(tree) is None:
        return None
    return [_need(item) for item in (items_of(tree) if isinstance(tree.value, list) else [tree])]


def _need(item: Tree) -> Need:
    name = text_in(item)
    if name is not None:
        return Need(job=name, line=item.line, plain=True)
    foreign = any(item.get(key) for key in ("project", "pipeline"))
    matrix = [
        combination
        for entry in items_of(item.get("parallel", "matrix"))
        for combination in _combinations(entry)
    ]
    kept = all(item.plain_at(key) in (None, default) for key, default in _NEED_DEFAULTS.items())
    return Need(
        job="" if foreign else text_in(item.get("job")) or "",
        line=item.line,
        plain=kept and not foreign,
        matrix=tuple(matrix),
    )


_NEED_DEFAULTS = {"artifacts": True, "optional": False}


def tags_of(job: HandJob) -> tuple[str, ...]:
    """The runner tags of a job."""
    return tuple(text_in(item) or "" for item in texts_in(job.tree.get("tags")))
