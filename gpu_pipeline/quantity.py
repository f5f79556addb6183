"""Kubernetes resource quantities, exact.

The grammar is that of k8s.io/apimachinery `pkg/api/resource/quantity.go`, less its quirk of reading
a text without any digit as zero.
"""

from __future__ import annotations

import functools
import re
from decimal import Decimal, localcontext

_BINARY = {f"{letter}i": Decimal(2) ** (10 * (i + 1)) for i, letter in enumerate("KMGTPE")}
_DECIMAL = {
    suffix: Decimal(10) ** exponent
    for suffix, exponent in zip(
        ("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), range(-9, 19, 3), strict=True
    )
}
_SUFFIXES = _DECIMAL | _BINARY
_SHAPE = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,9})|(?P<suffix>[A-Za-z]*))"
    r"|(?P<zero>[+-]?\.?[eE][+-]?[0-9]+)"  # an exponent of nothing: Kubernetes reads 0
)
_NANO = Decimal(10) ** -9
_MAX_EXPONENT = 64


class QuantityError(ValueError):
    """The text is not a Kubernetes quantity."""


@functools.lru_cache(maxsize=1024)  # thousands of jobs ask for the same few amounts
def parse_quantity(text: str) -> Decimal:
    """The exact value of a quantity: cores for CPU, bytes for memory.

    Values finer than 1n are rounded away from zero to 1n, as Kubernetes does.
    Raises QuantityError with a hint when the text is not a quantity.
    """
    match = _SHAPE.fullmatch(text)
    if match is None or (match["suffix"] or "") not in _SUFFIXES:
        raise QuantityError(f'"{_shown(text)}" is not a Kubernetes quantity{_hint(text)}')
    if match["zero"]:
        return Decimal(0)
    if match["exponent"] is None:
        scale = _SUFFIXES[match["suffix"]]
    elif abs(int(match["exponent"])) > _MAX_EXPONENT:
        raise QuantityError(f'"{_shown(text)}" is beyond any quantity Kubernetes can hold')
    else:
        scale = Decimal(10) ** int(match["exponent"])
    with localcontext(prec=len(text) + 100) as context:
        value = Decimal(match["number"]) * scale
        context.rounding = "ROUND_UP"
        return value.quantize(_NANO).normalize() if value else Decimal(0)


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"


def _hint(text: str) -> str:
    bare = text.strip()
    if bare != text or " " in bare or "," in bare:
        return '; write it without blanks or commas, for example "1500m" or "16Gi"'
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([A-Za-z]+)", bare)
    if match is None:
        return '; write for example "1500m" for CPU or "16Gi" for memory'
    number, unit = match.groups()
    meant = _MISSPELT.get(unit.lower())
    if unit == "K":
        return f'; did you mean "{number}k" or "{number}Ki"?'
    if unit.upper() in _DECIMAL_BYTES:
        return f'; did you mean "{number}{meant}", or "{number}{meant}i", which is more?'
    return f'; did you mean "{number}{meant}"?' if meant else f'; "{unit}" is not a unit'


_DECIMAL_BYTES = {f"{letter}B" for letter in "MGTPE"}
_MISSPELT = {
    **{f"{letter.lower()}ib": f"{letter}i" for letter in "KMGTPE"},
    **{f"{letter.lower()}i": f"{letter}i" for letter in "KMGTPE"},
    **{f"{letter.lower()}b": letter for letter in "MGTPE"},
    "kb": "k",
    **{letter.lower(): letter for letter in "GTPE"},
}
