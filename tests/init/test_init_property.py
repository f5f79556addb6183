"""A rendered child is a hand-written file too: adopted, it renders the same jobs again."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from gpu_pipeline import cli
from tests.effort import examples

from ..test_layers_property import FAMILIES, TASKS, routings, toml

PARTS = st.fixed_dictionaries(
    {},
    optional={
        "needs": st.just(["train-validate"]),
        "leave out": st.lists(
            st.sampled_from([model for models in FAMILIES.values() for model in models]),
            max_size=3, unique=True,
        ),
        "queue": st.sampled_from(["gitlab", "kubernetes"]),
        "capture": st.lists(st.sampled_from(["REGISTRY", "NIGHT"]), max_size=2, unique=True),
        "rules": st.just([{"if": '$NIGHT == "1" && $PARENT_PIPELINE_SOURCE == "schedule"'}]),
    },
)  # fmt: skip


@st.composite
def richer(draw: st.DrawFn) -> dict:
    """A routing with needs, left out jobs, a queue and captured variables besides its layers."""
    routing, parts = draw(routings()), draw(PARTS)
    for model in parts.get("leave out", ()):
        own = routing["models"].setdefault(model, {}).setdefault("tasks", {})
        own.setdefault("train-validate", {})["enabled"] = False
    if "needs" in parts and not parts.get("leave out"):
        routing["tasks"]["hyperopt"]["needs"] = parts["needs"]
    for key in ("queue", "capture", "rules"):
        if key in parts:
            routing["pipeline"][key] = parts[key]
    if "rules" in parts:
        routing["pipeline"]["capture"] = ["NIGHT"]
    return routing


def effective(text: str) -> dict[str, dict]:
    """The jobs of a rendered child, read without the code under test."""
    document = yaml.safe_load(text)
    shared = {n: v for n, v in document["variables"].items() if n in ("REGISTRY", "NIGHT")}
    jobs = {}
    for name, job in document.items():
        if "script" not in job or name.startswith("."):
            continue
        base = document[job["extends"]]
        variables = {**shared, **base.get("variables", {}), **job["variables"]}
        merged = {**base, **job, "variables": variables}
        merged["before_script"][0] = merged["before_script"][0].partition(" fingerprint=")[0]
        # GitLab runs the two as one: what jobs of a family do not share may stand in either.
        merged["script"] = merged.pop("before_script") + merged["script"]
        del merged["extends"], variables["ROUTE_EPOCHS"]
        merged["resource_group"] = "resource_group" in merged
        jobs[name] = merged
    return jobs


def used_pools(routing: dict) -> set[str]:
    used = set()
    for family, models in FAMILIES.items():
        for model in models:
            for task in TASKS:
                own = routing["models"].get(model, {})
                places = [
                    own.get("tasks", {}).get(task, {}), own,
                    routing["families"][family]["tasks"].get(task, {}), routing["families"][family],
                ]  # fmt: skip
                if places[0].get("enabled", True):
                    used.add(next(place["pool"] for place in places if "pool" in place))
    return used


# A failure is a whole routing: making it smaller would take minutes.
@settings(
    phases=(Phase.explicit, Phase.generate),
    max_examples=examples(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(routing=richer())
def test_a_rendered_child_comes_back_as_it_was(
    routing: dict, capfd: pytest.CaptureFixture[str]
) -> None:
    used = used_pools(routing)
    routing["pools"] = {name: pool for name, pool in routing["pools"].items() if name in used}
    given_values = ("--var", "NIGHT=1") if "NIGHT" in routing["pipeline"].get("capture", ()) else ()
    source = ("--source", "schedule", "--branch", "main", *given_values)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        code = cli.main([str(each) for each in arguments])
        return (code, *capfd.readouterr())

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, child = folder / "first.toml", folder / "child.yml"
        first.write_text(toml(routing), encoding="utf-8")
        code, _, err = call("--routing", first, "-o", child, "--quiet", *source)
        assume("unknown pool" not in err)  # a job that was left out was the only one there
        assert (code, err) == (0, "")
        code, _, err = call("init", "--from", child, "-o", folder / "new", "--quiet")
        assert (code, err) == (0, "")
        new = folder / "new/routing.toml"
        captured = given_values if "capture" in new.read_text(encoding="utf-8") else ()
        code, out, err = call(
            "--routing", new, "--templates", folder / "new/templates", "-o", "-", "--quiet",
            "--source", "schedule", "--branch", "main", *captured,
        )  # fmt: skip
        assert (code, err) == (0, "")
        before, after = effective(child.read_text(encoding="utf-8")), effective(out)
    assert set(after) == set(before)
    for name, job in before.items():
        for key in {**job, **after[name]}:
            assert after[name].get(key) == job.get(key), (name, key)


FILES = [
    path.read_text(encoding="utf-8").splitlines(keepends=True)
    for path in sorted((Path(__file__).parent / "good").glob("*.yml"))
]
ODD = ["null", "[]", "{}", "1", "true", '""', "[[a]]", "{a: {b: c}}", "!reference [a]", "{{", "é"]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A hand-written file after a few edits: lines dropped, doubled or moved, words replaced."""
    lines = list(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "move", "word", "word", "word"]))
        if kind == "drop":
            lines[at] = "\n"
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        else:
            words = re.findall(r"\s+|[\w.$-]+|.", lines[at])
            other = re.findall(r"[\w.$-]+", draw(st.sampled_from(lines)))
            words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from([*other, *ODD]))
            lines[at] = "".join(words).rstrip("\n") + "\n"
    return "".join(lines).encode()


@settings(
    phases=(Phase.explicit, Phase.generate), max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=mutated())
def test_a_mutated_file_gives_a_routing_or_a_message(
    data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "ci.yml"
        source.write_bytes(data)
        code = cli.main(["init", "--from", str(source), "-o", "-", "--quiet"])
        out, err = capfd.readouterr()
        assert [path.name for path in Path(name).iterdir()] == ["ci.yml"]
    assert code in (0, 1, 2)
    assert bool(out) == (code != 2)
    assert ("ci.yml" in err) == (code == 2)
