"""Does the runner do what the jobs ask of it? Findings about a config.toml or Helm values file.

A runner ignores what it does not permit, without a word in the job's log: the job then runs with
other resources, or on another GPU. So everything that any job emits is held against the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.runner.capacity import (
    check_at_once,
    check_concurrent,
    check_maximum_timeout,
    check_waiting,
)
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.checks.runner.gpu import check_gpu
from gpu_pipeline.checks.runner.permissions import check_permissions
from gpu_pipeline.checks.runner.places import check_places
from gpu_pipeline.checks.runner.selector import check_manager, check_selectors
from gpu_pipeline.checks.runner.sizes import check_sizes
from gpu_pipeline.checks.wording import named
from gpu_pipeline.cluster.emitted import Locate, emissions
from gpu_pipeline.cluster.runner_config import (
    Runner,
    RunnerFile,
    StrayKey,
    runner_name_of,
    select_runners,
    served_tags,
)
from gpu_pipeline.errors import UsageError
from gpu_pipeline.jobs import Job
from gpu_pipeline.routing_model import Routing


def check_runner(
    jobs: Sequence[Job],
    routing: Routing,
    file: RunnerFile,
    *,
    locate: Locate,
    runner_name: str | None = None,
    runner_tags: Sequence[str] = (),
    maximum_timeout: int | None = None,
) -> list[Finding]:
    """Everything that a runner's file does to `jobs` other than the routing says.

    `runner_name` picks one of several [[runners]]; `runner_tags` are its tags, which a config.toml
    does not hold; `maximum_timeout` (seconds) is the one set on the server, None if not known.
    Raises UsageError when it is not clear which runner takes the jobs.
    """
    contracts = _contracts(
        jobs, routing, file, locate=locate, name=runner_name, given_tags=runner_tags
    )
    found = list(_unserved(jobs, file, contracts))
    for contract in contracts:
        found += _strays(contract, contract.runner.stray_keys)
        found += check_permissions(contract)
        found += check_selectors(contract)
        found += check_places(contract)
        found += check_waiting(contract)
        found += check_at_once(contract)
        found += check_sizes(contract)
        found += check_gpu(contract)
        found += check_maximum_timeout(contract, maximum_timeout)
    if contracts:
        found += _strays(contracts[0], file.stray_keys)
        found += check_concurrent(contracts)
        found += check_manager(contracts[0])
    return sorted(found, key=lambda each: each.sort_key)


def runners_of(
    jobs: Sequence[Job],
    file: RunnerFile,
    *,
    runner_name: str | None = None,
    runner_tags: Sequence[str] = (),
) -> dict[str, Runner]:
    """The runner of a file that takes each job, by job name. Raises UsageError as above."""
    served = _served(jobs, file, name=runner_name, given_tags=runner_tags)
    return {job.name: runner for runner, mine in served for job in mine}


def _contracts(
    jobs: Sequence[Job],
    routing: Routing,
    file: RunnerFile,
    *,
    locate: Locate,
    name: str | None,
    given_tags: Sequence[str],
) -> list[Contract]:
    values = frozenset(each.value for each in emissions(jobs, locate))
    return [
        Contract(
            file=file,
            runner=runner,
            jobs=tuple(mine),
            emitted=tuple(emissions(mine, locate)),
            pools=routing.pools or {},
            emitted_elsewhere=values,
        )
        for runner, mine in _served(jobs, file, name=name, given_tags=given_tags)
        if mine
    ]


def _served(
    jobs: Sequence[Job], file: RunnerFile, *, name: str | None, given_tags: Sequence[str]
) -> list[tuple[Runner, list[Job]]]:
    """Each runner with the jobs it takes; every job is taken by one runner at most."""
    tag_sets = list(dict.fromkeys(job.tags for job in jobs))
    served = []
    for runner in _meant(select_runners(file, name), tag_sets, given_tags):
        tags = served_tags(file, runner, tag_sets, given_tags)
        served.append((runner, [job for job in jobs if _takes(runner, tags, job.tags)]))
    owners: dict[str, Runner] = {}
    for runner, mine in served:
        for job in mine:
            if owners.setdefault(job.name, runner) is not runner:
                names = ", ".join(f"{r.name or '(no name)'} (line {r.line})" for r, _ in served)
                raise UsageError(
                    f"{file.file} has {len(served)} runners that may take these jobs: {names}; "
                    "name the one that is meant with --runner-name"
                )
    return served


def _meant(
    runners: Sequence[Runner], tag_sets: Sequence[tuple[str, ...]], given: Sequence[str]
) -> Sequence[Runner]:
    """Of several runners those named after the tags that jobs use, or that an option gives.

    All of them where names do not answer it for every set of tags.
    """
    if len(runners) == 1 or any(runner.tags is not None for runner in runners):
        return runners
    wanted = [tags for tags in tag_sets if set(tags) == set(given)] if given else tag_sets
    names = {runner_name_of(tags) for tags in (wanted or [tuple(given)])}
    chosen = [runner for runner in runners if runner.name in names]
    return chosen if {runner.name for runner in chosen} == names else runners


def _takes(runner: Runner, tags: tuple[str, ...] | None, wanted: tuple[str, ...]) -> bool:
    """Whether a runner with these tags takes a job; one named after its tags is for those only."""
    if tags is None:
        return True
    return wanted == tags if runner.name == runner_name_of(tags) else set(wanted) <= set(tags)


def _unserved(
    jobs: Sequence[Job], file: RunnerFile, contracts: Iterable[Contract]
) -> Iterator[Finding]:
    taken = {job.name for contract in contracts for job in contract.jobs}
    left = [job for job in jobs if job.name not in taken]
    if not left:
        return
    tags = " and ".join(f"[{', '.join(each)}]" for each in dict.fromkeys(job.tags for job in left))
    line = file.runners[0].line
    if not taken:
        yield finding(
            "RUN125", Place(file=file.file, line=line, key="tags"),
            f"no runner of this file has the tags {tags}: nothing would take {named(left)}",
            fix="give the runner all of these tags, or name the right file",
        )  # fmt: skip
    else:
        yield finding(
            "RUN124", Place(file=file.file, line=line, key="tags"),
            f"another runner takes the jobs with the tags {tags}; not checked: {named(left)}",
            fix="check that runner's file as well",
        )  # fmt: skip


def _strays(contract: Contract, strays: Iterable[StrayKey]) -> Iterator[Finding]:
    for stray in strays:
        what = (
            "is no key of the runner, which ignores it"
            if stray.table == stray.belongs_to
            else f"stands in {stray.table}, where the runner does not read it as a setting"
        )
        yield contract.finding(
            "RUN122", stray.line, stray.name, what,
            fix=stray.fix or f"write {stray.meant}, in {stray.belongs_to}",
        )  # fmt: skip
