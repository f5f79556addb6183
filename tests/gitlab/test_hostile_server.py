"""A server that is broken, hostile or no GitLab at all: an exit code of ours, no token shown."""

from __future__ import annotations

import itertools
import re

import pytest

from gpu_pipeline.errors import AnswerLostError, GitLabError
from gpu_pipeline.gitlab.parallel import in_parallel
from gpu_pipeline.gitlab.retrying import PatientSession
from tests.conftest import REFERENCE
from tests.gitlab_server import GitLabServer, World

from .conftest import SHIPPED, SHIPPED_WITH_PARENT, GitLab
from .nights import CHILD, night

NOTE = ("note", "--merge-request", "12", "--body-file", REFERENCE / "routing.toml")
COMMANDS: list[tuple[object, ...]] = [
    ("doctor", *SHIPPED_WITH_PARENT),
    ("trigger",),
    ("schedule",),
    ("history", *SHIPPED),
    ("watch", 5, *SHIPPED),
    ("verify", 5, "--child", CHILD),
    NOTE,
]
WORDS = "id name status ref web_url default_branch path_with_namespace description active".split()
BODIES = {
    "nothing": "null",
    "an object": "{}",
    "a number": "[1]",
    "numbers": '[{"id": 1e999}]',
    "other types": f"[{{{', '.join(f'{chr(34)}{word}{chr(34)}: [{{}}]' for word in WORDS)}}}]",
    "a deep one": "[" * 100_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(
    "path", ["projects/7", "projects/7/pipelines", "projects/7/pipelines/5/jobs",
             "projects/7/pipeline_schedules", "projects/7/repository/tree",
             "projects/7/merge_requests/12/notes"],
)  # fmt: skip
def test_an_answer_of_another_shape_is_told_from_gitlabs(
    path: str, body: str, server: GitLabServer, world: World
) -> None:
    server.faults.add("GET", path, f"json:{body}")
    flaw = r"the answer is not (JSON|what GitLab's API gives)"
    with (
        PatientSession(server.url, deadline=5) as patient,
        pytest.raises(GitLabError, match=flaw),
    ):
        patient.request("GET", f"{server.url}/api/v4/{path}")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command[0]))
def test_no_command_takes_another_servers_answers_for_gitlabs(
    command: tuple[object, ...], gitlab: GitLab, server: GitLabServer
) -> None:
    server.faults.always("GET", "", f"json:{BODIES['other types']}")
    done = gitlab(*command)
    assert done.code == 4
    assert "is --server GitLab's own address" in done.err
    assert done.out == ""


def test_a_create_with_an_odd_answer_is_not_repeated(server: GitLabServer, world: World) -> None:
    server.faults.add("POST", "/pipeline$", 'json:{"id": "12"}')
    with PatientSession(server.url, deadline=5) as patient, pytest.raises(AnswerLostError):
        patient.request("POST", f"{server.url}/api/v4/projects/7/pipeline", json={"ref": "main"})
    assert len(server.asked("POST")) == 1


@pytest.mark.parametrize("kind", ["drip", "flood"])
def test_a_body_without_an_end_is_not_read_for_ever(kind: str, server: GitLabServer) -> None:
    server.faults.always("GET", "/version", kind)
    with PatientSession(server.url, deadline=0.3) as patient, pytest.raises(GitLabError) as caught:
        patient.request("GET", f"{server.url}/api/v4/version")
    assert re.search("no answer within 0.3 s|larger than 64 MiB", str(caught.value))


def test_a_log_without_an_end_is_not_read_for_ever(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    parent, _ = night(world)
    server.faults.always("GET", "/trace$", "drip")
    done = gitlab("verify", parent.id, "--child", CHILD, "--deadline", "1")
    assert done.code == 4
    assert "it hardly moves" in done.err


def test_pages_that_lead_nowhere_are_not_followed(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.always("GET", "/notes$", "around")
    gitlab.world.project.notes[12] = []
    done = gitlab(*NOTE)
    assert done.code == 4
    assert "a list without an end: page 1 leads to page 1" in done.err


@pytest.mark.parametrize(
    "place", ["http://[::1", "file:///etc/passwd", "http://\xff/", "gopher://x", "/api/v4/version"]
)
def test_a_redirect_to_nowhere_is_an_error_of_the_server(
    place: str, gitlab: GitLab, server: GitLabServer
) -> None:
    server.faults.always("GET", "", f"to:{place}")
    done = gitlab("trigger")
    assert done.code == 4
    assert re.search("redirects to an address that is none|the request failed", done.err)


def test_a_token_in_a_refusal_is_masked_also_where_the_text_is_cut(
    gitlab: GitLab, server: GitLabServer
) -> None:
    for shown in (1, 10, len(gitlab.token) - 1):
        text = "x" * (400 - shown) + gitlab.token
        server.faults.add("GET", "/projects/7$", f'refuse:{{"message": "{text}"}}')
        done = gitlab("trigger")
        assert done.code == 4
        assert gitlab.token[:10] not in done.err


def test_a_refusal_nested_too_deeply_is_still_a_refusal(
    gitlab: GitLab, server: GitLabServer
) -> None:
    server.faults.add("GET", "/projects/7$", "refuse:" + '{"message":' * 5_000)
    done = gitlab("trigger")
    assert (done.code, "reading the project: GitLab answers" in done.err) == (4, True)


def test_results_come_in_their_order_and_the_first_error_ends_it() -> None:
    assert list(in_parallel(lambda n: n * n, range(20), at_once=3)) == [n * n for n in range(20)]
    assert list(in_parallel(str, [], at_once=3)) == []
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        return 10 // (3 - number)

    found = in_parallel(work, range(1000), at_once=1)
    assert list(itertools.islice(found, 3)) == [3, 5, 10]
    with pytest.raises(ZeroDivisionError):
        next(found)
