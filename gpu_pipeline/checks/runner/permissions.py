"""Is every variable that a job emits permitted, and nothing else?

GitLab Runner, executors/kubernetes/overwrites.go: an empty permission means that the variable is
ignored with a debug message; a regex is searched for anywhere in the value; a maximum may be
reached; whatever is refused fails the job before it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.checks.runner.permission_probes import near, other_names, spelt_out
from gpu_pipeline.checks.wording import named, with_gpu
from gpu_pipeline.cluster.emitted import Emission, Locate, emissions
from gpu_pipeline.cluster.labels import own_label, pair
from gpu_pipeline.cluster.runner_config import Setting
from gpu_pipeline.cluster.runner_keys import Kind, instead_of, permission_for
from gpu_pipeline.cluster.runner_needs import by_permission, smallest_line
from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Origin
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.rules.regex import InvalidRegexError, Regex

_REGEXES = (Kind.REGEX, Kind.PAIR, Kind.TOLERATION)
_IGNORED_CODES = {
    "node_selector_overwrite_allowed": "RUN101",
    "node_tolerations_overwrite_allowed": "RUN102",
}


def check_permissions(contract: Contract) -> Iterator[Finding]:
    """Every finding about permissions of one runner."""
    groups = by_permission(contract.emitted)
    for (key, kind), emitted in groups.items():
        setting = contract.runner.permissions.get(key)
        if setting is None:
            yield _ignored(contract, key, kind, emitted)
        elif kind in _REGEXES:
            yield from _check_regex(contract, key, kind, setting, emitted)
        elif kind is Kind.MAXIMUM:
            yield from _check_maximum(contract, key, setting, emitted)
    emitted_keys = {key for key, _ in groups}
    for key, setting in contract.runner.permissions.items():
        if key not in emitted_keys:
            yield contract.finding(
                "RUN109", setting.line, key,
                "permits what no job of this routing asks for; whoever else uses the runner may",
                fix="remove the line if nobody else needs it",
            )  # fmt: skip


def check_unread(jobs: Sequence[Job], locate: Locate) -> Iterator[Finding]:
    """Variables that no runner reads, whichever it is, at the lines of the routing."""
    unread: dict[tuple[str, Origin], list[Job]] = {}
    for each in emissions(jobs, locate):
        if permission_for(each.name) is None:
            unread.setdefault((each.name, each.origin), []).append(each.job)
    for (name, origin), setting in unread.items():
        yield finding(
            "RUN123", Place.at(origin),
            f"no runner reads {name}{instead_of(name)}; it does nothing in {named(setting)}",
            fix="correct the name, or remove it",
        )  # fmt: skip


def _ignored(contract: Contract, key: str, kind: Kind, emitted: Sequence[Emission]) -> Finding:
    values = [each.value for each in emitted]
    code = _IGNORED_CODES.get(key, "RUN103" if kind is Kind.MAXIMUM else "RUN104")
    names = ", ".join(dict.fromkeys(each.name for each in emitted))
    return contract.finding(
        code, contract.runner.empty.get(key, contract.runner.kubernetes_line), key,
        f"is missing or empty, so the runner ignores {names} without a word: "
        + _consequence(contract, key, kind, emitted),
        fix=f"add to [runners.kubernetes]: {smallest_line(key, kind, values)}",
    )  # fmt: skip


def _consequence(contract: Contract, key: str, kind: Kind, emitted: Sequence[Emission]) -> str:
    jobs = [each.job for each in emitted]
    pools = {each.job.pool.value: each.job.pool_settings for each in emitted}
    if key == "node_selector_overwrite_allowed":
        return "; ".join(
            f"meant for {with_gpu(name, pool)} and landing on {_landing(contract)}: "
            + named(job for job in jobs if job.pool.value == name)
            for name, pool in pools.items()
        )
    if key == "node_tolerations_overwrite_allowed":
        tainted = ", ".join(dict.fromkeys(each.value for each in emitted))
        return (
            f"no pod tolerates {tainted}, so these stay Pending until poll_timeout: "
            + contract.named(jobs)
        )
    if kind is Kind.MAXIMUM:
        default = contract.runner.resources.get(key.removesuffix("_overwrite_max_allowed"))
        instead = (
            f"the runner's own {default.value} ({contract.file.file}:{default.line})"
            if default
            else "none at all"
        )
        values = list(dict.fromkeys(each.value for each in emitted))
        asked = ", ".join(values[:5]) + (", …" if len(values) > 5 else "")
        return f"asked for is {asked}, and {instead} is used by {contract.named(jobs)}"
    return f"nothing of it reaches {contract.named(jobs)}"


def _landing(contract: Contract) -> str:
    """Where the runner's own selector leads a pod that brings none."""
    own = {label: setting.value for label, setting in contract.runner.node_selector.items()}
    for name, pool in contract.pools.items():
        label, value = pair(own_label(pool) or "")
        if own.get(label) == value:
            return with_gpu(name, pool)
    if not own:
        return "any node that has room"
    return "nodes with " + ", ".join(f"{label}={value}" for label, value in own.items())


def _check_regex(
    contract: Contract, key: str, kind: Kind, setting: Setting[str], emitted: Sequence[Emission]
) -> Iterator[Finding]:
    values = list(dict.fromkeys(each.value for each in emitted))
    needed = f"write instead: {smallest_line(key, kind, values)}"
    regex = Regex(source=setting.value)
    try:
        regex.is_found_in("")
    except InvalidRegexError as error:
        yield contract.finding(
            "RUN107", setting.line, key,
            f'"{setting.value}" is no regular expression to Go ({error}); '
            f"every job that sets such a variable fails: {contract.named(e.job for e in emitted)}",
            fix=needed,
        )  # fmt: skip
        return
    for value in values:
        jobs = [each.job for each in emitted if each.value == value]
        if "$" in value:
            yield _unknown(contract, key, setting, value, jobs)
        elif not regex.is_found_in(value) or (kind is Kind.PAIR and "=" not in value):
            yield contract.finding(
                "RUN105", setting.line, key,
                f'provided value "{value}" does not match "{setting.value}"'
                + ("" if "=" in value or kind is not Kind.PAIR else ', nor is it "key=value"')
                + f": the runner fails {contract.named(jobs)}",
                fix=needed,
            )  # fmt: skip
    if any("$" in value for value in values) or not any(map(regex.is_found_in, values)):
        return  # nothing can be said, or RUN105 says what to write
    others = _others(contract, values, kind, setting.value)
    other = next((text for text in others if regex.is_found_in(text)), None)
    if other is not None:
        whole = Regex(source=rf"\A(?:{setting.value})\z").is_found_in(other)
        shown = other.replace("\n", "\\n")
        yield contract.finding(
            "RUN108", setting.line, key,
            f'"{setting.value}" '
            + ("" if whole else "is searched for anywhere in the value, so it ")
            + f'also permits "{shown}" to everybody who may use this runner',
            fix=needed,
        )  # fmt: skip


def _unknown(
    contract: Contract, key: str, setting: Setting[str], value: str, jobs: Sequence[Job]
) -> Finding:
    return contract.finding(
        "RUN126", setting.line, key,
        f'"{value}" is expanded in the job, so only the job can tell whether this permits it: '
        + contract.named(jobs),
        fix="look for an `overwritten with` line at the beginning of a job's log",
    )  # fmt: skip


def _others(contract: Contract, values: Sequence[str], kind: Kind, pattern: str) -> Iterator[str]:
    """Values that nobody emits, and that a regex made for `values` has no reason to match."""
    for each in _probes(contract, values, kind, pattern):
        can_be_sent = bool(each) or kind is Kind.TOLERATION
        if kind is Kind.PAIR:
            can_be_sent = "=" in each
        if can_be_sent and each not in values and each not in contract.emitted_elsewhere:
            yield each


def _probes(contract: Contract, values: Sequence[str], kind: Kind, pattern: str) -> Iterator[str]:
    if kind is not Kind.REGEX:
        for value in values:
            yield from other_names(value)
        yield from filter(None, map(own_label, contract.pools.values()))
    yield from spelt_out(pattern)
    for value in values:
        yield from near(value)
    yield "any-other" if kind is Kind.REGEX else "any.other/label=any-other"
    if kind is Kind.TOLERATION:
        yield ""


def _check_maximum(
    contract: Contract, key: str, setting: Setting[str], emitted: Sequence[Emission]
) -> Iterator[Finding]:
    needed = smallest_line(key, Kind.MAXIMUM, [each.value for each in emitted])
    try:
        maximum = parse_quantity(setting.value)
    except QuantityError as error:
        yield contract.finding(
            "RUN107", setting.line, key,
            f"{error}; every job that sets such a variable fails: "
            + contract.named(each.job for each in emitted),
            fix=f"write instead: {needed}",
        )  # fmt: skip
        return
    for value in dict.fromkeys(each.value for each in emitted):
        jobs = [each.job for each in emitted if each.value == value]
        origin = next(each.origin for each in emitted if each.value == value)
        asked = _quantity(value)
        if "$" in value:
            yield _unknown(contract, key, setting, value, jobs)
        elif asked is None:
            yield contract.finding(
                "RUN105", setting.line, key,
                f'"{value}" ({origin}) is no quantity: the runner fails {contract.named(jobs)}',
                fix=f"correct {origin.path} ({origin})",
            )  # fmt: skip
        elif asked > maximum:
            yield contract.finding(
                "RUN106", setting.line, key,
                f'requested "{value}" ({origin}) is higher than limit allowed '
                f'"{setting.value}": the runner fails {contract.named(jobs)}',
                fix=f"raise it to {needed}, or lower {origin.path}",
            )  # fmt: skip


def _quantity(text: str) -> Decimal | None:
    try:
        return parse_quantity(text)
    except QuantityError:
        return None
