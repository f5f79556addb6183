"""The options of `plan`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.cluster_options import add_runner_arguments

EPILOG = """\
examples:
  plan                                          makespan, cost, who runs where, what binds
  plan --against examples/single-pool.toml      this routing next to another
  plan --sweep ci-training.concurrency=1..6     the curve over one number of routing.toml
  plan --suggest                                cheaper or faster routings, each with its patch
  plan --durations durations.json --measured    how near the plan comes to measured runs
  plan --format html -o plan.html               one page with a Gantt chart, to open in a browser

exit codes: 0 fine, 1 a job never starts or is ended, 2 wrong usage or routing, 3 no job
"""


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """What `plan` takes besides the options that name the inputs and the parent pipeline."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--durations", metavar="FILE", type=Path,
        help="measured durations, as `gitlab history` writes them; without it routing.toml's",
    )  # fmt: skip
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
    add_runner_arguments(parser)
    parser.add_argument(
        "--format", choices=("text", "json", "markdown", "html"), default="text",
        help="default: text",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="default: stdout, as is -"
    )
