"""What GitLab refuses, said with what to do about it (doc/api/rest: status codes)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from gitlab.exceptions import GitlabError, RedirectError

from gpu_pipeline.console import masked
from gpu_pipeline.errors import GitLabError, RefusedError

_LONGEST = 400  # characters of a server's message that are shown


@contextmanager
def explained(what: str = "", *, role: str = "Developer") -> Iterator[None]:
    """Turn a refusal into a RefusedError that says `what` was refused, and why.

    `role` is the one that `what` needs in the project.
    """
    try:
        yield
    except GitlabError as error:
        raise RefusedError(_text(error, what, role), status_of(error)) from None
    except requests.RequestException as error:
        subject = f"{what}: " if what else ""
        raise GitLabError(f"{subject}the request failed ({type(error).__name__})") from None


def status_of(error: GitlabError) -> int | None:
    """The HTTP status of a refusal, if it is one."""
    return error.response_code


def message_of(error: GitlabError) -> str:
    """The server's own words in one line; structures such as {"base": [...]} are flattened."""
    raw: object = error.error_message
    text = masked("; ".join(_flat(raw)))  # before it is cut: half a token is not found again
    if text.lstrip().startswith("<"):
        text = "a page of HTML"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _flat(value: object) -> Iterator[str]:
    if isinstance(value, bytes):
        yield value.decode("utf-8", "replace").strip()
    elif isinstance(value, dict):
        for key, item in value.items():
            texts = list(_flat(item))
            yield from (texts if key == "base" else (f"{key} {text}" for text in texts))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield str(value)


def _text(error: GitlabError, what: str, role: str) -> str:
    subject = f"{what}: " if what else ""
    if isinstance(error, RedirectError):
        return (
            f"{subject}the server redirects what is sent to it; use its https address in --server, "
            "or the project's present path in --project"
        )
    status, message = status_of(error), message_of(error)
    hint = _hint(status, error, role)
    return f"{subject}GitLab answers {message or status}{f'; {hint}' if hint else ''}"


_HINTS = {
    401: "the token is wrong, expired, revoked, or one of another server",
    404: "either it does not exist, or the token may not see it (GitLab says 404 for both); check "
    "--project and the token's role there",
    405: "this server lacks this part of the API, which GitLab has since version 16",
    410: "this server lacks this part of the API, which GitLab has since version 16",
}


def _hint(status: int | None, error: GitlabError, role: str) -> str:
    if status == 403 and b"insufficient_scope" in _body(error):
        return "the token lacks a scope: it needs `api`, or `read_api` for what only reads"
    if status == 403:
        return f"the token's role in the project is too low: this needs {role}"
    return _HINTS.get(status or 0, "")


def _body(error: GitlabError) -> bytes:
    body: object = error.response_body
    return body if isinstance(body, bytes) else str(body or "").encode()
