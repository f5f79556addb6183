"""`gitlab note`: Markdown as one note of a merge request, found again by a hidden mark."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from gitlab.exceptions import GitlabUpdateError
from gitlab.v4.objects import ProjectMergeRequest, ProjectMergeRequestNote

from gpu_pipeline.console import masked, show, tell
from gpu_pipeline.errors import EXIT_OK, AnswerLostError, GitLabError, UsageError
from gpu_pipeline.files import read_text
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.refusals import status_of
from gpu_pipeline.gitlab.retrying import Time, looked_for

_LONGEST = 1_000_000  # characters (doc/administration/instance_limits: size of comments)
_CUT = "\n\n*The rest is left out: a note holds no more.*\n"
_MARK = re.compile(r"<!-- gpu-pipeline note: [^>]*-->")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Post the note, or update the one that is there."""
    if not re.fullmatch(r"[\w.-]{1,100}", options.key):
        raise UsageError("--key: letters, digits, dots, hyphens and underscores, at most 100")
    number = _merge_request(options, environment)
    mark = f"<!-- gpu-pipeline note: {options.key} -->"
    parts = [_read(name) for name in _names(options)]
    compose(parts, mark)  # nothing to post is told before anything else
    connection = connect(options, environment, to="write notes")
    # The token is known only now. Half of one, where the note is cut, would not be found again.
    body = compose([masked(part) for part in parts], mark)
    request = connection.project.mergerequests.get(number, lazy=True)
    with connection.asking(f"reading the notes of merge request {number}", role="Guest"):
        found = _find(request, mark)
    if found is None:
        note, done = _create(connection, request, body, mark, options.deadline), "created"
    elif found.body.strip() == body.strip():
        note, done = found, "unchanged"
    else:
        note, done = _update(connection, request, found, body), "updated"
    show(f"note {note.id} on merge request {number}: {done}")
    return EXIT_OK


def _merge_request(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if options.merge_request is not None:
        return int(options.merge_request)
    text = environment.get("CI_MERGE_REQUEST_IID", "")
    if not text.isdecimal():
        raise UsageError(
            "no merge request: name it with --merge-request; CI_MERGE_REQUEST_IID is set only in "
            "pipelines of merge requests"
        )
    return int(text)


def _names(options: argparse.Namespace) -> list[str]:
    names: list[str] = options.bodies
    if not names:
        raise UsageError("nothing to post: --body-file names a Markdown file, - is stdin")
    if names.count("-") > 1:
        raise UsageError("--body-file -: stdin can be read only once")
    return names


def _read(name: str) -> str:
    if name != "-":
        return read_text(Path(name), "--body-file")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("--body-file -: what stdin holds is not UTF-8") from None


def compose(parts: list[str], mark: str) -> str:
    """The text of a note: the mark, then the parts, as long as a note may be.

    A line that begins with a slash would be a command to GitLab, `/merge` for example (doc/user/
    project/quick_actions); it is shown instead. Marks in the parts are taken out.
    """
    texts = [_harmless(_MARK.sub("", part)).strip("\n") for part in parts]
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise UsageError("nothing to post: what --body-file names is empty")
    body = "\n\n".join([mark, *texts]) + "\n"
    if len(body) > _LONGEST:
        body = body[: _LONGEST - len(_CUT) - 100].rpartition("\n")[0]
        fence = _open_fence(body)
        body += (f"\n{fence}" if fence else "") + _CUT
    return body


def _harmless(text: str) -> str:
    lines = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _fence_after(line, fence)
        lines.append(f"\\{line}" if line.startswith("/") and not fence else line)
    return "\n".join(lines)


def _fence_after(line: str, fence: str) -> str:
    """The fence of the code block that is open after `line`; "" outside of one."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    closes = match[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _open_fence(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    return fence


def _find(request: ProjectMergeRequest, mark: str) -> ProjectMergeRequestNote | None:
    """The first note that begins with the mark."""
    for note in request.notes.list(iterator=True, order_by="created_at", sort="asc"):
        if note.body.startswith(mark) and isinstance(note, ProjectMergeRequestNote):
            return note
    return None


def _create(
    connection: Connection, request: ProjectMergeRequest, body: str, mark: str, patience: float
) -> ProjectMergeRequestNote:
    with connection.asking("writing a note", role="Reporter"):
        try:
            made = request.notes.create({"body": body})
            assert isinstance(made, ProjectMergeRequestNote)  # noqa: S101 its manager leaves it open
            return made
        except AnswerLostError as lost:
            tell(f"{lost}; looking whether the note was written")
            return _recover(request, mark, patience)


def _recover(request: ProjectMergeRequest, mark: str, patience: float) -> ProjectMergeRequestNote:
    found = looked_for(lambda: _find(request, mark), patience=patience, clock=Time())
    if found is None:
        raise GitLabError(
            f"the answer was lost, and no note appeared within {patience:g} s; run it again: it "
            "updates a note that is there by then, and writes no second one"
        )
    return found


def _update(
    connection: Connection,
    request: ProjectMergeRequest,
    note: ProjectMergeRequestNote,
    body: str,
) -> ProjectMergeRequestNote:
    with connection.asking(f"updating note {note.id}", role="Maintainer"):
        try:
            request.notes.update(note.id, {"body": body})
        except GitlabUpdateError as error:
            if status_of(error) != 403:
                raise
            author = (note.attributes.get("author") or {}).get("username", "somebody else")
            raise GitLabError(
                f"note {note.id} was written by {author}, and this token may not change it; delete "
                "the note, or use the token that wrote it"
            ) from None
    return note
