"""routing.toml as a person would write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from gpu_pipeline.adopt.draft import Draft
from gpu_pipeline.adopt.lifting import Path
from gpu_pipeline.adopt.pools import UNKNOWN_GPU
from gpu_pipeline.adopt.settings import REQUIRED, Key

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100
_KINDS = {
    "pools": "Pools: equal nodes with one GPU model",
    "tasks": "Tasks: kinds of work, each with a template in templates/tasks",
    "families": "Families: models that train alike",
    "models": "Models: what a single model sets differently from its family",
}
_ORDER = """
    stage gpu runner_default node_selector taints concurrency queue pool base models per enabled
    image tags capture epochs timeout needs requests limits variables
    """.split()


def routing_text(draft: Draft, source: str, *, stand_ins: bool = False) -> str:
    """The file; `source` is the hand-written one's name. With `stand_ins` it has no gaps."""
    lines = [
        "#:schema docs/routing.schema.json",
        "#",
        f"# Which model trains on which GPU pool, adopted from {_comment(PurePath(source).name)}.",
        "# A value is taken from the first of these that sets it:",
        "#   model's task > model > family's task > family > task > pool > pipeline",
    ]
    tables = {path: dict(table) for path, table in draft.tables.items()}
    if stand_ins:
        for pool in draft.unnamed_pools:
            tables["pools", pool]["gpu",] = "NVIDIA GPU"
        for key in draft.missing:
            tables["pipeline",].setdefault(key, REQUIRED[key])
    lines += ["", *_table(("pipeline",), tables["pipeline",], draft)]
    for kind, title in _KINDS.items():
        paths = sorted(
            (path for path in tables if path[0] == kind), key=lambda path: _place(path, draft, kind)
        )
        if paths:
            lines += ["", f"# --- {title} {'-' * (_WIDTH - 7 - len(title))}"]
        for path in paths:
            lines += ["", *_table(path, tables[path], draft)]
    return "\n".join(lines) + "\n"


def _place(path: Path, draft: Draft, kind: str) -> tuple[int, int, int]:
    """Tables in the order of the hand-written file, those of tasks below theirs."""
    models = [model for name in draft.names("families") for model in draft.models_of(name)]
    names = models if kind == "models" else draft.names(kind)
    tasks = draft.names("tasks")
    return names.index(path[1]), len(path), tasks.index(path[3]) if len(path) > 2 else 0


def _table(path: Path, table: Mapping[Key, object], draft: Draft) -> Iterator[str]:
    yield f"[{_dotted(path)}]{_about(path, draft)}"
    if path[0] == "pipeline":
        for missing, jobs in draft.missing.items():
            yield f"# TODO {'.'.join(missing)}: {_some(jobs)} had none; set it here or below"
    entries = {key[0]: value for key, value in table.items() if len(key) == 1}
    rules = entries.pop("rules", None)
    inner = {
        name: {key[1]: value for key, value in table.items() if len(key) > 1 and key[0] == name}
        for name in dict.fromkeys(key[0] for key in table if len(key) > 1)
    }
    tables = {name: each for name, each in inner.items() if len(_inline(each)) > _WIDTH - 12}
    entries |= {name: each for name, each in inner.items() if name not in tables}
    for name in sorted(entries, key=_ORDER.index):
        yield from _entry(name, entries[name])
    if path[0] == "pools":
        yield "# price_per_hour = 0.00  # of one node; `plan` then says what a run costs"
    for name, each in tables.items():
        yield from ("", f"[{_dotted((*path, name))}]")
        yield from (f"{_name(key)} = {_value(value)}" for key, value in each.items())
    for rule in rules if isinstance(rules, list) else ():
        yield from ("", f"[[{_dotted((*path, 'rules'))}]]")
        yield from (f"{_name(key)} = {_value(value)}" for key, value in rule.items())


def _dotted(path: Path) -> str:
    return ".".join(map(_name, path))


def _about(path: Path, draft: Draft) -> str:
    if path[0] == "families" and len(path) == 2 and path[1] in draft.sources:
        return f" # jobs that extended {_comment(draft.sources[path[1]])}"
    return ""


def _entry(key: str, value: object) -> Iterator[str]:
    text = f"{key} = {_value(value)}"
    if key == "gpu" and value == UNKNOWN_GPU:
        yield "# TODO the exact name: nvidia-smi --query-gpu=name --format=csv,noheader prints it"
        yield text
    elif key == "queue":
        yield f"{text} # jobs wait as Pending pods, as before; remove it to let them wait in GitLab"
    elif key == "concurrency":
        yield f"{text} # jobs at once on one node"
    elif key == "runner_default":
        yield f"{text} # the runner's own node selector leads here: jobs set none"
    elif key == "base":
        yield f"{text} # templates/bases/{value}.yml.j2"
    elif len(text) > _WIDTH and isinstance(value, list):
        yield f"{key} = ["
        yield from (f"  {_value(item)}," for item in value)
        yield "]"
    else:
        yield text


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(_comment, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _comment(text: str) -> str:
    """A text that ends no comment."""
    return re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]", "?", text)


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _inline(table: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{_name(key)} = {_value(item)}" for key, item in table.items()) + " }"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return _inline(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _text(text: str) -> str:
    """A TOML string: literal where that spares escapes, else basic."""
    if ('"' in text or "\\" in text) and re.fullmatch(r"[\x20-\x26\x28-\x7e]*", text):
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
