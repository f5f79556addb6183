"""The smallest runner configuration that permits exactly what the jobs emit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_pipeline.cluster.emitted import Locate, emissions
from gpu_pipeline.cluster.labels import pair
from gpu_pipeline.cluster.pool_start import start_of
from gpu_pipeline.cluster.runner_config import runner_name_of
from gpu_pipeline.cluster.runner_keys import (
    BUILD_CONTAINER,
    DEFAULT_CONCURRENT,
    DEFAULT_POLL_TIMEOUT,
    GPU_RESOURCE,
    PERMISSIONS,
    POD_SPEC_FLAG,
    Kind,
)
from gpu_pipeline.cluster.runner_needs import by_permission, slots, smallest_line, toml_text
from gpu_pipeline.durations import format_duration, parse_duration
from gpu_pipeline.errors import UsageError
from gpu_pipeline.jobs import Job
from gpu_pipeline.routing_model import Pool, Routing

_HEAD = """\
# What a GitLab Runner must permit for these jobs, and nothing more. It ignores or refuses the rest.
# Merge it into {file}; url, token, image and the like are yours."""


def runner_toml(
    jobs: Sequence[Job], routing: Routing, *, locate: Locate, tags: Sequence[str] = ()
) -> str:
    """A config.toml: one [[runners]] for each set of tags, or for `tags` alone.

    Raises UsageError when no job has these tags, or the default pool has no label.
    """
    groups = _groups(jobs, tags)
    several = len(_groups(jobs, ())) > 1
    planned = sum(slots(mine) for mine in groups.values())
    parts = [_HEAD.format(file="config.toml")]
    if planned > DEFAULT_CONCURRENT:
        parts.append(f"concurrent = {planned}")
    for each, mine in groups.items():
        name = runner_name_of(each) if several else ""
        parts.append(_runner(mine, each, routing, locate=locate, name=name))
    return "\n\n".join(parts)


def runner_helm(
    jobs: Sequence[Job], routing: Routing, *, locate: Locate, tags: Sequence[str] = ()
) -> str:
    """The same as values of the Helm chart, which registers one set of tags.

    Raises UsageError like `runner_toml`, and when jobs have several sets and `tags` picks none.
    """
    groups = _groups(jobs, tags)
    if len(groups) > 1:
        sets = " or ".join(f"--tags {','.join(each)}" for each in groups)
        raise UsageError(f"the chart registers a runner with one set of tags: choose {sets}")
    [(each, mine)] = groups.items()
    config = _runner(mine, each, routing, locate=locate, name="")
    return "\n".join(
        [
            _HEAD.format(file="your values.yaml"),
            f"concurrent: {slots(mine)}",
            "runners:",
            f'  tags: "{",".join(each)}"',
            "  config: |",
            *(f"    {line}" if line else "" for line in config.splitlines()),
        ]
    )


def _groups(jobs: Sequence[Job], tags: Sequence[str]) -> dict[tuple[str, ...], list[Job]]:
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.tags, []).append(job)
    if not tags:
        return groups
    chosen = {each: mine for each, mine in groups.items() if set(each) == set(tags)}
    if not chosen:
        known = " or ".join(",".join(each) for each in groups)
        raise UsageError(f"--tags {','.join(tags)}: no job has these tags; jobs have {known}")
    return chosen


def _runner(
    jobs: Sequence[Job], tags: Sequence[str], routing: Routing, *, locate: Locate, name: str
) -> str:
    pools = {
        pool: settings
        for pool, settings in (routing.pools or {}).items()
        if any(job.pool.value == pool for job in jobs)
    }
    longest = max((job.timeout for job in jobs), key=parse_duration)
    permissions = by_permission(emissions(jobs, locate))
    return "\n".join(
        [
            "[[runners]]",
            f"  # Set on the server: the tags {', '.join(tags)}; a maximum job timeout of none,",
            f"  # or at least {longest}.",
            *([f'  name = "{name}"'] if name else []),
            '  executor = "kubernetes"',
            *_request_concurrency(slots(jobs)),
            "  [runners.feature_flags]",
            f"    {POD_SPEC_FLAG} = true",
            "  [runners.kubernetes]",
            *_poll_timeout(pools),
            *(
                f"    {smallest_line(key, kind, [each.value for each in emitted])}"
                for (key, kind), emitted in sorted(permissions.items(), key=_order)
            ),
            *_default_selector(pools, len(routing.pools or {}), locate),
            "    # A GPU for each job: no variable can ask for one. `cluster sharing` prints how a",
            "    # node offers one GPU to several jobs.",
            "    [[runners.kubernetes.pod_spec]]",
            "      patch = '''",
            "        containers:",
            f"          - name: {BUILD_CONTAINER}",
            "            resources:",
            "              limits:",
            f'                {GPU_RESOURCE}: "1"',
            "      '''",
        ]
    )


def _order(item: tuple[tuple[str, Kind], object]) -> int:
    return list(PERMISSIONS).index(item[0][0])


def _request_concurrency(planned: int) -> list[str]:
    return [f"  request_concurrency = {planned}"] if planned > 1 else []


def _poll_timeout(pools: Mapping[str, Pool]) -> list[str]:
    starts = {name: start for name, pool in pools.items() if (start := start_of(pool))}
    needed = max((start.seconds for start in starts.values()), default=0)
    if needed <= DEFAULT_POLL_TIMEOUT:
        return []
    why = [
        f"    # {name}: {format_duration(start.seconds)} = {start.how}"
        for name, start in starts.items()
    ]
    return [*why, f"    poll_timeout = {needed}"]


def _default_selector(pools: Mapping[str, Pool], count: int, locate: Locate) -> list[str]:
    defaults = {name: pool for name, pool in pools.items() if pool.runner_default}
    labels: dict[str, str] = {}
    for name, pool in defaults.items():
        if pool.label is None and count > 1:
            raise UsageError(
                f"{locate(('pools', name))}: pools.{name}.label is missing: the runner's own node "
                'selector leads here, so say which label it must name, label = "key=value"'
            )
        label, value = pair(pool.label or "")
        if labels.setdefault(label, value) != value:
            raise UsageError(
                f"{locate(('pools', name))}: one runner would have to lead to both "
                f"{' and '.join(defaults)} by default; give the jobs of one other tags"
            )
    lines = [f'      "{label}" = {toml_text(value)}' for label, value in labels.items() if label]
    if not lines:
        return []
    return [
        f"    # The default pool, {', '.join(defaults)}: its jobs set no selector.",
        "    [runners.kubernetes.node_selector]",
        *lines,
    ]
