"""Which GPU a job saw, by what it printed and by the guard that it passed or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_pipeline.child import GPU_NAMES_COMMAND, MARKER, WRONG_GPU_EXIT_CODE
from gpu_pipeline.gitlab.aspects import Aspect, failed, passed, unproven
from gpu_pipeline.gitlab.evidence import Command, Evidence
from gpu_pipeline.gitlab.planned import PlannedJob
from gpu_pipeline.gitlab.ran import as_echoed, unseen

# A row of the table that nvidia-smi prints: number, name, persistence mode.
_ROW = re.compile(r"\|\s+\d+\s+(\S.*?)\s+(?:On|Off|N/A)\s*\|.*")
_LISTED = re.compile(r"GPU \d+: (\S.*?) \(UUID: .*\)")
_WRONG = re.compile(rf"{MARKER}: wrong GPU: found '(.*?)', pool .*")
_CUT = "..."  # how nvidia-smi ends a name that is too long for its table


def judge_gpu(planned: PlannedJob, seen: Evidence) -> Aspect:
    """Whether every GPU that the job saw was the pool's, by its exact name.

    The guard compares the names in the shell, which stops at a guard that fails: a further command
    after it shows that it passed.
    """
    gpu = planned.route.gpu if planned.route else ""
    if not gpu:
        return unproven("GPU", "the plan names no GPU")
    commands = _before_training(planned, seen)
    found = list(dict.fromkeys(name for each in commands for name in _names_in(each)))
    shown = ", ".join(found)
    refused = next((each for each in map(_refused, commands) if each is not None), None)
    if refused is not None:
        return failed("GPU", f"the job stopped itself: found {refused or 'none'}, not {gpu}")
    if any(not _may_be(name, gpu) for name in found):
        return failed("GPU", f"{shown}, not {gpu}")
    if _passed_guard(planned, seen):
        return passed("GPU", f"{gpu}, as the job's own check found")
    if found == [gpu]:
        return passed("GPU", f"{gpu}, as nvidia-smi printed it")
    return unproven("GPU", f"{shown}, cut short" if found else unseen(seen, "GPU"))


def _before_training(planned: PlannedJob, seen: Evidence) -> list[Command]:
    """The commands up to the first of the task: what a training prints proves nothing."""
    script = {as_echoed(command) for command in planned.script}
    commands: list[Command] = []
    for each in seen.commands:
        if each.text in script:
            break
        commands.append(each)
    return commands


def _passed_guard(planned: PlannedJob, seen: Evidence) -> bool:
    """Whether the planned guard ran, after its two preparing commands, and let the job go on."""
    echoed = [as_echoed(command) for command in planned.setup]
    guards = [n for n, each in enumerate(planned.setup) if _is_guard(each)]
    if not guards:
        return False
    wanted = echoed[: guards[0] + 1]
    texts = [each.text for each in seen.commands]
    starts = (n for n in range(len(texts)) if texts[n : n + len(wanted)] == wanted)
    return any(start + len(wanted) < len(texts) for start in starts)


def _is_guard(command: str) -> bool:
    return f"{MARKER}: wrong GPU" in command and f"exit {WRONG_GPU_EXIT_CODE}" in command


def _refused(command: Command) -> str | None:
    """What a guard said it found instead."""
    matches = filter(None, map(_WRONG.fullmatch, command.output))
    return next((match[1] for match in matches), None)


def _may_be(name: str, gpu: str) -> bool:
    return gpu.startswith(name.removesuffix(_CUT)) if name.endswith(_CUT) else name == gpu


def _names_in(command: Command) -> Iterator[str]:
    text = command.text.strip()
    if text == GPU_NAMES_COMMAND:
        yield from filter(None, map(str.strip, command.output))
    elif text.split(" ")[0] == "nvidia-smi":
        for line in command.output:
            match = _ROW.fullmatch(line) or _LISTED.fullmatch(line)
            if match:
                yield match[1]
