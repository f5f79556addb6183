"""`gitlab note`: one note of its name on a merge request, whatever happens."""

from __future__ import annotations

import pytest

from gpu_pipeline.gitlab.note import compose
from tests.gitlab_server import DEVELOPER, GitLabServer, World
from tests.gitlab_server.world import User

from .conftest import GitLab

MARK = "<!-- gpu-pipeline note: gpu-pipeline -->"


@pytest.fixture(autouse=True)
def _merge_request(world: World) -> None:
    world.project.notes[12] = []


def bodies(world: World) -> list[str]:
    return [note["body"] for note in world.project.notes[12]]


def test_it_is_posted_updated_and_left_alone(gitlab: GitLab, world: World) -> None:
    (gitlab.folder / "diff.md").write_text("## Moves\n\nkan → ci-compile\n", encoding="utf-8")
    arguments = ("note", "--merge-request", "12", "--body-file", "diff.md", "--body-file", "-")
    first = gitlab(*arguments, stdin="no findings\n")
    assert first.code == 0, first.err
    assert first.out.endswith(": created\n")
    assert bodies(world) == [f"{MARK}\n\n## Moves\n\nkan → ci-compile\n\nno findings\n"]
    assert gitlab(*arguments, stdin="1 error\n").out.endswith(": updated\n")
    assert gitlab(*arguments, stdin="1 error\n").out.endswith(": unchanged\n")
    assert bodies(world) == [f"{MARK}\n\n## Moves\n\nkan → ci-compile\n\n1 error\n"]


def test_it_is_found_among_many_notes_and_by_its_name(gitlab: GitLab, world: World) -> None:
    from tests.gitlab_server import shapes

    for n in range(230):
        body = MARK if n == 5 else f"note {n} quotes {MARK}"
        world.project.notes[12].append(shapes.note(world, 7, 12, body, world.user))
    assert gitlab("note", "--merge-request", "12", "--body-file", "-", stdin="x").code == 0
    assert bodies(world)[5] == f"{MARK}\n\nx\n"
    assert len(bodies(world)) == 230
    other = gitlab("note", "--merge-request", "12", "--key", "plan", "--body-file", "-", stdin="y")
    assert other.out.endswith(": created\n")


def test_in_a_pipeline_the_merge_request_is_its_own(gitlab: GitLab, world: World) -> None:
    environment = {
        "CI_MERGE_REQUEST_IID": "12",
        "CI_SERVER_URL": gitlab.server.url,
        "CI_PROJECT_ID": "7",
    }
    done = gitlab(
        "note", "--body-file", "-", stdin="x", environment=environment, server="", project=None
    )
    assert done.code == 0, done.err
    assert len(bodies(world)) == 1


def test_faults_in_every_request_write_one_note(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.each_get(2)
    server.faults.lose_posts()
    done = gitlab("note", "--merge-request", "12", "--body-file", "-", stdin="x")
    assert done.code == 0, done.err
    assert len(bodies(world)) == 1


def test_a_note_that_never_arrived_is_not_sent_again(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.add("POST", "/notes$", "reset")
    arguments = ("note", "--merge-request", "12", "--body-file", "-", "--deadline", "2")
    done = gitlab(*arguments, stdin="x")
    assert done.code == 4
    assert "run it again" in done.err
    assert gitlab(*arguments, stdin="x").code == 0
    assert len(bodies(world)) == 1


def test_somebody_elses_note_names_them(gitlab: GitLab, world: World) -> None:
    assert gitlab("note", "--merge-request", "12", "--body-file", "-", stdin="x").code == 0
    token = world.token(access=DEVELOPER, user=User(id=2, username="bob", name="Bob"))
    done = gitlab("note", "--merge-request", "12", "--body-file", "-", stdin="y", token=token)
    assert done.code == 4
    assert "was written by ada" in done.err


def test_a_token_in_the_text_is_not_posted(gitlab: GitLab, world: World) -> None:
    done = gitlab(
        "note", "--merge-request", "12", "--body-file", "-", stdin=f"token {gitlab.token}"
    )
    assert done.code == 0
    assert bodies(world) == [f"{MARK}\n\ntoken [MASKED]\n"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["--merge-request", "12"], "", "--body-file names a Markdown file"),
        (["--merge-request", "12", "--body-file", "absent.md"], "", "cannot be read"),
        (["--merge-request", "12", "--body-file", "-"], " \n", "is empty"),
        (["--merge-request", "0", "--body-file", "-"], "x", "not a whole number above 0"),
        (["--merge-request", "12", "--body-file", "-", "--body-file", "-"], "x", "only once"),
        (["--body-file", "-"], "x", "CI_MERGE_REQUEST_IID"),
        (["--merge-request", "12", "--body-file", "-", "--key", "a b"], "x", "--key"),
    ],
)
def test_wrong_usage_asks_the_server_nothing(
    arguments: list[str], stdin: str, said: str, gitlab: GitLab, server: GitLabServer
) -> None:
    done = gitlab("note", *arguments, stdin=stdin)
    assert done.code == 2
    assert said in done.err
    assert not server.requests


def test_an_unknown_merge_request_is_explained(gitlab: GitLab) -> None:
    done = gitlab("note", "--merge-request", "13", "--body-file", "-", stdin="x")
    assert done.code == 4
    assert "reading the notes of merge request 13" in done.err


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ("/merge\ntext", "\\/merge\ntext"),
        ("```\n/merge\n```\n/close", "```\n/merge\n```\n\\/close"),
        ("~~~ sh\n```\n/merge\n~~~", "~~~ sh\n```\n/merge\n~~~"),
        ("````\n```\n/merge\n````", "````\n```\n/merge\n````"),
        ("a /merge", "a /merge"),
        ("<!-- gpu-pipeline note: plan -->x", "x"),
    ],
)
def test_no_text_is_a_command_or_a_mark(part: str, shown: str) -> None:
    assert compose([part], MARK) == f"{MARK}\n\n{shown}\n"


def test_a_note_is_cut_to_what_gitlab_takes_and_its_code_is_closed() -> None:
    body = compose(["```\n" + "x" * 79 + "\n" * 1 + ("y" * 79 + "\n") * 20_000 + "```"], MARK)
    assert len(body) <= 1_000_000
    assert body.endswith("*The rest is left out: a note holds no more.*\n")
    assert body.count("```") == 2


def test_a_token_in_what_is_posted_is_masked_also_where_the_note_is_cut(
    gitlab: GitLab, world: World
) -> None:
    world.project.notes[12] = []
    longest = 1_000_000
    for start in (longest - 200, longest - 160):
        gitlab("note", "--merge-request", "12", "--body-file", "-", "--key", f"k{start}",
               stdin="x" * start + "\n" + gitlab.token)  # fmt: skip
    assert world.project.notes[12]
    assert not any(gitlab.token[:10] in str(each) for each in world.project.notes[12])
