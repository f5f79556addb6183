"""Each topic of `gitlab` ends with each exit code that its help tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline.commands.help import EXIT_CODES
from tests.conftest import REFERENCE
from tests.gitlab_server import World

from .conftest import SHIPPED, SHIPPED_WITH_PARENT, GitLab
from .nights import CHILD, night
from .worlds import OnDemand, make_ready

NEVER = "never.toml"  # a routing whose rules never match
EMPTY = "empty.yml"  # a child without jobs
NOTE = ("--merge-request", "12", "--body-file", "-")
WRONG = "glpat-wrong"
QUICK = ("--interval", "0.01")


def a_night(world: World) -> None:
    night(world)


def a_bad_night(world: World) -> None:
    parent, child = night(world, statuses={"hyperopt-tft": "failed"})
    parent.status = child.status = "failed"


def failing(world: World) -> None:
    world.on_pipeline = lambda pipeline: setattr(pipeline, "status", "failed")


def refusing(world: World) -> None:
    world.lint = lambda _content, _options: {"valid": False, "errors": ["jobs config is empty"]}


def as_it_is(_world: World) -> None:
    pass


# topic, arguments (PARENT is the id of the night's parent), what is prepared, code, what is said
CASES: list[tuple[str, tuple[object, ...], Callable[[World], None], int, str]] = [
    ("doctor", SHIPPED_WITH_PARENT, make_ready, 0, "ready"),
    ("doctor", SHIPPED_WITH_PARENT, as_it_is, 1, "fix: "),
    (
        "doctor",
        (*SHIPPED, "--parent", "absent.yml"),
        make_ready,
        2,
        "name another file with --parent",
    ),
    ("lint", SHIPPED_WITH_PARENT, as_it_is, 0, "GitLab takes both"),
    ("lint", SHIPPED_WITH_PARENT, refusing, 1, "jobs config is empty"),
    ("lint", ("--routing", "absent.toml"), as_it_is, 2, "name another file with --routing"),
    ("lint", ("--routing", NEVER), as_it_is, 3, "`preview --all`"),
    ("trigger", (), as_it_is, 0, "on main: https://"),
    ("trigger", ("--wait", *QUICK), failing, 1, "failed"),
    ("trigger", ("--var", "A-B=c"), as_it_is, 2, "write NAME=VALUE"),
    ("trigger", ("--play", "nothing-*", *QUICK), OnDemand, 3, 'no job matches "nothing-*"'),
    ("watch", ("PARENT", *SHIPPED, *QUICK), a_night, 0, "success"),
    ("watch", ("PARENT", *SHIPPED, *QUICK), a_bad_night, 1, "failed"),
    ("watch", ("latest",), as_it_is, 2, "not a whole number above 0"),
    ("verify", ("PARENT", "--child", CHILD, *SHIPPED), a_night, 0, "19 jobs: 19 PASS"),
    ("verify", ("PARENT", "--child", CHILD, *SHIPPED), a_bad_night, 1, "1 FAIL"),
    ("verify", ("PARENT", "--child", "absent.yml"), a_night, 2, "name another file with --child"),
    ("verify", ("PARENT", "--child", EMPTY), a_night, 3, "plans no job"),
    ("schedule", (), as_it_is, 0, "next runs: "),
    ("schedule", ("--cron", "at night"), as_it_is, 2, "at night"),
    ("history", SHIPPED, a_night, 0, "hyperopt-dqn"),
    ("history", SHIPPED, as_it_is, 3, "none of the 0 child pipelines looked at"),
    ("history", ("--routing", "absent.toml"), a_night, 2, "name another file with --routing"),
    ("note", NOTE, as_it_is, 0, ": created"),
    ("note", NOTE[:2], as_it_is, 2, "--body-file names a Markdown file"),
]


@pytest.fixture(autouse=True)
def _inputs(gitlab: GitLab, world: World) -> None:
    world.project.notes[12] = []
    routing = (REFERENCE / "routing.toml").read_text(encoding="utf-8")
    never = routing.replace("$PARENT_PIPELINE_SOURCE", "$NOBODY")
    (gitlab.folder / NEVER).write_text(never, encoding="utf-8")
    (gitlab.folder / EMPTY).write_text("stages: [train]\n", encoding="utf-8")


def _with_parent(arguments: tuple[object, ...], world: World) -> list[object]:
    parents = [each.id for each in world.pipelines.values() if each.source == "schedule"]
    return [parents[0] if each == "PARENT" and parents else each for each in arguments]


@pytest.mark.parametrize(("topic", "arguments", "prepare", "code", "said"), CASES)
def test_exit_code_and_message(
    topic: str,
    arguments: tuple[object, ...],
    prepare: Callable[[World], None],
    code: int,
    said: str,
    gitlab: GitLab,
    world: World,
) -> None:
    prepare(world)
    done = gitlab(topic, *_with_parent(arguments, world), stdin="x")
    assert done.code == code, done.err
    assert said in done.out + done.err


NEEDED: dict[str, tuple[object, ...]] = {
    "doctor": SHIPPED_WITH_PARENT,
    "lint": SHIPPED_WITH_PARENT,
    "trigger": (),
    "watch": ("1", *SHIPPED),
    "verify": ("1", *SHIPPED),
    "schedule": (),
    "history": SHIPPED,
    "note": NOTE,
}


@pytest.mark.parametrize("topic", NEEDED)
def test_a_refusal_of_the_server_is_exit_code_4_and_says_what_to_do(
    topic: str, gitlab: GitLab
) -> None:
    done = gitlab(topic, *NEEDED[topic], stdin="x", token=WRONG)
    assert (done.code, done.out) == (4, "")
    assert "wrong, expired, revoked, or one of another server" in done.err


def test_every_exit_code_of_a_topic_has_its_case() -> None:
    tested = {(topic, code) for topic, _, _, code, _ in CASES} | {(topic, 4) for topic in NEEDED}
    told = {
        (command.split()[1], code)
        for command, codes in EXIT_CODES.items()
        if command.startswith("gitlab ")
        for code in codes
    }
    assert tested == told


def test_a_report_can_go_to_a_file(gitlab: GitLab, world: World) -> None:
    make_ready(world)
    shown = gitlab("doctor", *SHIPPED_WITH_PARENT)
    written = gitlab("doctor", *SHIPPED_WITH_PARENT, "-o", "doctor.txt")
    assert (written.code, written.out) == (0, "")
    assert Path(gitlab.folder / "doctor.txt").read_text(encoding="utf-8") == shown.out


@pytest.mark.parametrize("topic", NEEDED)
def test_quiet_leaves_errors_only_on_stderr(topic: str, gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    child = ("--child", CHILD) if topic == "verify" else ()
    arguments = [parent.id if each == "1" else each for each in (*NEEDED[topic], *child)]
    done = gitlab(topic, *arguments, "--quiet", stdin="x")
    assert done.code in (0, 1)
    assert done.err == ""
    refused = gitlab(topic, *arguments, "--quiet", stdin="x", token=WRONG)
    assert refused.err.startswith("error: ")


def test_quiet_says_nothing_of_a_pipeline_that_goes_on(gitlab: GitLab, world: World) -> None:
    failing(world)
    loud = gitlab("trigger", "--wait", *QUICK)
    assert "failed" in loud.err
    done = gitlab("trigger", "--wait", *QUICK, "--quiet")
    assert (done.code, done.err) == (1, "")
