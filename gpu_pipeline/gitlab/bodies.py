"""Bodies of answers as they arrive: no larger and no slower than an honest server's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import requests
import urllib3

from gpu_pipeline.errors import GitLabError

_PIECE = 2**16  # bytes
_LARGEST = 64 * 2**20  # bytes; a page of a hundred jobs is a few hundred KiB
# A refusal is a sentence. What nests deeper than Python's parser goes is none.
_LARGEST_REFUSAL, _MOST_BRACKETS = 2**20, 200


def pieces(response: requests.Response) -> Iterator[bytes]:
    """The body of a streamed answer as it arrives, so that a caller can look at its clock.

    `Response.iter_content` waits until a piece is full, which a server that sends a byte now and
    then can put off for ever. Raises requests.ConnectionError when the connection breaks.
    """
    try:
        while piece := response.raw.read1(_PIECE, decode_content=True):
            yield piece
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise requests.ConnectionError(type(error).__name__) from None


def complete(response: requests.Response, what: str, is_late: Callable[[], bool]) -> None:
    """Read the whole body of a streamed answer into it.

    Raises GitLabError for one that is too large, requests.ReadTimeout when it `is_late`.
    """
    limit = _LARGEST if response.ok else _LARGEST_REFUSAL
    body = bytearray()
    for piece in pieces(response):
        body += piece
        if len(body) > limit:
            response.close()
            raise GitLabError(
                f"{what}: the answer is larger than {limit >> 20} MiB, as no answer of GitLab's is"
            )
        if is_late():
            response.close()
            raise requests.ReadTimeout
    if not response.ok and body.count(b"[") + body.count(b"{") > _MOST_BRACKETS:
        body.clear()
    response._content, response._content_consumed = bytes(body), True
