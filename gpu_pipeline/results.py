"""Where a command's result goes: to stdout, in colours on a terminal, or to the file of `-o`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.colours import painted
from gpu_pipeline.console import printable, show, wants_colour
from gpu_pipeline.files import write_atomically


def output_of(options: argparse.Namespace) -> Path | None:
    """The file that `-o` names; None for stdout."""
    path: Path | None = options.output
    return None if path is None or str(path) == "-" else path


def deliver(text: str, options: argparse.Namespace) -> None:
    """Write the result. Raises OutputError when it cannot be written.

    Only a text has colours, and only where a person reads it.
    """
    path = output_of(options)
    if path is not None:
        write_atomically(path, printable(text).rstrip("\n") + "\n")
        return
    is_text = getattr(options, "format", "") == "text"
    paint = painted if is_text and wants_colour("stdout") else None
    show(text, paint=paint, otherwise="`-o FILE` writes to a file")
