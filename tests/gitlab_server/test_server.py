"""The server answers python-gitlab, a client that is not ours, as GitLab does."""

from __future__ import annotations

from collections.abc import Iterator

import gitlab
import pytest
import requests

from . import DEVELOPER, REPORTER, GitLabServer, World, raw_trace


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def server(world: World) -> Iterator[GitLabServer]:
    with GitLabServer(world) as running:
        yield running


def client(server: GitLabServer, token: str, kind: str = "private_token") -> gitlab.Gitlab:
    return gitlab.Gitlab(server.url, **{kind: token}, timeout=5)


def test_all_pages_come_newest_first(server: GitLabServer, world: World) -> None:
    pipeline = world.add_pipeline()
    made = [world.add_job(pipeline, f"job {n}").id for n in range(45)]
    with client(server, world.token()) as gl:
        listed = gl.projects.get(7, lazy=True).pipelines.get(pipeline.id).jobs.list(get_all=True)
    assert [job.id for job in listed] == made[::-1]
    assert len(server.asked("GET", "/jobs")) == 3


def test_long_lists_have_no_totals(server: GitLabServer, world: World) -> None:
    world.longest_total = 30
    pipeline = world.add_pipeline()
    for n in range(31):
        world.add_job(pipeline, f"job {n}")
    url = f"{server.url}/api/v4/projects/7/pipelines/{pipeline.id}/jobs?per_page=100"
    headers = requests.get(url, headers={"PRIVATE-TOKEN": world.token()}, timeout=5).headers
    assert "X-Total" not in headers
    assert 'rel="last"' not in headers["Link"]


def test_a_child_is_found_by_its_bridge_and_not_in_the_list(
    server: GitLabServer, world: World
) -> None:
    parent = world.add_pipeline(source="schedule")
    child = world.add_pipeline(source="parent_pipeline")
    world.add_bridge(parent, "train-scheduled", downstream=child)
    with client(server, world.token()) as gl:
        project = gl.projects.get("team/training", lazy=True)
        assert [each.id for each in project.pipelines.list(get_all=True)] == [parent.id]
        (bridge,) = project.pipelines.get(parent.id, lazy=True).bridges.list(get_all=True)
        assert bridge.downstream_pipeline["id"] == child.id
        assert project.pipelines.get(parent.id).jobs.list(get_all=True) == []


def test_a_retried_job_hides_its_first_attempt(server: GitLabServer, world: World) -> None:
    pipeline = world.add_pipeline()
    first = world.add_job(pipeline, "a", status="failed")
    second = world.retry(first, status="success")
    with client(server, world.token()) as gl:
        jobs = gl.projects.get(7, lazy=True).pipelines.get(pipeline.id, lazy=True).jobs
        assert [each.id for each in jobs.list(get_all=True)] == [second.id]
        both = jobs.list(get_all=True, include_retried=True)
        assert [each.id for each in both] == [second.id, first.id]


def test_a_trace_is_bytes(server: GitLabServer, world: World) -> None:
    log = raw_trace(["section:step", "$ nvidia-smi", b"\xff\xfe"])
    job = world.add_job(world.add_pipeline(), "a", status="running", trace=log)
    with client(server, world.token()) as gl:
        assert gl.projects.get(7, lazy=True).jobs.get(job.id, lazy=True).trace() == log


def test_a_job_token_may_list_jobs_and_little_else(server: GitLabServer, world: World) -> None:
    pipeline = world.add_pipeline()
    job = world.add_job(pipeline, "a")
    with client(server, world.token("job"), "job_token") as gl:
        project = gl.projects.get(7, lazy=True)
        found = project.pipelines.get(pipeline.id, lazy=True)
        assert [each.id for each in found.jobs.list(get_all=True)] == [job.id]
        for call in (
            lambda: found.bridges.list(get_all=True),
            lambda: project.jobs.get(job.id, lazy=True).trace(),
            lambda: project.ci_lint.create({"content": "a: {script: [x]}"}),
            lambda: project.pipelines.create({"ref": "main"}),
            gl.auth,
        ):
            with pytest.raises(gitlab.GitlabError) as caught:
                call()
            assert caught.value.response_code == 401
        with pytest.raises(gitlab.GitlabGetError, match="404 Project Not Found"):
            gl.projects.get(7)


@pytest.mark.parametrize(
    ("access", "scopes", "status", "text"),
    [
        (DEVELOPER, ("read_api",), 403, "insufficient_scope"),
        (REPORTER, ("api",), 403, "403 Forbidden"),
        (0, ("api",), 404, "404 Project Not Found"),
    ],
)
def test_a_token_without_the_right_is_refused(
    access: int, scopes: tuple[str, ...], status: int, text: str,
    server: GitLabServer, world: World,
) -> None:  # fmt: skip
    token = world.token(access=access, scopes=scopes)
    with client(server, token) as gl, pytest.raises(gitlab.GitlabCreateError) as caught:
        gl.projects.get(7, lazy=True).pipelines.create({"ref": "main"})
    assert caught.value.response_code == status
    assert text in str(caught.value)
    assert not world.pipelines


def test_variables_need_the_role_that_the_project_asks_for(
    server: GitLabServer, world: World
) -> None:
    world.project.settings["ci_pipeline_variables_minimum_override_role"] = "no_one_allowed"
    with client(server, world.token()) as gl:
        pipelines = gl.projects.get(7, lazy=True).pipelines
        with pytest.raises(gitlab.GitlabCreateError, match="Insufficient permissions to set"):
            pipelines.create({"ref": "main", "variables": [{"key": "A", "value": "b"}]})
        assert pipelines.create({"ref": "main"}).status == "created"


def test_a_lost_answer_leaves_its_effect(server: GitLabServer, world: World) -> None:
    server.faults.lose_posts()
    with client(server, world.token()) as gl:
        pipelines = gl.projects.get(7, lazy=True).pipelines
        with pytest.raises(requests.ConnectionError):
            pipelines.create({"ref": "main"})
        assert len(world.pipelines) == 1
        assert pipelines.create({"ref": "main"}).id == max(world.pipelines)


@pytest.mark.parametrize("kind", ["cut", "reset", "503", "429:7"])
def test_a_fault_comes_once_and_then_the_answer(
    kind: str, server: GitLabServer, world: World
) -> None:
    server.faults.add("GET", "/version$", kind)
    url = f"{server.url}/api/v4/version"
    headers = {"PRIVATE-TOKEN": world.token()}
    if kind.partition(":")[0].isdecimal():
        reply = requests.get(url, headers=headers, timeout=5)
        assert str(reply.status_code) == kind[:3]
        assert reply.headers.get("Retry-After") == (kind[4:] or None)
    else:
        with pytest.raises((requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
            requests.get(url, headers=headers, timeout=5)
    assert requests.get(url, headers=headers, timeout=5).json()["version"] == "19.4.0"
