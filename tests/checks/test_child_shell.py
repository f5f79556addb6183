"""What a script uses and sets, and what hides a failure in it."""

from __future__ import annotations

import pytest

from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.child.shell_words import is_open_ended, names_in, set_in, used_in


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo $A ${B} \"$C\" \"${D}x\"", "A B C D"),
        ("echo '$A' \\$B $$ $1 $@ $? ${#E}", "E"),
        ("echo \"it's $A\" 'not $B' $C", "A C"),
        ("X=\"$(tr ':' '$N' \"$A\")\" $B", "A B"),
        ("echo ${A:-1} ${B-1} ${C:=x} ${D:+x} ${E:?no} ${F%.*} ${G//a/b} ${H:1}", "F G H"),
        ("echo ${A:-$B}", "B"),
        ("cat <<'EOF'\n$A\nEOF\necho $B", "B"),
        ("cat <<EOF\n$A\nEOF", "A"),
        ("awk '{print $NF}' file", ""),
        ("(echo $A) && [ \"$B\" = \"$(cat)\" ]", "A B"),
    ],
)  # fmt: skip
def test_variables_that_a_script_needs(script: str, names: str) -> None:
    assert list(used_in(script)) == names.split()


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("A=1 B=2 make", "A B"),
        ("export A B=1; readonly C", "A B C"),
        ("for x in a b; do echo; done", "x in a b"),
        ("while read -r A B; do :; done", "r A B"),
        ("printf -v A '%s' x; ARR[1]=2; S+=x", "A ARR S"),
        ("[ x == y ] && make --flag=1", ""),
    ],
)  # fmt: skip
def test_variables_that_a_script_sets(script: str, names: str) -> None:
    assert set_in(script) == set(names.split())


@pytest.mark.parametrize("script", [". ./env", "source env.sh", 'eval "$(direnv)"', "a; . b"])
def test_a_script_that_reads_other_files_may_get_anything(script: str) -> None:
    assert is_open_ended(script)


@pytest.mark.parametrize(
    ("text", "names"), [("$A/${B}:$C-x", {"A", "B", "C"}), ("$$A ${ $1", set()), ("plain", set())]
)
def test_variables_in_the_name_of_an_image(text: str, names: set[str]) -> None:
    assert names_in(text) == names


def codes(*script: str) -> list[str]:
    items = "".join(f"    - |\n{''.join(f'      {line}' + chr(10) for line in item.split(chr(10)))}"
                    for item in script)  # fmt: skip
    return [finding.code for finding in check_child(f"fit:\n  script:\n{items}", "child.yml")]


@pytest.mark.parametrize(
    "script",
    [
        "make data && \\\nmake fit",
        "make \\\n  fit",
        "echo start\nmake fit",
        "A=1\nexport B=2\nmake fit",
        "set -e\nmake data\nmake fit",
        "set -euo pipefail\nmake data\nmake fit",
        "set -o errexit\nmake data\nmake fit",
        "make data || exit 1\nmake fit",
        "# first\n\nmake fit",
        "for x in a b; do\n  make $x\ndone",
        "cat > f <<EOF\nmake a\nmake b\nEOF",
        "make data | \\\n  sort",
    ],
)
def test_one_command_or_set_e_is_fine(script: str) -> None:
    assert "PIP142" not in codes(script)


@pytest.mark.parametrize(
    "script",
    [
        "make data\nmake fit",
        "A=$(make data)\nmake fit",
        "if x; then\n  make a\n  make b\nfi\nmake c",
    ],
)
def test_several_commands_hide_a_failure(script: str) -> None:
    assert "PIP142" in codes(script)


def test_set_e_of_an_item_before_counts() -> None:
    assert "PIP142" not in codes("set -e", "make data\nmake fit")


@pytest.mark.parametrize(
    "script",
    [
        "make | tee log", "make 2>&1 |& tee log", "make|tee -a log", "bash -c 'make | tee log'",
        'A="$(make | tee log)"', "# it's\nmake 'x' | tee log\necho 'y'", "echo \\' | tee log",
    ],
)  # fmt: skip
def test_tee_hides_a_failure(script: str) -> None:
    assert "PIP143" in codes(script)


@pytest.mark.parametrize(
    "script",
    [
        "set -o pipefail; make | tee log", "make || tee log", "tee log",
        'echo "use | tee here"', "echo 'use | tee here'", "make  # | tee log",
    ],
)  # fmt: skip
def test_tee_is_fine_elsewhere(script: str) -> None:
    assert "PIP143" not in codes(script)


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("echo issue #1", '"#1"'),
        ("plot --color #fff --size 3", '"#fff --size 3"'),
        ("make # the model", None),
        ("make  #the model", None),
        ("make ##", None),
        ("'echo issue #1'", None),
        ("echo issue#1", None),
    ],
)
def test_what_yaml_takes_for_a_comment_is_shown(command: str, lost: str | None) -> None:
    found = check_child(f"fit:\n  script:\n    - {command}\n", "child.yml")
    assert [each.code for each in found] == ["PIP141"] * bool(lost)
    assert all(lost in each.message for each in found if lost)
