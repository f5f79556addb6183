"""The options of `diff`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_pipeline.cluster_options import add_input_arguments

_EPILOG = """\
examples:
  diff main                          what this branch changes
  diff HEAD~3 --exit-code            exit 1 if anything moved in the last three commits
  diff examples/single-pool.toml     against another file; a file wins over a branch of that name
  diff origin/main --format markdown -o routing-diff.md    for a note on a merge request

A revision's routing and templates are read with git; nothing is checked out. What a revision does
not have is new. `refs/heads/NAME` is a branch even if a file has that name.
"""


def add_diff_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options of `diff`; `root` holds the default routing and templates."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "other", metavar="OTHER.toml|REVISION",
        help="what to compare with: a routing, or a branch, tag or commit of this one's repository",
    )  # fmt: skip
    add_input_arguments(parser, root=root)
    parser.add_argument(
        "--job", metavar="GLOB", action="append", default=[], dest="globs",
        help="only jobs whose name matches, and those they need; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=("text", "json", "markdown"), default="text", help="default: text"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to a file; default: stdout"
    )
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if anything differs")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors on stderr")
