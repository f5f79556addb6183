"""`gitlab doctor`: each thing that would keep the night from training has its line and its fix."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable

import pytest

from tests.gitlab_server import DEVELOPER, REPORTER, GitLabServer, World
from tests.gitlab_server.world import User

from .conftest import SHIPPED_WITH_PARENT, Done, GitLab
from .worlds import make_ready

OPTIONS = (*SHIPPED_WITH_PARENT, "--format", "json")
BOB = User(id=2, username="bob", name="Bob")
NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture
def ready(world: World) -> World:
    """A project in which the night will work."""
    make_ready(world)
    return world


def lines(done: Done) -> list[dict[str, str]]:
    assert done.code in (0, 1), done.err
    found: list[dict[str, str]] = json.loads(done.out)
    assert done.code == any(line["level"] == "error" for line in found)
    return found


def bad(done: Done) -> list[str]:
    """The lines that are not ok, each with a fix."""
    found = [line for line in lines(done) if line["level"] != "ok"]
    assert all(line["fix"] for line in found)
    return [f"{line['level']} {line['subject']}: {line['message']}" for line in found]


def test_a_project_that_is_ready_is_called_so(gitlab: GitLab, ready: World) -> None:
    assert bad(gitlab("doctor", *OPTIONS)) == []
    text = gitlab("doctor", *SHIPPED_WITH_PARENT)
    assert text.code == 0
    assert text.out.endswith("\n\nready\n")
    for subject in ("token", "server", "project", "branch", "pipeline variables", "routing",
                    "project timeout", "runners with gpu, kapsule", "runners with kapsule",
                    "variable REGISTRY", "schedule", "parent file", "templates"):  # fmt: skip
        assert f"ok       {subject}" in text.out


def owner(world: World, user: User) -> None:
    world.project.schedules[0].owner = user


def age(world: World, hours: float) -> None:
    """Make the schedule's last pipeline this old."""
    started = NOW - datetime.timedelta(hours=hours)
    world.project.schedules[0].pipelines[0].created_at = started


def never_ran(world: World) -> None:
    world.project.schedules[0].pipelines.clear()
    world.project.schedules[0].created_at = NOW - datetime.timedelta(days=3)


def spell(world: World, key: str, value: str) -> None:
    world.project.schedules[0].variables = [
        {"key": key, "value": value, "variable_type": "env_var", "raw": False}
    ]


def unset(world: World) -> None:
    world.project.variables.clear()
    world.project.attributes["container_registry_enabled"] = False


def unprotect(world: World) -> None:
    world.project.branches["main"] = False


CASES: list[tuple[str, Callable[[World], object], str]] = [
    ("archived", lambda w: w.project.attributes.update(archived=True),
     "error project: team/training is archived"),
    ("ci off", lambda w: w.project.attributes.update(builds_access_level="disabled"),
     "error project: CI/CD is off"),
    ("nobody sets variables",
     lambda w: w.project.settings.update(
         ci_pipeline_variables_minimum_override_role="no_one_allowed"),
     "warning pipeline variables: nobody may set them"),
    ("old server", lambda w: setattr(w, "version", "15.11.0"), "warning server: GitLab 15.11.0"),
    ("no runner", lambda w: w.project.runners.pop(0),
     "error runners with gpu, kapsule: there is none"),
    ("offline", lambda w: w.project.runners[0].update(online=False, status="stale"),
     "error runners with gpu, kapsule: none takes jobs: k8s"),
    ("paused", lambda w: w.project.runners[0].update(paused=True),
     "error runners with gpu, kapsule: none takes jobs: k8s"),
    ("short runner", lambda w: w.project.runners[0].update(maximum_timeout=7200),
     "the effective timeout is 2h"),
    ("protected runner",
     lambda w: (unprotect(w), w.project.runners[0].update(access_level="ref_protected")),
     "error runners with gpu, kapsule: take jobs of protected branches only"),
    ("no registry", unset, "error variable REGISTRY: is $CI_REGISTRY_IMAGE in the parent pipeline, "
     "but the project's container registry is off"),
    ("empty registry", lambda w: w.project.variables[0].update(value=""),
     "error variable REGISTRY: is empty"),
    ("protected registry",
     lambda w: (unprotect(w), w.project.variables[0].update(protected=True)),
     "error variable REGISTRY: is protected, and main is not"),
    ("registry of an environment",
     lambda w: w.project.variables[0].update(environment_scope="production"),
     "warning variable REGISTRY: is set for some environments only"),
    ("overriding variable", lambda w: w.set_variable("KUBERNETES_CPU_REQUEST", "1"),
     "error overriding variables: KUBERNETES_CPU_REQUEST"),
    ("overriding TRAIN_VALIDATE", lambda w: w.set_variable("TRAIN_VALIDATE", "true"),
     "error overriding variables: TRAIN_VALIDATE"),
    ("no schedule", lambda w: w.project.schedules.clear(),
     "error schedule: none trains on main"),
    ("inactive", lambda w: setattr(w.project.schedules[0], "active", False), "is not active"),
    ("blocked owner",
     lambda w: owner(w, User(id=1, username="ada", name="Ada", state="blocked")),
     "its owner ada is blocked"),
    ("owner who left", lambda w: owner(w, BOB), "its owner bob is no member"),
    ("owner without the right",
     lambda w: (owner(w, BOB), w.project.members.update({2: REPORTER})),
     "its owner bob may not run pipelines"),
    ("True", lambda w: spell(w, "TRAIN_VALIDATE", "True"), 'TRAIN_VALIDATE is "True"'),
    ("a blank", lambda w: spell(w, "TRAIN_VALIDATE", "true "), 'TRAIN_VALIDATE is "true "'),
    ("lower case", lambda w: spell(w, "train_validate", "true"),
     "TRAIN_VALIDATE is spelt train_validate"),
    ("stuck scheduler",
     lambda w: setattr(
         w.project.schedules[0], "next_run_at", NOW - datetime.timedelta(hours=5)),
     "and did not"),
    ("overdue", lambda w: age(w, 60), "is overdue: it last ran as pipeline"),
    ("never ran", never_ran, "is overdue: it has never run"),
    ("failed", lambda w: setattr(w.project.schedules[0].pipelines[0], "status", "failed"),
     "failed"),
    ("two schedules",
     lambda w: w.add_schedule(description="b", variables={"TRAIN_VALIDATE": "true"}),
     "warning schedule: several train"),
    ("odd cron", lambda w: setattr(w.project.schedules[0], "cron", "whenever"),
     "cannot be read here"),
    ("other parent", lambda w: w.put_file(".gitlab-ci.yml", b"test: {script: [x]}\n"),
     "warning parent file: .gitlab-ci.yml on main differs"),
    ("no parent", lambda w: w.project.files.pop(("main", ".gitlab-ci.yml")),
     "error parent file: .gitlab-ci.yml is not on main"),
    ("other routing", lambda w: w.put_file("routing.toml", b"x"),
     "warning routing: routing.toml on main differs"),
    ("other template", lambda w: w.put_file("templates/tasks/hyperopt.yml.j2", b"x"),
     "warning templates: templates/tasks/hyperopt.yml.j2 on main differs from yours"),
    ("template only there", lambda w: w.put_file("templates/tasks/more.yml.j2", b"x"),
     "warning templates: templates/tasks/more.yml.j2 on main differs"),
    ("template only here",
     lambda w: w.project.files.pop(("main", "templates/bases/train-rl-base.yml.j2")),
     "warning templates: templates/bases/train-rl-base.yml.j2 on main differs"),
    ("no templates", lambda w: [w.project.files.pop(key) for key in [*w.project.files]
                                if key[1].startswith("templates/")],
     "error templates: templates is not on main"),
    ("parent elsewhere",
     lambda w: w.project.attributes.update(ci_config_path="ci.yml@team/shared"),
     "warning parent file: the project takes its pipeline from ci.yml@team/shared"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_wrong_has_one_line_with_its_fix(
    change: Callable[[World], object], said: str, gitlab: GitLab, ready: World
) -> None:
    change(ready)
    found = bad(gitlab("doctor", *OPTIONS))
    assert len(found) == 1, found
    assert said in found[0]


def test_a_group_may_set_the_registry(gitlab: GitLab, ready: World) -> None:
    ready.project.variables.clear()
    ready.set_variable("REGISTRY", "registry.example.com", group=True)
    assert bad(gitlab("doctor", *OPTIONS, token=ready.token(access=50))) == []


def test_without_a_registry_anywhere_the_projects_own_is_used(gitlab: GitLab, ready: World) -> None:
    ready.project.variables.clear()
    found = lines(gitlab("doctor", *OPTIONS))
    (line,) = [each for each in found if each["subject"] == "variable REGISTRY"]
    assert line["message"] == "is $CI_REGISTRY_IMAGE in the parent pipeline"


def test_a_variables_value_is_not_shown(gitlab: GitLab, ready: World) -> None:
    done = gitlab("doctor", *OPTIONS)
    assert "registry.example.com" not in done.out + done.err


def test_what_a_developer_may_not_see_is_a_warning_and_no_error(
    gitlab: GitLab, ready: World
) -> None:
    found = bad(gitlab("doctor", *OPTIONS, token=ready.token(access=DEVELOPER, user=BOB)))
    subjects = {each.partition(":")[0] for each in found}
    assert all(each.startswith("warning ") for each in found)
    assert {"warning pipeline variables", "warning project timeout", "warning CI/CD variables",
            "warning runners with kapsule"} <= subjects  # fmt: skip
    assert any("may not read its variables" in each for each in found)


@pytest.mark.parametrize(
    ("scopes", "days", "said"),
    [
        (("read_api",), 100, "it cannot lint, trigger, write schedules or notes"),
        (("api",), 3, "ends on"),
    ],
)
def test_a_token_that_is_not_enough_is_told(
    scopes: tuple[str, ...], days: int, said: str, gitlab: GitLab, ready: World
) -> None:
    end = (NOW + datetime.timedelta(days=days)).date().isoformat()
    (found,) = bad(gitlab("doctor", *OPTIONS, token=ready.token(scopes=scopes, expires_at=end)))
    assert found.startswith("warning token")
    assert said in found


def test_a_branch_that_is_not_there_is_an_error(gitlab: GitLab, ready: World) -> None:
    found = bad(gitlab("doctor", *OPTIONS, "--ref", "mian"))
    assert 'error branch: there is no branch "mian" on the server' in found


def test_one_schedule_can_be_named(gitlab: GitLab, ready: World) -> None:
    ready.add_schedule(description="Other", variables={"TRAIN_VALIDATE": "no"})
    assert bad(gitlab("doctor", *OPTIONS, "--schedule", "Nightly training")) == []
    (found,) = bad(gitlab("doctor", *OPTIONS, "--schedule", "Other"))
    assert 'TRAIN_VALIDATE is "no"' in found
    (found,) = bad(gitlab("doctor", *OPTIONS, "--schedule", "Absent"))
    assert 'no schedule is called "Absent"' in found


def test_faults_in_every_request_change_nothing(
    gitlab: GitLab, ready: World, server: GitLabServer
) -> None:
    server.faults.each_get(2)
    assert bad(gitlab("doctor", *OPTIONS)) == []


def test_a_project_that_the_token_cannot_see_is_explained(gitlab: GitLab, ready: World) -> None:
    done = gitlab("doctor", *OPTIONS, project="8")
    assert done.code == 4
    assert "404 Project Not Found" in done.err
    assert "GitLab says 404 for both" in done.err


def test_doctor_only_reads(gitlab: GitLab, ready: World, server: GitLabServer) -> None:
    gitlab("doctor", *OPTIONS)
    assert {verb for verb, _ in server.requests} == {"GET"}
