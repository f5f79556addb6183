"""Where in our files a message of GitLab's lint belongs. Pure; the messages are the server's own.

GitLab names jobs and keys (`jobs:train:timeout config should be a duration`, `train job: undefined
need: x`, `'train' job needs 'x' job`), and for YAML that it cannot read a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpu_pipeline.child import Child
from gpu_pipeline.ci_file import CiFile
from gpu_pipeline.ci_jobs import KEYWORDS
from gpu_pipeline.files import display
from gpu_pipeline.jobs import Job
from gpu_pipeline.names import EPOCHS
from gpu_pipeline.problems import Origin
from gpu_pipeline.record import Record
from gpu_pipeline.template_files import ROOT, SUFFIX

_YAML_LINE = re.compile(r"\bline (\d+)")
_NAME_EDGE = r"[\w.@/-]"
_SIZES = re.compile(r"KUBERNETES_(CPU|MEMORY|EPHEMERAL_STORAGE)_(REQUEST|LIMIT)")


class Spot(Record):
    """A job or another top-level entry of a file, a path of keys below it, and the line."""

    entry: str = ""
    keys: tuple[str, ...] = ()
    line: int = 0


def spot_of(message: str, file: CiFile | None) -> Spot:
    """The most exact place that the message names; an empty one if it names none."""
    if match := _YAML_LINE.search(message):
        return Spot(line=int(match[1]))
    entry = _entry(message, file) if file else None
    tree = file.root.get(entry) if file and entry else None
    if entry is None or tree is None:
        return Spot()
    keys: list[str] = []
    line = tree.line
    for key in _keys_after(message, entry):
        below = tree.get(key)
        if below is None:
            if not keys:
                keys = [key]  # the job inherits it
            break
        tree, line = below, below.line
        keys.append(key)
    return Spot(entry=entry, keys=tuple(keys), line=line)


def _entry(message: str, file: CiFile) -> str | None:
    """The top-level entry that a message is about: the longest name that stands in it."""
    names = sorted((name for name, _ in file.root.items()), key=len, reverse=True)
    for name in names:
        if re.match(rf"(?:jobs:)?{re.escape(name)}(?!{_NAME_EDGE})", message):
            return name
    for name in names:
        if re.search(rf"(?<!{_NAME_EDGE}){re.escape(name)}(?!{_NAME_EDGE})", message):
            return name
    return None


def _keys_after(message: str, entry: str) -> Iterator[str]:
    """The keys of `jobs:ENTRY:key:key config …`."""
    match = re.match(rf"(?:jobs:)?{re.escape(entry)}((?::\w+)+)", message)
    if match:
        yield from filter(None, match[1].split(":"))


def sources_of(
    spot: Spot, file: CiFile, *, child: Child, jobs: Mapping[str, Job], templates: Path
) -> list[str]:
    """The template and the line of the routing that the spot in a rendered child comes from."""
    job = jobs.get(spot.entry)
    key = spot.keys[0] if spot.keys else ""
    base = next((each for each in child.bases if each.name == spot.entry), None)
    if job is not None:
        own = file.root.get(spot.entry)
        if not key or key == "extends" or (own is not None and own.get(key) is not None):
            return [_template(templates, "tasks", job.task), str(_origin(job, spot))]
        return [_template(templates, "bases", job.base.value), str(_origin(job, spot))]
    if base is not None:
        used = next((each for each in child.jobs if each.extends == base.name), None)
        example = jobs.get(used.name) if used else None
        lines = [str(_origin(example, spot))] if example else []
        return [_template(templates, "bases", base.template), *lines]
    return [display(templates / ROOT)] if spot.entry in KEYWORDS else []


def _template(templates: Path, folder: str, name: str) -> str:
    return display(templates / folder / f"{name}{SUFFIX}")


def _origin(job: Job, spot: Spot) -> Origin:
    """The line of the routing that set what the spot shows, or that made the job what it is."""
    key = spot.keys[0] if spot.keys else ""
    values = job.values
    if key == "variables" and len(spot.keys) > 1:
        return _variable(job, spot.keys[1])
    if key == "needs" and job.needs_origin:
        return job.needs_origin
    if key == "stage":
        return job.stage.origin
    known = {"image": values.image, "tags": values.tags, "rules": values.rules}
    sourced = known.get(key) or (values.timeout if key == "timeout" else None)
    return sourced.origin if sourced else job.base.origin


def _variable(job: Job, name: str) -> Origin:
    if name in job.values.variables:
        return job.values.variables[name].origin
    match = _SIZES.fullmatch(name)
    if match:
        sizes = job.values.requests if match[2] == "REQUEST" else job.values.limits
        size = sizes.get(match[1].lower())
        return size.origin if size else job.pool.origin
    if name == EPOCHS and job.values.epochs:
        return job.values.epochs.origin
    return job.pool.origin
