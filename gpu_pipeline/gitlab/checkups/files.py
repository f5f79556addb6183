"""Whether the branch, which is what the night runs, holds the files that were looked at here."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gpu_pipeline.files import display, files_below, read_bytes, resolved
from gpu_pipeline.gitlab.checkups.line import Case, Line, Unread, ask, error, ok, warning

_DEFAULT = ".gitlab-ci.yml"


def check_files(case: Case, parent: Path, routing: Path, templates: Path) -> list[Line]:
    """The parent pipeline and, where their place in the repository is known, what it renders."""
    configured = case.project.attributes.get("ci_config_path") or _DEFAULT
    if "@" in configured or "://" in configured:
        return [
            warning(
                "parent file",
                f"the project takes its pipeline from {configured}",
                "see to it that this is what you check here (Settings → CI/CD → General)",
            )
        ]
    lines = [_compare(case, "parent file", configured, parent)]
    folder = resolved(parent).parent
    if configured == _DEFAULT and resolved(routing).is_relative_to(folder):
        path = resolved(routing).relative_to(folder).as_posix()
        lines.append(_compare(case, "routing", path, routing))
    if configured == _DEFAULT and resolved(templates).is_relative_to(folder):
        path = resolved(templates).relative_to(folder).as_posix()
        lines.append(_compare_folder(case, "templates", path, templates))
    return lines


def _compare(case: Case, subject: str, path: str, local: Path) -> Line:
    files = case.connection.project.files
    found = ask(
        case.connection, subject, "Reporter", lambda: files.get(path, ref=case.ref).decode()
    )
    if isinstance(found, Unread):
        if found.status != 404:
            return found
        return error(subject, f"{path} is not on {case.ref}", "push it")
    content = read_bytes(local, f"--{subject.partition(' ')[0]}")
    if hashlib.sha256(content).digest() == hashlib.sha256(found).digest():
        return ok(subject, f"{path} on {case.ref} equals {display(local)}")
    return warning(
        subject,
        f"{path} on {case.ref} differs from {display(local)}: the night runs the one on {case.ref}",
        f"push yours, or compare: git diff origin/{case.ref} -- {path}",
    )


def _compare_folder(case: Case, subject: str, path: str, local: Path) -> Line:
    """All files below a folder by their hashes: one listing, and no file is fetched."""
    project = case.connection.project
    listed = ask(
        case.connection,
        subject,
        "Reporter",
        lambda: [
            (each["path"], each["id"])
            for each in project.repository_tree(
                path=path, ref=case.ref, recursive=True, iterator=True
            )
            if each["type"] == "blob"
        ],
    )
    if isinstance(listed, Unread):
        if listed.status != 404:
            return listed
        return error(subject, f"{path} is not on {case.ref}", "push it")
    there = dict(listed)
    root = resolved(local)
    here = {
        f"{path}/{file.relative_to(root).as_posix()}": read_bytes(file, f"--{subject}")
        for file in files_below(root)
    }
    differing = [
        name
        for name in sorted({*there, *here})
        if name not in here or name not in there or there[name] != _blob_id(here[name], there[name])
    ]
    if not differing:
        return ok(subject, f"{path} on {case.ref} equals {display(local)}")
    return warning(
        subject,
        f"{', '.join(differing)} on {case.ref} differs from yours: the night runs what {case.ref} "
        "holds",
        f"push yours, or compare: git diff origin/{case.ref} -- {path}",
    )


def _blob_id(content: bytes, like: str) -> str:
    """Git's name of a file's content, by the hash that a repository uses: SHA-1 or SHA-256."""
    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return make(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
