"""Does the runner wait long enough, and does it run as many jobs at once as planned?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.cluster.pool_start import Start, start_of
from gpu_pipeline.cluster.runner_keys import (
    DEFAULT_CONCURRENT,
    DEFAULT_POLL_TIMEOUT,
    DEFAULT_REQUEST_CONCURRENCY,
)
from gpu_pipeline.cluster.runner_needs import slots
from gpu_pipeline.durations import format_duration, parse_duration
from gpu_pipeline.words import count


def check_waiting(contract: Contract) -> Iterator[Finding]:
    """poll_timeout against the start of a new node."""
    setting = contract.runner.poll_timeout
    seconds = setting.value if setting and setting.value > 0 else DEFAULT_POLL_TIMEOUT
    starts: dict[str, Start] = {}
    for name, pool in contract.used.items():
        start = start_of(pool)
        if start and start.seconds > seconds:
            starts[name] = start
    if starts:
        needed = max(start.seconds for start in starts.values())
        how = "; ".join(
            f"{name}: {format_duration(start.seconds)} = {start.how}"
            for name, start in starts.items()
        )
        said = "" if setting else " (the default)"
        yield contract.finding(
            "RUN113", setting.line if setting else contract.runner.kubernetes_line, "poll_timeout",
            f"is {seconds} s{said}, and a pod on a new node starts later ({how}): the runner gives "
            f"up, and the node comes for nothing. This can hit "
            + contract.named(job for job in contract.jobs if job.pool.value in starts),
            fix=f"set poll_timeout = {needed} in [runners.kubernetes]",
        )  # fmt: skip


def check_at_once(contract: Contract) -> Iterator[Finding]:
    """limit and request_concurrency of one runner against its pools' slots."""
    planned, runner = slots(contract.jobs), contract.runner
    if runner.limit and 0 < runner.limit.value < planned:
        yield contract.finding(
            "RUN114", runner.limit.line, "limit",
            f"lets {count(runner.limit.value, 'job')} run at once, and the pools have room for "
            f"{planned}",
            fix=f"set limit = {planned}, or remove it",
        )  # fmt: skip
    setting = runner.request_concurrency
    asks = setting.value if setting and setting.value > 0 else DEFAULT_REQUEST_CONCURRENCY
    if asks < planned:
        yield contract.finding(
            "RUN115", setting.line if setting else runner.line, "request_concurrency",
            f"is {asks}{'' if setting else ' (the default)'}: the runner asks GitLab for one job "
            f"after another, so {planned} jobs do not start together; with long polling each "
            "question can take 50 s",
            fix=f"set request_concurrency = {planned} in [[runners]]",
        )  # fmt: skip


def check_concurrent(contracts: Sequence[Contract]) -> Iterator[Finding]:
    """`concurrent` holds for all runners of a file together."""
    first = contracts[0]
    planned = sum(slots(contract.jobs) for contract in contracts)
    setting = first.file.concurrent
    allowed = max(setting.value, 1) if setting else DEFAULT_CONCURRENT
    if allowed < planned:
        yield first.finding(
            "RUN114", setting.line if setting else 1, "concurrent",
            f"lets {count(allowed, 'job')} run at once{'' if setting else ' (the default)'}, "
            f"and the pools have room for {planned}",
            fix=f"set concurrent = {planned}",
        )  # fmt: skip


def check_maximum_timeout(contract: Contract, stated: int | None) -> Iterator[Finding]:
    """The runner's maximum job timeout, which is shorter or longer than a job's own one.

    It is kept on the server: `stated` (seconds) is what a person said it is.
    """
    setting = contract.file.maximum_timeout
    seconds = stated if stated is not None else setting.value if setting else 0
    cut = [job for job in contract.jobs if 0 < seconds < parse_duration(job.timeout)]
    if cut:
        in_file = setting is not None and stated is None
        yield contract.finding(
            "RUN121", setting.line if setting and in_file else 0,
            "maximumTimeout" if in_file else "the maximum job timeout",
            f"ends jobs after {format_duration(seconds)}, whatever their own timeout says: "
            + contract.named(cut),
            fix="raise the runner's maximum job timeout (Admin or Settings > CI/CD > Runners)",
        )  # fmt: skip
