"""Variables that bring a model or epochs into a command: put in, kept, or said to be frozen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..conftest import Result
from .small import PRELUDE, adopt, job

OFFERED = 'variables:\n  EPOCHS: {value: "40", description: how long}\n'
VARIABLES = "  variables: {MODEL: tft, EPOCHS: '5'}\n"


def test_a_variable_of_the_form_that_the_command_used_is_not_handed_down(
    run: Callable[..., Result],
) -> None:
    text = job("train-tft", "./train --model tft --epochs $EPOCHS")
    adopted = adopt(run, text, head=OFFERED + PRELUDE)
    assert "capture" not in adopted.routing["pipeline"]
    assert "whoever sets it where a pipeline is started changes nothing" in adopted.report
    assert adopted.routing["tasks"]["train"]["epochs"] == 40


def test_a_variable_of_the_form_is_handed_down_to_the_jobs_that_read_it_otherwise(
    run: Callable[..., Result],
) -> None:
    adopted = adopt(
        run,
        job("train-tft", "./train --model tft --epochs $EPOCHS"),
        job(
            "eval-tft", "./eval --model tft", "python -c 'import os; print(os.environ[\"EPOCHS\"])'"
        ),
        head=OFFERED + PRELUDE,
    )
    assert adopted.routing["pipeline"]["capture"] == ["EPOCHS"]
    assert "train-tft:variables:EPOCHS the job gets its value from the routing" in (
        adopted.section("Assumed")
    )


def test_a_variable_of_the_form_that_a_job_sets_itself_is_not_handed_down_and_that_is_said(
    run: Callable[..., Result],
) -> None:
    own = job("train-kan", "./train --model kan --epochs 2", more="  variables: {DEPTH: '7'}\n")
    adopted = adopt(
        run,
        job("train-tft", "./train --model tft --epochs 2 --depth $DEPTH"),
        own,
        head=OFFERED.replace("EPOCHS", "DEPTH") + PRELUDE,
    )
    assert "capture" not in adopted.routing["pipeline"]
    assert "variables:DEPTH single jobs set it themselves" in adopted.section("Assumed")


def test_epochs_that_a_rule_sets_are_lost_for_each_job(run: Callable[..., Result]) -> None:
    rule = """  rules: [{if: '$CI_PIPELINE_SOURCE == "web"', variables: {EPOCHS: "9"}}]\n"""
    adopted = adopt(
        run,
        job("train-tft", "./train --model tft --epochs $EPOCHS", more=rule + VARIABLES),
        job("train-kan", "./train --model kan --epochs ${EPOCHS:-3}", more=rule),
    )
    lost = adopted.section("Could not express")
    for name in ("train-tft", "train-kan"):
        assert f"{name}:rules:variables:EPOCHS" in lost
    assert adopted.code == 1


WORKFLOW = """\
workflow:
  rules:
    - if: $CI_COMMIT_BRANCH
      variables: {EPOCHS: "9", DEPTH: "2"}
"""


def test_what_rules_of_workflow_set_is_handed_down_or_lost(run: Callable[..., Result]) -> None:
    text = job("train-tft", "./train --model tft --epochs ${EPOCHS:-3} --depth $DEPTH")
    adopted = adopt(run, text, head=WORKFLOW + PRELUDE)
    assert "ci.yml:4: workflow:rules:variables:EPOCHS" in adopted.section("Could not express")
    assert adopted.routing["pipeline"]["capture"] == ["DEPTH"]
    assert adopted.code == 1


@pytest.mark.parametrize(
    "command",
    [
        'echo "${MODEL^^} ${#MODEL}"',
        "python - <<EOF\nimport os; print(os.environ['MODEL'])\nEOF",
        "python train.py --name '$MODEL'",
        r"echo \$MODEL",
        "bash -c 'echo \"$MODEL\"'",
        "python - <<'EOF'\nprint('$MODEL')\nEOF",
    ],
)
def test_a_variable_that_commands_read_on_stays_and_so_do_they(
    command: str, run: Callable[..., Result]
) -> None:
    train = "./train --model $MODEL --epochs 5"
    adopted = adopt(run, job("train-tft", train, command, more="  variables: {MODEL: tft}\n"))
    assert adopted.code == 0
    child = adopted.child()["train-tft"]
    assert child["variables"]["MODEL"] == "tft"
    assert child["script"] == ["./train --model tft --epochs 5", command]


@pytest.mark.parametrize("text", ["''", '"it\'s $MODEL"', '"\\\\$MODEL"', "$MODEL"])
def test_a_variable_that_only_the_shell_reads_is_put_in(
    text: str, run: Callable[..., Result]
) -> None:
    script = f"./train --model $MODEL --epochs 5 {text}"
    adopted = adopt(run, job("train-tft", script, more="  variables: {MODEL: tft}\n"))
    child = adopted.child()["train-tft"]
    assert "MODEL" not in child["variables"]
    assert child["script"] == [script.replace("$MODEL", "tft")]


def test_epochs_that_no_command_mentions_follow_the_routing(run: Callable[..., Result]) -> None:
    adopted = adopt(
        run,
        job("train-tft", "python train.py", more=VARIABLES),
        job("train-kan", "python train.py", more="  variables: {MODEL: kan, EPOCHS: '5'}\n"),
    )
    assert adopted.code == 0
    assert "2 jobs rendered and compared with the file: 2 the same" in adopted.report
    assert adopted.routing["tasks"]["train"]["epochs"] == 5
    child = adopted.child()
    for name in ("tft", "kan"):
        found = child[f"train-{name}"]["variables"]
        inherited = child[child[f"train-{name}"]["extends"]]["variables"]
        assert {**inherited, **found}["EPOCHS"] == "$ROUTE_EPOCHS"
        assert found["ROUTE_EPOCHS"] == "5"
        assert found["MODEL"] == name


def test_the_model_of_one_job_is_not_said_for_all(run: Callable[..., Result]) -> None:
    adopted = adopt(run, job("train-tft", "python train.py", more=VARIABLES))
    assert adopted.routing["models"]["tft"]["variables"] == {"MODEL": "tft"}


def test_a_default_stands_in_for_an_empty_variable(run: Callable[..., Result]) -> None:
    script = "./train --model tft --epochs ${EPOCHS:-15}"
    adopted = adopt(run, job("train-tft", script, more='  variables: {EPOCHS: ""}\n'))
    assert adopted.routing["tasks"]["train"]["epochs"] == 15


@pytest.mark.parametrize("place", ["file", "job"])
def test_a_variable_that_is_not_expanded_is_lost(place: str, run: Callable[..., Result]) -> None:
    block = "variables:\n    RAW: {value: '$x', expand: false}\n"
    text = job("train-tft", "./train --model tft --epochs 5", more=f"  {block}" * (place == "job"))
    head = (block if place == "file" else "") + PRELUDE
    adopted = adopt(run, text, head=head)
    assert "RAW:expand a variable of the routing is always" in adopted.section("Could not express")
    assert adopted.code == 1
    assert "changed variables.RAW train-tft $x (as it stands) $x" in adopted.report
