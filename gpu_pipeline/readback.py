"""Proves that a rendered text says what was meant, by reading it as GitLab would."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.child import Child, ChildJob, HiddenBase
from gpu_pipeline.errors import TemplateError
from gpu_pipeline.yaml_text import YamlError, load_exactly

# Keys of a job that the routing decides; a template may add others, but none of these.
_DECIDED = """
    extends stage image tags rules variables timeout resource_group needs parallel when trigger
    allow_failure start_in only except inherit dependencies
    """.split()
_ALWAYS = [{"when": "always"}]
_CONTEXT_LINES = 3


def check_rendered(text: str, child: Child, written: Counter[str], templates: str) -> None:
    """Compare `text` with the child it was rendered from.

    `written` counts the texts that passed the quoting filters: each must be found again.
    `templates` is the folder's name to show. Raises TemplateError for the first difference.
    """
    reading = _Reading(child, templates)
    document = reading.load(text)
    reading.check_keys(document)
    reading.check_head(document)
    for base in child.bases:
        reading.check_job(base.name, document[base.name], base.settings)
        reading.check_route(base, document[base.name])
    for job in child.jobs:
        reading.check_job(job.name, document[job.name], _job_keys(job))
        reading.check_script(job, document[job.name])
    if child.notice:
        notice = child.notice
        reading.check_job(notice.name, document[notice.name], notice.settings)
    lost = written - Counter(_scalars(document))
    if lost:
        raise TemplateError(
            f"{templates}: this text was quoted but is not read back as such: {min(lost)!r}; "
            "does it stand in a comment, or inside another quoted text?"
        )


class _Reading:
    """One rendered text, held against the child it stands for."""

    def __init__(self, child: Child, templates: str) -> None:
        self._child = child
        self._templates = templates
        self._files = {
            **{base.name: f"bases/{base.template}.yml.j2" for base in child.bases},
            **{job.name: f"tasks/{job.task}.yml.j2" for job in child.jobs},
            **({child.notice.name: "nothing-to-run.yml.j2"} if child.notice else {}),
        }

    def _where(self, name: str) -> str:
        """The template that writes a top-level key."""
        return f"{self._templates}/{self._files.get(name, 'child-pipeline.yml.j2')}"

    def load(self, text: str) -> dict[str, object]:
        try:
            document = load_exactly(text)
        except YamlError as error:
            raise TemplateError(
                f"{self._where(_key_above(text, error.line))}: rendered line {error.line}: {error}"
                f"{_yaml_hint(text, error.line)}\n{_excerpt(text, error.line)}"
            ) from None
        return document if isinstance(document, dict) else {}

    def check_keys(self, document: Mapping[str, object]) -> None:
        planned = ["workflow", "stages", "variables", *self._files]
        for name in [*planned, *document]:
            if name not in document:
                raise TemplateError(f"{self._where(name)}: {name} was not rendered")
            if name not in ("workflow", "stages", "variables") and name not in self._files:
                raise TemplateError(
                    f"{self._where(name)}: rendered an unplanned top-level key: {name}"
                )

    def check_head(self, document: Mapping[str, object]) -> None:
        workflow = document["workflow"]
        rules = workflow.get("rules") if isinstance(workflow, dict) else None
        for name, found, meant in (
            ("stages", document["stages"], list(self._child.stages)),
            ("variables", document["variables"], _as_read(self._child.variables)),
            ("workflow:rules", rules, _ALWAYS),
        ):
            if found != meant:
                self._refuse(name, found, meant)

    def check_job(self, name: str, found: object, keys: Mapping[str, object]) -> None:
        """Every key that the routing decides, and that commands are texts."""
        if not isinstance(found, dict):
            raise TemplateError(f"{self._where(name)}: {name} is not a mapping of keys")
        meant = {key: _as_read(value) for key, value in keys.items()}
        for key in dict.fromkeys([*meant, *_DECIDED]):
            if found.get(key) != meant.get(key):
                self._refuse(f"{name}:{key}", found.get(key), meant.get(key))
        for key in ("before_script", "script", "after_script"):
            for i, item in enumerate(_items(found.get(key))):
                if not isinstance(item, str):
                    raise TemplateError(
                        f"{self._where(name)}: {name}:{key}[{i}] is read as {item!r}, not as a "
                        "command; quote it with {% filter quoted %}"
                    )

    def check_route(self, base: HiddenBase, found: object) -> None:
        """A base prints the marker first and holds the guard."""
        commands = _items(found.get("before_script") if isinstance(found, dict) else None)
        where = f"{self._where(base.name)}: {base.name}:before_script"
        if commands[:1] != [base.marker]:
            raise TemplateError(f"{where} must begin with {{{{ base.marker }}}}")
        if [command for command in commands if command in base.guard] != list(base.guard):
            raise TemplateError(
                f"{where} must hold each command of {{{{ base.guard }}}}: without them a job "
                "trains on whatever GPU it finds"
            )

    def check_script(self, job: ChildJob, found: object) -> None:
        """A job has commands, for each of its models, and leaves those of its base alone."""
        keys = found if isinstance(found, dict) else {}
        where = f"{self._where(job.name)}: {job.name}"
        if not keys.get("script"):
            raise TemplateError(f"{where} has no script")
        if "before_script" in keys:
            raise TemplateError(
                f"{where}:before_script would replace that of {job.extends}, and with it the check "
                "of the GPU; put the commands into script"
            )
        script = " ".join(str(item) for item in _items(keys["script"]))
        for model in job.models if len(job.models) > 1 else ():
            named = rf"(?<![\w.-]){re.escape(model)}(?![\w.-])"
            if not re.search(named, script, re.IGNORECASE):
                raise TemplateError(f"{where}:script never names {model}; loop over job.models")

    def _refuse(self, name: str, found: object, meant: object) -> None:
        raise TemplateError(
            f"{self._where(name.partition(':')[0])}: {name} is read back as {found!r}, "
            f"but {meant!r} was meant"
        )


def _job_keys(job: ChildJob) -> dict[str, object]:
    keys: dict[str, object] = {
        "extends": job.extends,
        "timeout": job.timeout,
        "variables": job.variables,
        **job.overrides,
    }
    if job.resource_group:
        keys["resource_group"] = job.resource_group
    if job.needs:
        keys["needs"] = job.needs
    return keys


def _as_read(value: object) -> object:
    """The value as a YAML parser would return it: dicts and lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _as_read(item) for key, item in value.items()}
    return [_as_read(item) for item in value] if isinstance(value, Sequence) else value


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


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


def _key_above(text: str, line: int) -> str:
    """The top-level key that a line of the text belongs to."""
    for above in reversed(text.split("\n")[:line]):
        if above[:1].strip() and above[0] != "#" and ":" in above:
            return above.split(":")[0].strip("\"'")
    return ""


def _yaml_hint(text: str, line: int) -> str:
    """The likeliest reason for broken YAML, where the rendered lines show it."""
    lines = text.split("\n")
    around = lines[max(0, line - 2) : line + 1]
    if any(re.search(r"""["']\s{2,}- """, each) for each in around):
        return "; two items stand on one line: end a command with {% endfilter +%}, with the +"
    if re.fullmatch(r"\s*(?:before_|after_)?script:", lines[line - 1]):
        return "; the block that holds the commands is empty or has another name"
    return ""


def _excerpt(text: str, line: int) -> str:
    lines = text.split("\n")
    first = max(0, line - 1 - _CONTEXT_LINES)
    return "\n".join(
        f"  {'>' if n == line else ' '} {n:4} | {content[:160]}"
        for n, content in enumerate(lines[first : line + _CONTEXT_LINES], first + 1)
    )
