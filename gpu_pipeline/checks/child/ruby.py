"""How GitLab's Ruby parser (Psych) reads a bare YAML scalar.

Ruby: psych/lib/psych/scalar_scanner.rb, 4.0; `!!str` and the like are taken from PyYAML.
"""

from __future__ import annotations

import functools
import math
import re

import yaml

from gpu_pipeline.ci_file import Tree
from gpu_pipeline.record import Record

_WORD = re.compile(r"[^\d.:-]?(?:[^\W\d]|[\s!@#$%^&*(){}<>|/\\~;=])+")
_TIME = re.compile(
    r"-?\d{4}-\d{1,2}-\d{1,2}(?:[Tt]|\s+)\d{1,2}:\d\d:\d\d(?:\.\d*)?"
    r"(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?",
    re.ASCII,
)
_DATE = re.compile(r"\d{4}-(?:1[012]|0\d|\d)-(?:[12]\d|3[01]|0\d|\d)", re.ASCII)
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9]){1,2}(?P<fraction>\.[0-9_]*)?")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_,]*)?\.[0-9]*(?:[eE][-+][0-9]+)?")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0b(?P<binary>[01_,]+)|0(?P<octal>[0-7_,]+)"
    r"|(?P<decimal>0|[1-9](?:[0-9]|,[0-9]|_[0-9])*)|0x(?P<hex>[0-9a-fA-F_,]+))"
)
_MAX_DIGITS = 3_500
_BASES = {"binary": 2, "octal": 8, "decimal": 10, "hex": 16}
_TRUE, _FALSE = {"yes", "true", "on"}, {"no", "false", "off"}
_RESOLVER = yaml.resolver.Resolver()


class Symbol(Record):
    """A Ruby symbol: `:name` has lost its colon."""

    name: str


class Refused(Record):
    """A value that Ruby does not load, such as a Date or Time: GitLab refuses the whole file."""

    kind: str


@functools.lru_cache(maxsize=4096)
def read_bare(text: str) -> object:
    """The value that Ruby makes of a bare scalar: a str, number, bool, None, Symbol or Refused."""
    if not text:
        return None
    if _WORD.match(text):
        return _word(text)
    if _TIME.fullmatch(text) or _DATE.fullmatch(text):
        return Refused(kind="Date" if _DATE.fullmatch(text) else "Time")
    if text.lower() in (".inf", "+.inf", "-.inf", ".nan"):
        return float(text.lower().replace(".", ""))
    if text[0] == ":" and len(text) > 1:
        quoted = re.match(r""":(["'])(.*)\1""", text)
        return Symbol(name=quoted[2].removeprefix(":") if quoted else text[1:])
    return _number(text)


def _word(text: str) -> object:
    word = text.lower()
    if word in ("~", "null"):
        return None
    return True if word in _TRUE else False if word in _FALSE else text


def _number(text: str) -> object:
    if clock := _SEXAGESIMAL.fullmatch(text):
        parts = [float(part.replace("_", "")) for part in text.split(":")]
        total = sum(part * 60 ** abs(index - 2) for index, part in enumerate(parts))
        if math.isinf(total):
            return Refused(kind="Float")
        return total if clock["fraction"] else int(total)
    if _FLOAT.fullmatch(text):
        digits = re.sub(r"[,_]|\.([eE]|$)", r"\1", text)
        return text if text in (".", "+.", "-.") else _float(digits)
    if number := _INTEGER.fullmatch(text):
        kind = next(kind for kind in _BASES if number[kind] is not None)
        digits = re.sub("[_,]", "", number[kind])
        if len(digits) > _MAX_DIGITS:
            return text  # more than Python turns into a number, and none that anybody means
        return int(number["sign"] + digits, _BASES[kind]) if digits else 0
    return text


def _float(digits: str) -> object:
    try:
        return float(digits)
    except ValueError:  # a dot with nothing but an exponent: Ruby raises an error as well
        return Refused(kind="Float")


def ruby_value(tree: Tree) -> object:
    """The value of a scalar as Ruby reads it; that of a list or mapping is not looked into."""
    if tree.bare is None:
        return tree.value
    value = read_bare(tree.bare)
    if isinstance(tree.value, str) and not isinstance(value, str) and _has_tag(tree.bare):
        return tree.value
    return value


def _has_tag(bare: str) -> bool:
    """Whether a bare scalar that PyYAML took for a text must have had a tag such as `!!str`."""
    implicit = _RESOLVER.resolve(yaml.ScalarNode, bare, (True, False))  # type: ignore[no-untyped-call]
    return bool(implicit != "tag:yaml.org,2002:str")


def ruby_plain(tree: Tree) -> object:
    """The value as plain dicts, lists and Ruby's scalars."""
    if isinstance(tree.value, dict):
        return {key: ruby_plain(item) for key, item in tree.value.items()}
    if isinstance(tree.value, list):
        return [ruby_plain(item) for item in tree.value]
    return ruby_value(tree)
