"""A CI file as a tree: what GitLab's own reading implies for lines, `extends` and sharing."""

from __future__ import annotations

import pytest

from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.ci_jobs import resolve_ci_jobs
from gpu_pipeline.yaml_text import YamlError


@pytest.mark.parametrize("text", ["a:\n  b: 2024-02-31\n", "a:\n  2024-02-31: b\n"])
def test_an_impossible_date_is_found_at_its_line(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_ci_file(text, "child.yml")
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ['a: 1\nb: "x\nc: 2\n', "a: 1\nb: [x\nc: 2\n", "a: 1\nb: c: 2\n"])
def test_broken_yaml_is_found_where_it_breaks(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_ci_file(text, "child.yml")
    assert caught.value.line == 2


def test_extends_null_is_none() -> None:
    jobs, faults = resolve_ci_jobs(parse_ci_file("a: {extends: null, script: [x]}\n", "child.yml"))
    assert not faults
    assert jobs["a"].tree.plain() == {"script": ["x"]}


def test_jobs_share_what_they_inherit_unchanged() -> None:
    text = ".b: {rules: [{when: always}]}\na: {extends: .b}\nc: {extends: .b}\n"
    jobs, _ = resolve_ci_jobs(parse_ci_file(text, "child.yml"))
    assert jobs["a"].tree.get("rules") is jobs["c"].tree.get("rules")


def test_a_value_with_a_reference_is_resolved_next_to_one_without() -> None:
    text = ".b: {script: [x]}\na: {script: [!reference [.b, script], y], before_script: [z]}\n"
    jobs, _ = resolve_ci_jobs(parse_ci_file(text, "child.yml"))
    assert jobs["a"].tree.plain() == {"script": [["x"], "y"], "before_script": ["z"]}


def test_global_keywords_serve_as_default() -> None:
    text = "image: old\nservices: [s]\ndefault: {image: new}\na: {script: [x]}\n"
    jobs, _ = resolve_ci_jobs(parse_ci_file(text, "child.yml"))
    assert jobs["a"].tree.plain() == {"image": "new", "services": ["s"], "script": ["x"]}


def test_a_job_named_like_a_key_is_no_default() -> None:
    text = "tags: {script: [x]}\na: {script: [x]}\n"
    jobs, _ = resolve_ci_jobs(parse_ci_file(text, "child.yml"))
    assert jobs["a"].tree.plain() == {"script": ["x"]}


def test_an_inherit_list_of_odd_things_names_nothing() -> None:
    text = "default: {image: i}\na: {inherit: {default: [{x: y}]}, script: [x]}\n"
    jobs, _ = resolve_ci_jobs(parse_ci_file(text, "child.yml"))
    assert jobs["a"].tree.get("image") is None


@pytest.mark.parametrize("text", ["=", "<<"])
def test_signs_that_only_pyyaml_knows_are_texts(text: str) -> None:
    file = parse_ci_file(f"variables: {{A: {text}, =: x}}\n", "child.yml")
    assert file.root.plain() == {"variables": {"A": text, "=": "x"}}
    assert not file.odd_keys


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f".a: [{'1, ' * 200_001}]\n", "the file has too many values to check"),
        (
            f".a: &a [{'1, ' * 1000}]\n.b: [{'*a, ' * 201}]\n",
            "the file has too many values with its aliases written out",
        ),
        (f"a: {'1' * 6000}\n", "a number has too many digits"),
        (f"? {'1' * 6000}\n: a\n", "a number has too many digits"),
        (f"a: 0x{'1' * 6000}\n", "a number has too many digits"),
        ("? [a, b]\n: 1\n", "a key is a list or mapping"),
        ("a: {{ image }}\n", "a key is a list or mapping"),
    ],
)
def test_what_cannot_be_checked_has_its_true_reason(text: str, reason: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_ci_file(text, "child.yml")
    assert str(caught.value) == reason
