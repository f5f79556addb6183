"""The files of a templates folder: their names and what identifies them, without Jinja."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gpu_pipeline.files import files_below, read_bytes
from gpu_pipeline.names import NAME

SUFFIX = ".yml.j2"
ROOT = f"child-pipeline{SUFFIX}"


def template_names(templates: Path, folder: str) -> set[str]:
    """The names that `bases` or `tasks` offers: its templates that a routing can refer to."""
    found = (path.name.removesuffix(SUFFIX) for path in (templates / folder).glob(f"*{SUFFIX}"))
    return {name for name in found if NAME.fullmatch(name)}


def fingerprint(routing: bytes, templates: Path) -> str:
    """Sixteen hexadecimal digits that change with any byte of the routing or a template file."""
    digest = hashlib.sha256(routing)
    for path in files_below(templates):
        content = read_bytes(path, "--templates")
        name = path.relative_to(templates).as_posix()
        digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
