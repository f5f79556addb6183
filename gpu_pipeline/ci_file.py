"""A GitLab CI file as a tree whose every value knows its line.

Anchors and merge keys are worked in; `!reference` stays a `Reference` until `ci_jobs` resolves it.
Lines travel with the values, so that a rule which a job inherits is still found where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from gpu_pipeline.record import Record
from gpu_pipeline.yaml_text import YamlError

# Far beyond what GitLab itself accepts, and within what can be walked through by recursion.
_MAX_NODES, _MAX_LEVELS = 200_000, 200
_MAX_DIGITS, _MAX_BITS = 4_000, 14_000
_TEXT = "tag:yaml.org,2002:str"
# What a bare `<<` or `=` is to PyYAML; as a value Ruby's parser takes either for a text.
_TEXT_TO_RUBY = ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")


class Reference(Record):
    """`!reference [job, key, …]`, not yet resolved."""

    path: tuple[str, ...]


Scalar = object
"""str, int, float, bool, None, a date, bytes, or a Reference."""


class Tree(Record):
    """One YAML value: a dict or list of further ones, or a scalar; `line` counts from 1.

    For a value of a mapping, `line` is that of its key. `bare` is the text of a scalar that was
    written without quotes, None for any other value.
    """

    value: dict[str, Tree] | list[Tree] | Scalar
    line: int
    bare: str | None = None

    def get(self, *path: str | int) -> Tree | None:
        """The tree at `path` below this one, or None when there is none."""
        tree = self
        for part in path:
            below: Tree | None = None
            if isinstance(tree.value, dict) and isinstance(part, str):
                below = tree.value.get(part)
            elif isinstance(tree.value, list) and isinstance(part, int) and part < len(tree.value):
                below = tree.value[part]
            if below is None:
                return None
            tree = below
        return tree

    def items(self) -> Iterator[tuple[str, Tree]]:
        """The entries of a mapping; nothing for any other value."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def plain_at(self, *path: str | int) -> object:
        """The plain value at `path`; None when there is none, or null."""
        tree = self.get(*path)
        return tree.plain() if tree else None

    def plain(self) -> object:
        """The value as plain dicts, lists and scalars."""
        if isinstance(self.value, dict):
            return {key: tree.plain() for key, tree in self.value.items()}
        if isinstance(self.value, list):
            return [tree.plain() for tree in self.value]
        return self.value


class KeyPlace(Record):
    """A key of a mapping and its line; `is_replaced` if a `<<` below it brings the key along."""

    key: str
    line: int
    is_replaced: bool = False


class CiFile(Record):
    """A parsed CI file. `odd_keys` are the lines of keys that are no text, such as `1:`."""

    name: str
    root: Tree
    duplicates: tuple[KeyPlace, ...]
    odd_keys: tuple[KeyPlace, ...]


def parse_ci_file(text: str, name: str) -> CiFile:
    """The tree of a CI file. Raises YamlError for a text that is not one YAML mapping."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        builder = _Builder(loader)
        root = builder.tree(node, 1) if node is not None else Tree(value={}, line=1)
    except yaml.MarkedYAMLError as error:
        message = " ".join(filter(None, (error.context, error.problem)))
        raise YamlError(message, _line_of(error)) from None
    except yaml.reader.ReaderError as error:
        line = text.encode("utf-8", "replace")[: error.position].count(b"\n") + 1
        raise YamlError(error.reason, line) from None
    except RecursionError:
        raise YamlError("the values are nested too deeply", 1) from None
    finally:
        loader.dispose()
    if not isinstance(root.value, dict):
        raise YamlError("the file is not a mapping of keys", root.line)
    return CiFile(
        name=name,
        root=root,
        duplicates=tuple(builder.duplicates) if node is not None else (),
        odd_keys=tuple(builder.odd_keys) if node is not None else (),
    )


def _line_of(error: yaml.MarkedYAMLError) -> int:
    """Where to look: at a quote or bracket that is left open, else where the parser stopped."""
    is_open = re.search("quoted scalar|flow", error.context or "")
    marks = (error.context_mark, error.problem_mark)
    mark = next(filter(None, marks if is_open else reversed(marks)), None)
    return mark.line + 1 if mark else 1


class _Builder:
    """Turns YAML nodes into trees; a node that an alias repeats is built each time it is used."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._open: set[int] = set()
        self._count = 0
        self._built: set[int] = set()
        self.duplicates: list[KeyPlace] = []
        self.odd_keys: list[KeyPlace] = []

    def tree(self, node: yaml.Node, line: int) -> Tree:
        self._count += 1
        if id(node) in self._open:
            raise YamlError("an alias refers to the value it stands in", line)
        self._built.add(id(node))
        if self._count > _MAX_NODES:
            has_aliases = len(self._built) < self._count
            tail = " with its aliases written out" if has_aliases else " to check"
            raise YamlError(f"the file has too many values{tail}", line)
        if len(self._open) > _MAX_LEVELS:
            raise YamlError("the values are nested too deeply", line)
        if isinstance(node, yaml.ScalarNode) and node.tag != "!reference":
            return self._scalar(node, line)
        self._open.add(id(node))
        try:
            if node.tag == "!reference":
                return Tree(value=self._reference(node), line=line)
            if isinstance(node, yaml.SequenceNode):
                items = [self.tree(item, item.start_mark.line + 1) for item in node.value]
                return Tree(value=items, line=line)
            if isinstance(node, yaml.MappingNode):
                return Tree(value=self._mapping(node), line=line)
        finally:
            self._open.discard(id(node))
        raise YamlError(f"a value of an unknown kind: {node.tag}", line)

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Tree:
        bare = None if node.style else str(node.value)
        return Tree(value=self._constructed(node), line=line, bare=bare)

    def _constructed(self, node: yaml.ScalarNode) -> object:
        if node.tag == _TEXT or node.tag in _TEXT_TO_RUBY:
            return node.value
        try:
            value = self._loader.construct_object(node)
        except ValueError as error:  # an impossible date, such as 2024-02-31
            reason = f"{node.value}: {error}"
            if len(node.value) > _MAX_DIGITS:
                reason = "a number has too many digits"
            raise YamlError(reason, node.start_mark.line + 1) from None
        except (AttributeError, KeyError, IndexError):  # how PyYAML says so of a tag
            reason = f'"{node.value}" is no {node.tag.replace("tag:yaml.org,2002:", "!!")}'
            raise YamlError(reason, node.start_mark.line + 1) from None
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise YamlError("a number has too many digits", node.start_mark.line + 1)
        return value

    def _reference(self, node: yaml.Node) -> Reference:
        if not isinstance(node, yaml.SequenceNode):
            raise YamlError("!reference takes a list of names", node.start_mark.line + 1)
        return Reference(path=tuple(str(item.value) for item in node.value))

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Tree]:
        """The entries as Psych gives them: `<<` replaces what stands before it (revive_hash)."""
        found: dict[str, Tree] = {}
        own: set[str] = set()
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError("a key is a list or mapping", line)
            key = str(key_node.value)
            merged = self._merged(key_node, value_node) if key == "<<" else None
            if merged is not None:
                self.duplicates += [
                    KeyPlace(key=each, line=found[each].line, is_replaced=True)
                    for each in own
                    if each in merged
                ]
                own -= merged.keys()
                found |= merged
                continue
            if not isinstance(self._constructed(key_node), str):
                self.odd_keys.append(KeyPlace(key=key, line=line))
            if key in own:
                self.duplicates.append(KeyPlace(key=key, line=line))
            own.add(key)
            found[key] = self.tree(value_node, line)
        return found

    def _merged(self, key: yaml.Node, node: yaml.Node) -> dict[str, Tree] | None:
        """What `<<` brings in: a mapping, or several of which the first wins.

        None for any other value, an alias of a list among them: to Psych `<<` is then a key.
        """
        is_alias = node.start_mark.index < key.start_mark.index
        sources = node.value if isinstance(node, yaml.SequenceNode) and not is_alias else [node]
        if not all(isinstance(source, yaml.MappingNode) for source in sources):
            return None
        merged: dict[str, Tree] = {}
        for source in reversed(sources):
            entries = self.tree(source, source.start_mark.line + 1).value
            merged |= entries if isinstance(entries, dict) else {}
        return merged
