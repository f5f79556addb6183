"""The jobs of a CI file as GitLab sees them: `extends`, `!reference` and `default` worked in.

GitLab works in `extends` first and resolves `!reference` in the result (lib/gitlab/ci/config.rb).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_pipeline.ci_file import CiFile, Reference, Tree
from gpu_pipeline.record import Record

# Top-level keys that are no jobs (doc/ci/yaml: global keywords, and the deprecated ones).
KEYWORDS = set(
    """
    after_script before_script cache default image include services spec stages variables workflow
    """.split()
)
# What `default` may hold and a job takes over (lib/gitlab/ci/config/entry/default.rb).
DEFAULTABLE = set(
    """
    after_script artifacts before_script cache hooks id_tokens identity image interruptible retry
    services tags timeout
    """.split()
)
MAX_EXTENDS_DEPTH = 11
_MAX_WORKED_IN = 200_000  # lists and references of all jobs together, far beyond any file
MAX_REFERENCE_DEPTH = 10


class Fault(Record):
    """Why a job cannot be worked out: GitLab refuses the file; `key` is the job's key at fault.

    `missing` is whether something is not there, which a file that is included could bring.
    """

    job: str
    key: str
    line: int
    message: str
    missing: bool = False


class CiJob(Record):
    """A job with everything it inherits; `line` is where its name stands."""

    name: str
    line: int
    tree: Tree

    @property
    def hidden(self) -> bool:
        """Whether it only serves others to extend."""
        return self.name.startswith(".")


class _FaultError(Exception):
    def __init__(self, key: str, line: int, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.key, self.line, self.missing = key, line, missing


def raw_jobs(file: CiFile) -> dict[str, Tree]:
    """Every entry that is a job by its name, hidden ones included, as it stands in the file."""
    return {name: tree for name, tree in file.root.items() if name not in KEYWORDS}


def resolve_ci_jobs(file: CiFile) -> tuple[dict[str, CiJob], list[Fault]]:
    """All jobs of a file, hidden ones included, and what is wrong with those left out."""
    resolver = _Resolver(file)
    jobs: dict[str, CiJob] = {}
    faults: list[Fault] = []
    for name, tree in raw_jobs(file).items():
        if not isinstance(tree.value, dict):
            if not name.startswith("."):
                message = "a job is a mapping of keys"
                faults.append(Fault(job=name, key="", line=tree.line, message=message))
            continue
        try:
            jobs[name] = CiJob(name=name, line=tree.line, tree=resolver.job(name))
        except _FaultError as fault:
            faults.append(
                Fault(
                    job=name,
                    key=fault.key,
                    line=fault.line,
                    message=str(fault),
                    missing=fault.missing,
                )
            )
    return jobs, faults


def resolved_at(file: CiFile, *path: str) -> Tree | None:
    """A top-level value such as `workflow`, its references resolved as far as they can be."""
    tree = file.root.get(*path)
    if tree is None:
        return None
    try:
        return _Resolver(file).dereferenced(tree, path[-1], 0)
    except _FaultError:
        return tree


def rules_in(tree: Tree | None) -> list[Tree]:
    """The rules of a `rules` list, those of nested lists included."""
    if tree is None or not isinstance(tree.value, list):
        return []
    return [
        rule
        for item in tree.value
        for rule in (rules_in(item) if isinstance(item.value, list) else [item])
    ]


class _Resolver:
    def __init__(self, file: CiFile) -> None:
        self._file = file
        self._extended: dict[str, tuple[Tree, int]] = {}
        self._referring: dict[int, tuple[Tree, bool]] = {}
        self._worked_in = 0

    def job(self, name: str) -> Tree:
        extended, _ = self._extend(name, ())
        entries = {key: self.dereferenced(tree, key, 0) for key, tree in extended.items()}
        return Tree(value={**self._defaults(entries), **entries}, line=extended.line)

    def _extend(self, name: str, chain: tuple[str, ...]) -> tuple[Tree, int]:
        """An entry with what it extends worked in, and over how many levels that reaches."""
        if name in self._extended:
            return self._extended[name]
        own = self._file.root.get(name)
        if own is None or not isinstance(own.value, dict):
            raise KeyError(name)
        bases = own.value.get("extends")
        merged, levels = Tree(value={}, line=own.line), 0
        for base, line in _names(bases):
            if base in (*chain, name):
                circle = " → ".join((*chain, name, base))
                raise _FaultError("extends", line, f"circular dependency detected: {circle}")
            if len(chain) >= MAX_EXTENDS_DEPTH:  # before this goes deeper than Python can
                raise _FaultError("extends", line, "nesting too deep")
            parent = self._file.root.get(base)
            if parent is None or not isinstance(parent.value, dict):
                message = f'unknown key "{base}" in extends'
                raise _FaultError("extends", line, message, missing=True)
            below, deeper = self._extend(base, (*chain, name))
            levels = max(levels, deeper + 1)
            if len(chain) + levels > MAX_EXTENDS_DEPTH:
                raise _FaultError("extends", line, "nesting too deep")
            merged = _deep_merge(merged, below)
        merged = _deep_merge(merged, own)
        if isinstance(merged.value, dict):
            entries = {key: tree for key, tree in merged.items() if key != "extends"}
            merged = Tree(value=entries, line=own.line)
        self._extended[name] = merged, levels
        return self._extended[name]

    def dereferenced(self, tree: Tree, key: str, depth: int) -> Tree:
        """`tree` with every !reference replaced; one inside a list becomes a list in it."""
        if depth > MAX_REFERENCE_DEPTH:
            raise _FaultError(key, tree.line, "!reference is nested too deep")
        if not self._holds_reference(tree):
            return tree  # the very same one, so that what jobs share stays shared
        self._worked_in += 1
        if self._worked_in > _MAX_WORKED_IN:
            raise _FaultError(key, tree.line, "!reference brings in too many values")
        if isinstance(tree.value, Reference):
            return self.dereferenced(self._target(tree.value, key, tree.line), key, depth + 1)
        if isinstance(tree.value, dict):
            entries = {k: self.dereferenced(t, key, depth) for k, t in tree.value.items()}
            return Tree(value=entries, line=tree.line)
        if isinstance(tree.value, list):
            items = [self.dereferenced(item, key, depth) for item in tree.value]
            return Tree(value=items, line=tree.line)
        return tree

    def _holds_reference(self, tree: Tree) -> bool:
        """Whether there is a !reference anywhere below; each tree is looked through once."""
        if not isinstance(tree.value, dict | list):
            return isinstance(tree.value, Reference)
        known = self._referring.get(id(tree))
        if known is None:
            below = tree.value.values() if isinstance(tree.value, dict) else tree.value
            holds = any(self._holds_reference(item) for item in below)
            known = self._referring[id(tree)] = (tree, holds)  # kept, so that its id stays its own
        return known[1]

    def _target(self, reference: Reference, key: str, line: int) -> Tree:
        names = '", "'.join(reference.path)
        shown = f'!reference ["{names}"]'
        if not reference.path:
            raise _FaultError(key, line, "!reference names nothing")
        name, *rest = reference.path
        start = self._file.root.get(name)
        if start is not None and name not in KEYWORDS and isinstance(start.value, dict):
            start, _ = self._extend(name, ())
        target = start.get(*rest) if start is not None else None
        if target is None:
            raise _FaultError(key, line, f"{shown} could not be found", missing=True)
        return target

    def _defaults(self, entries: Mapping[str, Tree]) -> dict[str, Tree]:
        inherit = entries.get("inherit")
        wanted = inherit.get("default") if inherit else None
        chosen: object = True if wanted is None else wanted.plain()
        if chosen is False or "trigger" in entries:
            return {}
        allowed = set(map(str, chosen)) if isinstance(chosen, list) else DEFAULTABLE
        default = self._file.root.get("default")
        from_default = dict(default.items()) if default else {}
        # Some keys may stand at the top level too, an older spelling of `default`. The top level is
        # not walked through: it has as many entries as there are jobs.
        root, globals_ = self._file.root, sorted(DEFAULTABLE & KEYWORDS)
        older = {key: tree for key in globals_ if (tree := root.get(key)) is not None}
        candidates = {**older, **from_default}
        return {
            key: self.dereferenced(tree, key, 0)
            for key, tree in candidates.items()
            if key in allowed & DEFAULTABLE
        }


def _names(tree: Tree | None) -> Iterator[tuple[str, int]]:
    """The names that `extends` lists, with their lines."""
    if tree is None or tree.value is None:
        return  # `extends: null` is none at all
    for item in tree.value if isinstance(tree.value, list) else [tree]:
        if not isinstance(item.value, str):
            raise _FaultError("extends", item.line, "extends takes a name or a list of names")
        yield item.value, item.line


def _deep_merge(base: Tree, over: Tree) -> Tree:
    """Mappings are merged key by key, at any depth; anything else is replaced."""
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over
    merged = dict(base.value)
    for key, tree in over.value.items():
        merged[key] = _deep_merge(merged[key], tree) if key in merged else tree
    return Tree(value=merged, line=over.line)
