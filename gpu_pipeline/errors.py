"""One class per kind of failure, each with the exit code that scripts rely on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

EXIT_OK = 0
EXIT_DIFFERS = 1
EXIT_USAGE = 2
EXIT_NOTHING_TO_RUN = 3
EXIT_GITLAB = 4
EXIT_INTERNAL = 70  # EX_SOFTWARE of sysexits.h: a mistake of this program
EXIT_INTERRUPTED = 130


class GeneratorError(Exception):
    """A failure that the user can mend; its text says what, where and how."""

    exit_code = EXIT_USAGE
    prefix = "error: "


class UsageError(GeneratorError):
    """The command line or the environment asks for something that cannot be done."""


class TemplateError(GeneratorError):
    """A template is wrong, or what it rendered is not what was meant."""


class OutputError(GeneratorError):
    """The result could not be written; whatever was on disk before is still there."""


class NothingToRunError(GeneratorError):
    """The child pipeline would hold no job; GitLab would refuse it."""

    exit_code = EXIT_NOTHING_TO_RUN


class GitLabError(GeneratorError):
    """GitLab refused, or could not be reached; says what to change."""

    exit_code = EXIT_GITLAB


class RefusedError(GitLabError):
    """GitLab answered no; `status` is that of HTTP, if there was one."""

    def __init__(self, message: str, status: int | None) -> None:
        self.status = status
        super().__init__(message)


class AnswerLostError(GitLabError):
    """A request that changes something got no answer: it may have taken effect, or not."""


class Problem(NamedTuple):
    """One thing that is wrong in a file; `line` counts from 1."""

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        parts = [f"{self.file}:{self.line}", *filter(None, [self.path]), self.message]
        return ": ".join(parts).replace("\n", "\\n")  # what is quoted must not end the line


class FindingsError(GeneratorError):
    """A check found errors; holds the findings."""

    exit_code = EXIT_DIFFERS
    prefix = ""

    def __init__(self, findings: Sequence[object]) -> None:
        self.findings = findings
        super().__init__("\n".join(str(finding) for finding in findings))


class FileError(GeneratorError):
    """An input file is wrong; holds every problem found, in the order of the lines."""

    prefix = ""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RoutingError(FileError):
    """routing.toml is wrong."""


class RunnerConfigError(FileError):
    """The runner's configuration cannot be read, by us or by the runner itself."""
