"""Which task, models, family and pool a hand-written job belongs to, and what it will be called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gpu_pipeline.adopt.handwritten import HandJob, tags_of
from gpu_pipeline.adopt.training import Training
from gpu_pipeline.child import MARKER
from gpu_pipeline.names import RESERVED
from gpu_pipeline.record import Record

SELECTOR, TOLERATION = "KUBERNETES_NODE_SELECTOR_", "KUBERNETES_NODE_TOLERATIONS_"
_MARKED = re.compile(
    rf"echo \"{MARKER}: family=(?P<family>\S+) pool=(?P<pool>\S+) gpu='(?P<gpu>[^']*)' "
)
# Words of a hidden job's name that say nothing about its models.
_EMPTY = {"base", "bases", "template", "common", "default", "job", "jobs", "gpu", "train"}
_EMPTY |= {"training", "validate", "hyperopt", "tune", "ci", "the"}
_MAX_NAME = 63


class Route(Record):
    """What a job that the generator rendered says of itself in its first command."""

    family: str
    pool: str
    gpu: str


class Worker(Record):
    """A training job with what its commands say; `route` is None for one written by hand.

    `epochs` is 1 for a job that trains nothing but belongs to a model.
    """

    hand: HandJob
    training: Training
    models: tuple[str, ...]
    epochs: int
    route: Route | None

    @property
    def selectors(self) -> tuple[str, ...]:
        """The node selectors, `label=value`; first the one that most likely names the pool."""
        return tuple(sorted(_values(self.hand, SELECTOR), key=lambda each: "pool" not in each))

    @property
    def tolerations(self) -> tuple[str, ...]:
        """The taints that the job tolerates."""
        return _values(self.hand, TOLERATION)

    @property
    def pool_key(self) -> tuple[str, ...]:
        """Equal for jobs of one pool: the selector, without one the runner, by its tags."""
        if self.route:
            return ("route", self.route.pool)
        return self.selectors[:1] or ("", *sorted(tags_of(self.hand)))


class Place(Record):
    """Where a job stands in the routing; `per_family` when it trains all models of a family."""

    worker: Worker
    task: str
    family: str
    pool: str
    models: tuple[str, ...]
    per_family: bool

    @property
    def name(self) -> str:
        """The name that the routing gives the job."""
        return f"{self.task}-{self.family if self.per_family else self.models[0]}"


def route_of(job: HandJob) -> Route | None:
    """What the marker of a rendered job says, None for any other job."""
    match = _MARKED.match(job.before[0]) if job.before else None
    return Route(**match.groupdict()) if match else None


def _values(job: HandJob, prefix: str) -> tuple[str, ...]:
    names = sorted(name for name in job.variables if name.startswith(prefix))
    return tuple(dict.fromkeys(filter(None, map(job.value_of, names))))


def as_name(text: str, otherwise: str = "x") -> str:
    """`text` as a name that routing.toml allows."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower())
    name = re.sub(r"-{2,}", "-", name).strip("-._")[:_MAX_NAME].rstrip("-._") or otherwise
    return f"{name}-1" if name in RESERVED else name


def find_places(workers: Sequence[Worker]) -> list[Place]:
    """The place of each job, in the order of the file; no two have the same name."""
    tasks = _tasks(workers)
    pools = _pool_names(workers)
    families = _families(workers, tasks)
    taken: set[tuple[str, str]] = set()
    names: set[str] = set()
    places: list[Place] = []
    # Jobs of several models first: their names leave less choice.
    order = sorted(range(len(workers)), key=lambda i: (len(workers[i].models) < 2, i))
    for index in order:
        worker = workers[index]
        family = families[worker.models[0]]
        for number in range(1, len(workers) + 2):
            task = tasks[index] if number == 1 else f"{tasks[index][:55]}-{number}"
            place = Place(
                worker=worker, task=task, family=family, pool=pools[worker.pool_key],
                models=worker.models, per_family=len(worker.models) > 1,
            )  # fmt: skip
            cells = {(task, model) for model in worker.models}
            if not cells & taken and place.name not in names:
                break
        taken |= cells
        names.add(place.name)
        places.append(place)
    return [place for _, place in sorted(zip(order, places, strict=True), key=lambda pair: pair[0])]


def _tasks(workers: Sequence[Worker]) -> list[str]:
    """The task of each job: its name without the model, or without what follows a known task."""
    names = [_telling_name(worker) for worker in workers]
    found = [
        _without(name, worker.models[0]) if len(worker.models) == 1 else None
        for name, worker in zip(names, workers, strict=True)
    ]
    known = sorted({task for task in found if task}, key=len, reverse=True)
    for index, name in enumerate(names):
        if found[index] is None and len(workers[index].models) > 1:
            stem = next((task for task in known if name.startswith(f"{task}-")), None)
            found[index] = stem or name.rpartition("-")[0] or name
    return [task or name for task, name in zip(found, names, strict=True)]


def _telling_name(worker: Worker) -> str:
    """The job's name; of a matrix without the epochs, which are no part of the kind of work."""
    hand = worker.hand
    if not hand.matrix:
        return as_name(hand.name)
    used = worker.training.used
    values = [v for name, v in hand.matrix.items() if name not in used or v != str(worker.epochs)]
    return as_name("-".join([hand.written, *values]))


def _without(name: str, model: str) -> str | None:
    """`train-tft` without `tft` is `train`; None when the name does not hold the model."""
    if name == model:
        return "train"
    match = re.search(rf"(?:^|[-._]){re.escape(model)}(?=$|[-._])", name)
    if match is None:
        return None
    return as_name(f"{name[: match.start()]}-{name[match.end() :]}", "train")


def _pool_names(workers: Sequence[Worker]) -> dict[tuple[str, ...], str]:
    """A name for each pool: the value of its label; those of a runner's own nodes by its tags."""
    keys = dict.fromkeys(worker.pool_key for worker in workers)
    own = [key for key in keys if key[0] == ""]
    names: dict[tuple[str, ...], str] = {}
    for key in keys:
        if key[0] == "route":
            wanted = key[1]
        elif key[0]:
            wanted = as_name(key[0].rpartition("=")[2], "pool")
        else:
            shared = set.intersection(*(set(each[1:]) for each in own))
            rest = [tag for tag in key[1:] if tag not in shared]
            wanted = as_name("-".join(["runner-default", *(rest if len(own) > 1 else [])]))
        names[key] = _unused(wanted, names.values())
    return names


def _unused(wanted: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    candidates = (wanted if n == 1 else f"{wanted[:58]}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)


def _families(workers: Sequence[Worker], tasks: Sequence[str]) -> dict[str, str]:
    """The family of each model: models of one job together, then those on the same base."""
    jobs_of: dict[str, list[Worker]] = {}
    suffix: dict[str, str] = {}
    for worker, task in zip(workers, tasks, strict=True):
        for model in worker.models:
            jobs_of.setdefault(model, []).append(worker)
        if len(worker.models) > 1:
            rest = as_name(worker.hand.name).removeprefix(task).strip("-._")
            _unite(worker.models, as_name(rest, "all"), suffix)
    keys: dict[str, tuple[str, ...]] = {}
    bases: dict[tuple[str, ...], None] = {}
    for model in sorted(jobs_of, key=lambda model: -len(jobs_of[model])):
        keys[model] = _family_key(model, jobs_of[model], suffix, bases)
        bases.setdefault(keys[model])
    names: dict[tuple[str, ...], str] = {}
    for model in jobs_of:
        key = keys[model]
        if key not in names:
            names[key] = _unused(_family_name(key), names.values())
    return {model: names[keys[model]] for model in jobs_of}


def _unite(models: Sequence[str], name: str, names: dict[str, str]) -> None:
    """One name for models of one job, and for all that have a job together with one of them."""
    known = {names[model] for model in models if model in names}
    joined = {model for model, other in names.items() if other in known}
    names |= dict.fromkeys((*joined, *models), min(known, default=name))


def _family_key(
    model: str, jobs: Sequence[Worker], suffix: Mapping[str, str], known: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    if jobs[0].route:
        return ("named", jobs[0].route.family)
    if model in suffix:
        return ("named", suffix[model])
    shared = [
        base for base in jobs[0].hand.ancestors if all(base in job.hand.ancestors for job in jobs)
    ]
    for base in shared:  # one that others use already tells more than one that is nearer
        if ("base", base) in known:
            return ("base", base)
    if shared:
        return ("base", shared[0])
    pool = Counter(job.pool_key for job in jobs).most_common(1)[0][0]
    return ("pool", *pool, *sorted({_size(job) for job in jobs}))


def _size(worker: Worker) -> str:
    return " ".join(
        f"{name}={variable.value}"
        for name, variable in sorted(worker.hand.variables.items())
        if re.fullmatch(r"KUBERNETES_(CPU|MEMORY)_(REQUEST|LIMIT)", name)
    )


def _family_name(key: tuple[str, ...]) -> str:
    kind, text = key[0], key[1]
    if kind == "named":
        return text
    if kind == "pool":
        return as_name(text.rpartition("=")[2], "general")
    words = [word for word in re.split(r"[-._/@:\s]+", text.lower()) if word not in _EMPTY]
    return as_name("-".join(words), "general")
