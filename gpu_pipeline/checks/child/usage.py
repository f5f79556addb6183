"""Variables that an image, a script or a rule uses and that nothing in sight defines."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.scripts import commands_in
from gpu_pipeline.checks.child.shapes import is_mapping, items_of, text_in
from gpu_pipeline.checks.child.shell_words import is_open_ended, names_in, set_in, used_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import CiJob, resolved_at
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.record import Record
from gpu_pipeline.rules import RuleError, explain_if

# Set by GitLab, the runner, the driver or the shell.
_KNOWN_PREFIXES = re.compile(
    r"(?:CI|GITLAB|KUBERNETES|FF|RUNNER|CHAT|TRIGGER|NVIDIA|CUDA|BASH|LC|SHELL|DOCKER)_|GIT_"
)
_SHELL = set(
    """
    CI HOME PATH PWD OLDPWD USER LOGNAME SHELL HOSTNAME LANG TERM TMPDIR UID EUID PPID RANDOM
    SECONDS LINENO IFS OPTARG OPTIND OPTERR BASH PIPESTATUS FUNCNAME REPLY SHLVL EPOCHSECONDS
    EPOCHREALTIME HOSTTYPE OSTYPE MACHTYPE GROUPS COLUMNS LINES PS1 PS4 EDITOR LD_LIBRARY_PATH
    LD_PRELOAD PYTHONPATH VIRTUAL_ENV CONDA_PREFIX HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy
    https_proxy no_proxy
    """.split()
)


class _Use(Record):
    """A variable that is used, and where."""

    name: str
    line: int
    key: str


class _Script(Record):
    """What a script uses and sets; `open_ended` when it reads definitions from elsewhere."""

    uses: tuple[_Use, ...]
    sets: frozenset[str]
    open_ended: bool


def check_usage(child: Child, findings: Findings, given: Collection[str]) -> None:
    """Note each variable that is used and not defined in any place that can be seen.

    A file that includes others, or whose jobs hand variables on in a dotenv report, may get them
    from there, so nothing is said about it.
    """
    if child.file.root.get("include") is None:
        _Usage(child, findings, given).check()


class _Usage:
    def __init__(self, child: Child, findings: Findings, given: Collection[str]) -> None:
        self._child, self._findings = child, findings
        self._global = _names(child.file.root.get("variables")) | set(given)
        self._global |= _rule_names(resolved_at(child.file, "workflow", "rules"))
        self._scripts: dict[int, _Script] = {}
        self._rules: dict[int, tuple[_Use, ...]] = {}
        self._first: dict[tuple[str, str], Problem] = {}
        self._has_dotenv = any(
            job.tree.get("artifacts", "reports", "dotenv") for job in child.visible
        )

    def check(self) -> None:
        for job in self._child.visible:
            defined = self._global | _own_names(job.tree)
            self._report("PIP155", job, _image_uses(job.tree), defined)
            self._report("PIP157", job, self._rule_uses(job.tree.get("rules")), defined)
            if not self._has_dotenv:
                self._check_scripts(job, defined)

    def _check_scripts(self, job: CiJob, defined: set[str]) -> None:
        main = [self._script(job.tree.get(key), key) for key in ("before_script", "script")]
        for scripts in (main, [self._script(job.tree.get("after_script"), "after_script")]):
            if any(script.open_ended for script in scripts):
                continue
            known = defined.union(*(script.sets for script in scripts))
            for script in scripts:
                self._report("PIP156", job, script.uses, known)

    def _rule_uses(self, rules: Tree | None) -> tuple[_Use, ...]:
        if id(rules) not in self._rules:
            self._rules[id(rules)] = tuple(_rule_uses(rules, "rules"))
        return self._rules[id(rules)]

    def _script(self, tree: Tree | None, key: str) -> _Script:
        if tree is None:
            return _Script(uses=(), sets=frozenset(), open_ended=False)
        if id(tree) not in self._scripts:
            self._scripts[id(tree)] = _read_script(tree, key)
        return self._scripts[id(tree)]

    def _report(
        self, code: str, job: CiJob, uses: tuple[_Use, ...] | Iterator[_Use], defined: set[str]
    ) -> None:
        """Note the uses of undefined variables; each variable once, at its first use."""
        for use in uses:
            if use.name in defined or use.name in _SHELL or _KNOWN_PREFIXES.match(use.name):
                continue
            if (code, use.name) not in self._first:
                self._first[code, use.name] = Problem(
                    code=code,
                    line=use.line,
                    key=use.key,
                    message=f"nothing in this file defines {use.name}{_hint(use.name, defined)}",
                    fix=_FIXES[code].format(name=use.name),
                )
            self._findings.add(self._first[code, use.name], job.name)


def _hint(name: str, defined: set[str]) -> str:
    hint = did_you_mean(name, defined)
    return hint if "did you mean" in hint else ""


_FIXES = {
    "PIP155": "define {name} in the child's variables (capture it in routing.toml), or in the "
    "project's settings",
    "PIP156": "define {name} in variables or in the script, or check that the image has it",
    "PIP157": "define {name} in the child's variables, unless it is set in the project's settings",
}


def _read_script(tree: Tree, key: str) -> _Script:
    commands = commands_in(tree, key)
    text = "\n".join(command.text for command in commands)
    uses = (
        _Use(name=name, line=command.tree.line, key=command.key)
        for command in commands
        if "$" in command.text
        for name in dict.fromkeys(used_in(command.text))
    )
    return _Script(uses=tuple(uses), sets=frozenset(set_in(text)), open_ended=is_open_ended(text))


def _images(job: Tree) -> Iterator[tuple[Tree, str]]:
    """The images of a job and its services, each with its key."""
    image = job.get("image")
    if image is not None:
        yield image, "image"
    for index, service in enumerate(items_of(job.get("services"))):
        yield service, f"services[{index}]"


def _image_uses(job: Tree) -> Iterator[_Use]:
    for image, key in _images(job):
        name = image.get("name") if is_mapping(image) else image
        place = f"{key}.name" if is_mapping(image) else key
        for variable in sorted(names_in(text_in(name) or "")):
            yield _Use(name=variable, line=(name or image).line, key=place)


def _rule_uses(rules: Tree | None, key: str) -> Iterator[_Use]:
    for index, rule in enumerate(items_of(rules)):
        place = f"{key}[{index}]"
        if isinstance(rule.value, list):
            yield from _rule_uses(rule, place)
        condition = rule.get("if")
        for name in _reads(text_in(condition)):
            yield _Use(name=name, line=(condition or rule).line, key=f"{place}.if")


@functools.lru_cache(maxsize=1024)
def _reads(condition: str | None) -> tuple[str, ...]:
    try:
        return tuple(read.name for read in explain_if(condition or "", {}).reads)
    except RuleError:  # reported where rules are checked
        return ()


def _own_names(job: Tree) -> set[str]:
    names = _names(job.get("variables")) | _rule_names(job.get("rules"))
    names |= _names(job.get("id_tokens")) | _names(job.get("secrets"))
    for entry in items_of(job.get("parallel", "matrix")):
        names |= _names(entry)
    return names


def _names(tree: Tree | None) -> set[str]:
    return set(tree.value) if tree is not None and isinstance(tree.value, dict) else set()


def _rule_names(rules: Tree | None) -> set[str]:
    names: set[str] = set()
    for rule in items_of(rules):
        names |= (
            _rule_names(rule) if isinstance(rule.value, list) else _names(rule.get("variables"))
        )
    return names
