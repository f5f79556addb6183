"""Read the values.yaml of the Helm chart gitlab-runner, whose `runners.config` is a config.toml.

The chart registers the runner with that text as a template, so the manager's environment variables
win over it; `concurrent` is the chart's own, one inside the text has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gpu_pipeline.ci_file import Tree, parse_ci_file
from gpu_pipeline.cluster.runner_config import RunnerFile, Setting, StrayKey
from gpu_pipeline.cluster.runner_keys import DEFAULT_HELM_CONCURRENT
from gpu_pipeline.cluster.runner_toml import read_runner_toml
from gpu_pipeline.errors import Problem, RunnerConfigError
from gpu_pipeline.yaml_text import YamlError

_BARE_TEMPLATE = re.compile(r"^([ \t]*[\w.-]+[ \t]*=[ \t]*)\{\{.*\}\}[ \t]*$", re.MULTILINE)

_NODE_AFFINITY = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def read_runner_helm(text: str, file: str) -> RunnerFile:
    """The runner that a values.yaml configures, with the lines of the values.yaml.

    The values may stand below `gitlab-runner`, as a chart that includes this one has them. Raises
    RunnerConfigError.
    """
    try:
        root = parse_ci_file(text, file).root
    except YamlError as error:
        raise _error(file, error.line, f"not valid YAML: {error}") from None
    if root.get("runners") is None:
        root = root.get("gitlab-runner") or root
    config = root.get("runners", "config")
    if config is None or not isinstance(config.value, str):
        raise _error(file, config.line if config else 1, "has no text runners.config, so no runner")
    name = root.get("runners", "name")
    found = read_runner_toml(
        _BARE_TEMPLATE.sub(r'\1"{{ }}"', config.value),
        file,
        line_of=_lines_of(config, text),
        tags=_tags(root.get("runners", "tags")),
        name=name.value if name and isinstance(name.value, str) else "",
        default_executor="kubernetes",
        environment=_environment(root.get("envVars")),
    )
    return replace(
        found,
        concurrent=_number(root.get("concurrent"), file)
        or Setting(value=DEFAULT_HELM_CONCURRENT, line=root.line),
        manager_selector=_texts(root.get("nodeSelector")),
        manager_affinity=tuple(_required(root.get(*_NODE_AFFINITY))),
        maximum_timeout=_number(root.get("runners", "maximumTimeout"), file),
        stray_keys=(*found.stray_keys, *_inner_concurrent(found)),
    )


def _error(file: str, line: int, message: str) -> RunnerConfigError:
    return RunnerConfigError([Problem(file=file, line=line, path="", message=message)])


def _lines_of(config: Tree, text: str) -> Callable[[int], int]:
    """From a line of the block text to one of the file; all the same if it is no block text."""
    outer, inner = text.splitlines(), str(config.value).splitlines()
    below = outer[config.line : config.line + len(inner)]
    if [line.strip() for line in below] != [line.strip() for line in inner]:
        return lambda _: config.line
    return lambda line: config.line + min(line, max(len(inner), 1))


def _tags(tree: Tree | None) -> tuple[str, ...] | None:
    if tree is None or not isinstance(tree.value, str) or not tree.value.strip():
        return None
    return tuple(tag.strip() for tag in tree.value.split(",") if tag.strip())


def _environment(tree: Tree | None) -> dict[str, Setting[str]]:
    """`envVars`: a list of name and value; an empty value sets nothing."""
    entries = tree.value if tree is not None and isinstance(tree.value, list) else []
    pairs = ((entry.get("name"), entry.get("value")) for entry in entries)
    return {
        str(name.value): Setting(value=str(value.value), line=value.line)
        for name, value in pairs
        if name is not None and value is not None and value.value not in (None, "")
    }


def _number(tree: Tree | None, file: str) -> Setting[int] | None:
    if tree is None or tree.value is None or tree.value == "":
        return None
    if isinstance(tree.value, str) and tree.value.isdecimal():
        return Setting(value=int(tree.value), line=tree.line)
    if isinstance(tree.value, bool) or not isinstance(tree.value, int):
        raise _error(file, tree.line, "must be a whole number")
    return Setting(value=tree.value, line=tree.line)


def _texts(tree: Tree | None) -> dict[str, Setting[str]]:
    return (
        {key: Setting(value=str(value.value), line=value.line) for key, value in tree.items()}
        if tree is not None
        else {}
    )


def _required(terms: Tree | None) -> Iterator[tuple[str, Setting[str]]]:
    """The labels and values that a node affinity's terms allow."""
    for term in _items(terms):
        for expression in _items(term.get("matchExpressions")):
            key, operator = expression.get("key"), expression.get("operator")
            if key is not None and operator is not None and operator.value == "In":
                for value in _items(expression.get("values")):
                    yield str(key.value), Setting(value=str(value.value), line=value.line)


def _items(tree: Tree | None) -> list[Tree]:
    return tree.value if tree is not None and isinstance(tree.value, list) else []


def _inner_concurrent(found: RunnerFile) -> list[StrayKey]:
    if found.concurrent is None:
        return []
    return [
        StrayKey(
            table="runners.config",
            name="concurrent",
            line=found.concurrent.line,
            meant="concurrent",
            belongs_to="the top of values.yaml",
        )
    ]
