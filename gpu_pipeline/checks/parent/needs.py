"""Whether the parent's jobs need jobs that there are: one may have moved into the child."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.child.needs import Need, needs_in
from gpu_pipeline.checks.child.parallel import expanded_names
from gpu_pipeline.checks.child.shapes import items_of, text_in
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.ci_file import CiFile
from gpu_pipeline.ci_jobs import CiJob, rules_in
from gpu_pipeline.names import did_you_mean


def check_needed_jobs(file: CiFile, jobs: Mapping[str, CiJob]) -> Iterator[Finding]:
    """Needs and dependencies of visible jobs on jobs that the file does not have.

    Nothing is known of files that it includes, so nothing is said where it includes any.
    """
    if file.root.get("include") is not None:
        return
    visible = {name: job for name, job in jobs.items() if not job.hidden}
    known = {*visible, *(name for job in visible.values() for name in expanded_names(job))}
    for job in visible.values():
        for need in _needed(job):
            if need.name not in known and not need.optional:
                yield finding(
                    "PAR117",
                    Place(file=file.name, line=need.line, job=job.name, key=need.key),
                    f"needs {need.name}, which is no job of this file"
                    f"{did_you_mean(need.name, visible)}: GitLab refuses the whole pipeline",
                    fix="if the child has it now, need the trigger job, which waits for the child "
                    "with strategy: depend; artifacts of the child's jobs do not come along",
                )


def _needed(job: CiJob) -> Iterator[Need]:
    yield from needs_in(job.tree.get("needs"), "needs")
    for number, rule in enumerate(rules_in(job.tree.get("rules"))):
        yield from needs_in(rule.get("needs"), f"rules[{number}].needs")
    for number, item in enumerate(items_of(job.tree.get("dependencies"))):
        if name := text_in(item):
            yield Need(name=name, line=item.line, key=f"dependencies[{number}]")
