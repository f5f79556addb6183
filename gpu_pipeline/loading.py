"""From the bytes of routing.toml to checked jobs, with every problem of the file in one error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Problems
from gpu_pipeline.render import template_names
from gpu_pipeline.resolve import resolve_jobs
from gpu_pipeline.routing import read_routing
from gpu_pipeline.routing_checks import check_routing
from gpu_pipeline.routing_model import Routing


@dataclass(frozen=True, kw_only=True)
class LoadedRouting:
    """A routing without problems and its jobs; `lines.origin` says where a key stands."""

    data: bytes
    routing: Routing
    jobs: list[Job]
    lines: Problems


def load_routing(path: Path, templates: Path) -> LoadedRouting:
    """Read and resolve a routing. Raises UsageError or RoutingError."""
    if not (templates / "child-pipeline.yml.j2").is_file():
        raise UsageError(
            f"{display(templates)}: holds no child-pipeline.yml.j2; "
            "--templates names another folder"
        )
    data = read_bytes(path, "--routing")
    routing, problems = read_routing(data, display(path))
    check_routing(
        routing,
        problems,
        bases=template_names(templates, "bases"),
        tasks=template_names(templates, "tasks"),
    )
    jobs = resolve_jobs(routing, problems)
    problems.raise_if_any()
    return LoadedRouting(data=data, routing=routing, jobs=jobs, lines=problems)
