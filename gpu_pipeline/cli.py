"""The command line: options in, exit code out. Reads files, environment and the git branch."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from gpu_pipeline.cluster_options import (
    add_cluster_arguments,
    add_input_arguments,
    add_runner_arguments,
)
from gpu_pipeline.console import say
from gpu_pipeline.diff_options import add_diff_arguments
from gpu_pipeline.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    GeneratorError,
)
from gpu_pipeline.gitlab_options import add_gitlab_arguments
from gpu_pipeline.lazy import load_module
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.plan_options import add_plan_arguments

_DEBUG = "GPU_PIPELINE_DEBUG"
ROOT = Path(__file__).resolve().parent.parent
_EPILOG = """\
exit codes: 0 fine, 1 findings or a file on disk that differs, 2 wrong usage, routing or template,
            3 nothing would run, 4 GitLab or the network failed, 70 a mistake of this program,
            130 interrupted

Without options the context comes from the CI environment (CI_PIPELINE_SOURCE, CI_COMMIT_BRANCH and
the variables that routing.toml captures); outside CI the source is `web` on the current git branch.
The variable TRAIN_JOBS (globs, separated by blanks or commas) does the same as --job.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the process's exit code. No traceback reaches a user."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(_parse([_utf8(each) for each in (sys.argv[1:] if argv is None else argv)]))
    except GeneratorError as error:
        say(f"{error.prefix}{error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_OK  # whoever read our output has seen enough
    except Exception as error:  # the last resort: a mistake of ours, told in a line
        if os.environ.get(_DEBUG):
            raise
        say(f"internal error: {type(error).__name__}: {error} (set {_DEBUG}=1 for the traceback)")
        return EXIT_INTERNAL


def _utf8(text: str) -> str:
    """An argument or variable as UTF-8, whatever encoding the locale made Python assume."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _run(options: argparse.Namespace) -> int:
    module = load_module(f"gpu_pipeline.{_MODULES.get(options.command, 'commands')}")
    run: Callable[[argparse.Namespace, Mapping[str, str]], int] = getattr(
        module, f"run_{options.command}"
    )
    return run(options, {name: _utf8(value) for name, value in os.environ.items()})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"error: {message}\n")


_COMMANDS = {
    "render": "write the child pipeline (this is what runs without a command)",
    "preview": "list the jobs: where each runs and with what",
    "check": "find what GitLab, the runner or the cluster would do otherwise than meant",
    "plan": "how long a run takes, what it costs, and what would be better",
    "eval": "say whether GitLab takes an expression of rules:if for true",
    "explain": "show each value of a job and the line it comes from",
    "cluster": "print what the cluster must be told: runner settings, GPU sharing, fit",
    "diff": "show what moves from another routing to this one, and what it costs or saves",
    "gitlab": "talk to a GitLab server: check, start, watch and verify pipelines there",
    "schema": "print the JSON schema of routing.toml, for editors",
}


_MODULES = {
    "render": "render_command",
    "check": "check_command",
    "plan": "plan_command",
    "eval": "eval_command",
    "cluster": "cluster_command",
    "diff": "diff_command",
    "gitlab": "gitlab_command",
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
    for name in ("render", "preview", "check", "plan", "explain"):
        _add_common(parsers[name], selects=name != "explain")
    _add_render(parsers["render"])
    _add_preview(parsers["preview"])
    _add_eval(parsers["eval"])
    add_cluster_arguments(parsers["cluster"], root=ROOT)
    add_diff_arguments(parsers["diff"], root=ROOT)
    add_gitlab_arguments(parsers["gitlab"], root=ROOT)
    parsers["explain"].add_argument("job_name", metavar="JOB", help="name of a job")
    _add_check(parsers["check"])
    add_plan_arguments(parsers["plan"])
    for name in ("preview", "check", "explain"):
        further = ("codequality",) if name == "check" else ()
        parsers[name].add_argument(
            "--format",
            choices=("text", "json", "markdown", *further),
            default="text",
            help="default: text",
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


def _add_common(parser: argparse.ArgumentParser, *, selects: bool) -> None:
    add_input_arguments(parser, root=ROOT)
    parser.add_argument("--source", help="the parent's source: push, schedule, web, api, …")
    parser.add_argument("--branch", metavar="NAME", help="the parent's branch")
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables",
        help="value of a captured variable; repeatable",
    )  # fmt: skip
    if selects:
        _add_job(parser)
    else:
        parser.set_defaults(globs=None)
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors on stderr")


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--job", metavar="GLOB", action="append", default=[], dest="globs",
        help="only jobs whose name matches, and those they need; repeatable",
    )  # fmt: skip


def _add_preview(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true",
        help="a matrix over every kind of parent pipeline, those of routing.toml included",
    )  # fmt: skip
    parser.add_argument(
        "--why", metavar="JOB", help="why the job runs or not: every rule and what it read"
    )


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "child", metavar="CHILD", nargs="?", type=Path,
        help="a child file to check, also one written by hand; default: what would be rendered",
    )  # fmt: skip
    parser.add_argument(
        "--parent", metavar="FILE", type=Path,
        help="the parent pipeline; default: .gitlab-ci.yml beside generate_pipeline.py",
    )  # fmt: skip
    parser.set_defaults(default_parent=ROOT / ".gitlab-ci.yml")
    add_runner_arguments(parser)
    parser.add_argument(
        "--codequality", metavar="FILE", type=Path,
        help="also write GitLab's Code Quality report, which a merge request shows",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", choices=("error", "warning"), default="error",
        help="how bad a finding must be for exit code 1; default: error",
    )  # fmt: skip


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPR", help="such as '$A == \"1\" && $B =~ /^v/'")
    parser.add_argument(
        "--var", metavar="NAME=VALUE", action="append", default=[], dest="variables",
        help="value of a variable; one that is not given is undefined; repeatable",
    )  # fmt: skip


def _add_render(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="child-pipeline.yml",
        help="default: child-pipeline.yml in the current folder; - is stdout",
    )  # fmt: skip
    parser.add_argument(
        "--when-empty", choices=("error", "noop"), default="error",
        help="if nothing would run: exit 3 (default), or write a child whose one job says why",
    )  # fmt: skip
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    mode.add_argument(
        "--check",
        action="store_true",
        help="exit 1, with the difference, if the file is not current",
    )
