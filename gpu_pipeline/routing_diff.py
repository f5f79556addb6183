"""What moves from one routing to another: jobs, what they are given, and the pools they run on.

What explains (`reason`, comments) or serves checks alone (`accept`, `contexts`) moves nothing and
is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Origin
from gpu_pipeline.queueing import Queued
from gpu_pipeline.record import Record
from gpu_pipeline.routing_facts import Fact, Facts, job_facts, meaning, pool_facts, rule_facts
from gpu_pipeline.routing_model import Pipeline, Pool, Routing
from gpu_pipeline.toml_lines import Path


class Side(Record):
    """One of the two routings; None of `routing` is a file that does not exist.

    `disabled` are the jobs that it leaves out, by name, with the place that says so; `locate` says
    where a key stands.
    """

    name: str
    routing: Routing | None
    queue: Sequence[Queued]
    disabled: Mapping[str, Origin]
    locate: Callable[[Path], Origin]

    @property
    def pools(self) -> Mapping[str, Pool]:
        """The pools by name."""
        return (self.routing.pools if self.routing else None) or {}

    @property
    def pipeline(self) -> Pipeline:
        """The table [pipeline]."""
        return (self.routing.pipeline if self.routing else None) or Pipeline()


class Change(Record):
    """A value that differs; None on the side that does not set it."""

    key: str
    before: Fact | None
    after: Fact | None


class Changed(Record):
    """A job or a pool of both routings, and what differs."""

    name: str
    changes: tuple[Change, ...]

    @property
    def moves(self) -> bool:
        """Whether it is a job that changes its pool."""
        return any(change.key == "pool" for change in self.changes)


class OneSided(Record):
    """A job or a pool of one routing alone, and the line it comes from.

    `pool` and `gpu` are where it runs; for a pool, its own. `left_out` is the place where the other
    routing disables the job.
    """

    name: str
    pool: str
    gpu: str
    origin: Origin
    left_out: Origin | None = None


class Group(Record):
    """One change and all jobs or pools that it happens to."""

    change: Change
    names: tuple[str, ...]


class RoutingDiff(Record):
    """Everything that differs. `redealt` counts jobs that only have another slot of their pool."""

    before: str
    after: str
    is_new: bool
    jobs_after: int
    added: tuple[OneSided, ...]
    removed: tuple[OneSided, ...]
    changed: tuple[Changed, ...]
    pools_added: tuple[OneSided, ...]
    pools_removed: tuple[OneSided, ...]
    pools_changed: tuple[Changed, ...]
    settings: tuple[Change, ...]
    templates: tuple[str, ...]
    redealt: int

    @property
    def moved(self) -> tuple[Changed, ...]:
        """The jobs that change their pool."""
        return tuple(each for each in self.changed if each.moves)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not any(
            (
                self.added, self.removed, self.changed, self.pools_added, self.pools_removed,
                self.pools_changed, self.settings, self.templates, self.redealt,
            )
        )  # fmt: skip


def diff_routings(before: Side, after: Side, *, templates: Iterable[str] = ()) -> RoutingDiff:
    """What moves between two routings; `templates` are the files of those that differ."""
    old = {each.job.name: each for each in before.queue}
    new = {each.job.name: each for each in after.queue}
    both = [name for name in old if name in new]
    return RoutingDiff(
        before=before.name,
        after=after.name,
        is_new=before.routing is None,
        jobs_after=len(new),
        added=_one_sided(after, before, new.keys() - old.keys()),
        removed=_one_sided(before, after, old.keys() - new.keys()),
        changed=_changed(
            (name, _job_changes(old[name].job, new[name].job, before, after)) for name in both
        ),
        pools_added=_pools(after, before),
        pools_removed=_pools(before, after),
        pools_changed=_changed(
            (name, _pool_changes(name, before, after))
            for name in before.pools
            if name in after.pools
        ),
        settings=tuple(_settings(before, after)) if before.routing and after.routing else (),
        templates=tuple(templates),
        redealt=sum(_is_redealt(old[name], new[name]) for name in both),
    )


def grouped(changed: Iterable[Changed]) -> list[Group]:
    """The changes, each once with all that it happens to: first moves, then the most frequent."""
    names: dict[str, list[str]] = {}
    changes: dict[str, Change] = {}
    for each in changed:
        for change in each.changes:
            mark = _mark(change)
            changes[mark] = change
            names.setdefault(mark, []).append(each.name)
    groups = [Group(change=changes[mark], names=tuple(names[mark])) for mark in changes]
    return sorted(groups, key=lambda group: (group.change.key != "pool", -len(group.names)))


def _mark(change: Change) -> str:
    """A text that is equal for equal changes at the same lines."""
    sides = [
        (side.value, str(side.origin)) if side else None for side in (change.before, change.after)
    ]
    return json.dumps([change.key, *sides], sort_keys=True)


def _changed(found: Iterable[tuple[str, Iterable[Change]]]) -> tuple[Changed, ...]:
    each = (Changed(name=name, changes=tuple(changes)) for name, changes in found)
    return tuple(changed for changed in each if changed.changes)


def _job_changes(old: Job, new: Job, before: Side, after: Side) -> Iterator[Change]:
    yield from _fact_changes(
        job_facts(old, before.locate(("families", old.family, "models"))),
        job_facts(new, after.locate(("families", new.family, "models"))),
    )
    yield from _rule_changes(rule_facts(old), rule_facts(new))


def _fact_changes(old: Facts, new: Facts) -> Iterator[Change]:
    for key in [*old, *(key for key in new if key not in old)]:
        was, now = old.get(key), new.get(key)
        if meaning(key, was) != meaning(key, now):
            yield Change(key=key, before=was, after=now)


def _rule_changes(old: Sequence[Fact], new: Sequence[Fact]) -> Iterator[Change]:
    """Rules have an order and no names: those that stay are found, the rest is paired as it comes.

    A rule is called by its index in the newer list, one that is gone by that in the older.
    """
    texts = [[json.dumps(rule.value, sort_keys=True) for rule in rules] for rules in (old, new)]
    matcher = SequenceMatcher(a=texts[0], b=texts[1], autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        for n in range(max(i_end - i, j_end - j) if tag != "equal" else 0):
            was = old[i + n] if i + n < i_end else None
            now = new[j + n] if j + n < j_end else None
            yield Change(key=f"rules[{(j if now else i) + n}]", before=was, after=now)


def _pool_changes(name: str, before: Side, after: Side) -> Iterator[Change]:
    return _fact_changes(_facts_of_pool(name, before), _facts_of_pool(name, after))


def _facts_of_pool(name: str, side: Side) -> Facts:
    pool = side.pools[name]
    origins = {key: side.locate(("pools", name, key)) for key in pool.__struct_fields__}
    if pool.queue is None:
        origins["queue"] = side.locate(("pipeline", "queue"))
    return pool_facts(pool, origins, side.pipeline)


def _settings(before: Side, after: Side) -> Iterator[Change]:
    """What [pipeline] sets besides values of jobs."""
    sides = [
        {
            key: Fact(value=value, origin=side.locate(("pipeline", key)))
            for key in ("capture", "currency")
            if (value := getattr(side.pipeline, key)) is not None
        }
        for side in (before, after)
    ]
    return _fact_changes(*sides)


def _one_sided(side: Side, other: Side, names: Iterable[str]) -> tuple[OneSided, ...]:
    wanted = set(names)
    return tuple(
        OneSided(
            name=job.name,
            pool=job.pool.value,
            gpu=job.pool_settings.gpu or "",
            origin=_maker(job, side, other),
            left_out=other.disabled.get(job.name),
        )
        for job in (each.job for each in side.queue)
        if job.name in wanted
    )


def _maker(job: Job, side: Side, other: Side) -> Origin:
    """The line that makes the job: of its task where the other has none, else of its model."""
    other_tasks = (other.routing.tasks if other.routing else None) or {}
    if other.routing and job.task not in other_tasks:
        return side.locate(("tasks", job.task))
    models = ("families", job.family, "models")
    family = ((side.routing.families if side.routing else None) or {}).get(job.family)
    listed = (family.models if family else None) or ()
    if job.model in listed:
        return side.locate((*models, listed.index(job.model)))
    return side.locate(models)


def _pools(side: Side, other: Side) -> tuple[OneSided, ...]:
    return tuple(
        OneSided(name=name, pool=name, gpu=pool.gpu or "", origin=side.locate(("pools", name)))
        for name, pool in side.pools.items()
        if name not in other.pools
    )


def _is_redealt(old: Queued, new: Queued) -> bool:
    """Whether a job only waits in another resource group of the same pool."""
    same_pool = old.job.pool.value == new.job.pool.value
    return same_pool and None not in (old.group, new.group) and old.group != new.group
