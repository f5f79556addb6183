"""Read a runner's config.toml, also one that stands inside another file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import TypeVar

from gpu_pipeline.cluster.runner_config import PodSpecPatch, Runner, RunnerFile, Setting, StrayKey
from gpu_pipeline.cluster.runner_keys import (
    PATCH_TYPES,
    PERMISSIONS,
    RESOURCE_KEYS,
    Kind,
    environment_name,
)
from gpu_pipeline.cluster.runner_strays import TEXT_TABLES, stray_key
from gpu_pipeline.errors import Problem, RunnerConfigError
from gpu_pipeline.problems import dotted
from gpu_pipeline.toml_lines import Path, key_lines

T = TypeVar("T")
# Keys that decide nothing here: one that is a Helm template counts as not given.
_UNDECIDED = ("name",)
_NAMES: dict[type, str] = {int: "a whole number", str: "text", bool: "true or false"}


def read_runner_toml(
    text: str,
    file: str,
    *,
    line_of: Callable[[int], int] = lambda line: line,
    tags: tuple[str, ...] | None = None,
    name: str = "",
    default_executor: str = "",
    environment: Mapping[str, Setting[str]] | None = None,
) -> RunnerFile:
    """The runners with the Kubernetes executor that `text` configures.

    `line_of` turns a line of `text` into one of `file`. What a Helm chart adds: `tags`, `name`,
    `default_executor` and `environment`, the manager's variables, which win over the text. Raises
    RunnerConfigError with every value that the runner itself could not read either.
    """
    reader = _Reader(text, file, line_of)
    concurrent = reader.get((), "concurrent", int)
    reader.environment = environment or {}
    runners = [
        reader.runner(here, tags=tags, name=name, default_executor=default_executor)
        for here in reader.tables((), "runners")
    ]
    reader.raise_if_any()
    return RunnerFile(
        file=file,
        concurrent=concurrent,
        runners=tuple(runner for runner in runners if runner is not None),
        stray_keys=tuple(reader.strays((), "the top of the file")),
    )


class _Reader:
    """One document; values of the wrong type become problems, as the runner would refuse them."""

    def __init__(self, text: str, file: str, line_of: Callable[[int], int]) -> None:
        self.file, self._line_of = file, line_of
        self._problems: list[Problem] = []
        self.environment: Mapping[str, Setting[str]] = {}
        text = text.replace("\r\n", "\n")
        try:
            self._document = tomllib.loads(text)
            self._lines = key_lines(text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax_error(str(error), text) from None
        except ValueError as error:  # a number of more digits than Python turns into one
            raise self._error(1, f"not valid TOML: {error}") from None
        except RecursionError:
            raise self._error(1, "arrays or tables are nested too deeply to read") from None

    def _error(self, line: int, message: str) -> RunnerConfigError:
        problem = Problem(file=self.file, line=self._line_of(line), path="", message=message)
        return RunnerConfigError([problem])

    def _syntax_error(self, message: str, text: str) -> RunnerConfigError:
        found = re.search(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", message)
        what, line = found.groups() if found else (message, "1")
        number = int(line) if line else text.rstrip("\n").count("\n") + 1
        hint = ""
        if "{{" in text:
            hint = "; the text holds Helm templates: check what `helm template` makes of it"
        return self._error(number, f"not valid TOML: {what[:1].lower()}{what[1:]}{hint}")

    def raise_if_any(self) -> None:
        if self._problems:
            raise RunnerConfigError(self._problems)

    def line(self, path: Path) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._line_of(self._lines.get(path, 1))

    def note(self, path: Path, message: str) -> None:
        self._problems.append(
            Problem(file=self.file, line=self.line(path), path=dotted(path), message=message)
        )

    def _at(self, path: Path) -> object:
        value: object = self._document
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int):
                value = value[part]
            else:
                return None
        return value

    def find(self, table: Path, name: str) -> Path | None:
        """The key of this name; like the runner's TOML parser, regardless of case."""
        entries = self._at(table)
        if not isinstance(entries, dict):
            return None
        if name in entries:
            return (*table, name)
        return next(((*table, key) for key in entries if key.lower() == name), None)

    def get(self, table: Path, name: str, kind: type[T]) -> Setting[T] | None:
        """A value of the type that the runner wants; any other one is noted."""
        path = self.find(table, name)
        if path is None:
            return None
        value = self._at(path)
        if "{{" in str(value):
            if name not in _UNDECIDED:
                self.note(path, "is a Helm template; check what `helm template` makes of it")
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.note(path, f"the runner wants {_NAMES[kind]} here and would not start")
            return None
        return Setting(value=value, line=self.line(path))

    def table(self, parent: Path, name: str) -> tuple[Path, tuple[str, ...]]:
        """The path and keys of a table; one that is missing has no keys."""
        path = self.find(parent, name)
        entries = self._at(path) if path else {}
        if path and not isinstance(entries, dict):
            self.note(path, f"the runner wants a table [{dotted(path)}] here")
        return path or (*parent, name), tuple(entries) if isinstance(entries, dict) else ()

    def tables(self, parent: Path, name: str) -> list[Path]:
        """The paths of an array of tables."""
        path = self.find(parent, name)
        entries = self._at(path) if path else []
        if not path:
            return []
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            self.note(path, f"the runner wants tables [[{name}]] here")
            return []
        return [(*path, index) for index in range(len(entries))]

    def texts(self, parent: Path, name: str) -> dict[str, Setting[str]]:
        """A table of text values."""
        path, keys = self.table(parent, name)
        found = {key: self.get(path, key, str) for key in keys}
        return {key: setting for key, setting in found.items() if setting is not None}

    def runner(
        self, here: Path, *, tags: tuple[str, ...] | None, name: str, default_executor: str
    ) -> Runner | None:
        """One [[runners]], or None if its executor is another one."""
        executor = self.get(here, "executor", str)
        kubernetes, _ = self.table(here, "kubernetes")
        if (executor.value if executor else default_executor) != "kubernetes":
            return None
        named = self.get(here, "name", str)
        permissions = self._permissions(kubernetes)
        resources = self._texts_of(kubernetes, RESOURCE_KEYS)
        return Runner(
            name=named.value if named else name,
            line=self.line(here),
            kubernetes_line=self.line(kubernetes),
            tags=tags,
            limit=self.get(here, "limit", int),
            request_concurrency=self.get(here, "request_concurrency", int),
            poll_timeout=self._poll_timeout(kubernetes),
            permissions={key: each for key, each in permissions.items() if each.value},
            resources={key: each for key, each in resources.items() if each.value},
            empty={key: each.line for key, each in permissions.items() if not each.value},
            node_selector=self.texts(kubernetes, "node_selector"),
            pod_spec=tuple(self._patch(path) for path in self.tables(kubernetes, "pod_spec")),
            services=len(self.tables(kubernetes, "services")),
            flags=self._variables(here, "FF_") | self._switches(here),
            environment=self._variables(here, "KUBERNETES_"),
            affinity=self._line_where(kubernetes, "affinity"),
            stray_keys=(
                *self.strays(here, "[[runners]]"),
                *self.strays(kubernetes, "[runners.kubernetes]"),
                *self._swallowed(kubernetes),
            ),
        )

    def _poll_timeout(self, kubernetes: Path) -> Setting[int] | None:
        outer = self.environment.get(environment_name("poll_timeout"))
        if outer and outer.value.isdecimal():
            return Setting(value=int(outer.value), line=outer.line)
        return self.get(kubernetes, "poll_timeout", int)

    def _texts_of(self, table: Path, names: tuple[str, ...]) -> dict[str, Setting[str]]:
        found = {
            name: self.environment.get(environment_name(name)) or self.get(table, name, str)
            for name in names
        }
        return {name: each for name, each in found.items() if each is not None}

    def _permissions(self, table: Path) -> dict[str, Setting[str]]:
        texts = tuple(key for key, kind in PERMISSIONS.items() if kind is not Kind.SWITCH)
        found = self._texts_of(table, texts)
        for key, kind in PERMISSIONS.items():
            switch = self.get(table, key, bool) if kind is Kind.SWITCH else None
            if switch:
                found[key] = Setting(value="true" if switch.value else "", line=switch.line)
        return found

    def _patch(self, path: Path) -> PodSpecPatch:
        patch_type = self.get(path, "patch_type", str)
        kind = patch_type.value if patch_type and patch_type.value else PATCH_TYPES[0]
        if kind not in PATCH_TYPES:
            self.note((*path, "patch_type"), f"must be one of {', '.join(PATCH_TYPES)}")
        patch, other_file = self.get(path, "patch", str), self.get(path, "patch_path", str)
        if patch and other_file and patch.value and other_file.value:
            self.note(path, "the runner takes either patch or patch_path, not both")
        unknown = other_file is not None and other_file.value and not patch
        return PodSpecPatch(
            line=self.line(path),
            patch=None if unknown else patch or Setting(value="", line=self.line(path)),
            patch_type=kind,
        )

    def _line_where(self, table: Path, name: str) -> int | None:
        path = self.find(table, name)
        return self.line(path) if path and self._at(path) else None

    def _variables(self, runner: Path, prefix: str) -> dict[str, Setting[str]]:
        """The variables in the runner's environment whose names begin like this."""
        found = {}
        environment = self.find(runner, "environment")
        entries = self._at(environment) if environment else []
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            name, _, value = str(entry).partition("=")
            if environment and name.startswith(prefix):
                found[name] = Setting(value=value, line=self.line((*environment, index)))
        return found

    def _switches(self, runner: Path) -> dict[str, Setting[str]]:
        """Feature flags from their table, which is stronger than the environment."""
        flags = {}
        table, keys = self.table(runner, "feature_flags")
        for key in keys:
            switch = self.get(table, key, bool)
            if switch:
                flags[key] = Setting(value=str(switch.value).lower(), line=switch.line)
        return flags

    def strays(self, table: Path, where: str) -> list[StrayKey]:
        """Keys that the runner would read under another name or in another table."""
        entries = self._at(table)
        keys = entries if isinstance(entries, dict) else {}
        found = (stray_key(where, key, self.line((*table, key))) for key in keys)
        return [stray for stray in found if stray]

    def _swallowed(self, kubernetes: Path) -> list[StrayKey]:
        """Keys behind the header of a table of texts: they became labels or taints."""
        return [
            stray
            for name in TEXT_TABLES
            for path, keys in [self.table(kubernetes, name)]
            for key in keys
            for stray in [stray_key(f"[runners.kubernetes.{name}]", key, self.line((*path, key)))]
            if stray
        ]
