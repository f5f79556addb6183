"""Does the runner say in a second place where pods go, beside its node selector and the jobs'?

A pod_spec patch is applied last, after the jobs' variables; affinity holds beside every selector;
variables in the runner's environment reach every job that does not set them itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.checks.runner.selector import contradiction
from gpu_pipeline.cluster.labels import own_label, pair
from gpu_pipeline.cluster.pod_spec import PatchError, Placement, placements
from gpu_pipeline.cluster.runner_keys import is_for_the_runner


def check_places(contract: Contract) -> Iterator[Finding]:
    """Every finding about such places of one runner."""
    runner = contract.runner
    for name, setting in runner.environment.items():
        if is_for_the_runner(name):
            yield contract.finding(
                "RUN128", setting.line, f"environment.{name}",
                f'gives every job that does not set it itself {name}="{setting.value}", as if the '
                "job had asked for it; the routing knows nothing of it",
                fix="remove it, and let the routing or [runners.kubernetes] say it",
            )  # fmt: skip
    if runner.affinity is not None:
        yield contract.finding(
            "RUN128", runner.affinity, "affinity",
            "holds beside the node selectors of the runner and of the jobs: where both must be "
            "met and no node meets them, pods stay Pending",
            fix="remove it, and let the node selectors decide",
        )  # fmt: skip
    try:
        found = placements(runner) if runner.uses_pod_spec else []
    except PatchError:
        return  # RUN117
    for each in found:
        yield _patch(contract, each)


def _patch(contract: Contract, placement: Placement) -> Finding:
    for label, value in placement.selector.items():
        for name, pool in contract.used.items():
            own = pair(own_label(pool) or "")
            elsewhere = own[0] == label and own[1] != value
            why = f"its nodes have {own[1]}" if elsewhere else ""
            why = why or contradiction(contract, label, value, name)
            if why:
                return contract.finding(
                    "RUN110", placement.line, f"pod_spec.patch: nodeSelector.{label}",
                    f'is applied last, over what jobs select, and no node of {name} has "{value}" '
                    f"there ({why}): it keeps off them {contract.named(contract.jobs_of(name))}",
                    fix="remove nodeSelector from the patch",
                )  # fmt: skip
    return contract.finding(
        "RUN128", placement.line, f"pod_spec.patch: {placement.key}",
        "is applied after the node selectors of the runner and of the jobs, for all jobs alike",
        fix=f"remove {placement.key} from the patch, and let the node selectors decide",
    )  # fmt: skip
