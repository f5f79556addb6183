"""Options and environment in, a connection to one project out. Asks the server nothing yet."""

from __future__ import annotations

import argparse
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import gitlab
from gitlab.v4.objects import Project

from gpu_pipeline.console import say
from gpu_pipeline.errors import GitLabError, UsageError
from gpu_pipeline.files import display
from gpu_pipeline.gitlab.refusals import explained
from gpu_pipeline.gitlab.retrying import PatientSession
from gpu_pipeline.gitlab.tokens import (
    Configured,
    Token,
    TokenKind,
    configured,
    given_token,
    job_token,
)
from gpu_pipeline.record import Record

PAGE_SIZE = 100  # the most that GitLab gives (doc/api/rest: pagination)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Connection(Record):
    """One project on one server; `project` makes no request.

    Lists are complete only with `get_all=True` or `iterator=True`.
    """

    client: gitlab.Gitlab
    server: str
    project_path: str
    token: Token

    @property
    def project(self) -> Project:
        """The project, not asked for yet."""
        return self.project_of(self.project_path)

    def project_of(self, project: int | str) -> Project:
        """Another project on the server, such as a downstream pipeline's; not asked for yet."""
        return self.client.projects.get(project, lazy=True)

    def read_project(self) -> Project:
        """The project as the server describes it. Raises GitLabError."""
        with self.asking("reading the project", role="Reporter"):
            return self.client.projects.get(self.project_path)

    def default_branch(self, project: Project | None = None) -> str:
        """The project's default branch; the project is asked for unless it was read before.

        Raises UsageError for a project without one, which nobody has pushed to.
        """
        branch = (project or self.read_project()).attributes.get("default_branch")
        if not branch:
            raise UsageError(
                "the project has no default branch yet; push one, or name it with --ref"
            )
        return str(branch)

    @contextmanager
    def asking(self, what: str, *, role: str = "Developer") -> Iterator[None]:
        """Say of a refusal within that it was `what`, which needs `role` in the project."""
        with explained(what, role=role):
            yield


def connect(options: argparse.Namespace, environment: Mapping[str, str], *, to: str) -> Connection:
    """The connection that options and environment describe; says on stderr which token it uses.

    `to` says what the command does with it ("start pipelines"). Raises UsageError for what is
    missing or wrong, and GitLabError when there is only a job token, which can do none of it.
    """
    token, server, file = _credentials(options, environment)
    project = _project(options, environment)
    if token.kind is TokenKind.JOB:
        raise GitLabError(
            f"a job token ({token.origin}) cannot {to}: of pipelines it may only list jobs, not "
            "create pipelines, lint, read bridges, logs, schedules or settings, nor write notes; "
            "set GITLAB_TOKEN to a project access token (Settings → Access tokens), in CI as a "
            "masked CI/CD variable"
        )
    ca_file = _ca_file(options, environment, file)
    if not getattr(options, "quiet", False):
        say(f"{server}, project {project}, with {token.kind} ({token.origin})")
    return Connection(
        client=gitlab.Gitlab(
            server,
            **{_PARAMETERS[token.kind]: token.value},  # type: ignore[arg-type]
            ssl_verify=ca_file or True,
            per_page=PAGE_SIZE,
            keep_base_url=True,  # the next page is asked for where the first one was
            session=PatientSession(server, deadline=options.deadline),
        ),
        server=server,
        project_path=project,
        token=token,
    )


_PARAMETERS = {
    TokenKind.ACCESS: "private_token",
    TokenKind.OAUTH: "oauth_token",
}


def _credentials(
    options: argparse.Namespace, environment: Mapping[str, str]
) -> tuple[Token, str, Configured | None]:
    """A token, the server it is for, and the configuration file if it was needed.

    A token goes to no other server than the one it belongs to: that of a configuration file to the
    server named there, that of a CI job to CI_SERVER_URL.
    """
    in_ci = environment.get("CI_SERVER_URL") or None
    wanted = options.server or in_ci
    token = given_token(options.token_file, environment)
    if token and wanted:
        return token, _server(wanted, "--server" if options.server else "CI_SERVER_URL"), None
    file = configured(environment)
    if file and file.server and (wanted is None or _same(wanted, file.server)):
        token = token or file.token
        if token:
            return token, _server(file.server, file.file), file
    own = job_token(environment)
    if token is None and own and in_ci and wanted and _same(wanted, in_ci):
        return own, _server(wanted, "CI_SERVER_URL"), None
    if token is None:
        other = (
            f" ({file.file} is for {_bare(file.server)})" if file and file.server and wanted else ""
        )
        raise UsageError(
            f"no token{other}: set GITLAB_TOKEN, or name a file with --token-file, or write "
            "python-gitlab's configuration file; docs/gitlab.md says which scopes it needs"
        )
    raise UsageError("no server: name it with --server https://gitlab.example.com")


def _same(one: str, other: str) -> bool:
    return _bare(one).lower() == _bare(other).lower()


def _bare(url: str) -> str:
    """A server's address without what is left to say, and without credentials in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{re.sub(r'(/api/v4)?/*$', '', parts.path)}"


def _server(url: str, origin: str) -> str:
    """A server's address as python-gitlab wants it. Raises UsageError for anything else."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise UsageError(f"{origin}: not an address such as https://gitlab.example.com")
    if parts.username is not None:
        raise UsageError(f"{origin}: holds a user name; the token belongs into GITLAB_TOKEN")
    if parts.scheme == "http" and host not in _LOOPBACK:
        say(f"warning: {_bare(url)} is not encrypted: whoever is on the way can read the token")
    return _bare(url)


def _project(options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    """The project's id, or its path with all groups. Raises UsageError."""
    text = str(options.project or environment.get("CI_PROJECT_ID") or "").strip("/")
    if not text:
        raise UsageError("no project: name it with --project, by its id or as group/project")
    if not re.fullmatch(r"\d+|[\w.-]+(/[\w.-]+)+", text):
        raise UsageError(f'--project: "{text}" is neither an id nor a path such as group/project')
    return text


def _ca_file(
    options: argparse.Namespace, environment: Mapping[str, str], file: Configured | None
) -> str | None:
    """The certificates to trust; None for those that come with the HTTP library.

    Raises UsageError for a file that holds none. TLS verification cannot be turned off.
    """
    choices = {
        "--ca-file": str(options.ca_file) if options.ca_file else None,
        **{
            name: environment.get(name)
            for name in ("CI_SERVER_TLS_CA_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
        },
        f"ssl_verify in {file.file if file else ''}": file.ca_file if file else None,
    }
    for origin, path in choices.items():
        if path:
            _check_ca(Path(path), origin)
            return path
    if file and file.verify_off:
        say(
            f"note: {file.file} turns the verification of certificates off, which is not followed; "
            "name your CA with --ca-file"
        )
    return None


def _check_ca(path: Path, origin: str) -> None:
    if path.is_dir():
        return  # a folder of hashed certificates, which requests takes too
    try:
        ssl.create_default_context(cafile=str(path))
    except ssl.SSLError:
        raise UsageError(f"{origin}: {display(path)} holds no certificates (PEM)") from None
    except OSError as error:
        raise UsageError(f"{origin}: {display(path)}: {error.strerror}") from None
