"""Bare scalars as Psych reads them, by a table and, where there is a Ruby, by Psych itself."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess

import pytest

from gpu_pipeline.checks.child.ruby import Refused, Symbol, read_bare, ruby_plain
from gpu_pipeline.ci_file import parse_ci_file

DATE, TIME = Refused(kind="Date"), Refused(kind="Time")
TABLE: list[tuple[str, object]] = [
    ("", None), ("~", None), ("null", None), ("Null", None), ("nil", "nil"),
    ("yes", True), ("On", True), ("TRUE", True), ("no", False), ("off", False), ("false", False),
    ("y", "y"), ("n", "n"), ("yes please", "yes please"), ("1e5", "1e5"), ("1e-5", "1e-5"),
    ("1,2", 12), ("0,1", 1), ("0,1,2,3", 83), ("-1,2", -12), ("1,000.5", 1000.5),
    ("0:30", 1800), ("00:30:00", 1800), ("01:30:00", 5400), ("1:60", "1:60"),
    ("022", 18), ("08", "08"), ("0o7", "0o7"), ("0x1F", 31), ("0b11", 3), ("1_000", 1000),
    ("3.10", 3.1), ("1.50", 1.5), (".5", 0.5), ("1.", 1.0), (".", "."), ("1.5e+3", 1500.0),
    (".inf", math.inf), ("-.inf", -math.inf), (":latest", Symbol(name="latest")),
    (':"a b"', Symbol(name="a b")), (":", ":"), ("2024-1-1", DATE), ("2024-01-31", DATE),
    ("2024-02-31", DATE), ("2024-13-01", "2024-13-01"), ("2024-01-31 10:00:00", TIME),
    ("2024-01-31T10:00:00Z", TIME), ("v1.2", "v1.2"), ("1a", "1a"), (".e-3", Refused(kind="Float")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), TABLE)
def test_a_bare_scalar_is_read_as_ruby_reads_it(text: str, value: object) -> None:
    read = read_bare(text)
    assert (type(read), read) == (type(value), value)


def test_quoted_and_tagged_scalars_are_texts() -> None:
    text = "a: '0,1'\nb: \"yes\"\nc: !!str 2024-01-31\nd: |\n  010\ne: 0,1\nf: [yes, {g: 010}]\n"
    assert ruby_plain(parse_ci_file(text, "child.yml").root) == {
        "a": "0,1", "b": "yes", "c": "2024-01-31", "d": "010\n", "e": 1, "f": [True, {"g": 8}],
    }  # fmt: skip


PSYCH = """
require "psych"; require "json"
loader = Psych::ClassLoader::Restricted.new(["Symbol"], [])
scanner = Psych::ScalarScanner.new(loader)
puts JSON.generate(JSON.parse(STDIN.read).map { |text|
  begin
    value = scanner.tokenize(text)
    value.is_a?(Symbol) ? {s: value} : value.is_a?(Float) ? {f: value.to_s} : {v: value}
  rescue Psych::DisallowedClass, ArgumentError
    {r: true}
  end
})
"""


@pytest.mark.skipif(shutil.which("ruby") is None, reason="there is no Ruby to compare with")
def test_psych_itself_agrees() -> None:
    chance = random.Random(5)
    texts = [text for text, _ in TABLE if text]
    texts += [
        "".join(chance.choices("0123456789.:-+_,eExabtofnys~", k=chance.randint(1, 6)))
        for _ in range(3000)
    ]
    ruby = subprocess.run(
        ["ruby", "-e", PSYCH], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    read = dict(zip(texts, json.loads(ruby.stdout), strict=True))
    assert {text: _as_json(read_bare(text)) for text in texts} == read


def _as_json(value: object) -> dict[str, object]:
    if isinstance(value, Symbol):
        return {"s": value.name}
    if isinstance(value, Refused):
        return {"r": True}
    if isinstance(value, float):
        return {"f": _ruby_float(value)}
    return {"v": value}


def _ruby_float(value: float) -> str:
    text = repr(value)
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    mantissa, exponent, power = text.partition("e")
    dot = ".0" if exponent and "." not in mantissa else ""
    return names.get(text, mantissa + dot + exponent + power)


def test_numbers_beyond_all_measure_do_not_end_the_check() -> None:
    assert read_bare(f"{'9' * 400}:00") == Refused(kind="Float")
    for text in (f"1,{'1' * 6000}", f"0b{'1,' * 6000}1"):
        assert read_bare(text) == text


MERGES = """\
x: &x {t: 1, a: 1}
y: &y {t: 2}
l: &l [*x, *y]
before: {t: 3, <<: *x, a: 3}
twice: {<<: *x, <<: *y}
both: {<<: [*x, *y]}
here: {a: 1, <<: {a: 2}}
quoted: {"<<": *x}
nested: {<<: {<<: *x, t: 4}, b: 1}
"""


def test_merge_keys_replace_what_stands_before_them() -> None:
    found = ruby_plain(parse_ci_file(MERGES, "child.yml").root)
    assert isinstance(found, dict)
    assert found["before"] == {"t": 1, "a": 3}
    assert found["both"] == found["quoted"] == {"t": 1, "a": 1}
    odd = parse_ci_file("l: &l [1]\nm: {<<: *l}\nn: {<<: 3}\no: {<<: }\n", "child.yml").root
    assert ruby_plain(odd) == {"l": [1], "m": {"<<": [1]}, "n": {"<<": 3}, "o": {"<<": None}}


@pytest.mark.skipif(shutil.which("ruby") is None, reason="there is no Ruby to compare with")
def test_psych_merges_in_the_same_way() -> None:
    script = (
        'require "yaml"; require "json"; puts JSON.generate(YAML.load(STDIN.read, aliases: true))'
    )
    done = subprocess.run(
        ["ruby", "-e", script], input=MERGES, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ruby_plain(parse_ci_file(MERGES, "child.yml").root)
