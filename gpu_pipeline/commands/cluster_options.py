"""The options of `cluster`."""

from __future__ import annotations

from pathlib import Path

from gpu_pipeline.commands.common_options import (
    add_format,
    add_input_arguments,
    add_output,
    add_quiet,
    add_runner_arguments,
)
from gpu_pipeline.parser import Parser

_TOPICS = {
    "runner": "the smallest runner settings that permit what the jobs ask for",
    "sharing": "the device plugin's configuration that shares each pool's GPU",
    "fit": "how many jobs of each size fit on a node, and what binds",
}


def add_cluster_arguments(parser: Parser, *, root: Path) -> None:
    """The options of `cluster`; `root` holds the default routing and templates."""
    for name, topic in parser.add_topics("topic", _TOPICS).items():
        add_input_arguments(topic, root=root)
        if name == "runner":
            topic.add_argument(
                "--format", choices=("toml", "helm"), default="toml",
                help="config.toml (default) or values of the Helm chart",
            )  # fmt: skip
            topic.add_argument("--tags", metavar="A,B", help="only the runner with these tags")
        if name == "fit":
            add_runner_arguments(topic, timeout=False)
            add_format(topic, "json", "markdown")
        add_output(topic)
        add_quiet(topic)


def split_tags(tags: str | None) -> tuple[str, ...]:
    """The tags of `--tags A,B` or `--runner-tags`."""
    return tuple(tag.strip() for tag in (tags or "").split(",") if tag.strip())
