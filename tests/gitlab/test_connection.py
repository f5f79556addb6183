"""Where server, project, token and certificates come from; what a token may do; what may fail."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.gitlab_server import REPORTER, GitLabServer, World

from .conftest import SHIPPED_WITH_PARENT, Done, GitLab

TOPICS = {
    "doctor": (*SHIPPED_WITH_PARENT,),
    "lint": (*SHIPPED_WITH_PARENT,),
    "trigger": (),
    "schedule": (),
    "note": ("--merge-request", "12", "--body-file", "-"),
}


def ask(gitlab: GitLab, topic: str, **more: object) -> Done:
    return gitlab(topic, *TOPICS[topic], stdin="x", **more)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_job_token_gets_its_explanation_before_anything_is_asked(
    topic: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    environment = {"CI_JOB_TOKEN": world.token("job"), "CI_SERVER_URL": server.url}
    done = ask(gitlab, topic, token="", environment=environment)
    assert done.code == 4
    assert "a job token (CI_JOB_TOKEN) cannot" in done.err
    assert "set GITLAB_TOKEN to a project access token" in done.err
    assert not server.requests


def test_a_job_token_is_known_by_its_prefix_too(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    done = gitlab("trigger", token=world.token("job"))
    assert done.code == 4
    assert "a job token (GITLAB_TOKEN) cannot" in done.err
    assert not server.requests


@pytest.mark.parametrize("topic", TOPICS)
def test_a_wrong_token_gets_a_hint(topic: str, gitlab: GitLab) -> None:
    wrong = "glpat-wrong"
    done = ask(gitlab, topic, token=wrong)
    assert done.code == 4
    assert "401 Unauthorized" in done.err
    assert "wrong, expired, revoked, or one of another server" in done.err
    assert wrong not in done.out + done.err


@pytest.mark.parametrize("topic", ["trigger", "schedule", "note", "lint"])
def test_a_scope_that_is_too_small_gets_a_hint(topic: str, gitlab: GitLab, world: World) -> None:
    world.project.notes[12] = []
    done = ask(gitlab, topic, token=world.token(scopes=("read_api",)))
    assert done.code == 4
    assert "the token lacks a scope" in done.err


@pytest.mark.parametrize("topic", ["trigger", "schedule", "lint"])
def test_a_role_that_is_too_low_gets_a_hint(topic: str, gitlab: GitLab, world: World) -> None:
    done = ask(gitlab, topic, token=world.token(access=REPORTER))
    assert done.code == 4
    assert "the token's role in the project is too low" in done.err


@pytest.mark.parametrize("topic", TOPICS)
def test_a_project_that_cannot_be_seen_gets_a_hint(
    topic: str, gitlab: GitLab, world: World
) -> None:
    done = ask(gitlab, topic, token=world.token(access=0))
    assert done.code == 4
    assert "GitLab says 404 for both" in done.err


@pytest.mark.parametrize("topic", TOPICS)
def test_the_help_shows_examples(topic: str, gitlab: GitLab, server: GitLabServer) -> None:
    done = gitlab(topic, "--help")
    assert done.code == 0
    assert f"examples:\n  gitlab {topic}" in done.out
    assert not server.requests


def test_in_ci_server_and_project_are_the_jobs_own(gitlab: GitLab, server: GitLabServer) -> None:
    environment = {"CI_SERVER_URL": server.url, "CI_PROJECT_ID": "7"}
    done = gitlab("trigger", environment=environment, server="", project=None)
    assert done.code == 0, done.err


def test_a_project_can_be_named_by_its_path(gitlab: GitLab, server: GitLabServer) -> None:
    assert gitlab("trigger", project="team/training").code == 0
    assert "/projects/team%2Ftraining/" in server.asked("POST")[0]


def test_the_token_may_stand_in_a_file(gitlab: GitLab, world: World) -> None:
    (gitlab.folder / "my.token").write_text(f"{world.token()}\n", encoding="utf-8")
    done = gitlab("trigger", "--token-file", "my.token", token="")
    assert done.code == 0, done.err
    assert "--token-file my.token" in done.err


def configuration(gitlab: GitLab, token: str, url: str, more: str = "") -> dict[str, str]:
    (gitlab.folder / "gl.cfg.token").write_text(
        f"[global]\ndefault = here\n[here]\nurl = {url}\n{more}\n{token}\n", encoding="utf-8"
    )
    return {"PYTHON_GITLAB_CFG": str(gitlab.folder / "gl.cfg.token")}


@pytest.mark.parametrize("kind", ["private_token", "oauth_token"])
def test_python_gitlabs_own_configuration_is_read(
    kind: str, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    environment = configuration(gitlab, f"{kind} = {world.token()}", server.url)
    done = gitlab("trigger", environment=environment, token="", server="")
    assert done.code == 0, done.err
    assert "[here] of gl.cfg.token" in done.err


def test_a_configurations_token_goes_to_no_other_server(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    environment = configuration(gitlab, f"private_token = {world.token()}", "https://other.example")
    done = gitlab("trigger", environment=environment, token="")
    assert done.code == 2
    assert "no token (" in done.err
    assert "is for https://other.example" in done.err
    assert not server.requests


def test_a_jobs_token_goes_to_no_other_server(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    environment = {"CI_JOB_TOKEN": world.token("job"), "CI_SERVER_URL": "https://other.example"}
    done = gitlab("trigger", environment=environment, token="")
    assert done.code == 2
    assert "no token" in done.err
    assert not server.requests


def test_verification_cannot_be_turned_off(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    more = f"ssl_verify = false\nprivate_token = {world.token()}"
    done = gitlab(
        "trigger", environment=configuration(gitlab, more, server.url), token="", server=""
    )
    assert done.code == 0, done.err
    assert "is not followed; name your CA with --ca-file" in done.err


@pytest.mark.parametrize(
    ("arguments", "environment", "token", "said"),
    [
        ((), {}, "", "no token: set GITLAB_TOKEN"),
        ((), {}, "two words", "GITLAB_TOKEN: holds blanks"),
        ((), {}, "glptt-x", "this is a pipeline trigger token"),
        ((), {}, "gldt-x", "this is a deploy token"),
        (("--token-file", "absent"), {}, "", "--token-file"),
        (("--project", "training"), {}, None, "neither an id nor a path"),
        (("--server", "gitlab.example.com"), {}, None, "--server: not an address"),
        (("--server", "https://me:pw@gitlab.example.com"), {}, None, "holds a user name"),
        (("--server", "ftp://x"), {}, None, "--server: not an address"),
        (("--server", "https://x:port"), {}, None, "--server: not an address"),
        (("--ca-file", "absent.pem"), {}, None, "--ca-file: absent.pem: No such file"),
        ((), {"CI_SERVER_TLS_CA_FILE": "no.pem"}, None, "CI_SERVER_TLS_CA_FILE: no.pem"),
        ((), {"REQUESTS_CA_BUNDLE": "no.pem"}, None, "REQUESTS_CA_BUNDLE: no.pem"),
        ((), {"SSL_CERT_FILE": "no.pem"}, None, "SSL_CERT_FILE: no.pem"),
        ((), {"PYTHON_GITLAB_CFG": "no.cfg"}, "", "no.cfg: Cannot read config"),
    ],
)
def test_wrong_settings_are_named_and_nothing_is_asked(
    arguments: tuple[str, ...], environment: dict[str, str], token: str | None, said: str,
    gitlab: GitLab, server: GitLabServer,
) -> None:  # fmt: skip
    done = gitlab("trigger", *arguments, environment=environment, token=token)
    assert done.code == 2
    assert said in done.err
    assert "me:pw" not in done.err
    assert not server.requests


def test_without_a_project_the_option_is_named(gitlab: GitLab) -> None:
    done = gitlab("trigger", project=None)
    assert done.code == 2
    assert "no project: name it with --project" in done.err


def test_a_file_without_certificates_is_named(gitlab: GitLab) -> None:
    (gitlab.folder / "ca.pem").write_text("none", encoding="utf-8")
    done = gitlab("trigger", "--ca-file", "ca.pem")
    assert done.code == 2
    assert "ca.pem holds no certificates" in done.err


@pytest.mark.parametrize("kind", ["503", "429", "reset", "cut", "502", "504", "500"])
def test_a_read_is_repeated(kind: str, gitlab: GitLab, world: World, server: GitLabServer) -> None:
    server.faults.add("GET", "/projects/7$", kind, kind)
    assert gitlab("trigger").code == 0
    assert len(server.asked("GET", "/projects/7$")) == 3


def test_a_slow_answer_is_asked_for_again(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.slow_seconds = 3
    server.faults.always("GET", "/projects/7$", "slow")
    done = gitlab("trigger", "--deadline", "1")
    assert done.code == 4
    assert "no answer within 1 s" in done.err
    assert "timeout" in done.err


def test_reads_have_a_deadline(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.always("GET", "/projects/7$", "503")
    done = gitlab("trigger", "--deadline", "2")
    assert done.code == 4
    assert "GET /api/v4/projects/7: no answer within 2 s" in done.err
    assert "503 Service Unavailable" in done.err
    assert len(server.asked("GET", "/projects/7$")) > 1


def test_a_wait_longer_than_the_deadline_is_not_begun(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.always("GET", "/projects/7$", "429:3000")
    done = gitlab("trigger")
    assert done.code == 4
    assert "the server asks to wait 3000 s; --deadline gives it longer" in done.err
    assert len(server.requests) == 1


def test_a_sign_in_page_is_told_from_gitlab(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.add("GET", "/projects/7$", "html")
    done = gitlab("trigger")
    assert done.code == 4
    assert "is not JSON" in done.err


def test_nobody_at_the_address_is_told_soon(gitlab: GitLab) -> None:
    done = gitlab("trigger", server="http://127.0.0.1:9")
    assert done.code == 4
    assert "http://127.0.0.1:9 cannot be reached: no connection; check --server" in done.err


class _Elsewhere(BaseHTTPRequestHandler):
    """Answers like GitLab, or sends its visitors to `target`; keeps the headers that it got."""

    target: str | None = None
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        self.send_response(302 if self.target else 200)
        if self.target:
            self.send_header("Location", f"{self.target}{self.path}")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "0" if self.target else "2")
        self.end_headers()
        if not self.target:
            self.wfile.write(b"[]")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[tuple[HTTPServer, type[_Elsewhere]]]:
    """Another host, as far as requests can tell: another port."""
    handler = type("Handler", (_Elsewhere,), {"seen": []})
    with HTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running, handler
        running.shutdown()
        thread.join()


def test_a_redirect_to_another_host_carries_no_token(
    gitlab: GitLab, server: GitLabServer, elsewhere: tuple[HTTPServer, type[_Elsewhere]]
) -> None:
    """The first address redirects to the second, which would have to refuse a stranger."""
    first, handler = elsewhere
    handler.target = server.url.replace("127.0.0.1", "localhost")
    done = gitlab("trigger", server=f"http://127.0.0.1:{first.server_address[1]}")
    assert done.code == 4
    assert any("PRIVATE-TOKEN" in headers for headers in handler.seen)
    assert "401 Unauthorized" in done.err
    assert server.requests


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate with its key, for localhost."""
    path = tmp_path / "ca.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
         tmp_path / "key.pem", "-out", path],
        check=True, capture_output=True,
    )  # fmt: skip
    return path


@pytest.mark.parametrize(
    "how", ["--ca-file", "CI_SERVER_TLS_CA_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", None]
)
def test_a_private_ca_is_trusted_when_it_is_named(
    how: str | None, gitlab: GitLab, server: GitLabServer, certificate: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server.use_tls(context)
    address = server.url.replace("127.0.0.1", "localhost")
    arguments = ("--ca-file", certificate) if how == "--ca-file" else ()
    environment = {how: str(certificate)} if how and not arguments else {}
    done = gitlab("trigger", *arguments, server=address, environment=environment)
    if how:
        assert done.code == 0, done.err
    else:
        assert done.code == 4
        assert "its TLS certificate is not trusted here; name the CA's file" in done.err
