"""Commands as processes of their own that start at once: forked from one that has imported all."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path

from tests.conftest import ROOT

TOPICS = "doctor history lint note schedule trigger verify watch".split()
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [__name__, "gpu_pipeline.commands.gitlab", "gpu_pipeline.gitlab.refusals", "gitlab.v4.objects"]
    + [f"gpu_pipeline.gitlab.{topic}" for topic in TOPICS]
)
SECONDS = 100


@functools.cache
def _start_server() -> None:
    """Start what forks in the project's folder, whatever folder a test is in.

    It finds the modules to import there. One that it does not find it passes over without a word,
    and each run would import all of them again.
    """
    with contextlib.chdir(ROOT):
        forkserver.ensure_running()


def run_forked(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: str, work: Path
) -> tuple[int, bytes, bytes]:
    """Run the command line in `folder`; its exit code and what it wrote to stdout and stderr.

    `work` is a folder for what is read and written. Raises TimeoutError.
    """
    _start_server()
    files = [str(work / name) for name in ("stdin", "stdout", "stderr")]
    Path(files[0]).write_text(stdin, encoding="utf-8")
    process = _CONTEXT.Process(
        target=_main, args=(list(arguments), str(folder), dict(environment), files)
    )
    process.start()
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"{arguments} did not end within {SECONDS} s")
    code = process.exitcode
    process.close()
    return code, Path(files[1]).read_bytes(), Path(files[2]).read_bytes()


def _main(
    arguments: list[str], folder: str, environment: dict[str, str], files: Sequence[str]
) -> None:
    """In the new process: take over folder, environment and streams, and be the program."""
    assert f"gpu_pipeline.gitlab.{TOPICS[-1]}" in sys.modules, "nothing was imported beforehand"
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for descriptor, name in enumerate(files):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if descriptor else os.O_RDONLY
        opened = os.open(name, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 they stay open
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    warnings.simplefilter("error")
    from gitlab import config

    from gpu_pipeline import cli

    # python-gitlab looked for the home folder when it was imported.
    config._DEFAULT_FILES = [str(Path(environment["HOME"]) / ".python-gitlab.cfg")]
    sys.exit(cli.main(arguments))
