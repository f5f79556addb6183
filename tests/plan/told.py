"""What `plan` tells, as JSON, and what its tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..conftest import ROOT, Result

SINGLE = ROOT / "examples" / "single-pool.toml"
Run = Callable[..., Result]
Edit = Callable[..., Path]


def facts(run: Run, *arguments: str | Path, code: int = 0) -> dict:
    result = run("plan", "--format", "json", *arguments)
    assert result.code == code, result.err
    return json.loads(result.out)
