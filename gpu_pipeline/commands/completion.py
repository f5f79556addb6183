"""The command `completion`: a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

import shtab

from gpu_pipeline.cli import build_parser
from gpu_pipeline.errors import EXIT_OK
from gpu_pipeline.parser import Parser
from gpu_pipeline.results import deliver

_FOLDERS = ("DIR",)
_FILES = ("FILE", "CHILD", "OTHER.toml", "OTHER.toml|REVISION")


def run_completion(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print the script for one shell."""
    parser = build_parser()
    for action in _actions(parser):
        if action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    deliver(shtab.complete(parser, shell=options.shell), options)
    return EXIT_OK


def _actions(parser: Parser) -> Iterator[argparse.Action]:
    yield from parser._actions
    for topic in parser.topics.values():
        yield from _actions(topic)
