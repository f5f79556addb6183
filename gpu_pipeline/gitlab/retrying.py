"""How requests are repeated: reads until a deadline, what creates something never blindly.

Every request of python-gitlab passes through the session here, pages and logs included, so that no
command can forget it. python-gitlab's own repetition stays off: it would repeat a lost POST too.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
import urllib3
from requests.exceptions import ConnectTimeout, SSLError

from gpu_pipeline.console import tell
from gpu_pipeline.errors import AnswerLostError, GitLabError
from gpu_pipeline.gitlab.answers import flaw_in
from gpu_pipeline.gitlab.bodies import complete
from gpu_pipeline.record import Record

T = TypeVar("T")

_BUSY = 429
_PASSING = {500, 502, 503, 504}
# Lint only looks at what it is sent (doc/api/lint), and to PUT the same twice changes nothing more.
_REPEATABLE_METHODS = ("GET", "HEAD", "PUT")
_REPEATABLE_POSTS = ("/ci/lint",)
_ONE_READ = 20.0  # seconds without a byte
_ONE_WRITE = 60.0  # a large pipeline takes GitLab long to create
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 15.0
_WORTH_SAYING = 5.0
_BETWEEN_LOOKS = 2.0
_TRIES_OF_A_STRANGER = 3
_NETWORK = (requests.ConnectionError, requests.Timeout)


class Time(Record):
    """The clock, replaceable: `now` in seconds, `sleep` waits for that many."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def looked_for(look: Callable[[], T | None], *, patience: float, clock: Time) -> T | None:
    """What `look` finds, as soon as it finds something; None after `patience` seconds.

    For what a request without an answer may have made, which need not be there at once.
    """
    end = clock.now() + patience
    while (found := look()) is None:
        if clock.now() + _BETWEEN_LOOKS > end:
            return None
        clock.sleep(_BETWEEN_LOOKS)
    return found


class PatientSession(requests.Session):
    """A session for one server. Requests to any other are refused: they would carry the token.

    `deadline` is how many seconds a request may take with all its repeats. Raises GitLabError when
    they are over, and AnswerLostError when it is not known whether a change took effect.
    """

    def __init__(self, server: str, *, deadline: float, clock: Time | None = None) -> None:
        super().__init__()
        self._server = _origin(server)
        self._deadline = deadline
        self._clock = clock or Time()
        self._reached = False

    def request(  # type: ignore[override]
        self, method: str, url: str, **options: Any
    ) -> requests.Response:
        """Send a request, and again as often as is safe and the deadline allows."""
        method = method.upper()
        if _origin(url) != self._server:
            raise GitLabError(
                f"the server's answer leads to {_shown(url)}, which is not {self._server}; is "
                "--server the address that GitLab calls its own (its external_url)?"
            )
        safe = method in _REPEATABLE_METHODS or url.endswith(_REPEATABLE_POSTS)
        effort = _Effort(f"{method} {urlsplit(url).path}", self._deadline, self._clock)
        streamed = options.pop("stream", False)
        while True:
            limit = _ONE_READ if safe else _ONE_WRITE
            options["timeout"] = max(0.5, min(limit, effort.left()))
            try:
                response = self._sent(method, url, effort, streamed=streamed, **options)
            except _NETWORK as error:
                self._after_failure(error, effort, safe=safe)
                continue
            self._reached = True
            status = f"{response.status_code} {response.reason}".strip()
            if response.status_code == _BUSY:  # refused before it had any effect
                effort.pause(status, _retry_after(response))
            elif response.status_code in _PASSING:
                if not safe:
                    raise effort.lost(status)
                effort.pause(status, _retry_after(response))
            elif streamed or not response.ok:
                return response
            else:
                return _checked(response, method, url, effort, safe=safe)

    def _sent(
        self, method: str, url: str, effort: _Effort, *, streamed: bool, **options: Any
    ) -> requests.Response:
        """The answer to one try, read to its end unless the caller wants it as it arrives."""
        try:
            response = super().request(method, url, stream=True, **options)
            if not (streamed and response.ok):
                complete(response, effort.what, lambda: effort.left() < 0)
        except SSLError as error:
            raise GitLabError(_tls_hint(self._server, error)) from None
        except ValueError:  # of whatever parses the Location of a redirect
            raise GitLabError(
                f"{effort.what}: the server redirects to an address that is none"
            ) from None
        return response

    def _after_failure(self, error: Exception, effort: _Effort, *, safe: bool) -> None:
        """Wait before the next try, or raise what a broken connection means."""
        arrived = not _never_sent(error)
        if arrived and not safe:
            raise effort.lost(_reason(error)) from None
        if not arrived and not self._reached and effort.tries >= _TRIES_OF_A_STRANGER:
            raise GitLabError(
                f"{self._server} cannot be reached: {_reason(error)}; check --server, the "
                "network and the proxy variables"
            ) from None
        effort.pause(_reason(error), None)

    def rebuild_auth(
        self, prepared_request: requests.PreparedRequest, response: requests.Response
    ) -> None:
        """After a redirect to another host, such as an object store, drop GitLab's headers too."""
        super().rebuild_auth(prepared_request, response)
        if self.should_strip_auth(response.request.url or "", prepared_request.url or ""):
            for name in ("Authorization", "PRIVATE-TOKEN", "JOB-TOKEN"):
                prepared_request.headers.pop(name, None)


class _Effort:
    """One request with its repeats."""

    def __init__(self, what: str, deadline: float, clock: Time) -> None:
        self.what = what
        self.tries = 1
        self._deadline = deadline
        self._clock = clock
        self._began = clock.now()
        self._reasons: dict[str, None] = {}  # each once, in the order in which they came

    def left(self) -> float:
        return self._deadline - (self._clock.now() - self._began)

    def lost(self, reason: str) -> AnswerLostError:
        """The error for a change of which nobody knows whether it was made."""
        return AnswerLostError(f"{self.what}: {reason}; it may have taken effect")

    def pause(self, reason: str, asked: float | None) -> None:
        """Wait before the next try. Raises GitLabError when the deadline would pass."""
        self._reasons[reason] = None
        seconds = min(_FIRST_PAUSE * 2 ** (self.tries - 1), _LONGEST_PAUSE)
        seconds = seconds * random.uniform(0.5, 1) if asked is None else asked  # noqa: S311
        if seconds > self.left():
            wish = f"; the server asks to wait {seconds:.0f} s" if asked else ""
            tries = f"{self.tries} tries" if self.tries > 1 else "1 try"
            raise GitLabError(
                f"{self.what}: no answer within {self._deadline:g} s "
                f"({tries}: {', '.join(self._reasons)}){wish}; --deadline gives it longer"
            )
        if seconds >= _WORTH_SAYING:
            tell(f"waiting {seconds:.0f} s before {self.what} is asked again: {reason}")
        self._clock.sleep(seconds)
        self.tries += 1


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _shown(url: str) -> str:
    """A URL without its query, in which secrets may stand."""
    return urlsplit(url)._replace(query="", fragment="").geturl()


def _retry_after(response: requests.Response) -> float | None:
    """Seconds that the server asks for (RFC 9110: a number; dates are not used by GitLab)."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _checked(
    response: requests.Response, method: str, url: str, effort: _Effort, *, safe: bool
) -> requests.Response:
    """An answer that is what it should be: a proxy may cut it short, or put a page in its place."""
    flaw = flaw_in(response, method, url)
    if flaw is None:
        return response
    if not safe:
        raise effort.lost(f"the answer {flaw}")
    raise GitLabError(
        f"{effort.what}: the answer {flaw}; is --server GitLab's own address, and does no proxy or "
        "sign-in page answer in its place?"
    )


def _never_sent(error: Exception) -> bool:
    """Whether there was no connection, so that the server cannot have seen the request."""
    if isinstance(error, ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", None)
    return isinstance(reason, urllib3.exceptions.NewConnectionError)


def _reason(error: Exception) -> str:
    """What happened to the network, in words; the library's own text holds object addresses."""
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused the connection"
    if _never_sent(error):
        cause = getattr(error.args[0] if error.args else None, "reason", None)
        if isinstance(cause, urllib3.exceptions.NameResolutionError):
            return "its name is unknown"
        return "no connection"
    if isinstance(error, requests.Timeout):
        return "timeout"
    return "the connection broke"


def _tls_hint(server: str, error: Exception) -> str:
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text and "ostname mismatch" not in text:
        return (
            f"{server}: its TLS certificate is not trusted here; name the CA's file with --ca-file "
            "or in CI_SERVER_TLS_CA_FILE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
        )
    if "ostname mismatch" in text or "doesn't match" in text:
        return f"{server}: its TLS certificate is for another name; check --server"
    return f"{server}: no TLS connection is possible; does it speak https at this port?"
