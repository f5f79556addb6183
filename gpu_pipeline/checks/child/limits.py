"""How much of GitLab's limits a child uses.

GitLab bounds the memory of the parsed file, not its text: lib/gitlab/utils/deep_size.rb adds up
Ruby's `ObjectSpace.memsize_of` of every object of the file as it stands, before `extends` is worked
in. The sizes below are those of Ruby 3.1 on 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.child.keys_run import matrix_size
from gpu_pipeline.checks.child.model import Child, Problem
from gpu_pipeline.checks.child.ruby import ruby_value
from gpu_pipeline.checks.child.shapes import is_mapping, number_in
from gpu_pipeline.ci_file import Reference, Tree
from gpu_pipeline.ci_jobs import CiJob

MAX_PARSED_BYTES = 2 * 1024 * 1024  # max_yaml_size_bytes
MAX_DEPTH = 100  # max_yaml_depth
MAX_ARTIFACT_BYTES = 5 * 1024 * 1024  # max_artifacts_content_include_size
_MANY_JOBS = 500  # what GitLab.com allows in the smallest plan; self-managed has no limit
_NOTE_FROM, _WARN_FROM = 0.5, 0.8

_SLOT = 40  # any object; a text of up to 23 bytes and a list of up to 3 items fit into it
_SMALL_HASH = 168  # up to 8 keys


def check_limits(child: Child) -> Iterator[Problem]:
    """The share used of each limit, from half of it on."""
    size, depth = parsed_size(child.file.root), _depth(child.file.root)
    yield from _share(
        size / MAX_PARSED_BYTES,
        f"parsed, the file takes about {size / 1e6:.1f} MB of the {MAX_PARSED_BYTES / 1e6:.1f} MB "
        "that GitLab allows",
        '; it would answer "The parsed YAML is too big"',
        "move what jobs repeat into a hidden job that they extend: what extends merges in does "
        "not count",
    )
    yield from _share(
        depth / MAX_DEPTH,
        f"values are nested {depth} levels deep, and GitLab allows {MAX_DEPTH}",
        "",
        "write it flatter",
    )
    text = len(child.text.encode("utf-8", "surrogatepass"))
    yield from _share(
        text / MAX_ARTIFACT_BYTES,
        f"the file has {text / 1e6:.1f} MB, and GitLab includes artifacts of up to "
        f"{MAX_ARTIFACT_BYTES / 1e6:.1f} MB",
        "",
        "move what jobs repeat into a hidden job that they extend",
        warn_from=0.2,
    )
    jobs = sum(map(_instances, child.visible))
    if jobs > _MANY_JOBS:
        yield Problem(
            code="PIP172",
            line=1,
            key="jobs",
            message=f"the pipeline has {jobs} jobs; GitLab.com limits them by plan, from "
            f"{_MANY_JOBS} on, and other servers may too (ci_pipeline_size)",
            fix="ask for the limit of your server before you rely on it",
        )


def _share(
    share: float, what: str, consequence: str, fix: str, *, warn_from: float = _WARN_FROM
) -> Iterator[Problem]:
    if share >= min(_NOTE_FROM, warn_from):
        code = "PIP170" if share > 1 else "PIP171" if share >= warn_from else "PIP172"
        message = f"{what} ({share:.0%}){consequence if share > 1 else ''}"
        yield Problem(code=code, line=1, key="", message=message, fix=fix)


def _instances(job: CiJob) -> int:
    parallel = job.tree.get("parallel")
    if is_mapping(parallel):
        return max(1, matrix_size(job.tree.get("parallel", "matrix")))
    return max(1, number_in(parallel) or 1)


def parsed_size(tree: Tree) -> int:
    """The bytes that Ruby needs for a value and all that is in it."""
    if isinstance(tree.value, dict):
        keys = sum(map(_text, tree.value))
        return _hash(len(tree.value)) + keys + sum(map(parsed_size, tree.value.values()))
    if isinstance(tree.value, list):
        return _array(len(tree.value)) + sum(map(parsed_size, tree.value))
    if isinstance(tree.value, Reference):
        return _SLOT  # one object, into which GitLab does not look
    value = ruby_value(tree)
    return _text(value) if isinstance(value, str) else 0


def _depth(tree: Tree) -> int:
    """How many lists and mappings are nested in each other."""
    if isinstance(tree.value, dict):
        return 1 + max(map(_depth, tree.value.values()), default=0)
    if isinstance(tree.value, list):
        return 1 + max(map(_depth, tree.value), default=0)
    return 0


def _text(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return _SLOT if size <= 23 else _SLOT + size + 1


def _array(count: int) -> int:
    capacity = 3
    while capacity < count:
        capacity += 1 + max((capacity + 1) // 2, 16)
    return _SLOT if capacity == 3 else _SLOT + 8 * capacity


def _hash(count: int) -> int:
    if count <= 8:
        return _SMALL_HASH if count else _SLOT
    capacity = max(32, 1 << (count - 1).bit_length())
    index = 1 if capacity <= 128 else 2 if capacity <= 32_768 else 4
    return _SLOT + 56 + capacity * 24 + 2 * capacity * index
