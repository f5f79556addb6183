"""The parent's trigger and generate jobs, each by itself: artifact, needs, expiry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.child.structure import stages_of
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob
from gpu_pipeline.durations import UNITS, seconds_in
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.record import Record

# Without a command it renders, whatever options follow.
_RENDERS = re.compile(r"generate_pipeline\.py['\"]?(?=\s*(?:$|[;&|>)])|\s+(?:render\b|-))", re.M)
_END_OF_COMMAND = re.compile(r"(?<!\\)\n|[;&|]")
_OUTPUT_OPTION = re.compile(r"(?:\s-o\s*|\s--output[= ]\s*)['\"]?([^\s'\"]+)")
_GLOBS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Trigger(Record):
    """A trigger job, the artifact its child comes from, and the job that makes it.

    `strategy` ties its status to the child's: "depend", "mirror", or "" for none.
    """

    job: CiJob
    artifact: str
    generator: str
    generator_exists: bool
    include_line: int
    strategy: str

    @property
    def waits(self) -> bool:
        """Whether the job goes on for as long as its child does."""
        return self.strategy in ("depend", "mirror")


def find_triggers(jobs: Mapping[str, CiJob]) -> list[Trigger]:
    """The jobs that start a child pipeline from an artifact."""
    found = []
    for job in jobs.values():
        includes = job.tree.get("trigger", "include")
        if job.hidden or includes is None:
            continue
        for include in includes.value if isinstance(includes.value, list) else [includes]:
            artifact, generator = include.get("artifact"), include.get("job")
            if artifact is not None:
                name = str(generator.value) if generator else ""
                found.append(
                    Trigger(
                        job=job,
                        artifact=str(artifact.value),
                        generator=name,
                        generator_exists=name in jobs and not jobs[name].hidden,
                        include_line=artifact.line,
                        strategy=str(job.tree.plain_at("trigger", "strategy") or ""),
                    )
                )
    return found


def check_trigger_jobs(
    file: CiFile, jobs: Mapping[str, CiJob], triggers: Sequence[Trigger], *, output: str
) -> Iterator[Finding]:
    """Findings about each trigger job and the job it takes its child from."""
    stages = _stages(file)
    for trigger in triggers:
        place = Place(
            file=file.name, line=trigger.include_line, job=trigger.job.name, key="trigger"
        )
        if not trigger.generator_exists and file.root.get("include") is not None:
            continue  # a file that is not looked at may have it
        if not trigger.generator_exists:
            visible = [name for name, job in jobs.items() if not job.hidden]
            yield finding(
                "PAR108", place,
                f'takes its child from job "{trigger.generator}", which '
                f"{'is hidden' if trigger.generator in jobs else 'does not exist'}"
                f"{did_you_mean(trigger.generator, visible)}",
                fix="name the job that runs generate_pipeline.py",
            )  # fmt: skip
            continue
        yield from _artifact(jobs[trigger.generator], trigger, place, output)
        yield from _order(file, jobs[trigger.generator], trigger, stages)
    for name in dict.fromkeys(t.generator for t in triggers if t.generator_exists):
        wanted = {t.artifact for t in triggers if t.generator == name}
        yield from _kept(file, jobs[name], wanted)


def _artifact(generator: CiJob, trigger: Trigger, place: Place, output: str) -> Iterator[Finding]:
    paths = _texts(generator.tree.get("artifacts", "paths"))
    if not any(_covers(path, trigger.artifact) for path in paths):
        shown = ", ".join(paths) or "nothing"
        yield finding(
            "PAR108", place,
            f"includes {trigger.artifact}, but {generator.name} keeps {shown}"
            f"{did_you_mean(trigger.artifact, paths) if paths else ''}",
            fix=f"list {trigger.artifact} under artifacts:paths of {generator.name}",
        )  # fmt: skip
    elif not _writes(generator, trigger.artifact, output):
        yield finding(
            "PAR108", place,
            f"includes {trigger.artifact}, but {generator.name} writes another file",
            fix=f"let it write {trigger.artifact} with -o, or include what it writes",
        )  # fmt: skip


def _covers(path: str, artifact: str) -> bool:
    """Whether an entry of artifacts:paths, a file, a folder or a glob, brings `artifact` along.

    The runner's globs (doublestar) match whole paths; what a variable stands for is not known.
    """
    if "$" in path:
        return True
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", path.rstrip("/"))
    pattern = "".join(_GLOBS.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(f"{pattern}(?:/.*)?", artifact) is not None


def _writes(generator: CiJob, artifact: str, output: str) -> bool:
    """Whether the generate job's script writes `artifact`, as far as its text tells."""
    calls = [
        _END_OF_COMMAND.split(item[call.start() :], maxsplit=1)[0]
        for item in _texts(generator.tree.get("script"))
        for call in _RENDERS.finditer(item)
    ]
    if not calls:
        return True  # something else writes it
    named = [match[1] for each in calls for match in _OUTPUT_OPTION.finditer(each)]
    return artifact in (named or [output]) or any("$" in each or each == "-" for each in named)


def _order(
    file: CiFile, generator: CiJob, trigger: Trigger, stages: Sequence[str]
) -> Iterator[Finding]:
    needs = trigger.job.tree.get("needs")
    if needs is not None:
        names = [_needed(item) for item in _items(needs)]
        if trigger.generator in names:
            return
        message = f"needs {', '.join(names) or 'nothing'}, but not {trigger.generator}"
    elif _stage(generator, stages) < _stage(trigger.job, stages):
        message = "has no needs: it waits for every job of the earlier stages"
    else:
        message = (
            f"has no needs, and {trigger.generator} is in no earlier stage: it starts before there "
            "is a child"
        )
    line = needs.line if needs else trigger.job.line
    place = Place(file=file.name, line=line, job=trigger.job.name, key="needs")
    yield finding("PAR111", place, message, fix=f"write needs: [{trigger.generator}]")


def _kept(file: CiFile, generator: CiJob, wanted: set[str]) -> Iterator[Finding]:
    paths = generator.tree.get("artifacts", "paths")
    kept = _texts(paths)
    is_kept = any(_covers(path, artifact) for path in kept for artifact in wanted)
    further = [path for path in kept if path not in wanted] if is_kept else []
    if paths is not None and further:
        yield finding(
            "PAR112",
            Place(file=file.name, line=paths.line, job=generator.name, key="artifacts:paths"),
            f"keeps {', '.join(further)} besides the child: GitLab reads the child from an archive "
            "of at most 5 MB in all",
            fix="keep the child alone; put the rest into another job",
        )
    untracked = generator.tree.get("artifacts", "untracked")
    if untracked is not None and untracked.value is True:
        yield finding(
            "PAR112",
            Place(
                file=file.name, line=untracked.line, job=generator.name, key="artifacts:untracked"
            ),
            "keeps every file that git does not know besides the child: GitLab reads the child "
            "from an archive of at most 5 MB in all",
            fix="remove untracked",
        )
    expiry = generator.tree.get("artifacts", "expire_in")
    seconds = seconds_in(expiry.value) if expiry and isinstance(expiry.value, str) else None
    if expiry is not None and seconds is not None and seconds < UNITS["day"]:
        yield finding(
            "PAR113",
            Place(file=file.name, line=expiry.line, job=generator.name, key="artifacts:expire_in"),
            f"the child expires after {expiry.value}: a trigger job retried later finds none",
            fix="keep it for a week or longer",
        )


def _stages(file: CiFile) -> Sequence[str]:
    return stages_of(file) or (".pre", ".post")


def _stage(job: CiJob, stages: Sequence[str]) -> int:
    stage = job.tree.get("stage")
    name = str(stage.value) if stage else "test"
    return stages.index(name) if name in stages else len(stages)


def _items(tree: Tree) -> list[Tree]:
    return tree.value if isinstance(tree.value, list) else [tree]


def _needed(need: Tree) -> str:
    """The name that an entry of `needs` gives, as a text or under `job`."""
    job = need.get("job") or need
    return job.value if isinstance(job.value, str) else ""


def _texts(tree: Tree | None) -> list[str]:
    """The texts of a list, nested ones included, or of a single text."""
    if tree is None:
        return []
    if isinstance(tree.value, list):
        return [text for item in tree.value for text in _texts(item)]
    return [tree.value] if isinstance(tree.value, str) else []
