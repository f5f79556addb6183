"""The options of those topics of `gitlab` that look at what ran: watch, verify, history."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.commands.common_options import (
    add_durations,
    add_format,
    add_input_arguments,
    add_job,
    add_output,
)
from gpu_pipeline.commands.option_types import a_count, seconds

_MOST_AT_ONCE = 8  # connections that a command opens to the server, at most


def add_verify(parser: argparse.ArgumentParser, root: Path) -> None:
    """The options of `verify`; `root` holds the default routing and templates."""
    _add_pipeline(parser, "the parent pipeline, or a child")
    add_input_arguments(parser, root=root)
    parser.add_argument(
        "--child", metavar="FILE", type=Path,
        help="the child that was rendered; default: what the routing renders for such a parent",
    )  # fmt: skip
    add_job(parser, also="")
    add_format(parser, "json", "markdown", "junit")
    add_output(parser)
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help="also write JUnit XML, which GitLab shows"
    )
    parser.add_argument(
        "--strict", action="store_true",
        help="exit 1 for what is UNPROVEN too, not only for what FAILs",
    )  # fmt: skip
    _add_parallel(parser)


def add_watch(parser: argparse.ArgumentParser, root: Path) -> None:
    """The options of `watch`; `root` holds the default routing and templates."""
    _add_pipeline(parser, "the parent pipeline, or a child")
    add_input_arguments(parser, root=root)
    add_durations(parser)
    parser.add_argument(
        "--interval", metavar="SECONDS", type=seconds, default=10.0,
        help="between two looks at the pipeline; default: 10",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds,
        help="stop watching after this long, with exit code 4; default: watch to the end",
    )  # fmt: skip


def add_history(parser: argparse.ArgumentParser, root: Path) -> None:
    """The options of `history`; `root` holds the default routing and templates."""
    add_input_arguments(parser, root=root)
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("durations.json"),
        help="the durations file; FILE.cache beside it keeps what was fetched; default: "
        "durations.json",
    )  # fmt: skip
    parser.add_argument(
        "--ref", metavar="NAME", help="only child pipelines of this branch or tag; default: all"
    )
    parser.add_argument(
        "--pipelines", metavar="N", type=a_count, default=30,
        help="how many child pipelines to look at, the newest first; default: 30",
    )  # fmt: skip
    parser.add_argument(
        "--samples", metavar="N", type=a_count, default=20,
        help="how many successful jobs of a name and pool count, the newest first; default: 20",
    )  # fmt: skip
    _add_parallel(parser)


def _add_pipeline(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("pipeline", metavar="PIPELINE", type=a_count, help=f"id of {what}")


def _add_parallel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--parallel", metavar="N", type=a_count, choices=range(1, _MOST_AT_ONCE + 1), default=4,
        help=f"requests at a time, 1 to {_MOST_AT_ONCE}; default: 4",
    )  # fmt: skip
