"""What the checks of a child work on, and how what they find becomes findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob, Fault
from gpu_pipeline.record import Record


class Problem(Record):
    """A fault of one value, before it is known whose value that is.

    Jobs share what they inherit, so a value is looked at once and its problems are then reported
    for the first job that has it. `key` is relative to the job, such as `rules[0].if`.
    """

    code: str
    line: int
    key: str
    message: str
    fix: str


KeyCheck = Callable[[Tree, str], Iterator[Problem]]
"""Checks the value of one key; the text is what to call it: `retry`, or `default.retry`."""


class Child(Record, dict=True):
    """A parsed child file.

    `stages` are in order and include GitLab's own two; None when they cannot be read.
    """

    text: str
    file: CiFile
    jobs: Mapping[str, CiJob]
    faults: Sequence[Fault]
    stages: tuple[str, ...] | None

    @cached_property
    def visible(self) -> list[CiJob]:
        """The jobs that are no hidden ones, in the order of the file."""
        return [job for job in self.jobs.values() if not job.hidden]

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text; line 1 has index 0."""
        return self.text.splitlines()


class Findings:
    """Findings in the making: the same fault of a value that jobs share is reported once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: dict[tuple[str, int, str], Finding] = {}
        self._jobs: dict[tuple[str, int, str], set[str]] = {}
        self._touched: set[tuple[str | int, str]] = set()

    def add(self, problem: Problem, job: str = "") -> None:
        """Note a problem of a job, or of the file as a whole."""
        identity = problem.code, problem.line, problem.message
        self._jobs.setdefault(identity, set()).add(job)
        top = problem.key.partition(".")[0].partition("[")[0]
        self._touched |= {(problem.line, ""), (job, top)}
        if identity not in self._found:
            place = Place(file=self._file, line=problem.line, job=job, key=problem.key)
            self._found[identity] = finding(problem.code, place, problem.message, fix=problem.fix)

    def add_all(self, problems: Iterator[Problem], job: str = "") -> None:
        """Note all of `problems`."""
        for problem in problems:
            self.add(problem, job)

    def has(self, code: str) -> bool:
        """Whether anything of a code was found already."""
        return any(found.code == code for found in self._found.values())

    def has_other(self, job: str, problem: Problem) -> bool:
        """Whether something was found already in the same line, or for the same key of the job."""
        top = problem.key.partition(".")[0].partition("[")[0]
        return (problem.line, "") in self._touched or (job, top) in self._touched

    def sorted(self) -> list[Finding]:
        """All findings in the order of their places; shared ones say how many jobs they touch.

        A value for which GitLab refuses the whole file needs no second reason, and that a bare
        value is misread goes without saying where the reading itself is reported.
        """
        refused = {line for code, line, _ in self._found if code == "PIP160"}
        values = Counter((found.place.line, found.place.key) for found in self._found.values())
        kept = [
            self._counted(identity)
            for identity, found in self._found.items()
            if (found.code == "PIP160" or found.place.line not in refused)
            and (found.code != "PIP161" or values[found.place.line, found.place.key] == 1)
        ]
        return sorted(kept, key=lambda finding: finding.sort_key)

    def _counted(self, identity: tuple[str, int, str]) -> Finding:
        found = self._found[identity]
        others = len(self._jobs[identity] - {found.place.job})
        if not others:
            return found
        more = " more" if found.place.job else ""
        tail = f" ({others}{more} {'job has' if others == 1 else 'jobs have'} it too)"
        return replace(found, message=found.message + tail)
