"""Regular expressions as GitLab writes them (`/…/flags`) and runs them (RE2).

GitLab: lib/gitlab/untrusted_regexp.rb and lib/gitlab/untrusted_regexp/ruby_syntax.rb
"""

from __future__ import annotations

import functools
import re
from typing import Protocol

import re2  # type: ignore[import-untyped]

from gpu_pipeline.record import Record

# Ruby's ^ and $ are line anchors: one line of the form /…/ in a longer text is enough.
_SLASHED = re.compile(r"^/(.*)/([ismU]*)$", re.MULTILINE)

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


class InvalidRegexError(ValueError):
    """A text that has not the form `/…/flags`, or that RE2 does not compile."""


class _Searcher(Protocol):
    def search(self, text: bytes, /) -> object: ...


class Regex(Record):
    """A regular expression; two are equal when their sources, flags included, are."""

    source: str

    @classmethod
    def from_slashed(cls, text: str) -> Regex:
        """The regex that `text`, `/…/flags`, stands for. Raises InvalidRegexError."""
        found = _SLASHED.search(text.replace("\\/", "/"))
        if found is None:
            raise InvalidRegexError("not of the form /.../ on one line")
        pattern, flags = found.groups()
        regex = cls(source=f"(?{flags}){pattern}" if flags else pattern)
        _compile(regex.source)
        return regex

    def is_found_in(self, text: str) -> bool:
        """Whether it matches anywhere in `text`; an empty match counts."""
        return _compile(self.source).search(_utf8(text)) is not None


@functools.lru_cache(maxsize=1024)
def _compile(source: str) -> _Searcher:
    try:
        searcher: _Searcher = re2.compile(_utf8(source), _OPTIONS)
    except re2.error as error:
        message = error.args[0]
        raise InvalidRegexError(message.decode(errors="replace")) from None
    return searcher


def _utf8(text: str) -> bytes:
    # A variable from the environment whose bytes are no UTF-8 has lone surrogates in Python.
    return text.encode("utf-8", "surrogatepass")
