"""What a topic of `gitlab` writes must not be what it reads."""

from __future__ import annotations

import argparse

from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import resolved
from gpu_pipeline.loading import refuse_input
from gpu_pipeline.results import output_of

_INPUTS = ("parent", "child", "durations", "token_file", "ca_file")


def check_outputs(options: argparse.Namespace) -> None:
    """Raise UsageError if `-o` or `--junit` would overwrite an input, or the one the other."""
    inputs = [path for name in _INPUTS if (path := getattr(options, name, None))]
    output, junit = output_of(options), getattr(options, "junit", None)
    if output:
        refuse_input(output, options, *inputs)
    if junit:
        refuse_input(junit, options, *inputs, option="--junit")
    if output and junit and resolved(output) == resolved(junit):
        raise UsageError(f"--junit {junit}: -o writes there as well; choose another file")
