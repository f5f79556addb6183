"""What the report says of jobs that train nothing, stand twice or differ far behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu_pipeline.adopt.report import _cut

from ..conftest import Result
from .small import PRELUDE, adopt, job

TFT = job("train-tft", "./train --model tft --epochs 2")


@pytest.mark.parametrize("epochs", ["$EPOCHS", "1e3", "2000000", "$((N*2))"])
def test_a_job_whose_epochs_are_no_number_is_not_said_to_train_nothing(
    epochs: str, run: Callable[..., Result]
) -> None:
    command = f"./tune --model tft --epochs {epochs}"
    adopted = adopt(run, TFT, job("tune-tft", command))
    assert "tune-tft its epochs are no number in the file; the command" in (
        adopted.section("Assumed")
    )
    assert "trains nothing" not in adopted.report
    assert adopted.child()["tune-tft"]["script"] == [command]


def test_a_job_that_stays_for_its_epochs_is_told_why(run: Callable[..., Result]) -> None:
    adopted = adopt(run, TFT, "tune-kan:\n  script: ./tune --model kan --epochs $N\n")
    assert "tune-kan its epochs are no number in the file, and it has no node selector" in (
        adopted.section("Left out")
    )


def test_a_job_that_stands_twice_is_told(run: Callable[..., Result]) -> None:
    adopted = adopt(run, TFT, job("train-tft", "./train --model tft --epochs 3"))
    assert "train-tft stands twice in one place" in adopted.section("Assumed")
    assert adopted.routing["tasks"]["train"]["epochs"] == 3


def test_long_texts_are_shown_from_where_they_differ() -> None:
    shared = "python train.py --model tft --epochs "
    assert _cut(f"{shared}20 --fast", f"{shared}30") == ("…pochs 20 --fast", "…pochs 30")
    assert _cut("a" * 30, "") == ("a" * 23 + "…", "")
    assert _cut("short", "shorter") == ("short", "shorter")
    assert [len(text) for text in _cut("x" * 90, "y" * 90)] == [24, 24]


def test_tags_that_alone_lead_to_a_pool_stay_with_it(run: Callable[..., Result]) -> None:
    """Said by task there were fewer tables, but a model that moves would take the tags along."""
    head = "\n".join(
        line for line in PRELUDE.splitlines() if "SELECTOR" not in line and "tags" not in line
    )
    big = "  variables: {KUBERNETES_NODE_SELECTOR_POOL: pool=big}\n"
    adopted = adopt(
        run,
        job("train-tft", "./train --model tft --epochs 2", more="  tags: [gpu, a]\n"),
        job("train-vit", "./train --model vit --epochs 2", more="  tags: [gpu, a]\n" + big),
        job("tune-kan", "./tune --model kan --epochs 2", more="  tags: [gpu, b]\n"),
        head=f"{head}\n",
        options=(),
    )
    assert {name: pool.get("tags") for name, pool in adopted.routing["pools"].items()} == {
        "runner-default-a": ["gpu", "a"], "big": ["gpu", "a"], "runner-default-b": ["gpu", "b"],
    }  # fmt: skip
