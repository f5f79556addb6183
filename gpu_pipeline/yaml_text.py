"""YAML as GitLab's Ruby parser (Psych) reads it: how to write a value, how to read one back.

Psych reads plain scalars such as `0,1`, `01:30:00`, `:latest` or `2024-1-1` as something else than
text, and PyYAML would write them plain. So texts are always quoted here; only names that cannot be
mistaken stand bare.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import yaml

Plain = str | int | bool | Sequence["Plain"] | Mapping[str, "Plain"]

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Words, in lower case, that a YAML 1.1 reader takes for a boolean, null or number.
_TAKEN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", ".inf", ".nan"}
# A dot and one letter can begin a number to Ruby: ".e-3".
_START = r"(?:[A-Za-z_]|\.[A-Za-z_]{2})"
_BARE_NAME = re.compile(rf"{_START}[A-Za-z0-9_.-]*")
_BARE_TEXT = re.compile(rf"{_START}[A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_BARE_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_TEXT = "tag:yaml.org,2002:str"
_MAPPING = "tag:yaml.org,2002:map"
_SEQUENCE = "tag:yaml.org,2002:seq"
_SINGLE_QUOTED = re.compile(r"[ -&(-~]*")  # printable ASCII without the apostrophe
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
# Quote and backslash, control characters, line separators, surrogates, BOM, what is no character.
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')


class YamlError(ValueError):
    """A text that GitLab would refuse or read differently; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def quote(text: str) -> str:
    """`text` as a quoted scalar on one line, read the same by YAML 1.1 and 1.2 parsers.

    Raises ValueError for a lone surrogate, which no YAML text can hold.
    """
    if ('"' in text or "\\" in text) and _SINGLE_QUOTED.fullmatch(text):
        return f"'{text}'"
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"U+{code:04X} is half of a character and cannot be written")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def bare_name(text: str) -> str:
    """A key or the name of a job: bare when no parser can mistake it, else quoted."""
    is_safe = _BARE_NAME.fullmatch(text) and text.lower() not in _TAKEN
    return text if is_safe else quote(text)


def block(data: Plain, indent: int = 0) -> str:
    """A mapping or list in block style, indented by `indent` blanks, without the last newline."""
    return "\n".join(" " * indent + line for line in _lines(data))


def _lines(data: Plain) -> list[str]:
    if isinstance(data, str):
        return [quote(data)]
    if isinstance(data, Mapping) and data:
        lines = []
        for key, value in data.items():
            inner = _lines(value)
            if value and not isinstance(value, str | int):
                lines += [f"{bare_name(key)}:", *(f"  {line}" for line in inner)]
            else:
                lines.append(f"{bare_name(key)}: {inner[0]}")
        return lines
    if isinstance(data, Sequence) and data:
        lines = []
        for item in data:
            first, *rest = _lines(item)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    return [_scalar(data)]


def _scalar(data: Plain) -> str:
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, int):
        return str(data)
    return "{}" if isinstance(data, Mapping) else "[]"


def load_exactly(text: str) -> object:
    """The one document of `text`, refusing what GitLab would read otherwise or not at all.

    Raises YamlError for broken YAML, a key given twice at any depth, an alias, and a bare
    scalar whose meaning depends on the parser.
    """
    if broken := re.search("[\ud800-\udfff]", text):
        line = text.count("\n", 0, broken.start()) + 1
        raise YamlError("this holds half of a character, which cannot be written", line)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise YamlError("there is nothing in it", 1)
        return _Construction(loader).value_of(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.context, error.problem)))
        raise YamlError(message, mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as error:
        line = text.encode("utf-8")[: error.position].count(b"\n") + 1
        raise YamlError(error.reason, line) from None
    except RecursionError:
        raise YamlError("the values are nested too deeply", 1) from None
    finally:
        loader.dispose()


class _Construction:
    """Makes the values of a document's nodes, and refuses what is not plain."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._visited: set[int] = set()

    def value_of(self, node: yaml.Node) -> object:
        if id(node) in self._visited:
            line = node.start_mark.line + 1
            raise YamlError("an alias (*) refers to this; write the value out", line)
        self._visited.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        value: object
        if isinstance(node, yaml.MappingNode):
            value, usual = self._mapping(node), _MAPPING
        else:
            value, usual = [self.value_of(item) for item in node.value], _SEQUENCE
        return value if node.tag == usual else self._tagged(node)

    def _mapping(self, node: yaml.MappingNode) -> dict[object, object]:
        mapping: dict[object, object] = {}
        keys: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YamlError("a key is a list or mapping", key.start_mark.line + 1)
            if key.value in keys:
                line = key.start_mark.line + 1
                raise YamlError(f'the key "{key.value}" stands here twice', line)
            keys.add(key.value)
            name = self.value_of(key)
            mapping[name] = self.value_of(value)
        return mapping

    def _scalar(self, node: yaml.ScalarNode) -> object:
        if not node.style and not _reads_the_same(node.value):
            line = node.start_mark.line + 1
            raise YamlError(f'"{node.value}" stands bare and may be misread; quote it', line)
        return node.value if node.tag == _TEXT else self._tagged(node)

    def _tagged(self, node: yaml.Node) -> object:
        try:
            return self._loader.construct_object(node, deep=True)
        except (AttributeError, LookupError, TypeError, ValueError) as error:  # of PyYAML
            line = node.start_mark.line + 1
            raise YamlError(f"the tag does not fit the value ({error})", line) from None


def _reads_the_same(bare: str) -> bool:
    """Whether every YAML parser reads a bare scalar alike, as text, true, false or a count."""
    if bare in ("true", "false") or _BARE_NUMBER.fullmatch(bare):
        return True
    return bool(_BARE_TEXT.fullmatch(bare)) and bare.lower() not in _TAKEN
