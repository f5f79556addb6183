"""The options of `gitlab`: those that every topic has, and one function for each topic's own."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_pipeline.cluster_options import add_input_arguments
from gpu_pipeline.gitlab_run_options import add_history, add_verify, add_watch
from gpu_pipeline.option_types import a_count, seconds

_PROGRAM = "generate_pipeline.py gitlab"


@dataclass(frozen=True, kw_only=True)
class _Topic:
    """One topic: its line of help, lines that show its use, and what adds its own options."""

    text: str
    examples: tuple[str, ...]
    add: Callable[[argparse.ArgumentParser, Path], None]


def add_gitlab_arguments(parser: argparse.ArgumentParser, *, root: Path) -> None:
    """The options of `gitlab`; `root` holds the default routing, templates and parent pipeline."""
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", required=True)
    for name, topic in _TOPICS.items():
        lines = (f"  {_PROGRAM} {name} {example}".rstrip() for example in topic.examples)
        added = topics.add_parser(
            name,
            help=topic.text,
            description=topic.text[0].upper() + topic.text[1:] + ".",
            epilog="\n".join(["examples:", *lines, "", _EPILOG]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        topic.add(added, root)
        _add_connection(added)


_EPILOG = """\
The token is GITLAB_TOKEN, or --token-file, or python-gitlab's configuration file; in a CI job the
server and the project are the job's own. docs/gitlab.md says what the token must be allowed."""


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
    group.add_argument("--quiet", action="store_true", help="say nothing but errors on stderr")


def _add_routing(parser: argparse.ArgumentParser, root: Path) -> None:
    """The inputs of a topic that looks at all jobs of the routing."""
    add_input_arguments(parser, root=root)
    parser.set_defaults(globs=None, source=None, branch=None, variables=[])


def _add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument(
        "--format", choices=("text", *formats), default="text", help="default: text"
    )


def _add_parent(parser: argparse.ArgumentParser, root: Path) -> None:
    parser.add_argument(
        "--parent", metavar="FILE", type=Path, default=root / ".gitlab-ci.yml",
        help="the parent pipeline; default: .gitlab-ci.yml beside generate_pipeline.py",
    )  # fmt: skip


def _add_doctor(parser: argparse.ArgumentParser, root: Path) -> None:
    _add_routing(parser, root)
    _add_parent(parser, root)
    parser.add_argument(
        "--ref", metavar="NAME", help="the schedule's branch; default: the project's"
    )
    parser.add_argument(
        "--schedule", metavar="TEXT", help="only the schedule with this description or id"
    )
    _add_format(parser, "json")


def _add_lint(parser: argparse.ArgumentParser, root: Path) -> None:
    _add_routing(parser, root)
    _add_parent(parser, root)
    parser.add_argument(
        "--child", metavar="FILE", type=Path, help="a child that was rendered; default: render it"
    )
    _add_format(parser, "json")


def _add_trigger(parser: argparse.ArgumentParser, _root: Path) -> None:
    parser.add_argument(
        "--ref", metavar="NAME", help="branch or tag; default: the project's default"
    )
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables",
        help="a pipeline variable, such as TRAIN_JOBS='hyperopt-*'; repeatable",
    )  # fmt: skip
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
    _add_format(parser, "json")


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
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables",
        help="a further variable next to TRAIN_VALIDATE=true; repeatable",
    )  # fmt: skip
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


_TOPICS = {
    "doctor": _Topic(
        text="say before the night whether project, schedule and runners are ready",
        examples=("", "--ref main --format json"),
        add=_add_doctor,
    ),
    "lint": _Topic(
        text="let GitLab itself read the child and the parent pipeline",
        examples=("", "--child child-pipeline.yml"),
        add=_add_lint,
    ),
    "trigger": _Topic(
        text="start a pipeline, once, whatever the network does",
        examples=("--ref main --wait", "--play 'hyperopt-dqn'", "--var TRAIN_JOBS='*-tft'"),
        add=_add_trigger,
    ),
    "watch": _Topic(
        text="follow a pipeline and its children",
        examples=("4711", "4711 --durations durations.json --timeout 43200"),
        add=add_watch,
    ),
    "verify": _Topic(
        text="prove what a pipeline did: pool, resources, GPU, epochs, outcome",
        examples=("4711 --child child-pipeline.yml", "4711 --strict --junit verdicts.xml"),
        add=add_verify,
    ),
    "schedule": _Topic(
        text="create or correct the nightly schedule",
        examples=("--cron '0 2 * * *' --timezone Europe/Paris", "--dry-run"),
        add=_add_schedule,
    ),
    "history": _Topic(
        text="measure how long the jobs of past pipelines took",
        examples=("", "-o durations.json --ref main"),
        add=add_history,
    ),
    "note": _Topic(
        text="post Markdown as the one note of its name on a merge request, or update it",
        examples=("--body-file diff.md --body-file check.md", "--merge-request 12 --body-file -"),
        add=_add_note,
    ),
}
