"""Creates a pipeline once, also when the answer to the request is lost.

Each pipeline gets a variable with a random value. When it is not known whether a request took
effect, the newest pipelines are searched for that value before anything else is done; a second
request is never sent. Without variables there is only what else is known of the pipeline: its
branch, its source, who started it, and that it was not there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitlab.exceptions import GitlabCreateError, GitlabError
from gitlab.v4.objects import ProjectPipeline

from gpu_pipeline.console import tell
from gpu_pipeline.errors import AnswerLostError, GitLabError
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.gitlab.refusals import message_of, status_of
from gpu_pipeline.gitlab.retrying import Time, looked_for
from gpu_pipeline.names import RUN_ID
from gpu_pipeline.record import Record

_NEWEST = 50  # pipelines that are searched for a run that may have been started before


class Start(Record):
    """What to start: `run_id` is None when no variable may be sent; `patience` is in seconds."""

    ref: str
    variables: Mapping[str, str]
    run_id: str | None
    patience: float


class Started(Record):
    """A pipeline; `is_new` unless an earlier request had started it."""

    pipeline: ProjectPipeline
    is_new: bool


def start_pipeline(connection: Connection, start: Start, *, resume: bool, clock: Time) -> Started:
    """The one pipeline of this start; with `resume` it may be there already.

    Raises GitLabError for a refusal, or when it stays unknown whether there is a pipeline.
    """
    with connection.asking("looking for pipelines", role="Reporter"):
        if resume and (found := _by_run_id(connection, start, after=0)):
            return Started(pipeline=found, is_new=False)
        newest = connection.project.pipelines.list(per_page=1, page=1, get_all=False)
    after = newest[0].id if newest else 0
    variables = dict(start.variables) | ({RUN_ID: start.run_id} if start.run_id else {})
    try:
        return Started(pipeline=_create(connection, start.ref, variables), is_new=True)
    except AnswerLostError as lost:
        tell(f"{lost}; looking whether the pipeline was started")
        with connection.asking("looking for the pipeline", role="Reporter"):
            return Started(pipeline=_recover(connection, start, after, clock), is_new=True)


def _create(connection: Connection, ref: str, variables: Mapping[str, str]) -> ProjectPipeline:
    data = {
        "ref": ref,
        "variables": [{"key": key, "value": value} for key, value in variables.items()],
    }
    with connection.asking("starting a pipeline"):
        try:
            made = connection.project.pipelines.create(data if variables else {"ref": ref})
        except GitlabCreateError as error:
            if status_of(error) in (400, 403) and (hint := _hint(message_of(error), ref)):
                if "set pipeline variables" in message_of(error):
                    hint += _policy(connection)
                raise GitLabError(
                    f"starting a pipeline: GitLab answers {message_of(error)}; {hint}"
                ) from None
            raise
    assert isinstance(made, ProjectPipeline)  # noqa: S101 what its manager's type leaves open
    return made


_PROTECTED = (
    'the branch "{ref}" is protected: the token needs a role that may merge to it (Settings → '
    "Repository → Protected branches)"
)
_NO_JOBS = (
    'no rule of the parent pipeline takes a pipeline of source api on "{ref}"; `preview --why JOB '
    "--source api --branch {ref}` shows why"
)
_HINTS = {
    "set pipeline variables": "the project does not let this role set pipeline variables (Settings "
    "→ CI/CD → Variables → Minimum role to use pipeline variables): use a token of a higher role, "
    "change the setting, or pass --no-variables, which sends none",
    "Reference not found": 'there is no branch or tag "{ref}" on the server; push it, or name '
    "another with --ref",
    "create a new pipeline": _PROTECTED,
    "protected": _PROTECTED,
    "any jobs from being added": _NO_JOBS,
    "No stages / jobs": _NO_JOBS,
    "config": "`gitlab lint` shows what GitLab does not take in the parent pipeline",
}


def _hint(message: str, ref: str) -> str | None:
    """What to do about the first of the known refusals that the message holds."""
    known = (hint for text, hint in _HINTS.items() if text.lower() in message.lower())
    hint = next(known, None)
    return hint and hint.replace("{ref}", ref)


def _policy(connection: Connection) -> str:
    """What the project's setting says, where the token may read it."""
    try:
        project = connection.client.projects.get(connection.project_path)
    except GitlabError:
        return ""
    role = getattr(project, "ci_pipeline_variables_minimum_override_role", None)
    return f". The setting is {role} now" if role else ""


def _recover(connection: Connection, start: Start, after: int, clock: Time) -> ProjectPipeline:
    """The pipeline of a request without an answer. Raises GitLabError when none appears."""

    def look() -> ProjectPipeline | None:
        if start.run_id:
            return _by_run_id(connection, start, after=after)
        return _only_new(connection, start.ref, after)

    found = looked_for(look, patience=start.patience, clock=clock)
    if found is not None:
        return found
    again = (
        f"run it again with `--run-id {start.run_id}`, which takes the pipeline if it has appeared "
        "by then, and else starts one"
        if start.run_id
        else "look at the project's pipelines before you run it again"
    )
    raise GitLabError(
        "the answer to starting a pipeline was lost, and none appeared within "
        f"{start.patience:g} s; {again}"
    )


def _by_run_id(connection: Connection, start: Start, *, after: int) -> ProjectPipeline | None:
    """The newest pipeline with our variable, among those with an id above `after`."""
    for pipeline in _newest(connection, start.ref, after):
        try:
            variables = pipeline.variables.list(iterator=True)
            values = {each.key: each.value for each in variables}
        except GitlabError as error:
            if status_of(error) == 403:  # somebody else's
                continue
            raise
        if values.get(RUN_ID) == start.run_id:
            return pipeline
    return None


def _only_new(connection: Connection, ref: str, after: int) -> ProjectPipeline | None:
    """The pipeline that this token's user started since, if it is a single one."""
    user = connection.client.http_get("/user")
    name = user["username"] if isinstance(user, dict) else ""
    found = list(_newest(connection, ref, after, username=name))
    if len(found) > 1:
        numbers = ", ".join(str(each.id) for each in found)
        raise GitLabError(
            f"the answer to starting a pipeline was lost, and {name} started several since: "
            f"{numbers}; one of them may be ours"
        )
    return found[0] if found else None


def _newest(
    connection: Connection, ref: str, after: int, **filters: str
) -> Iterator[ProjectPipeline]:
    """Pipelines that a request created on `ref`, the newest first."""
    listed = connection.project.pipelines.list(
        iterator=True, ref=ref, source="api", order_by="id", sort="desc", **filters
    )
    for number, pipeline in enumerate(listed):
        if pipeline.id <= after or number >= _NEWEST:
            return
        yield pipeline
