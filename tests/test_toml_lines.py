"""The scanner finds the same keys as tomllib, whatever way they are written."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.toml_lines import Path, key_lines

from .conftest import ROOT

DOCUMENT = '''# a comment with = and [brackets]
plain = 1
dotted.inner."quoted.key" = [1, [2,
  3], { x = 1, y.z = """
two lines with "quotes" and # no comment
"""}]
'single' = 'a # b' # c

[table] # comment
"k\\u0065y" = 2026-12-01T00:00:00Z
[table.sub]
text = """ends with quotes"""""
raw = \'\'\'it's
\'\'\'

[[list]]
if = "first"
[[list]]
  [list.inner]
  value = { }
  [[list.deep]]
  p = [ # comment, in an array
    "a", # another ]
    "b",
  ]
  [[list.deep]]
  p = []
'''
LINES = {
    ("plain",): 2,
    ("dotted", "inner", "quoted.key"): 3,
    ("dotted", "inner", "quoted.key", 1, 1): 4,
    ("dotted", "inner", "quoted.key", 2, "y", "z"): 4,
    ("single",): 7,
    ("table",): 9,
    ("table", "key"): 10,
    ("table", "sub", "text"): 12,
    ("table", "sub", "raw"): 13,
    ("list", 0, "if"): 17,
    ("list", 1): 18,
    ("list", 1, "inner", "value"): 20,
    ("list", 1, "deep", 0, "p", 1): 24,
    ("list", 1, "deep", 1, "p"): 27,
}


def paths(value: object, path: Path = ()) -> set[Path]:
    found = {path} if path else set()
    items: list = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return found.union(*(paths(item, (*path, key)) for key, item in items))


@pytest.mark.parametrize(("path", "line"), LINES.items(), ids=str)
def test_line_of_a_key(path: Path, line: int) -> None:
    assert key_lines(DOCUMENT)[path] == line


@pytest.mark.parametrize(
    "text",
    [DOCUMENT]
    + [p.read_text(encoding="utf-8") for p in sorted((ROOT / "examples").glob("*.toml"))]
    + [p.read_text(encoding="utf-8") for p in sorted((ROOT / "tests/routing/good").glob("*.toml"))],
)
def test_paths_are_those_of_tomllib(text: str) -> None:
    assert set(key_lines(text)) == paths(tomllib.loads(text))


KEYS = st.text(min_size=1, max_size=5).filter(lambda key: key.isprintable())
SCALARS = st.one_of(
    st.integers(-9, 9).map(str),
    st.booleans().map(lambda flag: str(flag).lower()),
    st.text(max_size=8).filter(str.isprintable).map(json.dumps),
    st.text(alphabet='ab"#[]{}=,\n', max_size=8).map(lambda t: "'''" + t + "'''"),
    st.text(alphabet="ab'#[]{}=,\n", max_size=8).map(lambda t: '"""' + t + '"""'),
    st.just("2026-12-01"),
)


def arrays(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=3).map(lambda parts: "[ # [\n" + ",\n".join(parts) + "\n]")


def inline_tables(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.dictionaries(KEYS, items, max_size=3).map(
        lambda table: "{" + ", ".join(f"{json.dumps(k)} = {v}" for k, v in table.items()) + "}"
    )


VALUES = st.recursive(SCALARS, lambda inner: arrays(inner) | inline_tables(inner), max_leaves=6)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "[{}]\n", "[[{}]]\n"]),
            KEYS,
            st.dictionaries(KEYS, VALUES, max_size=3),
        ),
        max_size=4,
    )
)
def test_any_document_has_the_paths_of_tomllib(parts: list) -> None:
    text = ""
    for number, (header, name, pairs) in enumerate(parts):
        # The number keeps tables apart; the order of lines is that of the parts.
        text += header.format(json.dumps(f"{number}{name}"))
        prefix = f"{number}" if not header else ""
        text += "".join(f"{json.dumps(prefix + k)} = {v}\n" for k, v in pairs.items())
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = key_lines(text)
    assert set(found) == paths(document)
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())
