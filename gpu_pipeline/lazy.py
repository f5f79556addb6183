"""Imports that wait until a command needs them, and say how to install what is missing."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from gpu_pipeline.errors import UsageError

_REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"


def load_module(name: str) -> ModuleType:
    """The module of that name. Raises UsageError when a package that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the Python package {error.name} is not installed here: `pip install -r "
            f"{_REQUIREMENTS}`, or `make render`, which sets up .venv"
        ) from None
