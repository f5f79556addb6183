"""`gitlab schedule`: created once, corrected where it differs, checked before it is sent."""

from __future__ import annotations

import datetime
import zoneinfo

import pytest

from gpu_pipeline.gitlab import cron
from tests.gitlab_server import DEVELOPER, GitLabServer, World
from tests.gitlab_server.world import User

from .conftest import GitLab

BOB = User(id=2, username="bob", name="Bob")


def variables(world: World) -> dict[str, str]:
    (schedule,) = world.project.schedules
    return {each["key"]: each["value"] for each in schedule.variables}


def test_it_is_created_with_its_variables_and_then_stays_as_it_is(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    arguments = ("schedule", "--cron", "30 1 * * *", "--timezone", "Europe/Paris")
    first = gitlab(*arguments, "--var", "TRAIN_JOBS=hyperopt-*")
    assert first.code == 0, first.err
    (schedule,) = world.project.schedules
    assert (schedule.cron, schedule.cron_timezone) == ("30 1 * * *", "Europe/Paris")
    assert (schedule.ref, schedule.active) == ("main", True)
    assert variables(world) == {"TRAIN_VALIDATE": "true", "TRAIN_JOBS": "hyperopt-*"}
    assert "next runs: " in first.out
    before = len(server.asked("POST")) + len(server.asked("PUT"))
    second = gitlab(*arguments, "--var", "TRAIN_JOBS=hyperopt-*")
    assert f'schedule {schedule.id} "Nightly training" is as it should be' in second.out
    assert len(server.asked("POST")) + len(server.asked("PUT")) == before


def test_it_runs_only_once_it_has_its_variables(gitlab: GitLab, server: GitLabServer) -> None:
    assert gitlab("schedule").code == 0
    changes = [(verb, url.rpartition("/")[2]) for verb, url in server.requests if verb != "GET"]
    assert [verb for verb, _ in changes] == ["POST", "POST", "PUT"]
    assert changes[1][1] == "variables"


@pytest.mark.parametrize(
    ("present", "said"),
    [
        ({"cron": "0 4 * * *"}, "cron: 0 4 * * * → 0 2 * * *"),
        ({"cron_timezone": "Asia/Tokyo"}, "cron_timezone: Asia/Tokyo → UTC"),
        ({"active": False}, "active: false → true"),
        ({"ref": "old"}, "ref: refs/heads/old → main"),
        ({"variables": {"TRAIN_VALIDATE": "True"}}, "variable TRAIN_VALIDATE: changed"),
        ({"variables": {}}, "variable TRAIN_VALIDATE: added"),
    ],
)
def test_what_differs_is_changed_and_a_dry_run_only_says_so(
    present: dict[str, object], said: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    world.add_schedule(**{"variables": {"TRAIN_VALIDATE": "true"}, **present})
    dry = gitlab("schedule", "--dry-run")
    assert said in dry.out
    assert "would be changed" in dry.out
    assert not [verb for verb, _ in server.requests if verb != "GET"]
    assert said in gitlab("schedule").out
    assert "is as it should be" in gitlab("schedule").out
    (schedule,) = world.project.schedules
    assert (schedule.cron, schedule.cron_timezone, schedule.active, schedule.ref) == (
        "0 2 * * *", "UTC", True, "main",
    )  # fmt: skip
    assert variables(world) == {"TRAIN_VALIDATE": "true"}


def test_a_dry_run_creates_nothing(gitlab: GitLab, world: World) -> None:
    done = gitlab("schedule", "--dry-run")
    assert done.code == 0
    assert "would be created" in done.out
    assert not world.project.schedules


def test_faults_in_every_request_make_one_schedule(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.each_get(2)
    server.faults.lose_posts()
    done = gitlab("schedule", "--var", "TRAIN_JOBS=*-tft")
    assert done.code == 0, done.err
    assert len(world.project.schedules) == 1
    assert world.project.schedules[0].active
    assert variables(world) == {"TRAIN_VALIDATE": "true", "TRAIN_JOBS": "*-tft"}


def test_a_schedule_that_never_arrived_is_not_sent_again_but_may_be(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.add("POST", "/pipeline_schedules$", "reset")
    done = gitlab("schedule", "--deadline", "2")
    assert done.code == 4
    assert "run it again" in done.err
    assert len(server.asked("POST")) == 1
    assert gitlab("schedule").code == 0
    assert len(world.project.schedules) == 1


def test_two_of_the_same_name_are_not_guessed_between(gitlab: GitLab, world: World) -> None:
    first, second = world.add_schedule(), world.add_schedule()
    done = gitlab("schedule")
    assert done.code == 2
    assert f"({first.id}, {second.id})" in done.err


def test_further_variables_stay_and_their_values_are_not_shown(
    gitlab: GitLab, world: World
) -> None:
    world.add_schedule(variables={"TRAIN_VALIDATE": "true", "EXTRA": "s3cret"})
    done = gitlab("schedule")
    assert "left as they are: EXTRA" in done.out
    assert "s3cret" not in done.out + done.err
    assert variables(world)["EXTRA"] == "s3cret"


def test_a_second_schedule_that_trains_is_told(gitlab: GitLab, world: World) -> None:
    other = world.add_schedule(description="Old", variables={"TRAIN_VALIDATE": "true"})
    world.add_schedule(description="Docs", variables={})
    done = gitlab("schedule")
    assert f'schedule {other.id} "Old" trains as well' in done.err
    assert "Docs" not in done.err


def test_somebody_elses_schedule_names_its_owner(gitlab: GitLab, world: World) -> None:
    world.add_schedule(owner=BOB)
    done = gitlab("schedule", token=world.token(access=DEVELOPER))
    assert done.code == 4
    assert "belongs to bob" in done.err
    assert gitlab("schedule").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cron", "0 2 * *"], "is not five fields"),
        (["--cron", "@daily"], "is not five fields"),
        (["--cron", "H 2 * * *"], "is not five fields"),
        (["--cron", "61 2 * * *"], "no time that ever comes"),
        (["--cron", "0 2 31 2 *"], "no time that ever comes"),
        (["--timezone", "Europe/Pariss"], 'did you mean "Europe/Paris"?'),
        (["--var", "TRAIN_VALIDATE=True"], "must be exactly true"),
        (["--description", " "], "is empty"),
    ],
)
def test_wrong_usage_asks_the_server_nothing(
    arguments: list[str], said: str, gitlab: GitLab, server: GitLabServer
) -> None:
    done = gitlab("schedule", *arguments)
    assert done.code == 2
    assert said in done.err
    assert not server.requests


def test_a_branch_that_is_not_there_is_refused(gitlab: GitLab, world: World) -> None:
    done = gitlab("schedule", "--ref", "mian")
    assert done.code == 4
    assert "ref is ambiguous" in done.err
    assert not world.project.schedules


@pytest.mark.parametrize(
    ("line", "zone", "missing"),
    [
        ("30 2 * * *", "Europe/Paris", "2026-03-29 02:30"),
        ("30 1 * * *", "Europe/Paris", None),
        ("30 2 * * *", "UTC", None),
        ("30 2 * * 1", "Europe/Paris", None),
        ("*/10 * * * *", "Europe/Paris", "2026-03-29 02:00"),
        ("0 0 * * *", "Africa/Cairo", "2026-04-24 00:00"),
    ],
)
def test_a_night_without_the_hour_is_seen(line: str, zone: str, missing: str | None) -> None:
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    found = cron.left_out(line, zoneinfo.ZoneInfo(zone), now)
    assert (found and f"{found:%Y-%m-%d %H:%M}") == missing


@pytest.mark.parametrize(
    ("line", "hours"), [("0 2 * * *", 24), ("0 2 * * 1-5", 72), ("0 */6 * * *", 6), ("no", None)]
)
def test_the_period_is_the_longest_pause(line: str, hours: int | None) -> None:
    found = cron.period(line, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    assert (found and found.total_seconds() / 3600) == hours


def test_a_schedule_on_a_tag_stays_as_it_is(gitlab: GitLab, world: World) -> None:
    world.project.tags.append("v1")
    assert gitlab("schedule", "--ref", "v1").code == 0
    world.project.schedules[0].ref = "refs/tags/v1"  # as newer servers have it
    assert "is as it should be" in gitlab("schedule", "--ref", "v1").out
