"""The HTTP side: sockets, headers, pagination and faults around the routes."""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from . import routes_pipelines, routes_project, routes_schedules  # noqa: F401 they register
from .faults import Faults
from .pages import page
from .routing import ROUTES, RefusalError, Reply, Request, permit
from .world import Token, World

_INSTEAD = {"json": 200, "refuse": 400, "to": 302}  # faults with a text of their own


class GitLabServer:
    """Serves a world on a free port of 127.0.0.1 for as long as it is entered."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.faults = Faults()
        self.requests: list[tuple[str, str]] = []
        self.most_at_once = 0
        self._scheme = "http"
        self._at_once = 0
        self._lock = threading.RLock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The server's address, as for --server."""
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    def use_tls(self, context: ssl.SSLContext) -> None:
        """From now on speak https."""
        self._scheme = "https"
        # Each connection shakes hands in its own thread, at its first read.
        self._http.socket = context.wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )

    def asked(self, method: str, path: str = "") -> list[str]:
        """The paths with query, of all requests with this method that match the regex."""
        return [url for verb, url in self.requests if verb == method and re.search(path, url)]

    def __enter__(self) -> GitLabServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fault(self, method: str, path: str, url: str) -> str | None:
        """Note a request, and what is to happen to it."""
        with self._lock:
            self.requests.append((method, url))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return self.faults.next(method, path, url)

    def done(self) -> None:
        """A request was served."""
        with self._lock:
            self._at_once -= 1

    def answer(self, method: str, path: str, query: str, body: bytes, token: str | None) -> Reply:
        """The reply of the route that the path has; a refusal is a reply as well."""
        with self._lock:
            try:
                return self._answer(method, path, query, body, token)
            except RefusalError as refused:
                return Reply(refused.body, status=refused.status)

    def _answer(self, method: str, path: str, query: str, body: bytes, token: str | None) -> Reply:
        who = self._who(token)
        for route in ROUTES:
            match = route.pattern.fullmatch(path)
            if match is None or route.method != method:
                continue
            permit(route, who)
            parts = {name: urllib.parse.unquote(part) for name, part in match.groupdict().items()}
            asked = urllib.parse.parse_qs(query, keep_blank_values=True)
            request = Request(method, path, parts, asked, _parsed(body), self.world, who)
            return self._paged(route.handler(request), request)
        raise RefusalError(404, {"error": "404 Not Found"})

    def _who(self, token: str | None) -> Token | None:
        if token is None:
            return None
        found = self.world.tokens.get(token)
        if found is None:
            raise RefusalError(401, "401 Unauthorized")
        return found

    def _paged(self, reply: Reply, request: Request) -> Reply:
        if not reply.pages:
            return reply
        items, headers = page(
            reply.body, request.query, self.url + request.path,
            longest_total=self.world.longest_total, totals=reply.totals,
        )  # fmt: skip
        return Reply(items, status=reply.status, headers={**headers, **reply.headers})


def _parsed(body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    try:
        value = json.loads(body)
    except ValueError:
        raise RefusalError(400, {"error": "The provided content is not valid JSON"}) from None
    return value if isinstance(value, dict) else {}


class _Server(ThreadingHTTPServer):
    owner: GitLabServer
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests; anything else is a mistake of ours."""
        import sys

        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def _serve(self, method: str) -> None:
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = owner.fault(method, path, self.path)
        try:
            if kind == "reset":
                self._reset()
            elif kind in ("drip", "flood"):
                self._pour(b" " if kind == "drip" else b" " * 2**20)
            elif kind and kind.partition(":")[0] in _INSTEAD:
                self._instead(*kind.split(":", 1))
            elif kind and kind.partition(":")[0].isdecimal():
                self._refuse(kind)
            else:
                reply = owner.answer(method, path, query, body, self._token())
                self._reply(reply, kind)
        finally:
            owner.done()

    def _token(self) -> str | None:
        bearer = self.headers.get("Authorization", "")
        return (
            self.headers.get("PRIVATE-TOKEN")
            or self.headers.get("JOB-TOKEN")
            or (bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else None)
        )

    def _instead(self, kind: str, text: str) -> None:
        headers = {"Content-Type": "application/json"}
        if kind == "to":
            headers, text = {"Location": text}, ""
        self._send(_INSTEAD[kind], text.encode(), headers)

    def _pour(self, piece: bytes) -> None:
        """A body without an end. A byte now and then keeps every read from timing out."""
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(piece)
                time.sleep(0.02 if len(piece) == 1 else 0)
        except OSError:
            return  # the client has had enough

    def _refuse(self, kind: str) -> None:
        status, _, seconds = kind.partition(":")
        texts = {"429": "Retry later", "503": "Service Unavailable", "502": "Bad Gateway"}
        headers = {"Retry-After": seconds or "0"} if status == "429" else {}
        text = texts.get(status, f"{status} Refused")
        self._send(int(status), text.encode(), {"Content-Type": "text/plain", **headers})

    def _reply(self, reply: Reply, kind: str | None) -> None:
        if isinstance(reply.body, bytes):
            content, content_type = reply.body, "text/plain"
        else:
            content, content_type = json.dumps(reply.body).encode(), "application/json"
        if kind == "lost":
            self._reset()
            return
        if kind == "slow":
            time.sleep(self.server.owner.faults.slow_seconds)
        if kind == "truncate":
            content = content[: len(content) // 2]
        if kind == "html":
            content, content_type = b"<html><body>Please sign in</body></html>", "text/html"
        headers = {"Content-Type": content_type, **reply.headers}
        if kind == "around":
            headers["Link"] = f'<{self.server.owner.url}{self.path}>; rel="next"'
        self._send(reply.status, content, headers, cut=kind == "cut")

    def _send(
        self, status: int, content: bytes, headers: dict[str, str], *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._reset()

    def _reset(self) -> None:
        """Close the connection the hard way: the client sees it reset."""
        self.wfile.flush()
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
