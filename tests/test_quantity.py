"""Kubernetes quantities are read exactly."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from gpu_pipeline.quantity import QuantityError, parse_quantity

from .conftest import ROOT

CASES = json.loads((ROOT / "tests/cases/quantities.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case["text"]))
def test_value_is_that_of_kubernetes(case: dict) -> None:
    if "error" in case:
        with pytest.raises(QuantityError):
            parse_quantity(case["text"])
    else:
        assert parse_quantity(case["text"]) == Decimal(case["value"])


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1.2.3Gi", "write for example"),
        ("16GB", 'did you mean "16G", or "16Gi", which is more?'),
        ("16GiB", 'did you mean "16Gi"?'),
        ("100K", 'did you mean "100k" or "100Ki"?'),
        ("512mi", 'did you mean "512Mi"?'),
        ("16 Gi", "without blanks"),
        ("1,5", "without blanks or commas"),
        ("8 cores", "without blanks"),
        ("8cores", '"cores" is not a unit'),
        ("", 'for example "1500m"'),
        ("1e999999999", "beyond any quantity"),
    ],
)
def test_a_mistake_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(QuantityError, match=hint.replace("?", r"\?")):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("one", "other"), [("1500m", "1.5"), ("1024Mi", "1Gi"), ("1e3", "1k"), ("0.1n", "1n")]
)
def test_spellings_of_one_value_are_equal(one: str, other: str) -> None:
    assert parse_quantity(one) == parse_quantity(other)
