"""A night from its preparation to the plan of the next one, on any GitLab server.

The same steps run against the server of the tests and, with `make e2e`, against a real project.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from .conftest import Done, GitLab


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where the night is: `inputs` name routing and templates, `child` the file that is to run.

    `play` are globs of on-demand jobs to start. `measures` is whether jobs end well, so that there
    are durations afterwards.
    """

    gitlab: GitLab
    project: str
    ref: str
    description: str
    run_id: str
    inputs: tuple[object, ...] = ()
    parent: tuple[object, ...] = ()
    child: tuple[object, ...] = ()
    play: tuple[str, ...] = ()
    interval: float = 15.0
    timeout: float = 3600.0
    measures: bool = False

    def ask(self, topic: object, *arguments: object, stdin: str = "") -> Done:
        return self.gitlab(topic, *arguments, project=self.project, stdin=stdin)


def prepare(target: Target) -> None:
    """Look, let GitLab read the files, and make the schedule; once is as good as twice."""
    done = target.ask(
        "doctor", *target.inputs, *target.parent, "--ref", target.ref, "--format", "json"
    )
    assert done.code in (0, 1), done.err
    assert {"token", "project", "branch"} <= {line["subject"] for line in json.loads(done.out)}
    linted = target.ask("lint", *target.inputs, *target.parent)
    assert linted.code == 0, linted.out + linted.err
    schedule = ("schedule", "--description", target.description, "--ref", target.ref,
                "--cron", "30 4 1 1 *", "--inactive")  # fmt: skip
    assert "would be created" in target.ask(*schedule, "--dry-run").out
    assert " created, number " in target.ask(*schedule).out
    again = target.ask(*schedule)
    assert "is as it should be" in again.out, again.out + again.err


def train(target: Target) -> int:
    """Start one pipeline, however often it is asked for, follow and verify it; its id."""
    plays = [part for glob in target.play for part in ("--play", glob)]
    trigger = ("trigger", "--ref", target.ref, "--run-id", target.run_id, "--format", "json",
               "--interval", target.interval, "--timeout", target.timeout)  # fmt: skip
    first = target.ask(*trigger)
    assert first.code == 0, first.err
    started = json.loads(first.out)
    assert started["new"]
    second = target.ask(*trigger, *plays)
    assert second.code == 0, second.err
    assert json.loads(second.out)["id"] == started["id"]
    assert not json.loads(second.out)["new"]
    watched = target.ask(
        "watch", started["id"], *target.inputs, "--interval", target.interval,
        "--timeout", target.timeout,
    )  # fmt: skip
    assert watched.code == 0, watched.out + watched.err
    verified = target.ask(
        "verify", started["id"], *target.inputs, *target.child, "--format", "json",
        "--junit", "verdicts.xml",
    )  # fmt: skip
    assert verified.code == 0, verified.out + verified.err
    assert (target.gitlab.folder / "verdicts.xml").read_text(encoding="utf-8").startswith("<?xml")
    return int(started["id"])


def measure(target: Target) -> str | None:
    """What jobs took, and the plan that comes of it; None where nothing was measured."""
    done = target.ask("history", *target.inputs, "--ref", target.ref)
    if not target.measures and not (target.gitlab.folder / "durations.json").exists():
        return None
    assert done.code == 0, done.err
    return (target.gitlab.folder / "durations.json").read_text(encoding="utf-8")


def annotate(target: Target, merge_request: int) -> None:
    """One note, written once and then kept."""
    note = ("note", "--merge-request", merge_request, "--key", target.run_id, "--body-file", "-")
    assert target.ask(*note, stdin="first\n").out.endswith(": created\n")
    assert target.ask(*note, stdin="second\n").out.endswith(": updated\n")
    assert target.ask(*note, stdin="second\n").out.endswith(": unchanged\n")
