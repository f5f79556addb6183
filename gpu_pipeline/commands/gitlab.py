"""`gitlab`: finds the file of a topic and runs it; what the network does is an error of ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from gpu_pipeline.lazy import load_module


def run_gitlab(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Run one topic. Raises GitLabError for whatever the server or the network refuses."""
    module = load_module(f"gpu_pipeline.gitlab.{options.topic}")
    refusals = load_module("gpu_pipeline.gitlab.refusals")
    run: Callable[[argparse.Namespace, Mapping[str, str]], int] = module.run
    with refusals.explained():
        return run(options, environment)
