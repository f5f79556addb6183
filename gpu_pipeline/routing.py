"""Read routing.toml: bytes → text → TOML → `Routing`, with every problem of the file at once."""

from __future__ import annotations

import copy
import datetime
import re
import tomllib
from typing import Any

from pydantic import ValidationError

from gpu_pipeline.errors import Problem, RoutingError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import Routing, Table
from gpu_pipeline.toml_lines import Path, key_lines


def read_routing(data: bytes, file: str) -> tuple[Routing, Problems]:
    """The routing that `data` holds, and the problems of its shape, noted but not yet raised.

    Whatever is wrong is left out of the routing, so that the rest can be checked in the same run.
    `file` is the name to show. Raises RoutingError at once when the bytes are not TOML.
    """
    text = _decode(data, file)
    try:
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
        what = "this table already stands above"
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


# Each round cuts what was found, at most an array item's replacement needs a second one.
_MAX_ROUNDS = 10


def _validate(document: dict[str, Any], problems: Problems) -> Routing:
    """Validate, cutting out what is wrong until the rest is right: each round cuts something."""
    rest = copy.deepcopy(document)
    for _ in range(_MAX_ROUNDS):
        try:
            routing = Routing.model_validate(rest)
        except ValidationError as error:
            bad = {tuple(detail["loc"]): detail for detail in error.errors(include_url=False)}
            for path, detail in bad.items():
                problems.cut(path, _explain(dict(detail), path))
                _cut(rest, path)
        else:
            _report_missing(routing, (), problems)
            return routing
    problems.raise_if_any()
    raise RoutingError([Problem(file=problems.file, line=1, path="", message="cannot be read")])


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
    for name in type(table).model_fields:
        value = getattr(table, name)
        here: Path = (*path, name)
        if value is None and name in table.required and not problems.has_cut(here):
            problems.add(here, "is missing" + _describe_key(type(table), name))
        elif isinstance(value, Table):
            _report_missing(value, here, problems)
        elif isinstance(value, dict | tuple):
            keyed = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in keyed:
                if isinstance(item, Table):
                    _report_missing(item, (*here, key), problems)


def _describe_key(model: type[Table], name: str) -> str:
    description = model.model_fields[name].description
    return f": {description}" if description else ""


_EXPECTED = {
    "int_type": "whole number",
    "float_type": "number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "array",
    "dict_type": "table",
    "model_type": "table",
    "date_type": "date",
    "finite_number": "finite number",
}
_BOUNDS = {
    "literal_error": ("expected", ""),
    "greater_than_equal": ("ge", "at least "),
    "greater_than": ("gt", "more than "),
    "less_than_equal": ("le", "at most "),
}


def _explain(detail: dict[str, Any], path: Path) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key" + _suggest_key(path)
    if kind == "string_pattern_mismatch":
        return _explain_pattern(value, path)
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {_describe(value)}{_hint(kind, value)}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        expected = str(context[bound]).replace("'", '"').removesuffix(".0")
        return f"must be {words}{expected}, not {_describe(value)}"
    return str(detail["msg"])  # of the validators in routing_model, which say it themselves


def _hint(kind: str, value: object) -> str:
    """What to do about a value of the wrong type, where that is plain."""
    if isinstance(value, str):
        if kind == "tuple_type":
            return f'; put it in brackets: ["{value}"]'
        patterns = {
            "int_type": r"[0-9]+",
            "float_type": r"[0-9.]+",
            "bool_type": r"true|false",
            "date_type": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
        }
        plain = kind in patterns and re.fullmatch(patterns[kind], value)
        return "; remove the quotes" if plain else ""
    if kind == "string_type" and isinstance(value, bool | int | float | datetime.date):
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


def _explain_pattern(value: str, path: Path) -> str:
    if not value:
        return "must not be empty"
    if path[-1] == "gpu":
        return (
            f"{_describe(value)} is no GPU name; give it exactly as "
            "`nvidia-smi --query-gpu=name --format=csv,noheader` prints it"
        )
    if path[-1] == "image":
        return "must not contain blanks or control characters"
    if path[-1] == "stage":
        return "must be 1 to 255 characters, without a dot or blank at its beginning or end"
    if "tags" in path:
        return "must not contain blanks or control characters"
    return "must not contain control characters"


def _suggest_key(path: Path) -> str:
    """What the key at `path` was meant to be, and why it does not exist when that is known."""
    name = str(path[-1])
    model = _model_at(path[:-1])
    keys = {f.alias or n for n, f in model.model_fields.items()} if model else ()
    suggestion = did_you_mean(name, keys)
    if "gpu" in name.lower() and "pools" not in path and 'mean "gpu_memory' not in suggestion:
        return (
            "; the number of GPUs is a property of the runner (tags, pod_spec), not of a job, "
            "and the GPU model one of the pool"
        )
    if len(path) == 3 and path[0] == "models" and not suggestion.startswith("; did"):
        return f'; a name with a dot is written in quotes: [models."{path[1]}.{name}"]'
    return suggestion


def _model_at(path: Path) -> type[Table] | None:
    """The model that describes the table at `path`."""
    model: type[Table] = Routing
    parts = iter(path)
    for part in parts:
        field = model.model_fields.get(str(part)) or model.model_fields.get(f"{part}_")
        if field is None:
            return None
        inner = _inner_table(field.annotation)
        if inner is None:
            return None
        model, keyed = inner
        if keyed:
            next(parts, None)
    return model


def _inner_table(annotation: Any) -> tuple[type[Table], bool] | None:
    """The table inside `Table | None`, `dict[str, Table]` or `tuple[Table, ...]`; whether keyed."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation, False
    for inner in getattr(annotation, "__args__", ()):
        if found := _inner_table(inner):
            origin = getattr(annotation, "__origin__", None)
            return found[0], found[1] or origin in (dict, tuple)
    return None
