"""Values of options that argparse checks: numbers of things, and of seconds."""

from __future__ import annotations

import argparse
import math

_MOST_SECONDS = 1_000_000


def seconds(text: str) -> float:
    """A number of seconds above 0 and below a million. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < _MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f'"{text}" is not a number of seconds above 0 and below {_MOST_SECONDS}, 11 days'
        )
    return value


def a_count(text: str) -> int:
    """A whole number above 0. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text[:20]) < 10**15:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number above 0')
    return int(text)
