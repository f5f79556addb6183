"""Writes recording.svg: commands and what they print, run just now on the shipped files.

`make docs` runs it at the root of the repository; a test holds the image to what is printed today.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = Path(__file__).with_name("recording.svg")
SHIPPED = ROOT / "tests" / "reference"
_COLOURS = {"1;31": "#ff7b72", "33": "#e3b341", "36": "#79c0ff", "32": "#7ee787"}
_LINE, _COLUMN, _MARGIN, _SIZE = 18, 7.83, 18, 13  # pixels
# A runner that drops the jobs' wish for a pool; `cluster runner` without its first permission.
_PERMISSION = "node_selector_overwrite_allowed"


def recording() -> str:
    """The image, as SVG that needs nothing from outside."""
    lines = [*_session()]
    height = _LINE * len(lines) + 2 * _MARGIN
    width = round(_COLUMN * 82 + 2 * _MARGIN)
    rows = (
        f'<text x="{_MARGIN}" y="{_MARGIN + _LINE * n + _SIZE}">{_spans(line)}</text>'
        for n, line in enumerate(lines)
        if line
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            "<title>A session: render, plan, check</title>",
            "<style>text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', "
            "monospace; fill: #e6edf3; white-space: pre }</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _session() -> Iterator[str]:
    """The lines of a terminal."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shown in ("routing.toml", "templates", ".gitlab-ci.yml"):
            (folder / shown).symlink_to(SHIPPED / shown)
        (folder / "examples").symlink_to(ROOT / "examples")
        config = _run(folder, "cluster", "runner", "--routing", "routing.toml")
        kept = [line for line in config if _PERMISSION not in line]
        (folder / "config.toml").write_text("\n".join(kept), encoding="utf-8")
        yield from _shown(folder, "render --source push --branch main --var REGISTRY=registry", 3)
        yield from _shown(folder, "plan --against examples/single-pool.toml", 12)
        yield from _shown(folder, "check --runner config.toml", 9)


def _shown(folder: Path, command: str, most: int) -> Iterator[str]:
    """A prompt, what the command prints, and how much of it is left out."""
    yield f"\x1b[32m$\x1b[0m generate_pipeline.py {command}"
    lines = _run(folder, *command.split())
    yield from (_cut(line) for line in lines[:most])
    if len(lines) > most:
        yield f"… {len(lines) - most} more lines"
    yield ""


def _run(folder: Path, *arguments: str) -> Sequence[str]:
    inputs = ["--routing", "routing.toml", "--templates", "templates"]
    inputs += ["--parent", ".gitlab-ci.yml"] if arguments[0] == "check" else []
    if "--routing" in arguments:
        inputs = inputs[2:]
    colour = {} if arguments[0] == "cluster" else {"FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, ROOT / "generate_pipeline.py", *arguments, *inputs],
        cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **colour},
    )  # fmt: skip
    return (done.stderr + done.stdout).splitlines()


def _cut(line: str) -> str:
    """A line that fits; a command to copy may be longer."""
    return line if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 81 else f"{line[:80]}…"


def _spans(line: str) -> str:
    parts = re.split(r"\x1b\[([0-9;]*)m", line)
    spans = [html.escape(parts[0], quote=False)]
    for style, text in zip(parts[1::2], parts[2::2], strict=True):
        escaped = html.escape(text, quote=False)
        colour = _COLOURS.get(style)
        spans.append(f'<tspan fill="{colour}">{escaped}</tspan>' if colour else escaped)
    return "".join(spans)


if __name__ == "__main__":
    IMAGE.write_text(recording(), encoding="utf-8")
