"""Faults on demand: what networks, proxies and busy servers do to requests.

Kinds of fault:
    "500", "502", "503", "504", "401", … the request is refused with this status, without effect
    "429"       refused with `Retry-After: 0`; "429:30" asks for 30 seconds
    "reset"     the connection is reset before it had any effect
    "cut"       the connection is reset in the middle of the answer's body, after it took effect
    "lost"      the request takes effect; the connection is reset before the answer
    "slow"      the answer comes after `Faults.slow_seconds`; the request takes effect
    "truncate"  the answer ends in the middle, and its length says that this is all
    "html"      a proxy's page in place of the answer, with status 200
    "json:TEXT", "refuse:TEXT"  this body in place of the answer, with status 200 or 400
    "to:PLACE"  a redirect there
    "drip"      the body comes a byte at a time, as long as somebody listens
    "flood"     the body does not end
    "around"    the answer's Link header says that its next page is itself
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field

# Every second one asks for no pause, which keeps tests short.
READS = ("429", "503", "429", "cut", "429", "reset", "429", "502", "429", "504")


@dataclass
class _Rule:
    method: str
    path: re.Pattern[str]
    kinds: deque[str]
    forever: bool


@dataclass
class Faults:
    """Which of the coming requests fail, and how."""

    slow_seconds: float = 5.0
    _rules: list[_Rule] = field(default_factory=list)
    _per_get: int = 0
    _get_kinds: tuple[str, ...] = READS
    _losing: bool = False
    _failed: Counter[str] = field(default_factory=Counter)
    _total: int = 0
    _lost: set[str] = field(default_factory=set)

    def add(self, method: str, path: str, *kinds: str) -> None:
        """The next requests with this method whose path matches the regex fail, one kind each."""
        self._rules.append(_Rule(method, re.compile(path), deque(kinds), False))

    def always(self, method: str, path: str, kind: str) -> None:
        """Every request with this method whose path matches the regex fails."""
        self._rules.append(_Rule(method, re.compile(path), deque([kind]), True))

    def each_get(self, times: int, *kinds: str) -> None:
        """Each GET fails `times` times before it is answered, with the kinds in turn."""
        self._per_get, self._get_kinds = times, kinds or READS

    def lose_posts(self) -> None:
        """The answer to the first POST to each path is lost; the POST takes effect."""
        self._losing = True

    def next(self, method: str, path: str, url: str) -> str | None:
        """What is to happen to a request; None when it shall be answered."""
        for rule in self._rules:
            if rule.method == method and rule.path.search(path) and rule.kinds:
                return rule.kinds[0] if rule.forever else rule.kinds.popleft()
        if method == "GET" and self._per_get:
            if self._failed[url] < self._per_get:
                self._failed[url] += 1
                self._total += 1
                return self._get_kinds[self._total % len(self._get_kinds)]
            self._failed[url] = 0
        if method == "POST" and self._losing and path not in self._lost:
            self._lost.add(path)
            return "lost"
        return None
