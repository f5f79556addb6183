"""The options of `gitlab`: those that every topic has, and one function for each topic's own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from gpu_pipeline.commands.common_options import (
    add_format,
    add_input_arguments,
    add_output,
    add_parent,
    add_quiet,
    add_variables,
)
from gpu_pipeline.commands.gitlab_run_options import add_history, add_verify, add_watch
from gpu_pipeline.commands.option_types import a_count, seconds
from gpu_pipeline.parser import Parser


def add_gitlab_arguments(parser: Parser, *, root: Path) -> None:
    """The options of `gitlab`; `root` holds the default routing, templates and parent pipeline."""
    texts = {name: text for name, (text, _) in _TOPICS.items()}
    for name, topic in parser.add_topics("topic", texts).items():
        _, add = _TOPICS[name]
        add(topic, root)
        add_quiet(topic)
        _add_connection(topic)


def _add_connection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("connection")
    group.add_argument("--server", metavar="URL", help="default: CI_SERVER_URL")
    group.add_argument(
        "--project", metavar="ID", help="id or path, as group/project; default: CI_PROJECT_ID"
    )
    group.add_argument(
        "--token-file", metavar="FILE", type=Path, help="holds the token; default: GITLAB_TOKEN"
    )
    group.add_argument(
        "--ca-file", metavar="FILE", type=Path,
        help="certificates to trust; default: CI_SERVER_TLS_CA_FILE, REQUESTS_CA_BUNDLE, "
        "SSL_CERT_FILE",
    )  # fmt: skip
    group.add_argument(
        "--deadline", metavar="SECONDS", type=seconds, default=60.0,
        help="for one request with all its repeats; default: 60",
    )  # fmt: skip


def _add_routing(parser: argparse.ArgumentParser, root: Path) -> None:
    """The inputs of a topic that looks at all jobs of the routing."""
    add_input_arguments(parser, root=root)
    parser.set_defaults(globs=None, source=None, branch=None, variables=[])


def _add_doctor(parser: argparse.ArgumentParser, root: Path) -> None:
    _add_routing(parser, root)
    add_parent(parser, default=root / ".gitlab-ci.yml")
    parser.add_argument(
        "--ref", metavar="NAME", help="the schedule's branch; default: the project's"
    )
    parser.add_argument(
        "--schedule", metavar="TEXT", help="only the schedule with this description or id"
    )
    add_format(parser, "json")
    add_output(parser)


def _add_lint(parser: argparse.ArgumentParser, root: Path) -> None:
    _add_routing(parser, root)
    add_parent(parser, default=root / ".gitlab-ci.yml")
    parser.add_argument(
        "--child", metavar="FILE", type=Path, help="a child that was rendered; default: render it"
    )
    add_format(parser, "json")
    add_output(parser)


def _add_trigger(parser: argparse.ArgumentParser, _root: Path) -> None:
    parser.add_argument(
        "--ref", metavar="NAME", help="branch or tag; default: the project's default"
    )
    add_variables(parser, "a pipeline variable, such as TRAIN_JOBS='hyperopt-*'; repeatable")
    parser.add_argument(
        "--no-variables", action="store_true",
        help="send no variable at all, for a project that lets nobody set any",
    )  # fmt: skip
    parser.add_argument(
        "--run-id", metavar="TEXT",
        help="name of this run: the same name again finds its pipeline and starts none",
    )  # fmt: skip
    parser.add_argument(
        "--play", metavar="GLOB", action="append", default=[],
        help="also start the on-demand jobs of the child whose name matches; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--wait", action="store_true", help="until the pipeline and what it triggered have ended"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=86_400.0,
        help="how long to wait, for the child to play in as well; default: a day",
    )  # fmt: skip
    parser.add_argument(
        "--interval", metavar="SECONDS", type=seconds, default=15.0,
        help="between two looks at the pipeline; default: 15",
    )  # fmt: skip
    add_format(parser, "json")


def _add_schedule(parser: argparse.ArgumentParser, _root: Path) -> None:
    parser.add_argument(
        "--description", metavar="TEXT", default="Nightly training",
        help="by which it is found again; default: Nightly training",
    )  # fmt: skip
    parser.add_argument(
        "--cron",
        metavar="CRON",
        default="0 2 * * *",
        help='default: "0 2 * * *", at two each night',
    )
    parser.add_argument(
        "--timezone", metavar="NAME", default="UTC", help="such as Europe/Paris; default: UTC"
    )
    parser.add_argument("--ref", metavar="NAME", help="branch; default: the project's default")
    add_variables(parser, "a further variable next to TRAIN_VALIDATE=true; repeatable")
    parser.add_argument("--inactive", action="store_true", help="keep it, but do not run it")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change, change nothing"
    )


def _add_note(parser: argparse.ArgumentParser, _root: Path) -> None:
    parser.add_argument(
        "--body-file", metavar="FILE", action="append", default=[], dest="bodies",
        help="Markdown to post; - is stdin; repeatable, in this order",
    )  # fmt: skip
    parser.add_argument(
        "--merge-request", metavar="IID", type=a_count,
        help="number of the merge request; default: CI_MERGE_REQUEST_IID",
    )  # fmt: skip
    parser.add_argument(
        "--key", metavar="NAME", default="gpu-pipeline",
        help="one note is kept for each name; default: gpu-pipeline",
    )  # fmt: skip


_TOPICS: Mapping[str, tuple[str, Callable[[argparse.ArgumentParser, Path], None]]] = {
    "doctor": (
        "say before the night whether project, schedule and runners are ready",
        _add_doctor,
    ),
    "lint": (
        "let GitLab itself read the child and the parent pipeline",
        _add_lint,
    ),
    "trigger": (
        "start a pipeline, once, whatever the network does",
        _add_trigger,
    ),
    "watch": (
        "follow a pipeline and its children",
        add_watch,
    ),
    "verify": (
        "prove what a pipeline did: pool, resources, GPU, epochs, outcome",
        add_verify,
    ),
    "schedule": (
        "create or correct the nightly schedule",
        _add_schedule,
    ),
    "history": (
        "measure how long the jobs of past pipelines took",
        add_history,
    ),
    "note": (
        "post Markdown as the one note of its name on a merge request, or update it",
        _add_note,
    ),
}
