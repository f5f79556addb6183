"""The options of `plan`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.commands.common_options import (
    add_durations,
    add_format,
    add_output,
    add_runner_arguments,
)


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """What `plan` takes besides the options that name the inputs and the parent pipeline."""
    add_durations(parser)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--against", metavar="OTHER.toml", type=Path, help="show another routing next to this one"
    )
    mode.add_argument(
        "--sweep", metavar="KEY=VALUES",
        help="plan with each value of a number of routing.toml: A..B, A..B..STEP or A,B,C",
    )  # fmt: skip
    mode.add_argument(
        "--suggest",
        action="store_true",
        help="look for a cheaper or faster routing; changes nothing",
    )
    mode.add_argument(
        "--measured", action="store_true", help="compare the plan with what --durations measured"
    )
    add_runner_arguments(parser, timeout=False)
    add_format(parser, "json", "markdown", "html")
    add_output(parser)
