"""How much is tried where tests invent their input."""

from __future__ import annotations

import os


def examples(number: int) -> int:
    """`number`, or twenty times as many with THOROUGH=1 in the environment."""
    return number * 20 if os.environ.get("THOROUGH") else number
