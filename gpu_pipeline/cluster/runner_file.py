"""Read a runner's configuration from either kind of file."""

from __future__ import annotations

import argparse

from gpu_pipeline.cluster.runner_config import RunnerFile
from gpu_pipeline.cluster.runner_helm import read_runner_helm
from gpu_pipeline.cluster.runner_toml import read_runner_toml
from gpu_pipeline.errors import Problem, RunnerConfigError, UsageError
from gpu_pipeline.files import display, read_bytes


def runner_file_of(options: argparse.Namespace) -> RunnerFile | None:
    """The runners of the config.toml, or of the Helm values file (.yaml, .yml), of `--runner`.

    `options` are those of `common_options.add_runner_arguments`. Raises UsageError for a file that
    cannot be read, or for what is said of a runner that is not given, and RunnerConfigError for a
    file that is wrong.
    """
    if options.runner is not None:
        return read_runner_file(read_bytes(options.runner, "--runner"), display(options.runner))
    for name in ("runner_name", "runner_tags", "runner_max_timeout"):
        if getattr(options, name, None) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: goes with --runner, which names the runner's file")
    return None


def read_runner_file(data: bytes, file: str) -> RunnerFile:
    """Like `runner_file_of`, from the file's content; its name tells which of the two it is."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(file=file, line=line, path="", message="is not UTF-8; save it as UTF-8")
        raise RunnerConfigError([problem]) from None
    read = read_runner_helm if file.endswith((".yaml", ".yml")) else read_runner_toml
    found = read(text, file)
    if not found.runners:
        raise UsageError(f"{file}: has no [[runners]] with the Kubernetes executor")
    return found
