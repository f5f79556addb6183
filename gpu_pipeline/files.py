"""Reading and writing files; a write either happens completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu_pipeline.errors import OutputError, UsageError

_LARGEST = 16 * 2**20  # bytes; nothing that we read comes near, but a device has no end


def resolved(path: Path) -> Path:
    """The absolute path with links followed. Raises UsageError for one that leads nowhere."""
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        reason = getattr(error, "strerror", None) or "its links form a loop"
        raise UsageError(f"{path}: {reason}") from None


def read_bytes(path: Path, option: str) -> bytes:
    """The content of an input file. Raises UsageError that names the option to correct."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(
            f"{display(path)}: cannot be read ({error.strerror}); name another file with {option}"
        ) from None
    if len(content) > _LARGEST:
        raise UsageError(
            f"{display(path)}: is larger than {_LARGEST >> 20} MiB; name another file with {option}"
        )
    return content


def read_text(path: Path, option: str) -> str:
    """The text of an input file. Raises UsageError that names the option to correct."""
    try:
        return read_bytes(path, option).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            f"{display(path)}: is not UTF-8; name another file with {option}"
        ) from None


def is_file(path: Path) -> bool:
    """Whether an ordinary file is there. Raises UsageError where nobody may look."""
    try:
        return path.is_file()
    except OSError as error:
        raise UsageError(f"{display(path)}: {error.strerror}") from None


def files_below(folder: Path) -> Iterator[Path]:
    """All ordinary files below a folder, linked folders included, hidden ones left out; sorted.

    Raises UsageError for a folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise UsageError(f"{display(Path(error.filename))}: cannot be read ({error.strerror})")

    seen: set[Path] = set()
    for root, folders, names in os.walk(folder, followlinks=True, onerror=refuse):
        here = resolved(Path(root))
        if here in seen:  # a link back to where we have been
            folders.clear()
            continue
        seen.add(here)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root) / name
            if not name.startswith(".") and path.is_file():
                yield path


def write_atomically(path: Path, text: str, option: str = "-o") -> None:
    """Replace the file at `path` by `text` in UTF-8 in one step, following a symbolic link.

    The text goes to a temporary file in the same folder first, which is then renamed. Raises
    OutputError when that fails, or when `path`, which `option` named, is a folder or a device; the
    old file stays.
    """
    target = resolved(path)
    temporary = None
    try:
        if target.exists() and not target.is_file():
            instead = "`-o -` writes to stdout" if option == "-o" else f"name another with {option}"
            raise OutputError(f"{display(path)}: is not a regular file; {instead}")
        descriptor, temporary = tempfile.mkstemp(prefix=".gpu-pipeline-", dir=target.parent)
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
    except (ValueError, OSError):  # elsewhere, or there is no current folder any more
        return str(path)
