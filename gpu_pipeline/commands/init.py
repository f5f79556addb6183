"""The command `init`: adopt a hand-written CI file, write routing and templates, and report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpu_pipeline.adopt.adoption import Adopted, adopt
from gpu_pipeline.adopt.comparison import Change
from gpu_pipeline.adopt.handwritten import read_hand_file
from gpu_pipeline.adopt.notes import Kind
from gpu_pipeline.adopt.report import summary
from gpu_pipeline.adopt.settings import Key, refusal
from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.console import say, show, write_result
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import (
    display,
    files_below,
    is_file,
    read_bytes,
    read_text,
    resolved,
    write_atomically,
)
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.template_files import ROOT, SUFFIX
from gpu_pipeline.words import count
from gpu_pipeline.yaml_text import YamlError

_ASSUMABLE: tuple[Key, ...] = (
    ("image",), ("tags",), ("timeout",), ("requests", "cpu"), ("requests", "memory"),
    ("limits", "cpu"), ("limits", "memory"),
)  # fmt: skip


def run_init(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Write the routing that renders the jobs of a file; exit 1 if it cannot say everything."""
    name = display(options.source)
    try:
        text = read_text(options.source, "--from")
        parsed = parse_ci_file(text, name)
    except YamlError as error:
        raise UsageError(f"{name}:{error.line}: {error}") from None
    adopted = adopt(
        read_hand_file(parsed),
        _templates(options.templates),
        gpus=_gpus(options.gpus),
        assume=_assumptions(options.assume),
    )
    if options.output == "-":
        write_result(adopted.routing)
        if not options.quiet:
            say(summary(adopted, name))
    else:
        _write(Path(options.output), adopted, options)
    same = all(each.change is Change.ADDED for each in adopted.differences)
    return EXIT_OK if same and not adopted.notes.of(Kind.LOST) else EXIT_DIFFERS


def _templates(folder: Path) -> dict[str, str]:
    """The templates at hand by their path below the folder. Raises UsageError."""
    root = resolved(folder)
    if not is_file(root / ROOT):
        raise UsageError(f"{display(folder)}: holds no {ROOT}; name others with --templates")
    found = {}
    for path in files_below(root):
        if path.name.endswith(SUFFIX):
            found[path.relative_to(root).as_posix()] = read_text(path, "--templates")
    return found


def _pairs(option: str, texts: Sequence[str], example: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option} {text}: write {example}")
        found[name.strip()] = value.strip().strip('"')
    return found


def _gpus(texts: Sequence[str]) -> dict[str, str]:
    found = _pairs("--gpu", texts, 'POOL="NVIDIA L4"')
    for pool, gpu in found.items():
        if reason := gpu_refusal(gpu):
            raise UsageError(f'--gpu {pool}: "{gpu}" {reason}')
    return found


def gpu_refusal(gpu: str) -> str | None:
    """Why a text is no name of a GPU."""
    from gpu_pipeline.routing_values import GpuName
    from gpu_pipeline.validation import faults

    if faults(gpu, GpuName):
        return "is no GPU name; give it as nvidia-smi --query-gpu=name --format=csv,noheader does"
    return None


def _assumptions(texts: Sequence[str]) -> dict[Key, object]:
    known = {".".join(key): key for key in _ASSUMABLE}
    found: dict[Key, object] = {}
    for name, value in _pairs("--assume", texts, "KEY=VALUE, such as limits.memory=40Gi").items():
        if name not in known:
            raise UsageError(f'--assume: unknown key "{name}"{did_you_mean(name, known)}')
        wanted = [tag.strip() for tag in value.split(",")] if name == "tags" else value
        if reason := refusal(known[name], wanted):
            raise UsageError(f"--assume {name}={value}: {reason}")
        found[known[name]] = wanted
    return found


def _write(output: Path, adopted: Adopted, options: argparse.Namespace) -> None:
    """Write everything, the routing last; files that hold something else need --force."""
    routing = output if output.suffix == ".toml" else output / "routing.toml"
    folder = routing.parent / "templates"
    contents = {folder / path: text for path, text in adopted.templates.items()}
    contents[routing] = adopted.routing
    changing = [path for path, text in contents.items() if not _holds(path, text)]
    there = [path for path in changing if os.path.lexists(path)]
    if there and not options.force:
        names = ", ".join(display(path) for path in there)
        raise UsageError(f"{names}: would be replaced; -o DIR writes elsewhere, --force replaces")
    for path in changing:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{display(path.parent)}: {error.strerror}; name another folder with -o"
            ) from None
        write_atomically(path, contents[path])
    if not options.quiet:
        show(summary(adopted, display(options.source)))
        own = count(len(adopted.own_templates), "template")
        say(f"wrote {display(routing)} and {own} of its own below {display(folder)}")
        gaps = len(adopted.notes.of(Kind.MISSING))
        first = "fill in what is marked TODO, then " if gaps else ""
        say(f"next: {first}render --routing {display(routing)} --templates {display(folder)}")


def _holds(path: Path, text: str) -> bool:
    """Whether a file holds exactly this text already."""
    return is_file(path) and read_bytes(path, "-o") == text.encode("utf-8")
