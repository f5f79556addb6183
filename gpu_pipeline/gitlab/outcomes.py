"""How a job ended, and of what kind the reason is: GitLab's word first, then the log's."""

from __future__ import annotations

import enum
import re

from gpu_pipeline.child import MARKER, WRONG_GPU_EXIT_CODE
from gpu_pipeline.gitlab.attempts import NOT_STARTED, Attempt
from gpu_pipeline.gitlab.evidence import Evidence
from gpu_pipeline.record import Record


class Ending(enum.StrEnum):
    """The kinds of ends a job can have."""

    SUCCEEDED = "succeeded"
    TRAINING_FAILED = "training failed"
    WRONG_GPU = "wrong GPU"
    OUT_OF_MEMORY = "out of memory"
    GPU_OUT_OF_MEMORY = "out of GPU memory"
    POD_START_TIMEOUT = "pod start timeout"
    NODE_LOST = "node lost"
    IMAGE_PULL = "image pull"
    CONFIGURATION = "configuration"
    JOB_TIMEOUT = "job timeout"
    NO_RUNNER = "no runner"
    INFRASTRUCTURE = "infrastructure"
    LOG_TRUNCATED = "log truncated"
    CANCELED = "canceled"
    NOT_PLAYED = "not played"
    NOT_RUN = "not run"
    UNFINISHED = "unfinished"
    MISSING = "missing"


class Ended(Record):
    """The kind of end, and in a few words how it is known."""

    kind: Ending
    detail: str
    succeeded: bool = False


_EXIT_CODE = re.compile(r"command terminated with exit code (\d+)|exit code: (\d+)")
_OOM = re.compile(r"reason: '?OOMKilled'?")
# The text that PyTorch and CUDA's own runtime raise; only near the end of a job that failed.
_GPU_OOM = re.compile(r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation")
_IMAGE = re.compile(
    r"image pull failed|ErrImagePull|ImagePullBackOff|InvalidImageName|failed to pull image"
)
_NODE = re.compile(
    r"is disrupted: reason|status is \"?Failed\"?|pods? \"[^\"]*\" not found|node .*not ready"
    r"|Evicted|Preempt",
    re.IGNORECASE,
)
# Of the texts in a failed job's last word, from the surest to the vaguest; E.5 of the executor.
_BY_TEXT = (
    (_OOM, Ending.OUT_OF_MEMORY),
    (re.compile("timed out waiting for pod to start"), Ending.POD_START_TIMEOUT),
    (_IMAGE, Ending.IMAGE_PULL),
    (
        re.compile("couldn't prepare overwrites|invalid build|parsing resource"),
        Ending.CONFIGURATION,
    ),
    (re.compile("execution took longer than"), Ending.JOB_TIMEOUT),
    (_NODE, Ending.NODE_LOST),
)
_BY_REASON = {
    "job_execution_timeout": Ending.JOB_TIMEOUT,
    "stuck_or_timeout_failure": Ending.NO_RUNNER,
    "image_pull_failure": Ending.IMAGE_PULL,
    "runner_configuration_error": Ending.CONFIGURATION,
    "runner_unsupported": Ending.CONFIGURATION,
}
"""What GitLab's own reasons mean that are not infrastructure; a failed script says it itself."""


def ended(attempt: Attempt, seen: Evidence) -> Ended:
    """The end of an attempt, as far as it has one."""
    if attempt.status == "success":
        return _succeeded(seen)
    if attempt.status == "failed":
        return _failed(attempt, seen)
    if attempt.status == "canceled":
        return Ended(kind=Ending.CANCELED, detail="somebody or something cancelled it")
    if attempt.status == "manual":
        return Ended(kind=Ending.NOT_PLAYED, detail="nobody has started it")
    if attempt.status == "skipped":
        return Ended(kind=Ending.NOT_RUN, detail="skipped: what it needs did not succeed")
    waits = "has not started:" if attempt.status in NOT_STARTED else "is still"
    return Ended(kind=Ending.UNFINISHED, detail=f"{waits} {attempt.status}")


def _succeeded(seen: Evidence) -> Ended:
    if seen.is_empty:
        return _well(Ending.LOG_TRUNCATED, "GitLab says success; the log is empty")
    if seen.failure:
        return Ended(
            kind=Ending.TRAINING_FAILED, detail=f"GitLab says success, the log says {seen.failure}"
        )
    if seen.limit_exceeded:
        return _well(Ending.LOG_TRUNCATED, "success; the log reached its size limit")
    if not seen.succeeded:
        return _well(Ending.LOG_TRUNCATED, "success; the end of the log is missing")
    return _well(Ending.SUCCEEDED, "GitLab and the log say so")


def _well(kind: Ending, detail: str) -> Ended:
    return Ended(kind=kind, detail=detail, succeeded=True)


def _failed(attempt: Attempt, seen: Evidence) -> Ended:
    reason = attempt.failure_reason
    said = seen.failure.removeprefix("ERROR: ") or _unless_silent(reason)
    if reason in ("job_execution_timeout", "stuck_or_timeout_failure"):
        return Ended(kind=_BY_REASON[reason], detail=said)
    # A failed script has had its say in the last lines; only the runner's last word is sure then.
    is_script = seen.started and reason in ("script_failure", "")
    runner_says = "\n".join([seen.failure, *([] if is_script else _runner_lines(seen))])
    for pattern, kind in _BY_TEXT:
        if pattern.search(runner_says):
            return Ended(kind=kind, detail=said)
    if reason and reason != "script_failure":
        return Ended(kind=_BY_REASON.get(reason, Ending.INFRASTRUCTURE), detail=said)
    return _script_failed(seen, said)


def _script_failed(seen: Evidence, said: str) -> Ended:
    codes = _EXIT_CODE.search(seen.failure)
    code = int(codes[1] or codes[2]) if codes else None
    if code == 137:
        return Ended(kind=Ending.OUT_OF_MEMORY, detail=f"{said} (killed, as for want of memory)")
    found = next((line for line in seen.last_lines if line.startswith(f"{MARKER}: wrong GPU")), "")
    if code == WRONG_GPU_EXIT_CODE and found:
        return Ended(kind=Ending.WRONG_GPU, detail=found)
    if code is None:
        kind = Ending.TRAINING_FAILED if seen.is_whole else Ending.LOG_TRUNCATED
        return Ended(kind=kind, detail=said)
    out_of_memory = next((line for line in seen.last_lines if _GPU_OOM.search(line)), "")
    if out_of_memory:
        return Ended(kind=Ending.GPU_OUT_OF_MEMORY, detail=out_of_memory)
    return Ended(kind=Ending.TRAINING_FAILED, detail=said)


def _unless_silent(reason: str) -> str:
    return f"failed ({reason})" if reason else "failed, without a reason"


def _runner_lines(seen: Evidence) -> list[str]:
    """The runner's complaints near the end."""
    return [
        line
        for line in seen.last_lines
        if line.startswith(("ERROR: ", "WARNING: ", "Error in container "))
    ]
