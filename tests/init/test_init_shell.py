"""What a shell makes of the commands of an adopted job is what it made of the hand-written ones."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gpu_pipeline import cli
from tests.effort import examples

from .small import GPU, PRELUDE, job

PIECES = r"""
    $MODEL ${MODEL} '$MODEL' "$MODEL" \$MODEL "\$MODEL" ${#MODEL} ${MODEL^^} {$MODEL,x}
    $(echo|$MODEL) $EPOCHS '$EPOCHS' ${EPOCHS:-9} ${EPOCHS-9} $OTHER ${OTHER:-$MODEL} "it's|$MODEL"
    'a|"|$MODEL' --epochs|$EPOCHS --epochs|5 --epochs=${EPOCHS:-9} --epochs|'$EPOCHS' --model|$MODEL
    --model|tft --model|'$MODEL' --model="$MODEL" --model|5 #|$MODEL 5 tft {% {{ x{ tft,kan
    """.split()
PIECE = st.sampled_from([piece.replace("|", " ") for piece in PIECES])
COMMAND = st.lists(PIECE, max_size=5).map(lambda pieces: " ".join(["echo", *pieces]))
VALUES = {"MODEL": ["tft", "TFT", "5"], "EPOCHS": ["5", "", "7"], "OTHER": ["tft", "$MODEL"]}
VARIABLES = st.fixed_dictionaries(
    {"EPOCHS": st.sampled_from(VALUES["EPOCHS"])},
    optional={name: st.sampled_from(VALUES[name]) for name in ("MODEL", "OTHER")},
)


def expand(value: str, variables: dict[str, str]) -> str:
    """As GitLab does before the shell sees the variables."""
    return re.sub(r"\$(\w+)", lambda match: variables.get(match[1], ""), value)


def output(script: list[str], variables: dict[str, str]) -> str:
    values = {name: expand(value, variables) for name, value in variables.items()}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], env={"PATH": "/usr/bin:/bin", **values},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@settings(
    phases=(Phase.explicit, Phase.generate), max_examples=examples(15),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(commands=st.lists(COMMAND, min_size=1, max_size=2), variables=VARIABLES)
def test_commands_print_the_same(
    commands: list[str], variables: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    commands = [*commands, "echo --epochs 5 --model tft"]
    block = "".join(f'    {name}: "{value}"\n' for name, value in variables.items())
    text = PRELUDE + job("train-x", *commands, more=f"  variables:\n{block}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ci.yml").write_text(text, encoding="utf-8")
        code = cli.main(
            ["init", "--from", str(folder / "ci.yml"), "-o", str(folder / "new"), "--quiet", *GPU]
        )
        assert code in (0, 1), capfd.readouterr().err
        where = ("--routing", str(folder / "new/routing.toml"))
        where += ("--templates", str(folder / "new/templates"))
        assert cli.main(["render", *where, "-o", "-", "--branch", "main", "--quiet"]) == 0
    child = yaml.safe_load(capfd.readouterr().out)
    (found,) = (each for each in child.values() if isinstance(each, dict) and "script" in each)
    seen = {**child[found["extends"]]["variables"], **found["variables"]}
    assert output(found["script"], seen) == output(commands, variables)
