"""Do the jobs' pods ask for a GPU? No variable can: it takes a pod_spec patch of the runner.

A pod that is routed by its selector alone gets no GPU from the scheduler: it sees whichever GPUs
the container runtime shows it, together with every other pod there.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.cluster.fit import jobs_per_gpu, pool_fits
from gpu_pipeline.cluster.pod_spec import GpuRequest, PatchError, gpu_requests
from gpu_pipeline.cluster.pool_start import scales
from gpu_pipeline.cluster.runner_keys import GPU_RESOURCE, POD_SPEC_FLAG
from gpu_pipeline.routing_model import Pool
from gpu_pipeline.words import count


def check_gpu(contract: Contract) -> Iterator[Finding]:
    """Every finding about pod_spec patches and GPUs of one runner."""
    runner = contract.runner
    if runner.pod_spec and not runner.uses_pod_spec:
        yield contract.finding(
            "RUN117", runner.pod_spec[0].line, "pod_spec",
            f"has no effect while the feature flag {POD_SPEC_FLAG} is off, which is the default",
            fix=f"set {POD_SPEC_FLAG} = true in [runners.feature_flags]",
        )  # fmt: skip
    try:
        requests = gpu_requests(runner)
    except PatchError as error:
        yield contract.finding(
            "RUN117", error.line, "pod_spec.patch",
            f"{error}: the runner fails {contract.named(contract.jobs)}",
            fix="correct the patch; `cluster runner` prints one that works",
        )  # fmt: skip
        return
    hidden = next((patch for patch in runner.pod_spec if patch.patch is None), None)
    asked = [each for each in requests if each.amount not in ("0", "None", "")]
    for each in asked:
        yield from _check_request(contract, each)
    if hidden and not asked:
        yield contract.finding(
            "RUN126", hidden.line, "pod_spec.patch_path",
            "names a file of the runner manager, so whether jobs ask for a GPU cannot be seen here",
            fix="give the patch itself, as `patch`, to have it checked",
        )  # fmt: skip
    elif not asked:
        yield _no_gpu(contract)


def _check_request(contract: Contract, request: GpuRequest) -> Iterator[Finding]:
    if request.resource != GPU_RESOURCE:
        from_zero = [name for name, pool in contract.used.items() if scales(pool)]
        if from_zero:
            yield contract.finding(
                "RUN118", request.line, "pod_spec.patch",
                f"asks for {request.resource}, which a node only has once it runs: the autoscaler "
                f"never makes one for it ({', '.join(from_zero)} scale)",
                fix=f"ask for {GPU_RESOURCE}, and leave renameByDefault off",
            )  # fmt: skip
        return
    refusing = [name for name, pool in contract.used.items() if not _has(pool, request.amount)]
    if refusing:
        yield contract.finding(
            "RUN118", request.line, "pod_spec.patch",
            f"asks for {request.amount} GPUs a job, and no node of {', '.join(refusing)} hands out "
            "as many: a shared GPU is handed out in ones",
            fix=f'ask for {GPU_RESOURCE}: "1"',
        )  # fmt: skip


def _has(pool: Pool, amount: str) -> bool:
    """Whether a node of the pool gives one job so many GPUs."""
    most = 1 if jobs_per_gpu(pool) > 1 else pool.gpus or 1
    return amount.isdecimal() and int(amount) <= most


def _no_gpu(contract: Contract) -> Finding:
    fits: dict[str, int] = {}
    for fit in pool_fits(contract.jobs, lambda _: contract.runner):
        if fit.per_node is not None:
            fits[fit.pool] = max(fits.get(fit.pool, 0), fit.per_node)
    shares = "; ".join(
        f"{count(fits[name], 'job')} by CPU and memory on the GPU of a {name} node"
        if name in fits
        else f"any number of jobs on the GPU of a {name} node"
        for name in contract.used
    )
    patches = contract.runner.pod_spec
    return contract.finding(
        "RUN116", patches[0].line if patches else contract.runner.kubernetes_line, "pod_spec",
        f"asks for no {GPU_RESOURCE} for the build container, so nobody counts who shares a GPU: "
        f"the scheduler would put up to {shares}. A pod may also start before the node's driver",
        fix=f"add the pod_spec patch and {POD_SPEC_FLAG} that `cluster runner` prints",
    )  # fmt: skip
