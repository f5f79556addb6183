"""Workloads to plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_pipeline.loading import load_routing
from gpu_pipeline.plan.model import Workload
from gpu_pipeline.plan.workload import Circumstances, workload_of
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.routing_model import Pipeline

from ..conftest import SHIPPED, TEMPLATES


def workload_in(path: Path) -> Workload:
    """The workload of all jobs of a routing."""
    routed = load_routing(path, TEMPLATES)
    pipeline = routed.routing.pipeline or Pipeline()
    return workload_of(queue_up(routed.jobs, pipeline.queue), Circumstances(), pipeline)


@pytest.fixture
def shipped() -> Workload:
    return workload_in(SHIPPED)
