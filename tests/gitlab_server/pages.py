"""Pagination with GitLab's headers (doc/api/rest: offset-based pagination)."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any


def page(
    items: Sequence[Any],
    query: Mapping[str, list[str]],
    url: str,
    *,
    longest_total: int,
    totals: bool = True,
) -> tuple[list[Any], dict[str, str]]:
    """The page that was asked for, and the headers that tell of the others.

    Totals are left out for lists that are longer than `longest_total`, or without `totals`.
    """
    number = max(1, _number(query, "page", 1))
    size = min(100, max(1, _number(query, "per_page", 20)))
    pages = max(1, -(-len(items) // size))
    shown = list(items[(number - 1) * size : number * size])
    following = number + 1 if number < pages else None
    previous = number - 1 if number > 1 else None
    counted = totals and len(items) <= longest_total
    links = {"prev": previous, "next": following, "first": 1, "last": pages if counted else None}
    headers = {
        "X-Page": str(number),
        "X-Per-Page": str(size),
        "X-Next-Page": str(following or ""),
        "X-Prev-Page": str(previous or ""),
        "Link": ", ".join(
            f'<{_at(url, query, each, size)}>; rel="{name}"' for name, each in links.items() if each
        ),
    }
    if counted:
        headers |= {"X-Total": str(len(items)), "X-Total-Pages": str(pages)}
    return shown, headers


def _number(query: Mapping[str, list[str]], name: str, default: int) -> int:
    text = query.get(name, [""])[-1]
    return int(text) if text.isdecimal() else default


def _at(url: str, query: Mapping[str, list[str]], number: int, size: int) -> str:
    changed = {**query, "page": [str(number)], "per_page": [str(size)]}
    return f"{url}?{urllib.parse.urlencode(changed, doseq=True)}"
