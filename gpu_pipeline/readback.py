"""Proves that a rendered text says what was meant, by reading it as GitLab would."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gpu_pipeline.child import Child, ChildJob, HiddenBase
from gpu_pipeline.errors import TemplateError
from gpu_pipeline.yaml_text import YamlError, load_exactly

# Keys of a job that the routing decides; a template may add others, but none of these.
_DECIDED = """
    extends stage image tags rules variables timeout resource_group needs parallel when trigger
    allow_failure start_in only except inherit dependencies
    """.split()
_CONTEXT_LINES = 3


def check_rendered(text: str, child: Child, written: Counter[str], templates: str) -> None:
    """Compare `text` with the child it was rendered from.

    `written` counts the texts that passed the quoting filters: each must be found again.
    `templates` is the folder's name to show. Raises TemplateError for the first difference.
    """
    try:
        document = load_exactly(text)
    except YamlError as error:
        where = _template_at(text, error.line, child, templates)
        raise TemplateError(
            f"{where}: rendered line {error.line}: {error}{_yaml_hint(text, error.line)}\n"
            f"{_excerpt(text, error.line)}"
        ) from None
    document = document if isinstance(document, dict) else {}
    planned = _planned(child)
    for name in [*planned, *document]:
        if name not in document:
            raise TemplateError(f"{_template_of(name, child, templates)}: {name} was not rendered")
        if name not in planned:
            raise TemplateError(f"{templates}: rendered an unplanned top-level key: {name}")
        part = planned[name]
        found = document[name]
        if part.exact is not None and found != part.exact:
            _refuse(name, found, part.exact, child, templates)
        if part.keys is not None:
            _check_job(name, found, part.keys, child, templates)
    for base in child.bases:
        _check_route(base, document[base.name], child, templates)
    for job in child.jobs:
        _check_models(job, document[job.name], child, templates)
    lost = written - Counter(_scalars(document))
    if lost:
        raise TemplateError(
            f"{templates}: this text was quoted but is not read back as such: {min(lost)!r}; "
            "does it stand in a comment, or inside another quoted text?"
        )


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What a top-level key must hold: exactly this, or a job with these decided keys."""

    exact: object = None
    keys: Mapping[str, object] | None = None


def _planned(child: Child) -> dict[str, _Part]:
    parts = {
        "workflow": _Part(),
        "stages": _Part(exact=list(child.stages)),
        "variables": _Part(exact=_as_read(child.variables)),
    }
    if child.notice:
        parts[child.notice.name] = _Part(keys=_decided(child.notice.settings))
    parts |= {base.name: _Part(keys=_decided(base.settings)) for base in child.bases}
    return parts | {job.name: _Part(keys=_job_keys(job)) for job in child.jobs}


def _decided(settings: Mapping[str, object]) -> dict[str, object]:
    return {key: _as_read(value) for key, value in settings.items()}


def _job_keys(job: ChildJob) -> dict[str, object]:
    keys: dict[str, object] = {
        "extends": job.extends,
        "timeout": job.timeout,
        "variables": _as_read(job.variables),
        **{key: _as_read(value) for key, value in job.overrides.items()},
    }
    if job.resource_group:
        keys["resource_group"] = job.resource_group
    if job.needs:
        keys["needs"] = list(job.needs)
    return keys


def _as_read(value: object) -> object:
    """The value as a YAML parser would return it: dicts and lists."""
    if isinstance(value, Mapping):
        return {key: _as_read(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_as_read(item) for item in value]
    return value


def _check_job(
    name: str, found: object, keys: Mapping[str, object], child: Child, templates: str
) -> None:
    where = f"{_template_of(name, child, templates)}: {name}"
    if not isinstance(found, dict):
        raise TemplateError(f"{where} is not a mapping of keys")
    for key in dict.fromkeys([*keys, *_DECIDED]):
        if found.get(key) != keys.get(key):
            _refuse(f"{name}:{key}", found.get(key), keys.get(key), child, templates)
    for key in ("before_script", "script", "after_script"):
        for i, item in enumerate(_items(found.get(key))):
            if not isinstance(item, str):
                raise TemplateError(
                    f"{where}:{key}[{i}] is read as {item!r}, not as a command; "
                    "quote it with {% filter quoted %}"
                )
    if not name.startswith(".") and not found.get("script"):
        raise TemplateError(f"{where} has no script")


def _check_route(base: HiddenBase, found: dict[str, Any], child: Child, templates: str) -> None:
    """A base must print the marker first and hold the guard; its jobs must not replace them."""
    where = _template_of(base.name, child, templates)
    commands = _items(found.get("before_script"))
    if commands[:1] != [base.marker]:
        raise TemplateError(
            f"{where}: {base.name}:before_script must begin with {{{{ base.marker }}}}"
        )
    guard = [command for command in commands if command in base.guard]
    if guard != list(base.guard):
        raise TemplateError(
            f"{where}: {base.name}:before_script must hold each command of {{{{ base.guard }}}}: "
            "without them a job trains on whatever GPU it finds"
        )


def _check_models(job: ChildJob, found: dict[str, Any], child: Child, templates: str) -> None:
    where = f"{_template_of(job.name, child, templates)}: {job.name}"
    if "before_script" in found:
        raise TemplateError(
            f"{where}:before_script would replace that of {job.extends}, and with it the check of "
            "the GPU; put the commands into script"
        )
    script = " ".join(str(item) for item in _items(found.get("script")))
    if len(job.models) > 1:
        for model in job.models:
            if not re.search(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", script):
                raise TemplateError(f"{where}:script never names {model}; loop over job.models")


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _refuse(name: str, found: object, meant: object, child: Child, templates: str) -> None:
    where = _template_of(name.partition(":")[0], child, templates)
    raise TemplateError(
        f"{where}: {name} is read back as {found!r}, but routing.toml means {meant!r}"
    )


def _scalars(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, str):
        yield value


def _template_of(name: str, child: Child, templates: str) -> str:
    """The template file that writes a top-level key."""
    path = PurePosixPath(templates)
    if child.notice and child.notice.name == name:
        return str(path / "nothing-to-run.yml.j2")
    for base in child.bases:
        if base.name == name:
            return str(path / "bases" / f"{base.template}.yml.j2")
    for job in child.jobs:
        if job.name == name:
            return str(path / "tasks" / f"{job.task}.yml.j2")
    return str(path / "child-pipeline.yml.j2")


def _template_at(text: str, line: int, child: Child, templates: str) -> str:
    """The template that rendered a line: the one of the nearest top-level key above it."""
    for above in reversed(text.split("\n")[:line]):
        if above[:1].strip() and above[0] != "#" and ":" in above:
            return _template_of(above.split(":")[0].strip("\"'"), child, templates)
    return _template_of("", child, templates)


def _yaml_hint(text: str, line: int) -> str:
    """The likeliest reason for broken YAML, where the rendered lines show it."""
    around = text.split("\n")[max(0, line - 2) : line + 1]
    if any(re.search(r"""["']\s{2,}- """, each) for each in around):
        return "; two items stand on one line: end a command with {% endfilter +%}, with the +"
    return ""


def _excerpt(text: str, line: int) -> str:
    lines = text.split("\n")
    first = max(0, line - 1 - _CONTEXT_LINES)
    return "\n".join(
        f"  {'>' if n == line else ' '} {n:4} | {content[:160]}"
        for n, content in enumerate(lines[first : line + _CONTEXT_LINES], first + 1)
    )
