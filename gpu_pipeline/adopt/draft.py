"""The routing in the making: its tables, and what a person has to add to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from gpu_pipeline.adopt.lifting import Cell, Path, lift
from gpu_pipeline.adopt.notes import Kind, Notes
from gpu_pipeline.adopt.pools import pool_tables
from gpu_pipeline.adopt.settings import REQUIRED, Given, Key
from gpu_pipeline.record import Record

_SIZES = ("requests", "limits")
_ALL = ("pipeline", "task", "family", "family task", "model", "own")
_OF_MODEL = ("model", "own")
_OF_TASK = ("task", "family task", "own")
# For each key the levels that may say it alone, and those that do so together.
_WAYS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "pool": ((), ("family", "family task", "model", "own")),
    "image": (("pipeline", "pool", "task", "family"), _ALL),
    "tags": (("pipeline", "pool", "task", "family"), ("pipeline", "pool", *_ALL[1:])),
    "rules": (("pipeline", "task", "family"), _ALL),
    "epochs": ((), _OF_TASK),
    "timeout": ((), _OF_TASK),
    "needs": ((), _OF_TASK),
    "variables": (("pipeline", "pool", "task", "family"), _ALL),
}
_SIZE_HOMES = ("family", "task", "pool", "pipeline")
_SIZE_CHAIN = ("family", "family task", "model", "own")


class Draft(Record):
    """Tables by their path, each with its values by key; `missing` are keys that jobs lack.

    `unnamed_pools` are those whose GPU nobody named yet, `bases` the template of each family and
    `sources` the hidden job that it comes from.
    """

    tables: Mapping[Path, Mapping[Key, object]]
    missing: Mapping[Key, Sequence[str]]
    unnamed_pools: Sequence[str]
    bases: Mapping[str, str]
    sources: Mapping[str, str]

    def models_of(self, family: str) -> list[str]:
        """The models of a family, in their order."""
        models = self.tables["families", family]["models",]
        return list(models) if isinstance(models, list) else []

    def names(self, kind: str) -> list[str]:
        """The names of all tables of a kind, such as "tasks"."""
        return [path[1] for path in self.tables if path[0] == kind and len(path) == 2]


def draft_routing(
    givens: Sequence[Given],
    *,
    capture: Iterable[str],
    gpus: Mapping[str, str],
    bases: Mapping[str, str],
    sources: Mapping[str, str],
    notes: Notes,
) -> Draft:
    """The tables of a routing whose jobs are given these values. `gpus` names those of pools."""
    tables: dict[Path, dict[Key, object]] = {("pipeline",): {("stage",): _stage(givens, notes)}}
    if names := sorted(capture):
        tables["pipeline",]["capture",] = names
    pools, unnamed = pool_tables(givens, gpus, notes)
    tables |= {("pools", name): dict(pool) for name, pool in pools.items()}
    tables |= {("tasks", given.place.task): {} for given in givens}
    for family in dict.fromkeys(given.place.family for given in givens):
        members = dict.fromkeys(
            model
            for given in givens
            if given.place.family == family
            for model in given.place.models
        )
        tables["families", family] = {
            ("pool",): "", ("base",): bases[family], ("models",): list(members),
        }  # fmt: skip
    for given in givens:
        if given.place.per_family:
            _put(
                tables,
                ("families", given.place.family, "tasks", given.place.task),
                ("per",),
                "family",
            )
    _spread(tables, givens)
    _leave_out(tables, givens)
    return Draft(
        tables=tables,
        missing=_missing(givens, notes),
        unnamed_pools=unnamed,
        bases=bases,
        sources=sources,
    )


def _put(tables: dict[Path, dict[Key, object]], path: Path, key: Key, value: object) -> None:
    tables.setdefault(path, {})[key] = value


def _stage(givens: Sequence[Given], notes: Notes) -> str:
    """The stage of all jobs: that of the first; the order of several stages is lost."""
    stages = [given.place.worker.hand.tree.plain_at("stage") for given in givens]
    usual = str(stages[0] or "test")
    for given, stage in zip(givens, stages, strict=True):
        if str(stage or "test") != usual:
            job = given.place.worker.hand
            notes.lost(
                job.line_of("stage"),
                f"{job.name}:stage",
                f'all jobs of a routing are in one stage, "{usual}"; where jobs of "{stage}" '
                "waited for it, say so with needs in [tasks.…]",
            )
    return usual


def _cells(givens: Sequence[Given]) -> list[Cell]:
    shared = {model for each in givens if each.place.per_family for model in each.place.models}
    return [
        Cell(
            task=given.place.task,
            family=given.place.family,
            model=None if given.place.per_family else given.place.models[0],
            pool=given.place.pool,
            shared=given.place.models[0] in shared,
        )
        for given in givens
    ]


def _spread(tables: dict[Path, dict[Key, object]], givens: Sequence[Given]) -> None:
    """Say each value in the table where it reads best."""
    cells = _cells(givens)
    keys = dict.fromkeys(key for given in givens for key in given.values)
    sizes = [key for key in keys if key[0] in _SIZES]
    together = [
        json.dumps([given.values.get(key) for key in sizes], default=str) for given in givens
    ]
    # What holds a job's model would be wrong for the next model of a family.
    models = {("variables", name) for g in givens for name in g.place.worker.training.models_in}
    for key in keys:
        values = [given.values.get(key) for given in givens]
        if key in sizes:
            home = next((h for h in _best_homes(cells, together)), None)
            said = lift(cells, values, homes=[home] if home else (), chain=_SIZE_CHAIN)
        else:
            homes, chain = ((), _OF_MODEL) if key in models else _WAYS[key[0]]
            start: object = [] if key == ("needs",) else None
            alone = key == ("tags",) and _led_by_tags(givens)
            said = lift(cells, values, homes=("pool",), chain=()) if alone else {}
            said = said or lift(cells, values, homes=homes, chain=chain, start=start)
        for path, value in said.items():
            _put(tables, path, key, value)


def _led_by_tags(givens: Sequence[Given]) -> bool:
    """Whether nothing but a runner's tags leads to one pool and not to another."""
    workers = [(given.place.pool, given.place.worker) for given in givens]
    return len({pool for pool, worker in workers if not worker.selectors}) > 1


def _best_homes(cells: Sequence[Cell], together: Sequence[object]) -> list[str]:
    """The levels that can say all sizes of all jobs alone, that with the fewest tables first."""
    counts = {}
    for level in _SIZE_HOMES:
        said = lift(cells, together, homes=[level], chain=())
        if said:
            counts[level] = len(said)
    return sorted(counts, key=lambda level: counts[level])


def _leave_out(tables: dict[Path, dict[Key, object]], givens: Sequence[Given]) -> None:
    """Every task is of every model, so say where the file has no such job."""
    there = {(g.place.task, model) for g in givens for model in g.place.models}
    families = {model: g.place.family for g in givens for model in g.place.models}
    tasks = dict.fromkeys(given.place.task for given in givens)
    cells = [
        Cell(task=task, family=family, model=model, pool="")
        for task in tasks
        for model, family in families.items()
    ]
    wanted = [(cell.task, cell.model) in there for cell in cells]
    for path, value in lift(cells, wanted, homes=(), chain=_OF_TASK, start=True).items():
        _put(tables, path, ("enabled",), value)


def _missing(givens: Sequence[Given], notes: Notes) -> dict[Key, list[str]]:
    """The keys that every job must have, and the jobs that have none."""
    missing = {}
    for key in REQUIRED:
        without = [given for given in givens if key not in given.values]
        if without:
            missing[key] = [given.place.name for given in without]
        for given in without:
            job = given.place.worker.hand
            name = ".".join(key)
            hint = "" if key == ("rules",) else f" (--assume {name}=…)"
            notes.add(
                Kind.MISSING, job.line, f"{job.name}:{name}",
                f"the file gives none to use; rendering stops until the routing does{hint}",
            )  # fmt: skip
    return missing
