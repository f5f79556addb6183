"""Read a runner's configuration from either kind of file."""

from __future__ import annotations

from pathlib import Path

from gpu_pipeline.cluster.runner_config import RunnerFile
from gpu_pipeline.cluster.runner_helm import read_runner_helm
from gpu_pipeline.cluster.runner_toml import read_runner_toml
from gpu_pipeline.errors import Problem, RunnerConfigError, UsageError
from gpu_pipeline.files import display, read_bytes


def load_runner_file(path: Path) -> RunnerFile:
    """The runners of a config.toml, or of a Helm values file (.yaml, .yml).

    Raises UsageError for a file that cannot be read and RunnerConfigError for one that is wrong.
    """
    return read_runner_file(read_bytes(path, "--runner"), display(path))


def read_runner_file(data: bytes, file: str) -> RunnerFile:
    """Like `load_runner_file`, from the file's content."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(file=file, line=line, path="", message="is not UTF-8 text")
        raise RunnerConfigError([problem]) from None
    read = read_runner_helm if file.endswith((".yaml", ".yml")) else read_runner_toml
    found = read(text, file)
    if not found.runners:
        raise UsageError(f"{file}: has no [[runners]] with the Kubernetes executor")
    return found
