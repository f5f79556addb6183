"""Models in commands: their spelling, their order, several in one job, and jobs that overlap."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..conftest import Result
from .small import adopt, job


def test_several_models_in_capitals_are_named_by_the_template(run: Callable[..., Result]) -> None:
    adopted = adopt(run, job("train-rl", "./train --models DQN,PPO --epochs 2"))
    assert adopted.routing["families"]["rl"]["models"] == ["dqn", "ppo"]
    assert "job.models | map('upper') | join" in adopted.task()
    assert adopted.child()["train-rl"]["script"] == ["./train --models DQN,PPO --epochs 2"]


def test_families_that_spell_their_models_otherwise_keep_their_spelling(
    run: Callable[..., Result],
) -> None:
    texts = {"train-ts": "./train --models tft,dqn --epochs 2",
             "train-nlp": "./train --models BERT,VIT --epochs 2"}  # fmt: skip
    adopted = adopt(run, *(job(name, text) for name, text in texts.items()))
    assert adopted.code == 0
    assert "spelling" not in adopted.task(), "nothing would use it"
    child = adopted.child()
    for name, text in texts.items():
        assert child[name]["script"] == [text]


def test_a_job_with_another_order_of_models_keeps_it(run: Callable[..., Result]) -> None:
    texts = {
        "train-rl": ["./train --models ppo,dqn --epochs 2", "./report ppo", "./report dqn"],
        "tune-rl": ["./tune --models dqn,ppo --epochs 3", "./report dqn", "./report ppo"],
    }
    adopted = adopt(run, *(job(name, *text) for name, text in texts.items()))
    assert adopted.code == 0
    child = adopted.child()
    for name, text in texts.items():
        assert child[name]["script"] == text


@pytest.mark.parametrize(
    ("command", "models", "template"),
    [
        ("./train --models ppo dqn --epochs 3", ["ppo", "dqn"], '{{ job.models | join(" ") }}'),
        ("./train --models=ppo dqn sac --epochs 3 2>&1", ["ppo", "dqn", "sac"], 'join(" ")'),
        ("./train --models ppo --epochs 3", ["ppo"], "--models {{ model }} "),
        ("./train --model a,b --epochs 3 --cols data,bits", ["a", "b"], "--cols data,bits"),
        ("./train --model 3 --epochs 3", ["3"], "--model {{ model }} --epochs {{ job.epochs }}"),
        ("./train --epochs 3 --model m --seed 3 --fold m-3", ["m"], "--seed 3 "),
    ],
)
def test_a_token_stands_where_the_value_of_its_flag_does(
    command: str, models: list[str], template: str, run: Callable[..., Result]
) -> None:
    adopted = adopt(run, job("train-all", command))
    assert [f["models"] for f in adopted.routing["families"].values()] == [models]
    (path,) = (adopted.templates / "tasks").glob("[a-z]*")
    assert template in path.read_text(encoding="utf-8")
    assert adopted.code == 0
    (name,) = (n for n in adopted.child() if n.startswith("train"))
    assert adopted.child()[name]["script"] == [command]


def test_jobs_that_share_a_model_are_of_one_family(run: Callable[..., Result]) -> None:
    adopted = adopt(
        run,
        job("train-rl", "./train --models ppo,dqn --epochs 2"),
        job("train-some", "./train --models dqn,kan --epochs 2"),
        job("tune-kan", "./tune --model kan --epochs 2"),
    )
    assert {n: f["models"] for n, f in adopted.routing["families"].items()} == {
        "rl": ["ppo", "dqn", "kan"]
    }
    assert adopted.code == 0
    child = adopted.child()
    scripts = [j["script"][0] for j in child.values() if isinstance(j, dict) and "script" in j]
    assert sorted(scripts) == [
        "./train --models dqn,kan --epochs 2",
        "./train --models ppo,dqn --epochs 2",
        "./tune --model kan --epochs 2",
    ]


def test_jobs_that_are_joined_by_a_third_are_of_one_family(run: Callable[..., Result]) -> None:
    adopted = adopt(
        run,
        job("train-a", "./train --models m1,m2 --epochs 2"),
        job("train-b", "./train --models m3,m4 --epochs 2"),
        job("tune-c", "./tune --models m2,m3 --epochs 2"),
    )
    assert list(adopted.routing["families"]) == ["a"]
    assert adopted.code == 0


def test_a_model_that_one_job_spells_in_two_ways_is_one(run: Callable[..., Result]) -> None:
    commands = ["./train --model TFT --epochs 2", "./report --model tft"]
    adopted = adopt(run, job("train-tft", *commands))
    assert adopted.code == 0
    assert adopted.child()["train-tft"]["script"] == commands
