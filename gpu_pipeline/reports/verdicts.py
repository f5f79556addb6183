"""Verdicts as text, JSON, Markdown and JUnit XML, which GitLab shows beside the pipeline."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_pipeline.console import printable
from gpu_pipeline.gitlab.aspects import Aspect, Verdict
from gpu_pipeline.gitlab.verdict import JobVerdict
from gpu_pipeline.gitlab.verification import Verification
from gpu_pipeline.reports.layout import as_json, code, table
from gpu_pipeline.words import count

_NOT_XML = re.compile("[\ufffe\uffff]")  # the only printable characters that XML 1.0 lacks


def verification(found: Verification, output_format: str) -> str:
    """The whole report: what failed or is unproven in full, what passed in a line."""
    if output_format == "json":
        return as_json(_facts(found))
    if output_format == "junit":
        return junit(found)
    rows = [_row(each) for each in found.jobs]
    parts = [_title(found)]
    parts += [table(rows, output_format)] if rows else []
    details = list(_details(found, output_format))
    parts += ["\n".join(details)] if details else []
    return "\n\n".join([*parts, summary(found)])


def summary(found: Verification) -> str:
    """How many jobs there are of each verdict."""
    numbers = Counter(each.verdict for each in found.jobs)
    parts = [f"{numbers[each]} {each}" for each in Verdict if numbers[each]]
    return f"{count(len(found.jobs), 'job')}: {', '.join(parts)}" if parts else "no job"


def _title(found: Verification) -> str:
    node = found.pipeline
    return f"pipeline {node.id} ({node.source}, {node.status}) {node.url}".rstrip()


def _row(job: JobVerdict) -> dict[str, object]:
    return {
        "job": job.name,
        "pool": job.pool or "-",
        "verdict": job.verdict.value,
        "ended": job.ending.value,
        "attempts": job.attempt.older + 1 if job.attempt else 0,
        "node": job.node or "-",
    }


def _details(found: Verification, output_format: str) -> Iterator[str]:
    """What was found of the trigger jobs, and of each job what did not pass, each reason once."""
    for aspect in found.bridges:
        yield _line("trigger job", aspect.name, aspect, output_format)
    for job in found.jobs:
        alike: dict[tuple[Verdict, str], list[Aspect]] = {}
        for aspect in job.aspects:
            if aspect.verdict is not Verdict.PASS:
                alike.setdefault((aspect.verdict, aspect.detail), []).append(aspect)
        for aspects in alike.values():
            names = ", ".join(each.name for each in aspects)
            yield _line(job.name, names, aspects[0], output_format)


def _line(subject: str, names: str, aspect: Aspect, output_format: str) -> str:
    detail = aspect.detail.replace("\n", " ")
    if output_format == "markdown":
        return f"- **{aspect.verdict}** {code(subject)} {code(f'{names}: {detail}')}"
    return f"{aspect.verdict:<8} {subject}: {names}: {detail}"


def _facts(found: Verification) -> dict[str, object]:
    numbers = Counter(each.verdict for each in found.jobs)
    node = found.pipeline
    return {
        "pipeline": node.id,
        "source": node.source,
        "status": node.status,
        "url": node.url,
        "verdict": found.verdict.value,
        "counts": {each.value: numbers[each] for each in Verdict},
        "trigger_jobs": [_aspect(each) for each in found.bridges],
        "jobs": [_job(each) for each in found.jobs],
    }


def _job(job: JobVerdict) -> dict[str, object]:
    attempt = job.attempt
    return {
        "name": job.name,
        "pool": job.pool or None,
        "verdict": job.verdict.value,
        "ended": job.ending.value,
        "id": attempt.id if attempt else None,
        "pipeline": attempt.pipeline if attempt else None,
        "status": attempt.status if attempt else None,
        "failure_reason": attempt.failure_reason or None if attempt else None,
        "older_attempts": attempt.older if attempt else None,
        "url": attempt.url or None if attempt else None,
        "node": job.node or None,
        "aspects": [_aspect(each) for each in job.aspects],
    }


def _aspect(aspect: Aspect) -> dict[str, str]:
    return {"name": aspect.name, "verdict": aspect.verdict.value, "detail": aspect.detail}


def junit(found: Verification) -> str:
    """JUnit XML: a test case for each aspect; FAIL is a failure, UNPROVEN a skipped one."""
    cases: list[tuple[str, Aspect, JobVerdict | None]] = []
    cases += [("trigger jobs", aspect, None) for aspect in found.bridges]
    cases += [(job.name, aspect, job) for job in found.jobs for aspect in job.aspects]
    numbers = Counter(aspect.verdict for _, aspect, _ in cases)
    suite = ET.Element(
        "testsuite",
        name=f"pipeline {found.pipeline.id}",
        tests=str(len(cases)),
        failures=str(numbers[Verdict.FAIL]),
        skipped=str(numbers[Verdict.UNPROVEN]),
        errors="0",
    )
    suite.extend(_case(*case) for case in cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _case(subject: str, aspect: Aspect, job: JobVerdict | None) -> ET.Element:
    case = ET.Element("testcase", classname=_xml(subject), name=_xml(aspect.name))
    duration = job.attempt.duration if job and job.attempt else None
    if aspect.name == "outcome" and duration is not None:
        case.set("time", f"{duration:.3f}")
    if aspect.verdict is Verdict.FAIL:
        kind = job.ending.value if job and aspect.name == "outcome" else "otherwise than planned"
        failure = ET.SubElement(case, "failure", message=_xml(aspect.detail), type=kind)
        failure.text = _xml("\n".join(_where(subject, aspect, job)))
    elif aspect.verdict is Verdict.UNPROVEN:
        ET.SubElement(case, "skipped", message=_xml(f"unproven: {aspect.detail}"))
    return case


def _where(subject: str, aspect: Aspect, job: JobVerdict | None) -> Sequence[str]:
    url = job.attempt.url if job and job.attempt else ""
    return [f"{subject}: {aspect.name}: {aspect.detail}", *([url] if url else [])]


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", printable(text))
