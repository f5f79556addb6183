"""Imports that wait until a command needs them, and say how to install what is missing."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from gpu_pipeline.errors import UsageError

_ROOT = Path(__file__).resolve().parent.parent


def load_module(name: str) -> ModuleType:
    """The module of that name. Raises UsageError when a package that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        python = _ROOT / ".venv" / "bin" / "python"
        how = (
            f"run {python} {_ROOT / 'generate_pipeline.py'}, which has it"
            if python.exists()
            else f"`make render` sets up .venv, or pip install -r {_ROOT}/requirements.txt"
        )
        raise UsageError(
            f"the Python package {error.name} is not installed for this Python: {how}"
        ) from None
