"""The options of `cluster`, and those of them that other commands have too."""

from __future__ import annotations

import argparse
from pathlib import Path

_TOPICS = {
    "runner": "the smallest runner settings that permit what the jobs ask for",
    "sharing": "the device plugin's configuration that shares each pool's GPU",
    "fit": "how many jobs of each size fit on a node, and what binds",
}


def add_cluster_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options of `cluster`; `root` holds the default routing and templates."""
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", required=True)
    for name, text in _TOPICS.items():
        topic = topics.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        add_input_arguments(topic, root=root)
        if name == "runner":
            topic.add_argument(
                "--format", choices=("toml", "helm"), default="toml",
                help="config.toml (default) or values of the Helm chart",
            )  # fmt: skip
            topic.add_argument("--tags", metavar="A,B", help="only the runner with these tags")
        if name == "fit":
            add_runner_arguments(topic)


def add_input_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options that name the inputs of every command; `root` holds the default ones."""
    parser.add_argument(
        "--routing", metavar="FILE", type=Path, default=root / "routing.toml",
        help="default: the routing.toml beside generate_pipeline.py",
    )  # fmt: skip
    parser.add_argument(
        "--templates", metavar="DIR", type=Path, default=root / "templates",
        help="default: the templates beside generate_pipeline.py",
    )  # fmt: skip


def add_runner_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that name a runner's configuration, for `check` as well."""
    parser.add_argument(
        "--runner", metavar="FILE", type=Path,
        help="the runner's config.toml, or the values.yaml of its Helm chart",
    )  # fmt: skip
    parser.add_argument("--runner-name", metavar="NAME", help="which of several [[runners]]")
    parser.add_argument(
        "--runner-tags", metavar="A,B", help="its tags, which a config.toml does not hold"
    )
    parser.add_argument(
        "--runner-max-timeout",
        metavar="TIME",
        help="its maximum job timeout on the server: 12h, or in seconds",
    )


def split_tags(tags: str | None) -> tuple[str, ...]:
    """The tags of `--tags A,B` or `--runner-tags`."""
    return tuple(tag.strip() for tag in (tags or "").split(",") if tag.strip())
