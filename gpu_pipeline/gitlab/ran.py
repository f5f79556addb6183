"""Which of the planned commands ran, and what the marker printed.

The shell echoes each command in the order of the job. The marker counts as the output of the first
command that prints it, before which nothing of the task has run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpu_pipeline.child import MARKER
from gpu_pipeline.gitlab.aspects import Aspect, failed, passed, unproven
from gpu_pipeline.gitlab.evidence import LONGEST_COMMAND, Command, Evidence
from gpu_pipeline.gitlab.planned import PlannedJob, Route, parse_route
from gpu_pipeline.names import EPOCHS
from gpu_pipeline.record import Record

_COLLAPSED = " # collapsed multi-line command"  # gitlab-runner: shells/abstract.go
_EPOCHS = re.compile(rf"epochs?[\s=:]*[\"']?(\d+|\$\{{?{EPOCHS}\}}?)", re.IGNORECASE)


class Ran(Record):
    """The commands of the task that ran and those that were not seen; the marker, if it printed."""

    route: Route | None
    ran: tuple[str, ...]
    unseen: tuple[str, ...]
    others: tuple[str, ...]


def what_ran(planned: PlannedJob, seen: Evidence) -> Ran:
    """Follow the planned commands through those that the log shows."""
    ran, unseen, others = _followed([as_echoed(each) for each in planned.script], seen.commands)
    return Ran(
        route=printed_route(seen.commands),
        ran=tuple(ran),
        unseen=tuple(unseen),
        others=tuple(others),
    )


def printed_route(commands: Sequence[Command]) -> Route | None:
    """The route in the output of the first command that prints one."""
    marker = next((each for each in commands if prints_marker(each.text)), None)
    lines = marker.output if marker else ()
    return next(filter(None, map(parse_route, lines)), None)


def _followed(
    wanted: Sequence[str], commands: Sequence[Command]
) -> tuple[list[str], list[str], list[str]]:
    """The wanted commands that were seen in their order, those that were not, and all others."""
    texts = [each.text for each in commands]
    ran: list[str] = []
    taken = set()
    start = 0
    for command in wanted:
        if command not in texts[start:]:
            break
        at = texts.index(command, start)
        ran.append(command)
        taken.add(at)
        start = at + 1
    others = [text for n, text in enumerate(texts) if n not in taken]
    return ran, list(wanted[len(ran) :]), others


def judge_marker(planned: PlannedJob, seen: Evidence, ran: Ran) -> Aspect:
    """Whether the job printed the family, pool, GPU and name that it was planned with."""
    if planned.route is None:
        return unproven("marker", "the plan has no marker for it")
    if ran.route is None:
        if seen.is_whole and seen.commands:
            return failed("marker", "the log is whole and its commands print no marker")
        return unproven("marker", unseen(seen, "marker"))
    pairs = [
        ("family", ran.route.family, planned.route.family),
        ("pool", ran.route.pool, planned.route.pool),
        ("gpu", ran.route.gpu, planned.route.gpu),
        ("job", ran.route.job, planned.name),
    ]
    wrong = [f"{key}={found}, not {meant}" for key, found, meant in pairs if found != meant]
    if wrong:
        return failed("marker", "; ".join(wrong))
    return passed("marker", f"family={ran.route.family} pool={ran.route.pool}")


def judge_epochs(planned: PlannedJob, seen: Evidence, ran: Ran) -> Aspect:
    """Whether the commands that ran were given the planned number of epochs.

    Only commands that name it can show it, as a number or by the variable whose value the marker
    prints.
    """
    wrong = _other_epochs(planned, ran)
    if wrong:
        return failed("epochs", wrong)
    telling = [command for command in ran.ran if _EPOCHS.search(command)]
    if any(_EPOCHS.search(command) for command in ran.unseen):
        all_of = len(ran.ran) + len(ran.unseen)
        shown = f"the log shows {len(ran.ran)} of {all_of} commands of the task"
        return unproven("epochs", shown if ran.ran else unseen(seen, "command of the task"))
    if not telling:
        return unproven("epochs", "no command of the task names its epochs")
    hidden = [command for command in telling if not _names_number(command)]
    if hidden and ran.route is None:
        return unproven("epochs", f"`{hidden[0]}` takes them from a variable that nothing printed")
    return passed("epochs", f"{planned.epochs}: `{telling[0]}`")


def _other_epochs(planned: PlannedJob, ran: Ran) -> str | None:
    """What shows another number of epochs, if anything does."""
    if ran.route and ran.route.epochs != planned.epochs:
        return f"the marker says {ran.route.epochs or 'none'}, not {planned.epochs}"
    for command in ran.unseen:
        other = next((each for each in ran.others if _differs_in_epochs(each, command)), None)
        if other:
            return f"ran `{other}`, not `{command}`"
    for command in ran.ran:
        given = {found for found in _EPOCHS.findall(command) if found.isdigit()}
        if given - {planned.epochs}:
            return f"ran `{command}`, and {planned.epochs} were planned"
    return None


def _names_number(command: str) -> bool:
    return any(found.isdigit() for found in _EPOCHS.findall(command))


def _differs_in_epochs(one: str, other: str) -> bool:
    blank = [_EPOCHS.sub("epochs", each) for each in (one, other)]
    return one != other and blank[0] == blank[1]


def judge_fingerprint(planned: PlannedJob, seen: Evidence, ran: Ran) -> Aspect:
    """Whether the routing that rendered the job is the one that it is held against."""
    if not planned.fingerprint:
        return unproven("fingerprint", "the plan has none")
    if ran.route is None:
        return unproven("fingerprint", unseen(seen, "marker"))
    if ran.route.fingerprint is None:
        return unproven("fingerprint", "the marker names none: an older version rendered the job")
    if ran.route.fingerprint != planned.fingerprint:
        found = ran.route.fingerprint or "an empty one"
        return failed("fingerprint", f"{found}, not {planned.fingerprint}: another routing")
    return passed("fingerprint", planned.fingerprint)


def as_echoed(command: str) -> str:
    """A command as the shell shows it: of several lines only the first."""
    first, _, more = command.strip().partition("\n")
    return (f"{first.rstrip()}{_COLLAPSED}" if more else first)[:LONGEST_COMMAND]


def prints_marker(command: str) -> bool:
    """Whether an echoed command is the one that prints the marker."""
    return command.startswith(f'echo "{MARKER}: family=')


def unseen(seen: Evidence, what: str) -> str:
    """Why a log does not show what it should, as far as that can be told."""
    if seen.is_empty:
        return "there is no log"
    if not seen.started:
        return "the job's commands never started"
    return f"the log shows no {what}"
