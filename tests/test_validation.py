"""Data that does not fit: every fault of it, with its place."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from gpu_pipeline.validation import MISSING, UNKNOWN, bare, converted, faults, kind_below

Count = Annotated[int, Meta(ge=1)]


class Even(int):
    @classmethod
    def read(cls, value: object) -> Even:
        if not isinstance(value, int):
            raise TypeError
        if value % 2:
            raise ValueError(f"{value} is odd")
        return cls(value)


class Inner(msgspec.Struct, forbid_unknown_fields=True, rename={"if_": "if"}):
    count: Count
    if_: str | None = None


class Outer(msgspec.Struct):
    inner: dict[str, Inner] = {}
    several: tuple[Inner, ...] | None = None
    way: Literal["a", "b"] | None = None
    even: Even | None = None
    day: datetime.date | None = None


def found(value: object, **how: tuple[type, ...]) -> list[tuple[tuple[str | int, ...], str]]:
    return [(fault.path, fault.message) for fault in faults(value, Outer, **how)]


def test_what_fits_is_converted() -> None:
    day = datetime.date(2026, 12, 1)
    assert converted({"day": day, "even": 2}, Outer, native=(datetime.date,)) == Outer(
        day=day, even=Even(2)
    )
    assert found({"inner": {"x": {"count": 1, "if": "y"}}, "further": "keys"}) == []


def test_every_fault_has_its_place() -> None:
    value = {
        "inner": {"x": {"count": 0}, "y": {"if": "z", "cuont": 1}, "z": 5},
        "several": [{"count": 1}, {"count": "2"}, {"count": 3, "if": True}],
        "way": "c",
        "even": 3,
    }
    assert found(value) == [
        (("inner", "x", "count"), "Expected `int` >= 1"),
        (("inner", "y", "cuont"), UNKNOWN),
        (("inner", "y", "count"), MISSING),
        (("inner", "z"), "Expected `object`, got `int`"),
        (("several", 1, "count"), "Expected `int`, got `str`"),
        (("several", 2, "if"), "Expected `str | null`, got `bool`"),
        (("way",), "Invalid enum value 'c'"),
        (("even",), "3 is odd"),
    ]


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_what_is_no_table_at_all_is_one_fault(value: object) -> None:
    assert [path for path, _ in found(value)] == [()]


def test_text_is_a_date_only_where_the_format_has_none() -> None:
    assert found({"day": "2026-12-01"}) == []
    assert [path for path, _ in found({"day": "2026-12-01"}, native=(datetime.date,))] == [("day",)]


def test_a_reason_may_be_missing() -> None:
    assert found({"even": "2"}) == [(("even",), "")]


def test_kinds_are_found_by_path() -> None:
    kind: object = Outer
    for part in ("inner", "any name", "count"):
        kind = kind_below(kind, part)
    assert bare(kind) is int
    assert kind_below(Outer, "if") is None
    assert kind_below(tuple[Inner, ...], "if") is None
