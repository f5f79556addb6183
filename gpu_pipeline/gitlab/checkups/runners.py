"""Runners with our tags, and whether timeouts leave the jobs their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_pipeline.ci_jobs import resolve_ci_jobs
from gpu_pipeline.durations import format_duration, seconds_in
from gpu_pipeline.gitlab.checkups.line import Case, Line, ask, error, ok, warning

_PLACE = "Settings → CI/CD → Runners"


def check_runners(case: Case) -> list[Line]:
    """For each set of tags: a runner that is online, takes such jobs, and lets them finish."""
    lines = []
    known: dict[int, dict[str, Any]] = {}
    for tags, longest in _wanted(case).items():
        lines += _check_tags(case, tags, longest, known)
    return lines


def check_timeout(case: Case) -> list[Line]:
    """The project's timeout holds for jobs that set none (doc/ci/pipelines/settings)."""
    seconds = case.project.attributes.get("build_timeout")
    if seconds is None:
        return [warning("project timeout", "the token may not read it", "use a maintainer's token")]
    own = [job.name for job in case.routed.jobs if not seconds_in(job.timeout)]
    said = format_duration(seconds)
    if own:
        return [
            warning(
                "project timeout",
                f"{said} holds for {', '.join(own)}",
                "give these jobs a timeout in routing.toml",
            )
        ]
    return [ok("project timeout", f"{said}; the training jobs set their own, which wins")]


def _wanted(case: Case) -> dict[tuple[str, ...], float]:
    """Each set of tags that jobs ask for, and the longest timeout in seconds among them."""
    found: dict[tuple[str, ...], float] = {}
    for job in case.routed.jobs:
        tags = tuple(sorted(job.values.tags.value)) if job.values.tags else ()
        found[tags] = max(found.get(tags, 0.0), seconds_in(job.timeout) or 0.0)
    for tags in _parent_tags(case):
        found.setdefault(tags, 0.0)
    return found


def _parent_tags(case: Case) -> Iterator[tuple[str, ...]]:
    """The tags of each job of the parent that a runner takes: it is no template and no trigger."""
    jobs, _ = resolve_ci_jobs(case.parent)
    for job in jobs.values():
        if not job.hidden and job.tree.get("trigger") is None:
            tags = job.tree.plain_at("tags")
            yield tuple(sorted(map(str, tags))) if isinstance(tags, list) else ()


def _check_tags(
    case: Case, tags: tuple[str, ...], longest: float, known: dict[int, dict[str, Any]]
) -> list[Line]:
    """Lines about the runners with these tags; `known` keeps what was read of each runner."""
    subject = f"runners with {', '.join(tags)}" if tags else "runners for jobs without tags"
    runners = case.connection.project.runners
    only: dict[str, Any] = {"tag_list": ",".join(tags)} if tags else {}
    found = ask(
        case.connection, subject, "Maintainer", lambda: list(runners.list(iterator=True, **only))
    )
    if isinstance(found, Line):
        return [found]
    for each in found:
        if each.id not in known:
            known[each.id] = _details(case, each.attributes)
    fitting = [known[each.id] for each in found if _takes(known[each.id], tags)]
    if not fitting:
        return [error(subject, "there is none", f"register one with these tags ({_PLACE})")]
    usable = [each for each in fitting if each["online"] and not each.get("paused")]
    if not usable:
        states = ", ".join(f"{_name(each)} is {_state(each)}" for each in fitting)
        return [error(subject, f"none takes jobs: {states}", f"start or resume one ({_PLACE})")]
    if case.protected is False and all(
        each.get("access_level") == "ref_protected" for each in usable
    ):
        return [
            error(
                subject,
                f"take jobs of protected branches only, which {case.ref} is not",
                f"protect {case.ref}, or let the runner take other branches ({_PLACE})",
            )
        ]
    lines = [ok(subject, f"online: {', '.join(map(_name, usable))}")]
    return lines + [_short(each, subject, longest) for each in usable if _is_short(each, longest)]


def _details(case: Case, listed: Mapping[str, Any]) -> dict[str, Any]:
    """A runner with all that the token may read of it: shared ones show little."""
    client = case.connection.client
    found = ask(
        case.connection,
        "a runner",
        "Maintainer",
        lambda: client.runners.get(listed["id"]).attributes,
    )
    return dict(listed) if isinstance(found, Line) else {**listed, **found}


def _takes(runner: Mapping[str, Any], tags: tuple[str, ...]) -> bool:
    return bool(tags) or bool(runner.get("run_untagged", True))


def _name(runner: Mapping[str, Any]) -> str:
    return f"{runner.get('description') or 'runner'} ({runner['id']})"


def _state(runner: Mapping[str, Any]) -> str:
    return "paused" if runner.get("paused") else str(runner.get("status", "offline"))


def _is_short(runner: Mapping[str, Any], longest: float) -> bool:
    maximum = runner.get("maximum_timeout")
    return maximum is not None and maximum < longest


def _short(runner: Mapping[str, Any], subject: str, longest: float) -> Line:
    maximum = format_duration(runner["maximum_timeout"])
    return warning(
        subject,
        f"{_name(runner)} ends every job after {maximum}, although jobs may take "
        f"{format_duration(longest)}: the effective timeout is {maximum}",
        f"raise its maximum job timeout ({_PLACE})",
    )
