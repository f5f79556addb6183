"""The jobs that `parallel` makes of one, by the names that GitLab gives them.

GitLab: lib/gitlab/ci/config/normalizer/{number,matrix}_strategy.rb
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gpu_pipeline.checks.child.keys_run import MAX_PARALLEL, matrix_size
from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import is_mapping, items_of, number_in, text_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import CiJob

MAX_NAME = 255


def expanded_names(job: CiJob) -> Iterator[str]:
    """`fit 1/2`, or `fit: [a, b]` for a matrix; nothing for a job without `parallel`.

    Nothing either where there are more than GitLab allows, which is reported elsewhere.
    """
    parallel = job.tree.get("parallel")
    if is_mapping(parallel):
        matrix = job.tree.get("parallel", "matrix")
        if matrix_size(matrix) <= MAX_PARALLEL:
            for entry in items_of(matrix):
                if is_mapping(entry) and entry.value:
                    yield from (f"{job.name}: [{values}]" for values in _combinations(entry))
    elif (number := number_in(parallel) or 0) <= MAX_PARALLEL:
        yield from (f"{job.name} {index}/{number}" for index in range(1, number + 1))


def _combinations(entry: Tree) -> Iterator[str]:
    lists = [
        [_word(value) for value in (values.value if isinstance(values.value, list) else [values])]
        for _, values in entry.items()
    ]
    return (", ".join(values) for values in itertools.product(*lists))


def _word(tree: Tree) -> str:
    text = text_in(tree)
    return str(number_in(tree)) if text is None else text


def check_expanded_names(job: CiJob) -> Iterator[Problem]:
    """That no job which `parallel` makes has a longer name than GitLab allows."""
    tree = job.tree.get("parallel")
    longest = max(expanded_names(job), key=len, default="")
    if tree is not None and len(longest) > MAX_NAME >= len(job.name):
        yield Problem(
            code="PIP123",
            line=tree.line,
            key="parallel",
            message=f'GitLab allows a name {MAX_NAME} characters, and parallel makes "'
            f'{longest[:40]}…" of {len(longest)}',
            fix="shorten the name of the job or the values of its matrix",
        )
