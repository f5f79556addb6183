"""The command line: options in, exit code out. Reads files, environment and the git branch."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from gpu_pipeline.cluster_options import add_cluster_arguments
from gpu_pipeline.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, FileError, GeneratorError
from gpu_pipeline.names import did_you_mean

ROOT = Path(__file__).resolve().parent.parent
_EPILOG = """\
exit codes: 0 fine, 1 the file on disk differs (--check), 2 wrong usage, routing or template,
            3 nothing would run, 130 interrupted

Without options the context comes from the CI environment (CI_PIPELINE_SOURCE, CI_COMMIT_BRANCH and
the variables that routing.toml captures); outside CI the source is `web` on the current git branch.
The variable TRAIN_JOBS (globs, separated by blanks or commas) does the same as --job.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the process's exit code. No traceback reaches a user."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parse(arguments)
        return _run(options)
    except GeneratorError as error:
        print(error if isinstance(error, FileError) else f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def _run(options: argparse.Namespace) -> int:
    from gpu_pipeline import cluster_commands, commands

    module = cluster_commands if options.command == "cluster" else commands
    run: Callable[[argparse.Namespace, Mapping[str, str]], int] = getattr(
        module, f"run_{options.command}"
    )
    code = run(options, os.environ)
    sys.stdout.flush()
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"error: {message}\n")


_COMMANDS = {
    "render": "write the child pipeline (this is what runs without a command)",
    "preview": "list the jobs: where each runs and with what",
    "explain": "show each value of a job and the line it comes from",
    "cluster": "print what the cluster must be told: runner settings, GPU sharing, fit",
    "schema": "print the JSON schema of routing.toml, for editors",
}


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="generate_pipeline.py",
        description="Generate the GitLab CI child pipeline that routing.toml describes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    parsers = {
        name: commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for name, text in _COMMANDS.items()
    }
    for name in ("render", "preview", "explain"):
        _add_common(parsers[name])
    _add_render(parsers["render"])
    add_cluster_arguments(parsers["cluster"], root=ROOT)
    parsers["explain"].add_argument("job_name", metavar="JOB", help="name of a job")
    for name in ("preview", "explain"):
        parsers[name].add_argument(
            "--format", choices=("text", "json", "markdown"), default="text", help="default: text"
        )
    if not arguments or (
        arguments[0] not in _COMMANDS
        and arguments[0].startswith("-")
        and arguments[0] not in ("-h", "--help")
    ):
        arguments = ["render", *arguments]
    elif arguments[0] not in _COMMANDS and not arguments[0].startswith("-"):
        parser.error(f'unknown command "{arguments[0]}"{did_you_mean(arguments[0], _COMMANDS)}')
    return parser.parse_args(arguments)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--routing", metavar="FILE", type=Path, default=ROOT / "routing.toml",
        help="default: the routing.toml beside generate_pipeline.py",
    )  # fmt: skip
    parser.add_argument(
        "--templates", metavar="DIR", type=Path, default=ROOT / "templates",
        help="default: the templates beside generate_pipeline.py",
    )  # fmt: skip
    parser.add_argument("--source", help="the parent's source: push, schedule, web, api, …")
    parser.add_argument("--branch", metavar="NAME", help="the parent's branch")
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables",
        help="value of a captured variable; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--job", metavar="GLOB", action="append", default=[], dest="globs",
        help="only jobs whose name matches, and those they need; repeatable",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors on stderr")


def _add_render(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="child-pipeline.yml",
        help="default: child-pipeline.yml in the current folder; - is stdout",
    )  # fmt: skip
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    mode.add_argument(
        "--check",
        action="store_true",
        help="exit 1, with the difference, if the file is not current",
    )
