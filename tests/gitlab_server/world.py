"""What the server knows: users, tokens, projects, pipelines, jobs. Tests build and change it."""

from __future__ import annotations

import datetime
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

# Access levels (doc/api/members).
GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50
SHA = "5f0c1e2d3b4a59687786950a1b2c3d4e5f607182"


@dataclass
class User:
    """Someone who may own things; `state` is active, blocked or deactivated."""

    id: int
    username: str
    name: str
    state: str = "active"


@dataclass
class Token:
    """Who shows it may do what `access` and `scopes` allow; access 0 is no member."""

    value: str
    kind: str  # personal, project, oauth, job, trigger
    scopes: tuple[str, ...]
    access: int
    user: User
    expires_at: str | None = None


@dataclass
class Pipeline:
    """A pipeline; `variables` are what it was created with."""

    id: int
    iid: int
    project_id: int
    ref: str
    source: str
    status: str
    created_at: datetime.datetime
    sha: str = SHA
    variables: list[dict[str, Any]] = field(default_factory=list)
    user: User | None = None
    name: str | None = None
    tag: bool = False
    updated_at: datetime.datetime | None = None
    started_at: datetime.datetime | None = None
    finished_at: datetime.datetime | None = None
    yaml_errors: str | None = None


@dataclass
class Job:
    """A job, or a bridge (`is_bridge`) with the pipeline it triggered.

    `trace` is None as long as there is no log. `retried` is set once a newer attempt exists.
    """

    id: int
    name: str
    pipeline: Pipeline
    status: str
    created_at: datetime.datetime
    stage: str = "train"
    allow_failure: bool = False
    started_at: datetime.datetime | None = None
    finished_at: datetime.datetime | None = None
    duration: float | None = None
    queued_duration: float | None = None
    failure_reason: str | None = None
    tag_list: list[str] = field(default_factory=lambda: ["kapsule", "gpu"])
    runner: dict[str, Any] | None = None
    trace: bytes | None = None
    retried: bool = False
    is_bridge: bool = False
    downstream: Pipeline | None = None


@dataclass
class Schedule:
    """A pipeline schedule; `pipelines` are those it started, the oldest first."""

    id: int
    description: str
    ref: str
    cron: str
    owner: User
    created_at: datetime.datetime
    cron_timezone: str = "UTC"
    active: bool = True
    next_run_at: datetime.datetime | None = None
    variables: list[dict[str, Any]] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)


@dataclass
class Project:
    """A project. `settings` are attributes that only maintainers see.

    `files` maps (ref, path) to content, `notes` a merge request's iid to its notes,
    `members` a user's id to their access level.
    """

    id: int
    path: str
    default_branch: str | None = "main"
    group: str = "team"
    branches: dict[str, bool] = field(default_factory=lambda: {"main": True})  # name: protected
    tags: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(
        default_factory=lambda: {
            "build_timeout": 86400,
            "ci_pipeline_variables_minimum_override_role": "developer",
            "restrict_user_defined_variables": True,
        }
    )
    attributes: dict[str, Any] = field(default_factory=dict)
    variables: list[dict[str, Any]] = field(default_factory=list)
    group_variables: list[dict[str, Any]] = field(default_factory=list)
    runners: list[dict[str, Any]] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    notes: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    members: dict[int, int] = field(default_factory=lambda: {1: MAINTAINER})  # user id: access


Lint = Callable[[str, dict[str, Any]], dict[str, Any]]


class World:
    """Everything that one server holds."""

    def __init__(self) -> None:
        self._ids = itertools.count(1000)
        self._iids: dict[int, int] = {}
        self.user = User(id=1, username="ada", name="Ada")
        self.tokens: dict[str, Token] = {}
        self.projects = {7: Project(id=7, path="team/training")}
        self.pipelines: dict[int, Pipeline] = {}
        self.jobs: dict[int, Job] = {}
        self.version = "19.4.0"
        # Why GitLab would refuse to create any pipeline: texts of `message.base`.
        self.refusals: list[str] = []
        self.lint: Lint | None = None
        self.later: deque[Callable[[], None]] = deque()
        self.on_pipeline: Callable[[Pipeline], None] = lambda pipeline: None
        self.on_play: Callable[[Job], None] = lambda job: None
        # Lists beyond this length come without totals (doc/api/rest: pagination response headers).
        self.longest_total = 10_000

    @property
    def project(self) -> Project:
        """The first project."""
        return next(iter(self.projects.values()))

    def clock(self) -> datetime.datetime:
        """The server's time."""
        return datetime.datetime.now(datetime.UTC)

    def next_id(self) -> int:
        """A number that nothing else has."""
        return next(self._ids)

    def token(
        self,
        kind: str = "personal",
        *,
        access: int = MAINTAINER,
        scopes: tuple[str, ...] = ("api",),
        user: User | None = None,
        expires_at: str | None = None,
    ) -> str:
        """The value of a new token."""
        prefix = {
            "personal": "glpat-",
            "project": "glpat-",
            "job": "glcbt-64_",
            "trigger": "glptt-",
        }
        value = f"{prefix.get(kind, '')}S3cretS3cretS3cret{self.next_id()}"
        self.tokens[value] = Token(
            value=value, kind=kind, scopes=scopes, access=access, user=user or self.user,
            expires_at=expires_at,
        )  # fmt: skip
        return value

    def add_project(self, path: str) -> Project:
        """A further project, for downstream pipelines elsewhere."""
        project = Project(id=self.next_id(), path=path)
        self.projects[project.id] = project
        return project

    def add_pipeline(
        self,
        *,
        source: str = "api",
        status: str = "created",
        ref: str = "main",
        project: Project | None = None,
        variables: dict[str, str] | None = None,
        **more: Any,
    ) -> Pipeline:
        """A new pipeline; the newest has the highest id."""
        project_id = (project or self.project).id
        self._iids[project_id] = self._iids.get(project_id, 0) + 1
        pipeline = Pipeline(
            id=self.next_id(),
            iid=self._iids[project_id],
            project_id=project_id,
            ref=ref,
            source=source,
            status=status,
            variables=[
                {"key": key, "variable_type": "env_var", "value": value, "raw": False}
                for key, value in (variables or {}).items()
            ],
            **{"created_at": self.clock(), "user": self.user, **more},
        )
        self.pipelines[pipeline.id] = pipeline
        return pipeline

    def add_job(
        self, pipeline: Pipeline, name: str, *, status: str = "created", **more: Any
    ) -> Job:
        """A new job of a pipeline."""
        job = Job(
            id=self.next_id(), name=name, pipeline=pipeline, status=status,
            **{"created_at": self.clock(), **more},
        )  # fmt: skip
        self.jobs[job.id] = job
        return job

    def add_bridge(
        self,
        pipeline: Pipeline,
        name: str,
        *,
        downstream: Pipeline | None = None,
        status: str = "success",
        **more: Any,
    ) -> Job:
        """A trigger job; without `downstream` the pipeline was not created (yet)."""
        return self.add_job(
            pipeline, name, status=status, is_bridge=True, downstream=downstream, **more
        )

    def retry(self, job: Job, *, status: str = "pending", **more: Any) -> Job:
        """A newer attempt of a job; lists hide the old one unless they are asked for it."""
        job.retried = True
        fresh = {
            "started_at": None, "finished_at": None, "duration": None, "queued_duration": None,
            "failure_reason": None, "trace": None, "retried": False, "created_at": self.clock(),
        }  # fmt: skip
        newer = replace(job, **{**fresh, "id": self.next_id(), "status": status, **more})
        self.jobs[newer.id] = newer
        return newer

    def add_schedule(self, *, variables: dict[str, str] | None = None, **more: Any) -> Schedule:
        """A schedule of the first project."""
        values = {
            "description": "Nightly training", "ref": "main", "cron": "0 2 * * *",
            "owner": self.user, "created_at": self.clock(),
            "next_run_at": self.clock() + datetime.timedelta(hours=6),
        }  # fmt: skip
        schedule = Schedule(
            id=self.next_id(),
            variables=[
                {"key": key, "variable_type": "env_var", "value": value, "raw": False}
                for key, value in (variables or {}).items()
            ],
            **{**values, **more},
        )
        self.project.schedules.append(schedule)
        return schedule

    def add_runner(self, *tags: str, **more: Any) -> dict[str, Any]:
        """A runner of the first project; `more` are attributes of `GET /runners/:id`."""
        runner = {
            "id": self.next_id(), "description": "k8s", "active": True, "paused": False,
            "is_shared": False, "runner_type": "project_type", "name": None, "online": True,
            "status": "online", "ip_address": None, "architecture": "amd64", "platform": "linux",
            "contacted_at": "2026-01-01T00:00:00.000Z", "maintenance_note": None, "locked": False,
            "run_untagged": False, "access_level": "not_protected", "maximum_timeout": None,
            "tag_list": list(tags), "version": "19.4.0", "revision": "0a1b2c3d", "projects": [],
            **more,
        }  # fmt: skip
        self.project.runners.append(runner)
        return runner

    def set_variable(self, key: str, value: str, *, group: bool = False, **more: Any) -> None:
        """A CI/CD variable of the project, or of its group."""
        variable = {
            "key": key, "value": value, "variable_type": "env_var", "protected": False,
            "masked": False, "hidden": False, "raw": False, "environment_scope": "*",
            "description": None, **more,
        }  # fmt: skip
        (self.project.group_variables if group else self.project.variables).append(variable)

    def put_folder(self, path: str, folder: Path, ref: str = "main") -> None:
        """Every file below a folder of this machine."""
        for file in folder.rglob("*"):
            if file.is_file():
                self.put_file(
                    f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes(), ref
                )

    def put_file(self, path: str, content: bytes, ref: str = "main") -> None:
        """A file of the first project's repository."""
        self.project.files[ref, path] = content

    def jobs_of(self, pipeline: Pipeline, *, bridges: bool = False) -> list[Job]:
        """Jobs or bridges of a pipeline, the newest first, as GitLab lists them."""
        return sorted(
            (
                job
                for job in self.jobs.values()
                if job.pipeline is pipeline and job.is_bridge == bridges
            ),
            key=lambda job: -job.id,
        )
