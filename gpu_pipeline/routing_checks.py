"""What a well-shaped routing.toml may still get wrong: names, references, contradictions."""

from __future__ import annotations

from collections.abc import Collection

from gpu_pipeline.context import SOURCES
from gpu_pipeline.names import NAME, OWN_VARIABLES, RESERVED, VARIABLE_NAME, did_you_mean
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import (
    ModelTask,
    RoutedSettings,
    Routing,
    Task,
    all_settings,
)
from gpu_pipeline.routing_pools import check_pools
from gpu_pipeline.routing_settings import check_settings, secret_word
from gpu_pipeline.toml_lines import Path


def check_routing(
    routing: Routing, problems: Problems, *, bases: Collection[str], tasks: Collection[str]
) -> None:
    """Add every problem to `problems`; `bases` and `tasks` are the templates that exist."""
    _check_names(routing, problems)
    _check_capture(routing, problems)
    _check_families(routing, problems)
    _check_references(routing, problems, bases=bases, tasks=tasks)
    check_pools(routing.pools or {}, problems)
    captured = set((routing.pipeline and routing.pipeline.capture) or ())
    for path, settings in all_settings(routing):
        check_settings(settings, path, problems)
        for name in captured & set(settings.variables or {}):
            problems.add(
                (*path, "variables", name),
                "is captured too, and this value would win over the captured one; keep one",
            )
    _check_contexts(routing, problems)


def _check_contexts(routing: Routing, problems: Problems) -> None:
    for i, context in enumerate(routing.contexts or ()):
        path: Path = ("contexts", i)
        if context.source is not None and context.source not in SOURCES:
            problems.add(
                (*path, "source"),
                f'unknown source "{context.source}"{did_you_mean(context.source, SOURCES)}',
            )
        if context.branch is not None and context.tag is not None:
            problems.add(path, "a pipeline runs on a branch or on a tag, not on both")
        for name in context.variables or {}:
            if not VARIABLE_NAME.fullmatch(name):
                problems.add((*path, "variables", name), "is not a variable name")


def _check_names(routing: Routing, problems: Problems) -> None:
    named: list[tuple[Path, str]] = [
        ((kind, name), name)
        for kind in ("pools", "tasks", "families")
        for name in getattr(routing, kind) or {}
    ]
    for family, settings in (routing.families or {}).items():
        named += [
            (("families", family, "models", i), model)
            for i, model in enumerate(settings.models or ())
        ]
    for path, name in named:
        if not NAME.fullmatch(name):
            problems.add(
                path,
                f'"{name}" is not a name: use a-z, 0-9, ".", "_", "-", at most 63 characters, '
                "beginning with a letter or digit",
            )
        elif name in RESERVED and path[0] != "pools":
            problems.add(path, f'"{name}" is a word that GitLab reserves; choose another name')


def _check_capture(routing: Routing, problems: Problems) -> None:
    seen: set[str] = set()
    for i, name in enumerate((routing.pipeline and routing.pipeline.capture) or ()):
        path: Path = ("pipeline", "capture", i)
        secret = secret_word(name)
        if not VARIABLE_NAME.fullmatch(name):
            problems.add(path, f'"{name}" is not a variable name')
        elif secret:
            problems.add(
                path,
                f"{name} looks like a secret ({secret}): the child file is a readable artifact; "
                "make it a masked CI/CD variable, which the child's jobs see anyway",
            )
        elif name.startswith(("CI_", "GITLAB_", "KUBERNETES_")) or name in OWN_VARIABLES:
            problems.add(path, f"{name} is set by GitLab or by the generator in the child itself")
        elif name in seen:
            problems.add(path, f"{name} is listed twice")
        seen.add(name)


def _check_families(routing: Routing, problems: Problems) -> None:
    owner: dict[str, str] = {}
    for family, settings in (routing.families or {}).items():
        if settings.models == ():
            problems.add(("families", family, "models"), "names no model; a family needs one")
        for i, model in enumerate(settings.models or ()):
            if model in owner:
                problems.add(
                    ("families", family, "models", i),
                    f'model "{model}" is in family "{owner[model]}" already',
                )
            owner.setdefault(model, family)
    for model in routing.models or {}:
        if model not in owner and not problems.has_cut_last("models"):
            problems.add(("models", model), f"no family has this model{did_you_mean(model, owner)}")


def _check_references(
    routing: Routing, problems: Problems, *, bases: Collection[str], tasks: Collection[str]
) -> None:
    known_tasks = routing.tasks or {}
    for task in known_tasks:
        if task not in tasks and NAME.fullmatch(task):
            problems.add(
                ("tasks", task),
                f"has no template tasks/{task}.yml.j2{did_you_mean(task, tasks)}; rename one of "
                "those in templates/tasks, or write one as docs/templates.md shows",
            )
    for path, settings in all_settings(routing):
        if len(path) == 4 and path[3] not in known_tasks:
            problems.add(path, f"unknown task{did_you_mean(str(path[3]), known_tasks)}")
        if isinstance(settings, RoutedSettings):
            _check_route(settings, path, problems, pools=routing.pools or {}, bases=bases)
        if isinstance(settings, Task | ModelTask):
            for i, need in enumerate(settings.needs or ()):
                if need not in known_tasks:
                    problems.add(
                        (*path, "needs", i),
                        f'unknown task "{need}"{did_you_mean(need, known_tasks)}',
                    )


def _check_route(
    settings: RoutedSettings,
    path: Path,
    problems: Problems,
    *,
    pools: Collection[str],
    bases: Collection[str],
) -> None:
    pool, base = settings.pool, settings.base
    if pool is not None and pool not in pools:
        problems.add((*path, "pool"), f'unknown pool "{pool}"{did_you_mean(pool, pools)}')
    if base is not None and base not in bases:
        problems.add(
            (*path, "base"),
            f'unknown base "{base}": there is no template bases/{base}.yml.j2'
            + did_you_mean(base, bases),
        )
