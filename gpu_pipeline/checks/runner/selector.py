"""Where do pods go, given the runner's own node selector and the jobs'?

The runner merges a job's selectors over its own: the same label is replaced, other labels stay, and
a node must have all of them (executors/kubernetes/overwrites.go: overwriteMap).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.checks.wording import with_gpu
from gpu_pipeline.cluster.labels import own_label, pair
from gpu_pipeline.cluster.runner_config import Setting
from gpu_pipeline.cluster.runner_needs import toml_text
from gpu_pipeline.routing_model import Pool

_INSTANCE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_PRODUCT_LABEL = "nvidia.com/gpu.product"
# Labels that every node of a GPU pool has.
_EVERYWHERE = {
    "kubernetes.io/os": "linux",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/arch": "amd64",
    "nvidia.com/gpu.present": "true",
}


def check_selectors(contract: Contract) -> Iterator[Finding]:
    """Every finding about the node selector of one runner."""
    for name, pool in contract.used.items():
        if pool.runner_default:
            yield from _check_default(contract, name, pool)
        yield from _check_kept(contract, name, pool)


def check_manager(contract: Contract) -> Iterator[Finding]:
    """The manager's own pod on a GPU node: a node that is paid for and never goes away."""
    chosen = [
        *(
            (f"nodeSelector.{label}", label, it)
            for label, it in contract.file.manager_selector.items()
        ),
        *((f"affinity: {label}", label, it) for label, it in contract.file.manager_affinity),
    ]
    for key, label, setting in chosen:
        for name, pool in contract.pools.items():
            if own_label(pool) == f"{label}={setting.value}" or (
                label in _INSTANCE_LABELS and setting.value == pool.instance
            ):
                yield contract.finding(
                    "RUN120", setting.line, key,
                    f"puts the runner manager itself on {with_gpu(name, pool)}, which then never "
                    "scales down to zero",
                    fix="select a pool without GPUs",
                )  # fmt: skip


def _check_default(contract: Contract, name: str, pool: Pool) -> Iterator[Finding]:
    own = contract.runner.node_selector
    jobs = contract.named(contract.jobs_of(name))
    label, value = pair(pool.label or "")
    line = f'"{label}" = {toml_text(value)}' if pool.label else "the label of its nodes"
    if not own and (pool.label or len(contract.pools) > 1):
        yield contract.finding(
            "RUN112", contract.runner.kubernetes_line, "node_selector",
            f"is missing, and {with_gpu(name, pool)} is where the runner should lead by itself: "
            f"any node may get {jobs}",
            fix=f"add a table [runners.kubernetes.node_selector] with {line}",
        )  # fmt: skip
    elif pool.label and label not in own:
        setting = next(iter(own.values()))
        yield contract.finding(
            "RUN112", setting.line, "node_selector",
            f"does not say {pool.label}, which is {with_gpu(name, pool)}: "
            f"other nodes may get {jobs}",
            fix=f"add {line} to [runners.kubernetes.node_selector]",
        )  # fmt: skip
    elif pool.label and own[label].value != value:
        yield _leads_elsewhere(contract, label, own[label], name, f"write {line}")
    elif not pool.label:
        for other, elsewhere in contract.pools.items():
            taken, wanted = pair(elsewhere.node_selector or "")
            if other != name and taken in own and own[taken].value == wanted:
                yield _leads_elsewhere(
                    contract, taken, own[taken], name, f"select the nodes of {name} here"
                )


def _leads_elsewhere(
    contract: Contract, label: str, setting: Setting[str], name: str, fix: str
) -> Finding:
    return contract.finding(
        "RUN112", setting.line, f"node_selector.{label}",
        f'leads to "{setting.value}", not to {with_gpu(name, contract.pools[name])}, which the '
        "routing takes for the runner's default: wrong nodes get "
        + contract.named(contract.jobs_of(name)),
        fix=fix,
    )  # fmt: skip


def _check_kept(contract: Contract, name: str, pool: Pool) -> Iterator[Finding]:
    """Labels of the runner's own selector that stay beside the jobs' ones."""
    jobs = contract.jobs_of(name)
    ours = {
        pair(each.value)[0]
        for each in contract.emitted
        if each.name.startswith("KUBERNETES_NODE_SELECTOR_") and each.job.pool.value == name
    }
    if not pool.runner_default and "node_selector_overwrite_allowed" not in (
        contract.runner.permissions
    ):
        return  # none of ours arrives: a finding of its own
    for label, setting in contract.runner.node_selector.items():
        if label in ours or _EVERYWHERE.get(label) == setting.value:
            continue
        why = contradiction(contract, label, setting.value, name)
        if why:
            yield contract.finding(
                "RUN110", setting.line, f"node_selector.{label}",
                f"stays in force beside what jobs select, and no node of {name} has "
                f'"{setting.value}" there ({why}): no node will ever take {contract.named(jobs)}',
                fix="remove the line, or let only the label stand that jobs replace",
            )  # fmt: skip
        elif not pool.runner_default:
            yield contract.finding(
                "RUN111", setting.line, f"node_selector.{label}",
                f"stays in force beside what jobs select: nodes of {name} must have it as well",
                fix="check it with: "
                f"kubectl get nodes -l {own_label(pool)},{label}={setting.value}",
            )  # fmt: skip


def contradiction(contract: Contract, label: str, value: str, name: str) -> str:
    """Why no node of the pool `name` can have this label; empty when one may."""
    pool = contract.pools[name]
    if own_label(pool) == f"{label}={value}":
        return ""
    if label in _INSTANCE_LABELS and pool.instance and value != pool.instance:
        return f"its instances are {pool.instance}"
    product = (pool.gpu or "").replace(" ", "-")
    if label == _PRODUCT_LABEL and value not in (product, f"{product}-SHARED"):
        return f"its GPU is {product}"
    if pool.runner_default:
        return ""
    for other, elsewhere in contract.pools.items():
        if other != name and value in (other, pair(own_label(elsewhere) or "")[1]):
            return f"that is pool {other}"
    return ""
