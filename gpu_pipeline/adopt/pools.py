"""The pools of an adopted routing: what the jobs' selectors, tolerations and queues say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpu_pipeline.adopt.notes import Kind, Notes
from gpu_pipeline.adopt.settings import Given, Key
from gpu_pipeline.checks.child.shapes import text_in
from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import Pool
from gpu_pipeline.routing_pools import check_pools

# No GPU has this name, so that rendering stops and asks for the right one.
UNKNOWN_GPU = "?"


def pool_tables(
    givens: Sequence[Given], gpus: Mapping[str, str], notes: Notes
) -> tuple[dict[str, dict[Key, object]], list[str]]:
    """The table of each pool, and the pools whose GPU nobody named.

    Raises UsageError for a GPU of a pool that there is not.
    """
    pools: dict[str, list[Given]] = {}
    for given in givens:
        pools.setdefault(given.place.pool, []).append(given)
    for name in gpus:
        if name not in pools:
            raise UsageError(f'--gpu: no pool "{name}"{did_you_mean(name, pools)}')
    _check_groups_across(pools, notes)
    tables, unnamed = {}, []
    for name, members in pools.items():
        first = members[0].place.worker
        gpu = gpus.get(name) or (first.route.gpu if first.route else None)
        if gpu is None:
            unnamed.append(name)
            notes.add(
                Kind.MISSING, first.hand.line, f"pools.{name}.gpu",
                "a node selector does not say the GPU's exact name; rendering stops until the "
                f'routing does (--gpu {name}="NVIDIA …")',
            )  # fmt: skip
        tables[name] = {
            ("gpu",): gpu or UNKNOWN_GPU,
            **_way_there(name, members, notes),
            **_queue(name, members, notes),
        }
    notes.assumed(
        1, "pools",
        "max_nodes is 1 for each: how many nodes the autoscaler may add is not in the file; nor is "
        "price_per_hour, without which nobody knows what a run costs",
    )  # fmt: skip
    return tables, unnamed


def _way_there(name: str, members: Sequence[Given], notes: Notes) -> dict[Key, object]:
    """How jobs get to the nodes: label and taints."""
    first = members[0].place.worker
    table: dict[Key, object] = {}
    if first.selectors:
        table["node_selector",] = first.selectors[0]
    else:
        table["runner_default",] = True
        notes.assumed(
            first.hand.line, f"pools.{name}",
            "these jobs select no node, so the runner's own selector leads to the pool; its label, "
            'label = "LABEL=VALUE", is not in the file, and `cluster runner` needs it',
        )  # fmt: skip
    taints: dict[str, Given] = {}
    for given in members:
        for taint in given.place.worker.tolerations:
            taints.setdefault(taint, given)
    accepted = []
    for taint, given in taints.items():
        problems = Problems("", {})
        check_pools({"": Pool(runner_default=True, taints=(taint,))}, problems)
        if problems.any():
            job = given.place.worker.hand
            notes.lost(job.line, f"{job.name}:variables", f'"{taint}" is no taint of a pool')
        else:
            accepted.append(taint)
    return table | ({("taints",): accepted} if accepted else {})


def _queue(name: str, members: Sequence[Given], notes: Notes) -> dict[Key, object]:
    """How many jobs run at once: as many as there are resource groups."""
    groups = [group_of(given) for given in members]
    used = sorted({group for group in groups if group})
    line = members[0].place.worker.hand.line
    if not used:
        notes.assumed(
            line, f"pools.{name}.concurrency",
            "the jobs have no resource group and wait as Pending pods, as before; without "
            'queue = "kubernetes" they wait in GitLab, as many at once as concurrency says',
        )  # fmt: skip
        return {("concurrency",): 1, ("queue",): "kubernetes"}
    for given, group in zip(members, groups, strict=True):
        if group is None:
            job = given.place.worker.hand
            notes.lost(
                job.line, f"{job.name}:resource_group",
                f"others of pool {name} have one; the routing gives one to all of them or to none",
            )  # fmt: skip
    notes.assumed(
        line, f"pools.{name}.concurrency",
        f"{len(used)}, the number of resource groups ({', '.join(used[:4])}"
        f"{', …' if len(used) > 4 else ''}); they are named {name}/1 and so on now",
    )  # fmt: skip
    return {("concurrency",): len(used)}


def group_of(given: Given) -> str | None:
    """The resource group of the hand-written job."""
    return text_in(given.place.worker.hand.tree.get("resource_group")) or None


def _check_groups_across(pools: Mapping[str, Sequence[Given]], notes: Notes) -> None:
    owners: dict[str, str] = {}
    for name, members in pools.items():
        for given in members:
            group = group_of(given)
            if group and owners.setdefault(group, name) != name:
                job = given.place.worker.hand
                notes.lost(
                    job.line_of("resource_group"), f"{job.name}:resource_group",
                    f'"{group}" kept jobs of pool {owners[group]} and of pool {name} apart; each '
                    "pool has a queue of its own now",
                )  # fmt: skip
