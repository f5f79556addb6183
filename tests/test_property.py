"""Whatever routing.toml holds: a file that parses back, or a message that names a line."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_pipeline import cli
from tests.effort import examples

from .conftest import SHIPPED

TEXT = SHIPPED.read_text(encoding="utf-8")
LINES = TEXT.splitlines(keepends=True)
WORDS = sorted(set(re.findall(r"[A-Za-z0-9_.-]+|\"[^\"\n]*\"|[\[\]{}=,#'\"]", TEXT)))
VALUES = [
    *WORDS, "true", "-1", "0", "1e400", "nan", "inf", '""', '"a b"', "[]", "{}", "[[]]",
    "2026-12-01", "07:30:00", '"\\u0000"', '"\\u001b[31m"', '"{{ 7*7 }}"', '"$(id)"', "'''\n'''",
    "999999999999999", '"é"', "\n", "\t", "\x00", "\ud7ff", "1.0", '"1"',
    "[pools.x]\n", "[[pipeline.rules]]\n",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The shipped file after a few edits: lines dropped, doubled or moved, words replaced."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1)) if lines else 0
        kind = draw(st.sampled_from(["drop", "double", "move", "word", "word", "word", "insert"]))
        if kind == "drop" and lines:
            del lines[at]
        elif kind == "double" and lines:
            lines.insert(at, lines[at])
        elif kind == "move" and lines:
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        elif kind == "insert" or not lines:
            lines.insert(at, draw(st.sampled_from(VALUES)))
        else:
            words = re.findall(r"\s+|[A-Za-z0-9_.-]+|\"[^\"\n]*\"|.", lines[at])
            if words:
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(VALUES))
            lines[at] = "".join(words)
    return "".join(lines).encode("utf-8", "surrogatepass")


TABLES = st.recursive(
    st.one_of(
        st.sampled_from(VALUES),
        st.integers(-3, 3).map(str),
        st.text(max_size=6).map(lambda t: '"' + "".join(c for c in t if c.isalnum()) + '"'),
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        )
    ),
    max_leaves=8,
)
KEYS = ["pipeline", "pools", "tasks", "families", "models", "pools.a", "families.f.tasks", "x"]
INVENTED = st.dictionaries(st.sampled_from(KEYS), TABLES, max_size=6).map(
    lambda table: "".join(f"{key} = {value}\n" for key, value in table.items()).encode()
)


def check_outcome(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        routing, output = Path(folder) / "routing.toml", Path(folder) / "child-pipeline.yml"
        routing.write_bytes(data)
        output.write_text("old", encoding="utf-8")
        code = cli.main(["--routing", str(routing), "-o", str(output), "--quiet"])
        out, err = capfd.readouterr()
        written = output.read_text(encoding="utf-8")
        assert out == ""
        assert "Traceback" not in err
        assert sorted(path.name for path in Path(folder).iterdir()) == [output.name, routing.name]
    if code == 0:
        assert err == ""
        child = yaml.safe_load(written)
        assert {"workflow", "stages", "variables"} < set(child)
    elif code == 2:
        assert written == "old"
        for line in err.splitlines():
            assert re.match(r".*/routing\.toml:[1-9]\d*: ", line), err
    else:
        assert (code, written) == (3, "old")
        assert "enables no job" in err


SLOW = settings(
    max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SLOW
@given(data=mutated())
def test_a_mutated_file(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    check_outcome(data, capfd)


@SLOW
@given(data=INVENTED)
def test_an_invented_file(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    check_outcome(data, capfd)


@SLOW
@given(data=st.binary(max_size=200))
def test_any_bytes(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    check_outcome(data, capfd)
