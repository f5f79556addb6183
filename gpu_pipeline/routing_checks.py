"""What a well-shaped routing.toml may still get wrong: names, references, contradictions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gpu_pipeline.context import SOURCES
from gpu_pipeline.names import NAME, OWN_VARIABLES, RESERVED, VARIABLE_NAME, did_you_mean
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import (
    Pool,
    RoutedSettings,
    Routing,
    Rule,
    Settings,
    TaskSettings,
    all_settings,
)
from gpu_pipeline.rules import RuleError, RuleSyntaxError, decide
from gpu_pipeline.toml_lines import Path

_OWN_KUBERNETES = re.compile(
    r"KUBERNETES_(?:(?:CPU|MEMORY|EPHEMERAL_STORAGE)_(?:REQUEST|LIMIT)|NODE_(?:SELECTOR|TOLERATIONS)_.*)"
)
_SECRET_WORDS = ("TOKEN", "PASSWORD", "PASSWD", "SECRET", "KEY", "CREDENTIAL")
_SELF_REFERENCE = r"\$\{{?{name}\}}?"
_LABEL_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}"
_SELECTOR = re.compile(rf"{_LABEL_KEY}={_LABEL_NAME}")
_TAINT = re.compile(rf"{_LABEL_KEY}(?:={_LABEL_NAME})?:(?:NoSchedule|PreferNoSchedule|NoExecute)")
# GitLab: config/entry/tags.rb, "must be less than the limit of 50 tags".
_MAX_TAGS = 49


def check_routing(
    routing: Routing, problems: Problems, *, bases: Collection[str], tasks: Collection[str]
) -> None:
    """Add every problem to `problems`; `bases` and `tasks` are the templates that exist."""
    _check_names(routing, problems)
    _check_capture(routing, problems)
    _check_families(routing, problems)
    _check_references(routing, problems, bases=bases, tasks=tasks)
    for name, pool in (routing.pools or {}).items():
        _check_pool(pool, ("pools", name), problems)
        _check_label_and_nodes(pool, ("pools", name), problems)
    _check_runner_defaults(routing.pools or {}, problems)
    _check_selectors(routing.pools or {}, problems)
    captured = set((routing.pipeline and routing.pipeline.capture) or ())
    for path, settings in all_settings(routing):
        _check_settings(settings, path, problems)
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
        secret = _secret_word(name)
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


def _secret_word(name: str) -> str | None:
    """The word that makes a variable look like a secret: TOKEN in DEPLOY_TOKEN, KEY in APIKEY."""
    for part in re.split(r"[_0-9]+", name.upper()):
        for word in _SECRET_WORDS:
            if part.endswith((word, f"{word}S")):
                return word
    return None


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
                f"has no template tasks/{task}.yml.j2{did_you_mean(task, tasks)}",
            )
    for path, settings in all_settings(routing):
        if len(path) == 4 and path[3] not in known_tasks:
            problems.add(path, f"unknown task{did_you_mean(str(path[3]), known_tasks)}")
        if isinstance(settings, RoutedSettings):
            _check_route(settings, path, problems, pools=routing.pools or {}, bases=bases)
        if isinstance(settings, TaskSettings):
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


def _check_pool(pool: Pool, path: Path, problems: Problems) -> None:
    if pool.node_selector is not None and not _SELECTOR.fullmatch(pool.node_selector):
        problems.add(
            (*path, "node_selector"),
            f'"{pool.node_selector}" is not label=value, '
            'for example "k8s.scaleway.com/pool-name=ci-training"',
        )
    for i, taint in enumerate(pool.taints or ()):
        if not _TAINT.fullmatch(taint):
            problems.add(
                (*path, "taints", i),
                f'"{taint}" is not key[=value]:effect, for example "nvidia.com/gpu:NoSchedule"',
            )
    if pool.runner_default and pool.node_selector is not None:
        problems.add(
            (*path, "node_selector"),
            "contradicts runner_default = true: the runner's own selector leads here; keep one",
        )
    unsure = any(problems.has_cut((*path, key)) for key in ("node_selector", "runner_default"))
    if not pool.runner_default and pool.node_selector is None and not unsure:
        problems.add(path, "how do jobs get here? Give node_selector, or runner_default = true")


def _check_selectors(pools: Mapping[str, Pool], problems: Problems) -> None:
    """Two pools behind one label are one pool to Kubernetes: a job may land on either."""
    owners: dict[str, str] = {}
    for name, pool in pools.items():
        if pool.node_selector is None:
            continue
        if pool.node_selector in owners:
            problems.add(
                ("pools", name, "node_selector"),
                f'selects the nodes of pool "{owners[pool.node_selector]}" too',
            )
        owners.setdefault(pool.node_selector, name)


def _check_label_and_nodes(pool: Pool, path: Path, problems: Problems) -> None:
    if pool.label is not None and not _SELECTOR.fullmatch(pool.label):
        problems.add((*path, "label"), f'"{pool.label}" is not label=value')
    if pool.label is not None and pool.node_selector is not None:
        problems.add((*path, "label"), "is for the runner's default pool; node_selector says it")
    if (pool.min_nodes or 0) > (pool.max_nodes or 1):
        problems.add((*path, "min_nodes"), f"is above max_nodes, which is {pool.max_nodes or 1}")


def _check_runner_defaults(pools: Mapping[str, Pool], problems: Problems) -> None:
    """Two pools can only both be where a runner leads by itself when their tags differ."""
    owners: dict[tuple[str, ...] | None, str] = {}
    for name, pool in pools.items():
        if not pool.runner_default:
            continue
        if pool.tags in owners:
            problems.add(
                ("pools", name, "runner_default"),
                f'pool "{owners[pool.tags]}" is the runner\'s default already; '
                "one runner has one default pool (another runner needs other tags)",
            )
        owners.setdefault(pool.tags, name)


def _check_settings(settings: Settings, path: Path, problems: Problems) -> None:
    _check_variables(settings.variables, (*path, "variables"), problems)
    if settings.tags is not None and not 0 < len(settings.tags) <= _MAX_TAGS:
        problems.add((*path, "tags"), f"must name 1 to {_MAX_TAGS} tags")
    if settings.rules == ():
        problems.add((*path, "rules"), "is empty: the job would never run")
    for i, rule in enumerate(settings.rules or ()):
        _check_rule(rule, (*path, "rules", i), problems)


def _check_rule(rule: Rule, path: Path, problems: Problems) -> None:
    if not rule.model_fields_set and not problems.has_cut(path):
        problems.add(path, "is empty; it would always match")
    if rule.when == "manual" and rule.allow_failure is None:
        problems.add(
            path,
            "a manual rule needs allow_failure: true makes the job optional, "
            "false makes the pipeline wait for it (GitLab's default in rules)",
        )
    if (rule.when == "delayed") != (rule.start_in is not None):
        problems.add(path, 'start_in and when = "delayed" go together')
    elif rule.model_fields_set:
        _check_as_gitlab_does(rule, path, problems)
    _check_variables(rule.variables, (*path, "variables"), problems)


def _check_variables(variables: Mapping[str, str] | None, path: Path, problems: Problems) -> None:
    """Variables of a job: whatever the generator, GitLab or a secret store owns is refused."""
    for name, value in (variables or {}).items():
        message = None
        if not VARIABLE_NAME.fullmatch(name):
            message = "is not a variable name: letters, digits and _ only"
        elif name in OWN_VARIABLES or _OWN_KUBERNETES.fullmatch(name):
            message = "is set by the generator; use requests, limits, epochs, or the pool's keys"
        elif name.startswith(("CI_", "GITLAB_")):
            message = "is set by GitLab; jobs would see another value than they expect"
        elif secret := _secret_word(name):
            message = (
                f"looks like a secret ({secret}): the child file is a readable artifact; make it a "
                "masked CI/CD variable, which the child's jobs see anyway"
            )
        elif re.fullmatch(_SELF_REFERENCE.format(name=name), value):
            message = "is defined as itself: jobs would get the literal text"
        if message:
            problems.add((*path, name), message)


def _check_as_gitlab_does(rule: Rule, path: Path, problems: Problems) -> None:
    try:
        decide({"rules": [rule.as_yaml]})
    except RuleSyntaxError as error:
        hint = f"; {error.hint}" if error.hint else ""
        start = error.expression[error.position :][:20]
        at = f' at "{start}"' if start else " at the end"
        problems.add((*path, "if"), f"{error.reason}{at}{hint}")
    except RuleError as error:
        # Ours is a list of one rule, so its number says nothing.
        reason = str(error).removesuffix(" (rule 1)")
        problems.add(path, f"GitLab would refuse it: {reason}")
