"""What a log says: what the runner overwrote, which commands ran, what they printed, how it ended.

Only what stands where it must stand counts. The runner's lines are read before the script starts,
the job's own proofs as the output of the command that prints them: a training that prints the same
words proves nothing.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from gpu_pipeline.gitlab.trace import Line
from gpu_pipeline.record import Record

_SCRIPTS = ("step_script", "build_script")  # the second up to GitLab Runner 13
# What is kept of a log: the numbers of commands, of those whose output counts, of its lines.
_MAX_COMMANDS, _WITH_OUTPUT, _MAX_OUTPUT, _MAX_OVERWRITES, _LAST_LINES = 400, 60, 40, 200, 40
LONGEST_COMMAND, _LONGEST = 4_000, 600  # characters

# executors/kubernetes/overwrites.go; both texts are in Go's %q, which escapes quotes.
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_OVERWRITTEN = re.compile(rf"{_QUOTED}(?: {_QUOTED})? overwritten with {_QUOTED}")
_REFUSED_SIZE = re.compile(r'the resource "(\w+)" requested "[^"]*" is higher than limit allowed')
_WAITING = re.compile(r"Waiting for pod \S+ to be running(?: on the node (\S+))?, status is (\w+)")
_CONDITION = re.compile(r'\s+(\w+): "(.*)"')
_LIMIT = "log exceeded limit of "  # common/trace: "Job's log exceeded limit of 4194304 bytes."
_FAILED = "ERROR: Job failed"


class Overwrite(Record):
    """One line `"FIELD" ["KEY"] overwritten with "VALUE"`; `key` is "" where there is none."""

    field: str
    key: str
    value: str


class Command(Record):
    """A command that the shell echoed and then ran, with the beginning of its output."""

    text: str
    output: tuple[str, ...]


class Evidence(Record):
    """Everything that one log says.

    `prepared`: the runner's preparation is there from its first to its last line, so that a line
    which is missing in it was never written. `succeeded` and `failure` are the log's last word;
    neither: the log has no end. `last_lines` are those before it.
    """

    runner: str = ""
    is_empty: bool = True
    prepared: bool = False
    overwrites: tuple[Overwrite, ...] = ()
    refused: str = ""
    node: str = ""
    waiting: str = ""
    started: bool = False
    commands: tuple[Command, ...] = ()
    limit_exceeded: bool = False
    succeeded: bool = False
    failure: str = ""
    last_lines: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the log reaches to the end of the job."""
        return (self.succeeded or bool(self.failure)) and not self.limit_exceeded


def read_evidence(lines: Iterable[Line], *, commands: int | None = None) -> Evidence:
    """Read a log once, keeping little of it however long it is.

    With `commands` only its beginning, until so many commands have run and another one begins.
    """
    reader = _Reader()
    for line in lines:
        reader.read(line)
        if commands is not None and reader.number_of_commands > commands:
            break
    return reader.evidence()


class _Reader:
    def __init__(self) -> None:
        self._runner = self._node = self._waiting = self._refused = ""
        self._is_empty = True
        self._preparing = self._prepared = self._limit = False
        self._sections = self._in_script = self._started = False
        self._overwrites: list[Overwrite] = []
        self._commands: list[tuple[str, list[str]]] = []
        self._succeeded, self._failure = False, ""
        self._last: deque[str] = deque(maxlen=_LAST_LINES)

    @property
    def number_of_commands(self) -> int:
        """How many commands were echoed so far."""
        return len(self._commands)

    def read(self, line: Line) -> None:
        self._is_empty = False
        if line.section:
            self._section(line)
            return
        if line.is_cut:  # only the runner's last words need no line feed
            self._ending(line.text[:_LONGEST])
            self._last.append(line.text[:_LONGEST])
            return
        text = line.text[: LONGEST_COMMAND if line.is_command else _LONGEST]
        if not self._started and (
            text.startswith(f'Executing "{_SCRIPTS[0]}"')
            or (line.is_command and not self._sections)
        ):
            self._start()
        if line.is_command:
            self._command(text)
        else:
            self._output(text)
            self._ending(text)
        self._last.append(text)

    def _section(self, line: Line) -> None:
        self._sections = True
        if line.section in _SCRIPTS:
            if line.opens and not self._started:
                self._start()
            elif not line.opens:
                self._in_script = False

    def _start(self) -> None:
        self._started = self._in_script = True

    def _command(self, text: str) -> None:
        if self._in_script and len(self._commands) < _MAX_COMMANDS:
            self._commands.append((text, []))

    def _output(self, text: str) -> None:
        if self._started:
            if self._in_script and 0 < len(self._commands) <= _WITH_OUTPUT:
                output = self._commands[-1][1]
                output.extend([text] if len(output) < _MAX_OUTPUT else [])
            return
        if text.startswith("Running with gitlab-runner "):
            self._runner = text.removeprefix("Running with gitlab-runner ").split(" ")[0]
        elif text.startswith('Preparing the "'):
            # A preparation that failed is tried again: what counts is the last one.
            self._preparing, self._prepared, self._overwrites = True, False, []
        elif text.startswith(("Using Kubernetes namespace", "Using Kubernetes executor")):
            self._prepared = self._preparing
        else:
            self._runner_line(text)

    def _runner_line(self, text: str) -> None:
        overwritten = _OVERWRITTEN.fullmatch(text)
        # The runner overwrites before it names its namespace; whoever says so later is not it.
        is_open = self._preparing and not self._prepared
        if overwritten and is_open and len(self._overwrites) < _MAX_OVERWRITES:
            field, key, value = (_unquoted(each or "") for each in overwritten.groups())
            self._overwrites.append(Overwrite(field=field, key=key, value=value))
        elif waiting := _WAITING.match(text):
            self._node = waiting[1] if waiting[1] not in (None, "<unknown>") else self._node
            self._waiting = waiting[2]
        elif condition := _CONDITION.fullmatch(text):
            self._waiting = f"{condition[1]}: {condition[2]}"

    def _ending(self, text: str) -> None:
        """The last word counts: a training may print the same lines before."""
        if text == "Job succeeded":
            self._succeeded, self._failure = True, ""
        elif text.startswith(_FAILED):
            self._succeeded, self._failure = False, text
            refused = _REFUSED_SIZE.search(text)
            self._refused = refused[1] if refused else ""
        elif _LIMIT in text:
            self._limit = True

    def evidence(self) -> Evidence:
        # A training's word for it is not the last one: nothing follows the runner's.
        last = self._last[-1] if self._last else ""
        failed = bool(self._failure) and any(
            line.startswith(_FAILED) for line in list(self._last)[-5:]
        )
        return Evidence(
            runner=self._runner,
            is_empty=self._is_empty,
            prepared=self._prepared,
            overwrites=tuple(self._overwrites),
            refused=self._refused if failed else "",
            node=self._node,
            waiting="" if self._started else self._waiting,
            started=self._started,
            commands=tuple(
                Command(text=text, output=tuple(output)) for text, output in self._commands
            ),
            limit_exceeded=self._limit,
            succeeded=last == "Job succeeded",
            failure=self._failure if failed else "",
            last_lines=tuple(self._last),
        )


def _unquoted(text: str) -> str:
    """A text that Go quoted, as far as labels and quantities need it."""
    return re.sub(r"\\(.)", r"\1", text)
