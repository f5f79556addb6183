"""The session below every request: what it repeats, how long it waits, where it never goes."""

from __future__ import annotations

import pytest
import requests

from gpu_pipeline.errors import AnswerLostError, GitLabError
from gpu_pipeline.gitlab.retrying import PatientSession, Time
from tests.gitlab_server import GitLabServer, World


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def session(server: GitLabServer, clock: Clock, *, deadline: float = 60) -> PatientSession:
    return PatientSession(
        server.url, deadline=deadline, clock=Time(now=lambda: clock.now, sleep=clock.sleep)
    )


def ask(patient: PatientSession, server: GitLabServer, world: World, method: str = "GET",
        path: str = "version") -> requests.Response:  # fmt: skip
    with patient:
        return patient.request(
            method, f"{server.url}/api/v4/{path}", headers={"PRIVATE-TOKEN": world.token()},
            json={"ref": "main"} if method == "POST" else None,
        )  # fmt: skip


def test_the_server_says_how_long_to_wait(
    server: GitLabServer, world: World, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.add("GET", "/version", "429:7", "429:30")
    assert ask(session(server, clock), server, world).status_code == 200
    assert clock.pauses == [7, 30]
    assert "waiting 30 s before GET /api/v4/version is asked again" in capsys.readouterr().err


def test_pauses_grow_until_the_deadline(server: GitLabServer, world: World, clock: Clock) -> None:
    server.faults.always("GET", "/version", "503")
    with pytest.raises(GitLabError, match=r"no answer within 60 s \(\d+ tries"):
        ask(session(server, clock), server, world)
    assert clock.now <= 60
    assert clock.pauses[0] < 0.2
    assert max(clock.pauses) <= 15
    assert 8 <= len(clock.pauses) <= 25


@pytest.mark.parametrize("status", ["400", "401", "403", "404", "409", "422"])
def test_a_refusal_is_no_fault(
    status: str, server: GitLabServer, world: World, clock: Clock
) -> None:
    server.faults.add("GET", "/version", status)
    assert ask(session(server, clock), server, world).status_code == int(status)
    assert clock.pauses == []


@pytest.mark.parametrize(
    "kind", ["lost", "cut", "reset", "502", "503", "504", "500", "truncate", "html"]
)
def test_a_create_without_an_answer_is_never_sent_again(
    kind: str, server: GitLabServer, world: World, clock: Clock
) -> None:
    server.faults.add("POST", "/pipeline$", kind)
    with pytest.raises(AnswerLostError):
        ask(session(server, clock), server, world, "POST", "projects/7/pipeline")
    assert len(server.asked("POST")) == 1


def test_a_create_that_was_put_off_is_sent_again(
    server: GitLabServer, world: World, clock: Clock
) -> None:
    server.faults.add("POST", "/pipeline$", "429:3")
    made = ask(session(server, clock), server, world, "POST", "projects/7/pipeline")
    assert made.status_code == 201
    assert clock.pauses == [3]
    assert len(world.pipelines) == 1


def test_lint_creates_nothing_and_is_repeated(
    server: GitLabServer, world: World, clock: Clock
) -> None:
    server.faults.add("POST", "/ci/lint$", "503", "lost")
    done = ask(session(server, clock), server, world, "POST", "projects/7/ci/lint")
    assert done.json() == {"error": "content is missing"}
    assert len(server.asked("POST")) == 3


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/api", "https://elsewhere.example/x?private_token=s", "http://x"]
)
def test_no_other_host_is_asked(url: str, server: GitLabServer, clock: Clock) -> None:
    with session(server, clock) as patient, pytest.raises(GitLabError) as caught:
        patient.request("GET", url)
    assert "private_token" not in str(caught.value)
    assert "external_url" in str(caught.value)
