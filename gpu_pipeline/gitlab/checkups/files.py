"""Whether the branch, which is what the night runs, holds the files that were looked at here."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gpu_pipeline.files import display, read_bytes, resolved
from gpu_pipeline.gitlab.checkups.line import Case, Line, Unread, ask, error, ok, warning

_DEFAULT = ".gitlab-ci.yml"


def check_files(case: Case, parent: Path, routing: Path) -> list[Line]:
    """The parent pipeline and, where its place in the repository is known, the routing."""
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
    return lines


def _compare(case: Case, subject: str, path: str, local: Path) -> Line:
    files = case.connection.project.files
    found = ask(case.connection, subject, "Reporter", lambda: files.get(path, ref=case.ref))
    if isinstance(found, Unread):
        if found.status != 404:
            return found
        return error(subject, f"{path} is not on {case.ref}", "push it")
    content = read_bytes(local, f"--{subject.partition(' ')[0]}")
    if hashlib.sha256(content).digest() == hashlib.sha256(found.decode()).digest():
        return ok(subject, f"{path} on {case.ref} equals {display(local)}")
    return warning(
        subject,
        f"{path} on {case.ref} differs from {display(local)}: the night runs the one on {case.ref}",
        f"push yours, or compare: git diff origin/{case.ref} -- {path}",
    )
