"""Where the token comes from, and what kind of token it is."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping
from pathlib import Path

from gitlab.config import ConfigError, GitlabConfigParser

from gpu_pipeline.console import conceal
from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.record import Record

# doc/security/tokens: token prefixes. These are no tokens for the API as a whole.
_OTHER_PREFIXES = {
    "gldt-": "a deploy token",
    "glptt-": "a pipeline trigger token",
    "glrt-": "a runner's token",
    "glft-": "a feed token",
    "glagent-": "an agent's token",
}
_JOB_PREFIX = "glcbt-"


class TokenKind(enum.StrEnum):
    """How a token is sent, which is also what it may do."""

    ACCESS = "an access token"
    OAUTH = "an OAuth token"
    JOB = "a job token"


class Token(Record):
    """A token; `origin` says where it was found. Its value shows nowhere, not even in a repr."""

    kind: TokenKind
    origin: str
    value: str

    def __repr__(self) -> str:
        return f"Token(kind={self.kind!r}, origin={self.origin!r})"


class Configured(Record):
    """What python-gitlab's configuration file says; `ca_file` if it names one."""

    file: str
    server: str | None
    token: Token | None
    ca_file: str | None
    verify_off: bool


def given_token(token_file: Path | None, environment: Mapping[str, str]) -> Token | None:
    """The token that --token-file or GITLAB_TOKEN gives. Raises UsageError for what is none."""
    if token_file is not None:
        text = read_bytes(token_file, "--token-file").decode("utf-8", "replace").strip()
        return _token(text, f"--token-file {display(token_file)}", environment)
    text = environment.get("GITLAB_TOKEN", "").strip()
    return _token(text, "GITLAB_TOKEN", environment) if text else None


def job_token(environment: Mapping[str, str]) -> Token | None:
    """The token of the CI job that this is."""
    text = environment.get("CI_JOB_TOKEN", "").strip()
    return _token(text, "CI_JOB_TOKEN", environment, kind=TokenKind.JOB) if text else None


def _token(
    text: str, origin: str, environment: Mapping[str, str], *, kind: TokenKind = TokenKind.ACCESS
) -> Token:
    conceal(text)
    if not re.fullmatch(r"[!-~]+", text):
        problem = "is empty" if not text else "holds blanks, line breaks or other odd characters"
        raise UsageError(f"{origin}: {problem}; it must hold the token alone")
    for prefix, name in _OTHER_PREFIXES.items():
        if text.startswith(prefix):
            raise UsageError(
                f"{origin}: this is {name}, which the API does not take; make a project access "
                "token (Settings → Access tokens)"
            )
    if text.startswith(_JOB_PREFIX) or text == environment.get("CI_JOB_TOKEN"):
        kind = TokenKind.JOB
    return Token(kind=kind, origin=origin, value=text)


def configured(environment: Mapping[str, str]) -> Configured | None:
    """The default section of python-gitlab's own configuration file, or None without a file.

    The places are python-gitlab's: PYTHON_GITLAB_CFG, else /etc/python-gitlab.cfg and
    ~/.python-gitlab.cfg. Raises UsageError for a file that it cannot read.
    """
    name = environment.get("PYTHON_GITLAB_CFG", "python-gitlab's configuration")
    try:
        found = GitlabConfigParser()
    except (ConfigError, OSError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    except Exception as error:  # configparser's errors have no common base with the rest
        raise UsageError(f"{name}: cannot be read ({type(error).__name__})") from None
    if found.url is None:
        return None
    file = ", ".join(found._files) if isinstance(found._files, list) else str(found._files)
    kinds = {
        TokenKind.ACCESS: found.private_token,
        TokenKind.OAUTH: found.oauth_token,
        TokenKind.JOB: found.job_token,
    }
    origin = f"[{found.gitlab_id}] of {display(Path(file))}"
    tokens = [
        _token(text.strip(), origin, environment, kind=kind) for kind, text in kinds.items() if text
    ]
    verify = found.ssl_verify
    return Configured(
        file=file,
        server=found.url,
        token=tokens[0] if tokens else None,
        ca_file=os.path.expanduser(verify) if isinstance(verify, str) else None,  # noqa: PTH111
        verify_off=verify is False,
    )
