"""The templates of an adopted routing: what the hand-written jobs do besides what it decides."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gpu_pipeline.adopt.commands import Body, body_of
from gpu_pipeline.adopt.handwritten import HandJob, commands
from gpu_pipeline.adopt.settings import Given
from gpu_pipeline.adopt.training import EPOCHS, MODEL
from gpu_pipeline.adopt.workers import setup_of
from gpu_pipeline.checks.child.ruby import Refused, Symbol, ruby_value
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.record import Record
from gpu_pipeline.yaml_text import Plain, block

T = TypeVar("T")
# What a template must spell out: a first line end, blanks on the last line, unseen characters.
_SPELT_OUT = re.compile(
    r"\A\n|(?<=\n)[ \t]+\Z"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
# Keys of a job that the routing decides, or that stand elsewhere by now.
_NOT_OURS = set(
    """
    extends image tags timeout rules only except when start_in allow_failure variables needs stage
    script before_script resource_group parallel inherit dependencies trigger
    """.split()
)


class BaseShape(Record):
    """What all jobs of a family share: the first commands of their setup, and further keys."""

    setup: tuple[str, ...]
    others: Mapping[str, Plain]


def others_of(job: HandJob) -> dict[str, Plain]:
    """The keys of a job that the routing does not decide, as plain values."""
    found: dict[str, Plain] = {}
    for key, tree in job.tree.items():
        if key not in _NOT_OURS:
            value = commands(tree) if key == "after_script" else _plain(tree)
            if value is not None:
                found[key] = value
    return found


def _plain(tree: Tree) -> Plain | None:
    if isinstance(tree.value, dict):
        pairs = ((key, _plain(item)) for key, item in tree.value.items())
        return {key: value for key, value in pairs if value is not None}
    if isinstance(tree.value, list):
        return [value for item in tree.value if (value := _plain(item)) is not None]
    scalar = ruby_value(tree)
    if isinstance(scalar, Symbol):
        return f":{scalar.name}"
    if scalar is None or isinstance(scalar, Refused):
        return tree.bare if scalar else None
    return scalar if isinstance(scalar, str | int) else str(scalar)


def base_shape(givens: Sequence[Given]) -> BaseShape:
    """What the jobs of one family share."""
    jobs = [given.place.worker for given in givens]
    setups = [setup_of(worker.hand) for worker in jobs]
    shared: list[str] = []
    for position, column in enumerate(zip(*setups, strict=False)):
        tokens = "".join(worker.training.commands[position] for worker in jobs)
        if len(set(column)) > 1 or EPOCHS in tokens or MODEL in tokens:
            break
        shared.append(column[0])
    others = [others_of(worker.hand) for worker in jobs]
    return BaseShape(
        setup=tuple(shared),
        others={
            key: value
            for key, value in others[0].items()
            if all(key in each and each[key] == value for each in others)
        },
    )


def base_text(shape: BaseShape, family: str, source: str) -> str:
    """The template of a base that holds exactly what the hand-written jobs shared."""
    about = f"family {family}" + (f", from {source}" if source else "")
    at = _guard_position(shape.setup)
    lines = [
        f"{{# Jobs of {_comment(about)}. The marker and the guard prove that a job landed on its",
        "   GPU: they must stay. #}",
        "{{ base.name | name }}:",
        "{{ base.settings | yaml(2) }}",
        *_keys(shape.others),
        "  before_script:",
        "    - {{ base.marker | quoted }}",
        *(f"    - {command(each)}" for each in shape.setup[:at]),
        "{% for command in base.guard %}",
        "    - {{ command | quoted }}",
        "{% endfor %}",
        *(f"    - {command(each)}" for each in shape.setup[at:]),
    ]
    return "\n".join(lines) + "\n"


def _guard_position(setup: Sequence[str]) -> int:
    """The guard asks nvidia-smi, so it comes after what makes that one work and shows its table."""
    after = [number for number, each in enumerate(setup, 1) if "LD_LIBRARY_PATH" in each][-1:] or [
        0
    ]
    shows = [number for number, each in enumerate(setup, 1) if "nvidia-smi" in each]
    return next((number for number in shows if number > after[0]), after[0])


def task_text(
    task: str,
    givens: Sequence[Given],
    bases: Mapping[str, BaseShape],
    orders: Mapping[str, Sequence[str]],
) -> str:
    """The template of a task; jobs whose commands differ in more than the model stand apart.

    `orders` has the models of each family in the order in which its jobs get them.
    """
    names = [given.place.name for given in givens]
    lines = [
        f"{{# The task {task}, as the hand-written jobs had it. #}}",
        '{% extends "tasks/_task.yml.j2" %}',
        "{% block script %}",
        *_script(names, givens, bases, orders),
        "{% endblock %}",
    ]
    extras = [
        json.dumps(
            {
                key: value
                for key, value in others_of(given.place.worker.hand).items()
                if key not in bases[given.place.family].others
            }
        )
        for given in givens
    ]
    if any(extra != "{}" for extra in extras):
        lines.append("{% block extra %}")
        lines += _cases(names, extras, lambda extra: _keys(json.loads(extra)))
        lines.append("{% endblock %}")
    return "\n".join(lines) + "\n"


def _script(
    names: Sequence[str],
    givens: Sequence[Given],
    bases: Mapping[str, BaseShape],
    orders: Mapping[str, Sequence[str]],
) -> list[str]:
    """The commands of all jobs of a task."""
    spelling = _spelling(givens)
    upper = bool(spelling) and all(name.upper() == text for name, text in spelling.items())
    model = "model" if not spelling else "model | upper" if upper else "spelling[model]"
    bodies = min(
        (
            [
                body_of(
                    given,
                    skip=len(bases[given.place.family].setup),
                    words=words,
                    order=orders[given.place.family],
                    joined=not spelling or upper,
                )
                for given in givens
            ]
            for words in (False, True)
        ),
        key=lambda bodies: len(set(bodies)),
    )
    lines = list(_cases(names, bodies, lambda body: _body_lines(body, model)))
    if any("spelling[model]" in line for line in lines):
        lines.insert(0, f"{{% set spelling = {json.dumps(spelling, ensure_ascii=False)} %}}")
    return lines


def _spelling(givens: Sequence[Given]) -> dict[str, str]:
    """How the commands spell each model, empty when all do it as the routing does."""
    pairs = {
        name: spelt
        for given in givens
        for name, spelt in zip(given.place.models, given.place.worker.training.models, strict=False)
    }
    return pairs if any(name != spelt for name, spelt in pairs.items()) else {}


def _cases(
    names: Sequence[str], contents: Sequence[T], write: Callable[[T], Iterable[str]]
) -> Iterator[str]:
    """Lines for each content, under the names of its jobs; the commonest is for all others."""
    groups: dict[T, list[str]] = {}
    for name, content in zip(names, contents, strict=True):
        groups.setdefault(content, []).append(name)
    ordered = sorted(groups, key=lambda content: len(groups[content]))
    for number, content in enumerate(ordered):
        if len(ordered) > 1:
            last = number == len(ordered) - 1
            word = "if" if not number else "elif"
            test = f"{word} job.name in {json.dumps(groups[content])}"
            yield "{% else %}" if last else f"{{% {test} %}}"
        yield from write(content)
    if len(ordered) > 1:
        yield "{% endif %}"


def _body_lines(body: Body, model: str) -> Iterator[str]:
    for part in body.parts:
        if part.looped:
            yield "{% for model in job.models %}"
        yield from (f"    - {command(each, model)}" for each in part.commands)
        if part.looped:
            yield "{% endfor %}"


def command(text: str, model: str = "model") -> str:
    """A command between the filter that quotes it, with what stands for its tokens."""
    names = {"model": "job.models | join", "model | upper": "job.models | map('upper') | join"}
    joined = names.get(model, "job.models | join")
    values = {
        "\ue000": "{{ job.epochs }}",
        "\ue001": f"{{{{ {model} }}}}",
        "\ue002": f'{{{{ {joined}(" ") }}}}',
        "\ue003": f'{{{{ {joined}(",") }}}}',
        "\ue004": "{{ model }}",
    }
    escaped = re.sub("[\ue000-\ue004]", lambda match: values[match[0]], escape(text))
    return f"{{% filter quoted %}}{escaped}{{% endfilter +%}}"


def escape(text: str) -> str:
    """`text` so that Jinja gives it back: no tags, no line ends that it would change or drop.

    Nor is there a character that nobody sees. A brace begins no tag together with what follows.
    """
    text = re.sub(r"\{(?=[{%#\ue000-\ue004]|\Z)", '{{ "{" }}', text)
    return _SPELT_OUT.sub(lambda match: f"{{{{ {json.dumps(match[0])} }}}}", text)


def _keys(keys: Mapping[str, Plain]) -> Iterable[str]:
    return [escape(block(keys, 2))] if keys else []


def _comment(text: str) -> str:
    return re.sub(r"[{}#%\n\r]", "?", text)
