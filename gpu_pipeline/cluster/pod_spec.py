"""What the runner's pod_spec patches ask for: GPUs for the build container, and nodes."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from gpu_pipeline.cluster.runner_config import PodSpecPatch, Runner
from gpu_pipeline.cluster.runner_keys import BUILD_CONTAINER, GPU_RESOURCE
from gpu_pipeline.record import Record

_PLACES = ("nodeSelector", "affinity", "nodeName")


class PatchError(ValueError):
    """A patch that the runner could not apply, or that breaks the pod; `line` is the patch's."""

    line = 0


class GpuRequest(Record):
    """A GPU limit: `resource` is its name, `amount` as written, `line` that of the patch."""

    resource: str
    amount: str
    line: int


class Placement(Record):
    """A key of the pod that decides about its node; `selector` are the labels it asks for."""

    key: str
    selector: dict[str, str]
    line: int


def gpu_requests(runner: Runner) -> list[GpuRequest]:
    """The GPU limits of the build container. Raises PatchError for the first broken patch."""
    found = []
    for patch in runner.pod_spec:
        try:
            limits = list(_build_limits(patch))
        except PatchError as error:
            error.line = patch.line
            raise
        found += [
            GpuRequest(resource=name, amount=str(amount), line=patch.line)
            for each in limits
            for name, amount in each.items()
            if str(name).startswith(GPU_RESOURCE)
        ]
    return found


def placements(runner: Runner) -> list[Placement]:
    """What patches say about the node. Raises PatchError for the first broken patch."""
    found = []
    for patch in runner.pod_spec:
        for key, value in _top_level(patch):
            if key in _PLACES:
                labels = _table(value) if key == "nodeSelector" else {}
                selector = {
                    str(label): name for label, name in labels.items() if isinstance(name, str)
                }
                found.append(Placement(key=key, selector=selector, line=patch.line))
    return found


def _top_level(patch: PodSpecPatch) -> Iterator[tuple[str, object]]:
    """The pod's own keys that a patch sets, with what it sets in them."""
    document = _parsed(patch)
    if isinstance(document, dict):
        yield from ((str(key), value) for key, value in document.items() if value is not None)
    for operation in document if isinstance(document, list) else []:
        steps = _steps(_table(operation))
        value = _table(operation).get("value")
        if _table(operation).get("op") in ("add", "replace") and steps:
            for step in reversed(steps[1:]):
                value = {step: value}
            yield steps[0], value


def _parsed(patch: PodSpecPatch) -> object:
    try:
        return yaml.safe_load(patch.patch.value) if patch.patch else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else "nested too deeply"
        raise PatchError(f"is neither YAML nor JSON ({first})") from None


def _steps(operation: dict[str, object]) -> list[str]:
    return [
        step.replace("~1", "/").replace("~0", "~")
        for step in str(operation.get("path", "")).split("/")[1:]
    ]


def _build_limits(patch: PodSpecPatch) -> Iterator[dict[str, object]]:
    if patch.patch is None:
        return
    document = _parsed(patch)
    if patch.patch_type == "json":
        yield from _json_limits(document)
        return
    if not isinstance(document, dict):
        raise PatchError("is no mapping of the pod's keys")
    containers = document.get("containers", [])
    if not isinstance(containers, list) or not all(isinstance(c, dict) for c in containers):
        raise PatchError("containers must be a list of containers")
    if patch.patch_type == "merge" and "containers" in document:
        raise PatchError("a merge patch replaces all containers, helper included; use strategic")
    if any("name" not in container for container in containers):
        raise PatchError("a container without a name cannot be merged")
    for container in containers:
        if container["name"] == BUILD_CONTAINER:
            yield _table(_table(container.get("resources")).get("limits"))


def _json_limits(document: object) -> Iterator[dict[str, object]]:
    """Limits that JSON operations add to the first container, which is the build container."""
    if not isinstance(document, list) or not all(isinstance(each, dict) for each in document):
        raise PatchError("a json patch is a list of operations")
    for operation in document:
        steps = _steps(operation)
        value: object = operation.get("value")
        if operation.get("op") not in ("add", "replace") or steps[:2] != ["containers", "0"]:
            continue
        for step in reversed(steps[2:]):
            value = {step: value}
        yield _table(_table(_table(value).get("resources")).get("limits"))


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
