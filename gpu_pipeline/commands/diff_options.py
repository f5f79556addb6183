"""The options of `diff`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.commands.common_options import (
    add_format,
    add_input_arguments,
    add_job,
    add_output,
)


def add_diff_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options of `diff`; `root` holds the default routing and templates."""
    parser.add_argument(
        "other", metavar="OTHER.toml|REVISION",
        help="what to compare with: a routing, or a branch, tag or commit of this one's repository",
    )  # fmt: skip
    add_input_arguments(parser, root=root)
    add_job(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if anything differs")
    add_format(parser, "json", "markdown")
    add_output(parser)
