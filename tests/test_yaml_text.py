"""Texts come back unchanged from every YAML parser, GitLab's own included."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
import ruamel.yaml
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.yaml_text import YamlError, bare_name, block, load_exactly, quote

from .conftest import Result

AWKWARD = [
    # numbers to Ruby, with commas, underscores, bases and exponents
    "1,2", "0,1", "0,1,2,3", "-1,2", "1,000.5", "1_000", "022", "08", "0o17", "0x1F", "0b101",
    "1e3", "1e-05", "1.0e+3", "3.10", "+12", "-0", ".5", "5.", "-.5", "1.", "6,5,4", "0,0",
    # times and dates
    "0:30", "1:30", "00:30:00", "01:30:00", "12:30:45", "190:20:30.15", "2024-1-1", "2024-01-01",
    "2024-01-01 10:00:00", "2024-01-01T10:00:00Z", "2001-12-14t21:59:43.10-05:00",
    # symbols
    ":latest", ":sym", ":'a b'", ":", "::", "a:b", "image:latest",
    # booleans, nulls, infinities, merge keys
    "on", "off", "yes", "No", "y", "n", "true", "False", "null", "Null", "~", "nil", "", ".inf",
    "-.INF", ".nan", "=", "<<",
    # YAML's own characters
    "!x", "!!str a", "*a", "&a", "a: b", "a #b", "#", "- a", "-", "?", "? a", "[a", "{a", "]", "}",
    "{{ x }}", "{% raw %}", "%YAML", "@a", "`a`", "|", ">", "---", "...", "a, b", "'", '"', "''",
    '""', "it's \"both\"", "\\", "\\n", "a\\", "C:\\x",
    # blanks and lines
    " lead", "trail ", "two  blanks", "\ttab\t", "a\nb", "a\n", "\na", "a\r\nb", "\r", "\n\n",
    # the shell's and GitLab's own
    "$X", "${X}", "$$X", "$(id)", "a && b || c", "$[[ inputs.x ]]", "%X%",
    # beyond ASCII
    "é", "日本", "😀", "\u2028", "\u2029", "\u0085", "\u00a0", "\ufeff", "\ufffe", "\x7f", "\x9f",
    "\x01", "\x1b[31m", "\x00", "\U0010ffff", "e\u0301",
    # quantities and sizes
    "500m", "4Gi", "x" * 10_000, "a b " * 2_500,
]  # fmt: skip


def read_1_1(text: str) -> object:
    return yaml.load(text, Loader=yaml.SafeLoader)


def read_1_2(text: str) -> object:
    reader = ruamel.yaml.YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(StringIO(text))


def read_by_ruby(text: str) -> object:
    script = """
      plain = lambda do |v|
        case v
        when Hash then v.map { |k, w| [k, plain.(w)] }.to_h
        when Array then v.map { |w| plain.(w) }
        when String, true, false, Integer then v
        else "#{v.class} #{v.inspect}"
        end
      end
      puts JSON.generate(plain.(YAML.safe_load(STDIN.read, permitted_classes: [Symbol])))
    """
    command = [
        "ruby",
        "-Ku",
        "-ryaml",
        "-rjson",
        "-e",
        "Encoding.default_external='UTF-8';" + script,
    ]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return json.loads(done.stdout)


def ruby_is_missing() -> bool:
    return shutil.which("ruby") is None and not os.environ.get("REQUIRE_CLIENTS")


def test_the_list_is_long_enough() -> None:
    assert len(set(AWKWARD)) >= 86


@pytest.mark.parametrize("read", [read_1_1, read_1_2, load_exactly], ids=lambda f: f.__name__)
def test_awkward_texts_come_back(read: Callable[[str], object]) -> None:
    data = {f"k{i}": text for i, text in enumerate(AWKWARD)}
    assert read(block(data)) == data
    assert read(block(AWKWARD)) == AWKWARD
    names = {text: "x" for text in AWKWARD if len(text) < 100}
    assert read(block(names)) == names


@pytest.mark.skipif(ruby_is_missing(), reason="Ruby, whose YAML parser GitLab uses, is absent")
def test_awkward_texts_come_back_from_gitlabs_parser() -> None:
    assert read_by_ruby(block(AWKWARD)) == AWKWARD
    names = {text: "x" for text in AWKWARD if len(text) < 100}
    assert read_by_ruby(block(names)) == names


@pytest.mark.parametrize("read", [read_1_1, read_1_2], ids=["1.1", "1.2"])
def test_awkward_captured_values_come_back_from_a_rendered_child(
    read: Callable[[str], object], run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    """Each stands in the child exactly as it was captured, and adds no key anywhere."""
    values = [text for text in AWKWARD if "\x00" not in text]
    names = [f"AWKWARD_{i}" for i in range(len(values))]
    routing = edit(('"TRAIN_VALIDATE"]', '"TRAIN_VALIDATE", ' + json.dumps(names)[1:]))
    options = [part for n, v in zip(names, values, strict=True) for part in ("--var", f"{n}={v}")]
    result = run("-o", "-", "--quiet", "--routing", routing, *options)
    assert result.code == 0, result.err
    child = read(result.out)
    assert isinstance(child, dict)
    found = [child["variables"][name] for name in names]
    plain = [item["value"] if isinstance(item, dict) else item for item in found]
    assert plain == values
    for value, item in zip(values, found, strict=True):
        assert isinstance(item, dict) == ("$" in value)
        assert not isinstance(item, dict) or item["expand"] is False
    assert len(child) == 3 + 2 + 19


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back(text: str) -> None:
    assert read_1_1(quote(text)) == text
    assert read_1_2(quote(text)) == text
    assert "\n" not in quote(text)
    assert load_exactly(f"{bare_name(text)}: {quote(text)}") == {text: text}


@given(st.from_regex(r"\A\.?[a-zA-Z0-9_.:,+-]{1,12}\Z"))
def test_any_bare_name_comes_back(text: str) -> None:
    assert read_1_1(bare_name(text)) == text
    assert read_1_2(bare_name(text)) == text


def test_half_a_character_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="U\\+D800"):
        quote("\ud800")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: 1\na: 2\n", 'the key "a" stands here twice', 2),
        ("a:\n  - b: 1\n    b: 2\n", 'the key "b" stands here twice', 3),
        ('a: 1\n"a": 2\n', 'the key "a" stands here twice', 2),
        ("a: 0,1\n", '"0,1" stands bare', 1),
        ("a: x\nb: 01:30:00\n", '"01:30:00" stands bare', 2),
        ("a: :latest\n", '":latest" stands bare', 1),
        ("a: 2024-1-1\n", '"2024-1-1" stands bare', 1),
        ("a: yes\n", '"yes" stands bare', 1),
        ("yes: a\n", '"yes" stands bare', 1),
        ("a: 022\n", '"022" stands bare', 1),
        ("a: 3.10\n", '"3.10" stands bare', 1),
        ("a: ~\n", '"~" stands bare', 1),
        ("a:\n", '"" stands bare', 1),
        ("a: &x b\nc: *x\n", "an alias", 1),
        ("a: &x [*x]\n", "an alias", 1),
        ("a: [1, 2\n", "expected", 2),
        ("a: \x07\n", "control characters are not allowed", 1),
        ("", "nothing in it", 1),
        ("a: b\n--- \nc: d\n", "expected a single document", 2),
        ("a: !reference [b, c]\n", "could not determine a constructor", 1),
        ("a: b\nc: !!map [d]\n", "expected a mapping node", 2),
        ("a: !!seq {b: c}\n", "expected a sequence node", 1),
        ('a: !!bool "x"\n', "the tag does not fit", 1),
        ('a: b\nc: !!timestamp "x"\n', "the tag does not fit", 2),
    ],
)
def test_a_text_that_gitlab_might_misread_is_refused(text: str, message: str, line: int) -> None:
    with pytest.raises(YamlError, match=message) as caught:
        load_exactly(text)
    assert caught.value.line == line


def test_true_false_counts_and_plain_words_may_stand_bare() -> None:
    text = "a: true\nb: false\nc: 2\nd: on_success\ne: output/\nf: api_failure\n.gg-h: .base\n"
    assert load_exactly(text) == {
        "a": True, "b": False, "c": 2, "d": "on_success", "e": "output/", "f": "api_failure",
        ".gg-h": ".base",
    }  # fmt: skip


@pytest.mark.skipif(ruby_is_missing(), reason="Ruby, whose YAML parser GitLab uses, is absent")
def test_whatever_may_stand_bare_is_read_alike_by_gitlabs_parser() -> None:
    """Short words over the characters that make numbers, dates and symbols."""
    words = {"".join(w) for n in (1, 2, 3) for w in product(".eE-+_:,013xyinf", repeat=n)}
    words |= {".e-3", ".e+3", ".inf", ".nan", "1e3", "e1", "0x1f", "y", "n", "no", "off", "nil"}
    bare = sorted(word for word in words if bare_name(word) == word)
    assert len(bare) > 500
    assert read_by_ruby("\n".join(f"- {word}" for word in bare)) == bare
    assert read_1_1("\n".join(f"- {word}" for word in bare)) == bare
