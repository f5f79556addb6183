"""What a permission lets through is found by trying values."""

from __future__ import annotations

import pytest

from gpu_pipeline.checks.runner.permission_probes import near, spelt_out


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"^pool=(a|b)$", {"pool=a", "pool=b"}),
        (r"\A(?P<x>a(?:b|c)?)\z", {"ab", "ac", "a"}),
        (r"(?i)^a\.b{2}$", {"a.bb"}),
        ("^[xy]{1,}-[^x]$", {"x-5", "y-5", "xx-5"}),
        (r"^(a|b)=(c|d)$", {"a=c", "a=d", "b=c", "b=d"}),
        ("a||b", {"a", "", "b"}),
    ],
)
def test_a_regex_spells_out_its_alternatives(pattern: str, texts: set[str]) -> None:
    assert texts <= set(spelt_out(pattern))


@pytest.mark.parametrize("pattern", ["(", "[a", "a{", "a{x}", "\\", "(" * 5000, "(?"])
def test_a_regex_that_is_not_understood_spells_out_nothing(pattern: str) -> None:
    assert spelt_out(pattern) == []


def test_many_alternatives_take_no_time() -> None:
    assert len(spelt_out("(a|b|c|d|e)" * 30)) <= 2000
    assert len(spelt_out("((a*)*)*" + "x{99999}" * 9)) <= 2000
    assert max(map(len, spelt_out("((((a{64}){64}){64}){64}){64}"))) <= 1000
    assert len(spelt_out("|".join(f"pool={n}" for n in range(900)))) == 900


def test_values_close_to_one_differ_from_it() -> None:
    assert "p=a" not in set(near("p=a"))
    assert {"p=a5", "P=A", "p=5", "p=a\nx"} <= set(near("p=a"))
