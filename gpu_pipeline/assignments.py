"""Options of the form `--var NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import VARIABLE_NAME


def assignments(texts: Iterable[str]) -> dict[str, str]:
    """The variables that `--var NAME=VALUE` options set. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not VARIABLE_NAME.fullmatch(name):
            raise UsageError(f'--var {text}: write NAME=VALUE, for example "REGISTRY=local"')
        if name in found:
            raise UsageError(f"--var {name} is given twice")
        found[name] = value
    return found
