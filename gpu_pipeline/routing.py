"""Read routing.toml: bytes → text → TOML → `Routing`, with every problem of the file at once."""

from __future__ import annotations

import copy
import datetime
import math
import re
import tomllib
from typing import Any, Literal, get_args, get_origin

import msgspec

from gpu_pipeline.errors import Problem, RoutingError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import Problems, dotted
from gpu_pipeline.routing_model import Routing, Table
from gpu_pipeline.routing_values import Amount, GpuName, Stage, Word
from gpu_pipeline.toml_lines import Path, key_lines
from gpu_pipeline.validation import (
    UNKNOWN,
    Fault,
    bare,
    converted,
    faults,
    keys_of,
    kind_below,
)


def read_routing(data: bytes, file: str) -> tuple[Routing, Problems]:
    """The routing that `data` holds, and the problems of its shape, noted but not yet raised.

    Whatever is wrong is left out of the routing, so that the rest can be checked in the same run.
    `file` is the name to show. Raises RoutingError at once when the bytes are not TOML.
    """
    text = _decode(data, file)
    try:
        if _DEEP_KEY.search(text):  # tomllib takes time in proportion to the square of the parts
            raise RecursionError
        document = tomllib.loads(text)
        problems = Problems(file, key_lines(text))
        return _validate(document, problems), problems
    except tomllib.TOMLDecodeError as error:
        raise RoutingError([_syntax_problem(str(error), text, file)]) from None
    except RecursionError:
        message = "tables or arrays are nested too deeply to read"
        raise RoutingError([Problem(file=file, line=1, path="", message=message)]) from None
    except ValueError:  # Python's bound on the digits of an integer
        message = "a number has too many digits to read"
        raise RoutingError([Problem(file=file, line=1, path="", message=message)]) from None


_DEEP_KEY = re.compile(
    r"""^[ \t]*\[{0,2}[ \t]*(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""", re.MULTILINE
)


def _decode(data: bytes, file: str) -> str:
    def refuse(message: str, line: int = 1) -> RoutingError:
        return RoutingError([Problem(file=file, line=line, path="", message=message)])

    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:64]:
        raise refuse(
            "the file is UTF-16 or binary; save it as UTF-8 (in PowerShell: -Encoding utf8)"
        )
    if data.startswith(b"\xef\xbb\xbf"):
        raise refuse("the file begins with a byte-order mark; save it as UTF-8 without BOM")
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(
            f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", line
        ) from None


def _syntax_problem(error: str, text: str, file: str) -> Problem:
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", error, re.S)
    if match is None:
        return Problem(file=file, line=1, path="", message=f"not valid TOML: {error}")
    what, line, column = match.groups()
    if "overwrite a value" in what:
        what = "this key already has a value above"
    elif "declare" in what and "twice" in what:
        names = re.findall(r"'([^']+)'", what)
        what = f"the table [{dotted(tuple(names))}] already stands above; its keys belong there"
    elif what.startswith("Invalid value"):
        what = "the value is not TOML; text needs quotes, true and false are lower case"
    elif what == "Illegal character '\\n'":
        what = "a quoted text does not end on its line"
    elif what.startswith("Unclosed"):
        what = f"{what[0].lower()}{what[1:]}; a bracket or quote is missing"
    last_line = text.rstrip("\n").count("\n") + 1
    place = f" (column {column})" if column else " (at the end of the file)"
    return Problem(
        file=file,
        line=int(line) if line else last_line,
        path="",
        message=f"not valid TOML: {what}{place}",
    )


_TOML = (datetime.date, datetime.datetime, datetime.time)  # what it can say and JSON cannot


def _validate(document: dict[str, Any], problems: Problems) -> Routing:
    """The routing without what is wrong, which is noted."""
    try:
        routing = converted(document, Routing, native=_TOML)
    except msgspec.ValidationError:
        rest = copy.deepcopy(document)
        for fault in faults(document, Routing, native=_TOML):
            problems.cut(fault.path, explained(fault))
            _cut(rest, fault.path)
        routing = converted(rest, Routing, native=_TOML)
    _report_missing(routing, (), problems)
    return routing


def _cut(document: Any, path: Path) -> None:
    """Remove a key; an array item is replaced instead, so that the others keep their index."""
    *parents, last = path
    for part in parents:
        document = document[part]
    if isinstance(last, int):
        document[last] = {} if path[-2] in ("rules", "contexts", "accept") else "?"
    else:
        del document[last]


def _report_missing(table: Table, path: Path, problems: Problems) -> None:
    """Note each required key that is absent, in this table and those below it."""
    for name in table.__struct_fields__:
        value = getattr(table, name)
        here: Path = (*path, name)
        if value is None and name in table.required and not problems.has_cut(here):
            problems.add(here, f"is missing: {type(table).descriptions[name]}")
        elif isinstance(value, Table):
            _report_missing(value, here, problems)
        elif isinstance(value, dict | tuple):
            keyed = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in keyed:
                if isinstance(item, Table):
                    _report_missing(item, (*here, key), problems)


_EXPECTED: dict[Any, str] = {
    int: "whole number",
    float: "number",
    str: "text",
    bool: "true or false",
    tuple: "array",
    dict: "table",
    datetime.date: "date",
}
_BOUND = re.compile(r"Expected `\w+` (>=|>|<=) (\S+)")
_BOUNDS = {">=": "at least", ">": "more than", "<=": "at most"}


def explained(fault: Fault) -> str:
    """What is wrong with a part of the file, and what to do about it."""
    meant, value = bare(fault.kind), fault.value
    kind = _simple(meant)
    if fault.message == UNKNOWN:
        return "unknown key" + _suggest_key(fault.path)
    if kind is Literal:
        *first, last = (f'"{choice}"' for choice in get_args(meant))
        return f"must be {', '.join(first)} or {last}, not {_describe(value)}"
    if " matching regex " in fault.message:
        return _explain_pattern(str(value), fault.message)
    if bound := _BOUND.fullmatch(fault.message):
        return _explain_bound(bound[1], bound[2], value)
    if not fault.message or ", got `" in fault.message:
        hint = "" if isinstance(meant, type) and issubclass(meant, Amount) else _hint(kind, value)
        return f"expected {_EXPECTED[kind]}, got {_describe(value)}{hint}"
    return fault.message  # of an Amount, which says it itself


def _explain_bound(bound: str, limit: str, value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"expected finite number, got {_describe(value)}"
    return f"must be {_BOUNDS[bound]} {limit.removesuffix('.0')}, not {_describe(value)}"


def _simple(kind: Any) -> Any:
    """The type whose name in _EXPECTED fits a kind."""
    if isinstance(kind, type) and issubclass(kind, Table | Amount):
        return dict if issubclass(kind, Table) else str
    return get_origin(kind) or kind


def _hint(kind: Any, value: object) -> str:
    """What to do about a value of the wrong type, where that is plain."""
    if isinstance(value, str):
        if kind is tuple:
            return (
                f'; put it in brackets: ["{value}"]' if len(value) <= 40 else "; put it in brackets"
            )
        patterns = {
            int: r"[0-9]+",
            float: r"[0-9.]+",
            bool: r"true|false",
            datetime.date: r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
        }
        plain = kind in patterns and re.fullmatch(patterns[kind], value)
        return "; remove the quotes" if plain else ""
    if kind is str and isinstance(value, bool | int | float | datetime.date):
        if isinstance(value, int) and abs(value) > 10**18:
            return "; put it in quotes"
        shown = str(value).lower() if isinstance(value, bool) else value
        return f'; put it in quotes: "{shown}"'
    return ""


def _describe(value: object) -> str:
    names: dict[type, str] = {
        bool: "boolean",
        int: "integer",
        float: "float",
        datetime.datetime: "date-time",
        datetime.date: "date",
        datetime.time: "time",
    }
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:37] + "…"
        return f'string "{shown}"'
    if isinstance(value, dict):
        return "table"
    if isinstance(value, list):
        return "array"
    if isinstance(value, int) and abs(value) > 10**18:
        return "an integer of that size"
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{names.get(type(value), type(value).__name__)} {shown}"


def _explain_pattern(value: str, message: str) -> str:
    """Why a text does not match; which pattern it was, msgspec's `message` says."""
    if not value:
        return "must not be empty"
    if _quoted_pattern(GpuName) in message:
        return (
            f"{_describe(value)} is no GPU name; give it exactly as "
            "`nvidia-smi --query-gpu=name --format=csv,noheader` prints it"
        )
    if _quoted_pattern(Stage) in message:
        return "must be 1 to 255 characters, without a dot or blank at its beginning or end"
    blanks = "blanks or " if _quoted_pattern(Word) in message else ""
    return f"must not contain {blanks}control characters"


def _quoted_pattern(kind: Any) -> str:
    return f" regex {kind.__metadata__[0].pattern!r}"


def _suggest_key(path: Path) -> str:
    """What the key at `path` was meant to be, and why it does not exist when that is known."""
    name = str(path[-1])
    suggestion = did_you_mean(name, keys_of(_table_at(path[:-1])))
    if "gpu" in name.lower() and "pools" not in path and 'mean "gpu_memory' not in suggestion:
        return (
            "; the number of GPUs is a property of the runner (tags, pod_spec), not of a job, "
            "and the GPU model one of the pool"
        )
    if len(path) == 3 and path[0] == "models" and not suggestion.startswith("; did"):
        return f'; a name with a dot is written in quotes: [models."{path[1]}.{name}"]'
    return suggestion


def _table_at(path: Path) -> Any:
    """The kind of table at `path`."""
    kind: Any = Routing
    for part in path:
        kind = kind_below(kind, part)
    return bare(kind)
