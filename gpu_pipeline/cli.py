"""The command line: options in, exit code out. Reads files, environment and the git branch."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from gpu_pipeline.commands.common_options import (
    add_context_arguments,
    add_format,
    add_input_arguments,
    add_job,
    add_output,
    add_parent,
    add_quiet,
    add_runner_arguments,
    add_variables,
)
from gpu_pipeline.console import hush, say, show, tell
from gpu_pipeline.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    GeneratorError,
)
from gpu_pipeline.interrupts import noted_interrupts
from gpu_pipeline.lazy import load_module
from gpu_pipeline.parser import Parser
from gpu_pipeline.waiting import told_if_slow

_DEBUG = "GPU_PIPELINE_DEBUG"
ROOT = Path(__file__).resolve().parent.parent
_EPILOG = """\
examples:
  render                      write child-pipeline.yml
  preview --all               which jobs run when
  check                       what would go otherwise than meant
  plan                        how long the run takes and what it costs
  COMMAND --help              options, examples and exit codes of a command

exit codes:
  0    done
  1    findings, a difference, or a run that went otherwise than planned
  2    wrong usage, routing or template
  3    nothing would run
  4    GitLab refused or could not be reached
  70   a mistake of this program
  130  interrupted

Without options the context comes from the CI environment (CI_PIPELINE_SOURCE,
CI_COMMIT_BRANCH and the variables that routing.toml captures); outside CI the
source is `web` on the current git branch. The variable TRAIN_JOBS (globs,
separated by blanks or commas) does the same as --job. Colours: on a terminal,
unless NO_COLOR is set; FORCE_COLOR asks for them elsewhere.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the process's exit code. No traceback reaches a user."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with noted_interrupts() as interrupts:
            code = _guarded([_utf8(each) for each in (sys.argv[1:] if argv is None else argv)])
            if not interrupts.seen:
                return code
    except KeyboardInterrupt:
        pass
    say("interrupted")
    return EXIT_INTERRUPTED


def _guarded(arguments: list[str]) -> int:
    """Run one command; every failure is told in a line and has its exit code."""
    try:
        return _run(_parse(arguments))
    except GeneratorError as error:
        say(f"{error.prefix}{error}")
        for note in getattr(error, "__notes__", ()):
            tell(note)
        return error.exit_code
    except BrokenPipeError:
        return EXIT_OK  # whoever read our output has seen enough
    except Exception as error:  # the last resort: a mistake of ours, told in a line
        if os.environ.get(_DEBUG):
            import traceback

            say(traceback.format_exc())  # what raised it may quote a token, which `say` masks
            return EXIT_INTERNAL
        say(f"internal error: {type(error).__name__}: {error} (set {_DEBUG}=1 for the traceback)")
        return EXIT_INTERNAL


def _utf8(text: str) -> str:
    """An argument or variable as UTF-8, whatever encoding the locale made Python assume."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def _run(options: argparse.Namespace) -> int:
    module = load_module(f"gpu_pipeline.commands.{_SHARED.get(options.command, options.command)}")
    run: Callable[[argparse.Namespace, Mapping[str, str]], int] = getattr(
        module, f"run_{options.command}"
    )
    hush(quiet=options.quiet)
    with told_if_slow(options):
        return run(options, {name: _utf8(value) for name, value in os.environ.items()})


_COMMANDS = {
    "render": "write the child pipeline (this is what runs without a command)",
    "preview": "list the jobs: where each runs and with what",
    "check": "find what GitLab, the runner or the cluster would do otherwise than meant",
    "plan": "how long a run takes, what it costs, and what would be better",
    "eval": "say whether GitLab takes an expression of rules:if for true",
    "explain": "show each value of a job and the line it comes from",
    "cluster": "print what the cluster must be told: runner settings, GPU sharing, fit",
    "diff": "show what moves from another routing to this one, and what it costs or saves",
    "init": "adopt a hand-written .gitlab-ci.yml: write the routing that renders its jobs",
    "gitlab": "talk to a GitLab server: check, start, watch and verify pipelines there",
    "schema": "print the JSON schema of routing.toml, for editors",
    "completion": "print what completes commands and options in a shell",
}


_SHARED = {"preview": "show", "explain": "show", "schema": "show"}  # modules of several commands
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


class _Version(argparse.Action):
    """Reads the version where it is kept, and only when asked."""

    def __call__(self, *_: object) -> NoReturn:
        import tomllib

        from gpu_pipeline.files import read_bytes

        path = Path(__file__).resolve().parent.parent / "pyproject.toml"
        project = tomllib.loads(read_bytes(path, "this copy").decode("utf-8"))["project"]
        show(f"{project['name']} {project['version']}")
        sys.exit(EXIT_OK)


def build_parser(only: str | None = None) -> Parser:
    """The whole command line; if `only` names a command, with the options of that one alone.

    The others' take time, and nobody reads them.
    """
    parser = Parser(
        prog="generate_pipeline.py",
        description="Generate the GitLab CI child pipeline that routing.toml describes.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parsers = parser.add_topics("command", _COMMANDS)
    for name in parsers if only is None else {only} & parsers.keys():
        _add_arguments(name, parsers[name])
    return parser


def _parse(arguments: list[str]) -> argparse.Namespace:
    if not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")
    ):
        arguments = ["render", *arguments]
    parser = build_parser(only=arguments[0])
    parser.refuse_unknown(arguments)
    return parser.parse_args(arguments)


def _add_arguments(command: str, parser: Parser) -> None:
    """The arguments of one command."""
    if command in ("render", "preview", "check", "plan", "explain"):
        add_input_arguments(parser, root=ROOT)
    if command in ("render", "preview", "check", "plan"):
        add_context_arguments(parser)
        add_job(parser)
    if command == "cluster":
        from gpu_pipeline.commands.cluster_options import add_cluster_arguments

        add_cluster_arguments(parser, root=ROOT)
    elif command == "diff":
        from gpu_pipeline.commands.diff_options import add_diff_arguments

        add_diff_arguments(parser, root=ROOT)
    elif command == "gitlab":
        from gpu_pipeline.commands.gitlab_options import add_gitlab_arguments

        add_gitlab_arguments(parser, root=ROOT)
    elif command == "init":
        from gpu_pipeline.commands.init_options import add_init_arguments

        add_init_arguments(parser, root=ROOT)
    elif command == "plan":
        from gpu_pipeline.commands.plan_options import add_plan_arguments

        add_plan_arguments(parser)
    elif command in _OWN_ARGUMENTS:
        _OWN_ARGUMENTS[command](parser)
    _add_result(command, parser)


def _add_result(command: str, parser: Parser) -> None:
    """The arguments that say what becomes of a command's result, in the order of its help."""
    if command in ("preview", "check", "explain"):
        add_format(parser, "json", "markdown", *(["codequality"] * (command == "check")))
    if command in ("preview", "check", "explain", "schema", "completion"):
        add_output(parser)
    if not parser.topics:
        add_quiet(parser)


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
    add_parent(parser, default=None)
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
    add_variables(parser, "value of a variable; one that is not given is undefined; repeatable")


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


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_name", metavar="JOB", help="name of a job")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    text = f"one of {', '.join(SHELLS)}"
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=text)


_OWN_ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "render": _add_render,
    "preview": _add_preview,
    "check": _add_check,
    "eval": _add_eval,
    "explain": _add_explain,
    "completion": _add_completion,
}
