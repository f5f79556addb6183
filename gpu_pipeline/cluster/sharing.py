"""The NVIDIA device plugin's sharing configuration, as each pool's `sharing` and `concurrency` ask.

Sources: NVIDIA/k8s-device-plugin v0.20 (README: "Shared Access to GPUs", "Multiple Config Files");
kubernetes/autoscaler cloudprovider/scaleway/scaleway_node_group.go for what a pool at zero offers.
Jobs get no CUDA_MPS_… variable: the plugin sets the pipe directory in the container and the thread
percentage in its daemon, where a job's own value could only lower it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_pipeline.cluster.fit import jobs_per_gpu, shown
from gpu_pipeline.cluster.labels import own_label
from gpu_pipeline.cluster.pool_start import scales
from gpu_pipeline.cluster.runner_keys import GPU_RESOURCE
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.routing_model import Pool

CONFIG_LABEL = "nvidia.com/device-plugin.config"
_SECTIONS = {"time-slicing": "timeSlicing", "mps": "mps"}
_KAPSULE = "k8s.scaleway.com/"
_HEAD = f"""\
# How nodes offer a GPU to several jobs. Apply this in the namespace of the GPU operator, or
# of the device plugin, and make it known there:
#   GPU operator's chart:  --set devicePlugin.config.name=gpu-sharing \\
#                          --set devicePlugin.config.default=default
#   device plugin's chart: --set config.name=gpu-sharing
# The node label {CONFIG_LABEL} selects the entry. Put it on the pool, not on a
# node: nodes come and go.
apiVersion: v1
kind: ConfigMap
metadata:
  name: gpu-sharing
data:
  default: |
    version: v1"""


def sharing_config(pools: Mapping[str, Pool]) -> str:
    """A ConfigMap with an entry for each pool that shares its GPU, and the limits as comments."""
    return "\n".join([_HEAD, *(line for item in pools.items() for line in _entry(*item))])


def _entry(name: str, pool: Pool) -> Iterator[str]:
    replicas = jobs_per_gpu(pool)
    section = _SECTIONS.get(pool.sharing or "none")
    yield ""
    if section is None or replicas == 1:
        yield f"  # {name}: nothing is shared. A job has the GPU to itself, and its node no label."
        if replicas > 1:
            yield f"  # But {replicas} jobs at once are planned on it: see FIT106."
        return
    key = "default-pool" if name == "default" else name
    yield f"  # {name}: {replicas} jobs on each {pool.gpu}. Its nodes' label:"
    yield f"  #   {CONFIG_LABEL}={key}"
    if (own_label(pool) or "").startswith(_KAPSULE):
        yield f"  # which on Kapsule the pool's tag noprefix={CONFIG_LABEL}={key} gives them."
    yield from (f"  # {line}" for line in _limits(pool, replicas))
    yield f"  {key}: |"
    yield "    version: v1"
    yield "    sharing:"
    yield f"      {section}:"
    yield "        renameByDefault: false"
    yield "        failRequestsGreaterThanOne: true"
    yield "        resources:"
    yield f"          - name: {GPU_RESOURCE}"
    yield f"            replicas: {replicas}"


def _limits(pool: Pool, replicas: int) -> Iterator[str]:
    if pool.sharing == "mps":
        share = ""
        if pool.gpu_memory:
            each = shown("memory", parse_quantity(pool.gpu_memory) / replicas)
            share = f", {each}"
        yield f"MPS: each job gets 1/{replicas} of the GPU's memory{share}, and at most"
        yield f"{100 // replicas} % of its threads. A job that needs more fails; a crash can take"
        yield "others with it. Jobs set no CUDA_MPS variable: the plugin sets what they need."
    else:
        yield "Time-slicing: jobs take turns and are not isolated: all share the GPU's memory, and"
        yield "whoever asks last runs out of it. A replica is no guaranteed part of the GPU."
    if scales(pool):
        yield "While the pool has no node the autoscaler knows of its GPUs, not of replicas: it"
        yield "may want a node for each waiting job, up to max_nodes."
