"""Reading and writing files; a write either happens completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gpu_pipeline.errors import OutputError, UsageError


def read_bytes(path: Path, option: str) -> bytes:
    """The content of an input file. Raises UsageError that names the option to correct."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{display(path)}: cannot be read ({error.strerror}); {option} names another file"
        ) from None


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` by `text` in UTF-8 in one step, following a symbolic link.

    The text goes to a temporary file in the same folder first, which is then renamed. Raises
    OutputError when that fails, or when `path` is a folder or a device; the old file stays.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OutputError(f"{display(path)}: is not a regular file; `-o -` writes to stdout")
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise OutputError(f"{display(path)}: cannot be written ({error.strerror})") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The permissions of the file to be replaced, or those that a new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def display(path: Path) -> str:
    """A path as a person would type it: relative when it lies below the current folder."""
    try:
        return str(path.relative_to(Path.cwd())) if path.is_absolute() else str(path)
    except ValueError:
        return str(path)
