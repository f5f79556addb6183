"""The options of `init`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_init_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options of `init`; `root` holds the default templates."""
    parser.add_argument(
        "--from", metavar="FILE", type=Path, required=True, dest="source",
        help="a GitLab CI file with training jobs, written by hand",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="DIR|FILE.toml", default=".",
        help="where routing.toml and templates/ go; default: the current folder; - prints the "
        "routing",
    )  # fmt: skip
    parser.add_argument(
        "--templates", metavar="DIR", type=Path, default=root / "templates",
        help="templates to start from; default: those beside generate_pipeline.py",
    )  # fmt: skip
    parser.add_argument(
        "--gpu", metavar='POOL="NAME"', action="append", default=[], dest="gpus",
        help="the exact name of a pool's GPU, which no node selector says; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--assume", metavar="KEY=VALUE", action="append", default=[],
        help="what jobs get that say nothing themselves: image, tags, timeout, requests.cpu, "
        "limits.memory, …; repeatable",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace files that are there already")
