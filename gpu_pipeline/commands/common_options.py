"""Options that several commands have: one place, so that they are called and described alike."""

from __future__ import annotations

import argparse
from pathlib import Path


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


def add_context_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what the parent pipeline is."""
    parser.add_argument("--source", help="the parent's source: push, schedule, web, api, …")
    parser.add_argument("--branch", metavar="NAME", help="the parent's branch")
    add_variables(parser, "value of a captured variable; repeatable")


def add_variables(parser: argparse.ArgumentParser, text: str) -> None:
    """`--var`, whose variables are other ones in each command: `text` says which."""
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables", help=text
    )


def add_job(parser: argparse.ArgumentParser, *, also: str = ", and those they need") -> None:
    """`--job`, for the commands that look at some jobs only; `also` says at which others."""
    parser.add_argument(
        "--job", metavar="GLOB", action="append", default=[], dest="globs",
        help=f"only jobs whose name matches{also}; repeatable",
    )  # fmt: skip


def add_runner_arguments(parser: argparse.ArgumentParser, *, timeout: bool = True) -> None:
    """The options that name a runner's configuration; its longest `timeout` if that matters."""
    parser.add_argument(
        "--runner", metavar="FILE", type=Path,
        help="the runner's config.toml, or the values.yaml of its Helm chart",
    )  # fmt: skip
    parser.add_argument("--runner-name", metavar="NAME", help="which of several [[runners]]")
    parser.add_argument(
        "--runner-tags", metavar="A,B", help="its tags, which a config.toml does not hold"
    )
    if timeout:
        parser.add_argument(
            "--runner-max-timeout", metavar="TIME",
            help="its maximum job timeout on the server: 12h, or in seconds",
        )  # fmt: skip


def add_parent(parser: argparse.ArgumentParser, *, default: Path | None) -> None:
    """`--parent`; a command that must know whether it was given has no default here."""
    parser.add_argument(
        "--parent", metavar="FILE", type=Path, default=default,
        help="the parent pipeline; default: .gitlab-ci.yml beside generate_pipeline.py",
    )  # fmt: skip


def add_durations(parser: argparse.ArgumentParser) -> None:
    """`--durations`, for the commands that reckon with how long jobs take."""
    parser.add_argument(
        "--durations", metavar="FILE", type=Path,
        help="measured durations, as `gitlab history` writes them; default: what the routing "
        "expects",
    )  # fmt: skip


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """`--format`, with `formats` beside text."""
    parser.add_argument(
        "--format", choices=("text", *formats), default="text", help="default: text"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """`-o`, for the commands whose result goes to stdout unless told otherwise."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="write the result to a file; default: stdout, as is -",
    )  # fmt: skip


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """`--quiet`, which every command takes."""
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors on stderr")
