"""The routing and the templates of another revision, read with git; nothing is checked out."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import display, resolved
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.record import Record

_SECONDS = 60  # of patience with git, which reads from the disk
_HASH = re.compile(r"[0-9a-f]{40,64}")
_SHORT = 12


class Snapshot(Record):
    """What a revision holds: `data` of the routing, None if it has no such file.

    `name` is what messages call it: "routing.toml@main". `templates` is a folder that exists as
    long as the snapshot is open, or the one at hand if that lies outside the repository.
    """

    name: str
    data: bytes | None
    templates: Path


@contextmanager
def snapshot(revision: str, routing: Path, templates: Path) -> Iterator[Snapshot]:
    """The files of the repository that holds `routing`, as they were at `revision`.

    Raises UsageError for what is no revision, and where there is no repository or no git.
    """
    here, folder = resolved(routing), resolved(templates)
    top = _top(here.parent, revision)
    commit = _commit(top, revision, routing)
    at = f"@{revision[:_SHORT] if _HASH.fullmatch(revision) else revision}"
    found = _files(top, commit, here.relative_to(top))
    with tempfile.TemporaryDirectory(prefix="routing-") as temporary:
        if folder.is_relative_to(top):
            below = folder.relative_to(top)
            folder = Path(temporary) / "templates"
            _write(_files(top, commit, below), below, folder)
        yield Snapshot(
            name=display(routing) + at,
            data=found.get(PurePosixPath(here.relative_to(top).as_posix())),
            templates=folder,
        )


def _top(folder: Path, revision: str) -> Path:
    """The working tree that a folder belongs to."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode or not done.stdout.strip():
        raise UsageError(
            f'"{revision}" is no file, and the routing\'s folder is in no git repository where it '
            f"could be a revision{_reason(done)}"
        )
    return resolved(Path(done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")))


def _commit(top: Path, revision: str, routing: Path) -> str:
    """The hash of the commit that a revision names, which can be no option of git."""
    wanted = f"{revision}^{{commit}}" if revision else ""
    done = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
    commit = done.stdout.decode("ascii", "replace").strip()
    if done.returncode == 0 and _HASH.fullmatch(commit):
        return commit
    raise UsageError(
        f'"{revision}" is no file, and no branch, tag or commit of the repository that holds '
        f"{display(routing)}{did_you_mean(revision, _names(top, revision))}{_shallow(top)}"
    )


def _names(top: Path, word: str) -> set[str]:
    """What a mistyped name could have meant: branches, tags, and routings beside it."""
    done = _git(top, "for-each-ref", "--format=%(refname:short)")
    names = set(done.stdout.decode("utf-8", "replace").split())
    try:
        folder = Path(word).parent
        return names | {
            str(path) for path in folder.glob("*.toml") if path.name != "pyproject.toml"
        }
    except (OSError, ValueError):  # no path at all
        return names


def _shallow(top: Path) -> str:
    done = _git(top, "rev-parse", "--is-shallow-repository")
    if done.stdout.strip() != b"true":
        return ""
    return "; this clone is shallow: `git fetch --depth 1 origin REVISION` brings a further commit"


def _files(top: Path, commit: str, path: Path) -> dict[PurePosixPath, bytes]:
    """The content of a file, or of all files of a folder, by path; links are followed within.

    `git archive` gives files as a checkout would write them, line ends included. No file: nothing.
    """
    paths = [path.as_posix()] if path.parts else []
    listed = _git(top, "ls-tree", "-r", "--full-tree", "--name-only", "-z", commit, "--", *paths)
    names = listed.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    if listed.returncode or not names:
        return {}
    # Of the tree: the archive of a commit has a header, which cannot be read if nothing follows.
    done = _git(top, "archive", "--format=tar", f"{commit}^{{tree}}", "--", *paths)
    if done.returncode:
        raise UsageError(f"git cannot read {path.as_posix()} of {commit[:_SHORT]}{_reason(done)}")
    found = _unpacked(done.stdout)
    for name in names:  # .gitattributes may keep a file out of archives (export-ignore)
        if PurePosixPath(name) not in found:
            blob = _git(top, "cat-file", "blob", f"{commit}:{name}")
            if blob.returncode == 0:  # a submodule has none
                found[PurePosixPath(name)] = blob.stdout
    return found


def _unpacked(archive: bytes) -> dict[PurePosixPath, bytes]:
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as members:
        for member in members:
            try:
                stream = members.extractfile(member)
            except KeyError:  # a link to what is not among these files
                stream = io.BytesIO(member.linkname.encode("utf-8", "surrogateescape"))
            if stream is not None:
                found[PurePosixPath(member.name)] = stream.read()
    return found


def _write(files: dict[PurePosixPath, bytes], below: Path, folder: Path) -> None:
    folder.mkdir()
    for name, content in files.items():
        if ".." not in name.parts:
            target = folder / name.relative_to(below.as_posix())
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git with paths taken literally. Raises UsageError when it cannot be run."""
    words = ["git", "--literal-pathspecs", "-C", str(folder), *arguments]
    command = [word.encode("utf-8", "surrogateescape") for word in words]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"git cannot be run ({error}); name a file instead") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git did not answer within {_SECONDS} s; name a file instead") from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f" ({lines[0]})" if lines else ""
