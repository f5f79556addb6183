"""The command `eval`: the value of one expression. It reads no file, so it starts quickly."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from gpu_pipeline.assignments import assignments
from gpu_pipeline.console import show
from gpu_pipeline.errors import EXIT_OK, UsageError
from gpu_pipeline.rules.errors import RuleSyntaxError
from gpu_pipeline.rules.evaluator import evaluate


def run_eval(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print whether GitLab takes an expression of rules:if for true."""
    try:
        value = evaluate(options.expression, assignments(options.variables))
    except RuleSyntaxError as error:
        raise UsageError(str(error)) from None
    show("true" if value else "false")
    return EXIT_OK
