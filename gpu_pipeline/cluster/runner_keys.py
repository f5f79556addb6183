"""Facts about GitLab Runner's Kubernetes executor: its keys, their defaults, what permits what.

Sources, of GitLab Runner 19.4: executors/kubernetes/overwrites.go (which key permits which
variable), common/config.go (keys, defaults, environment variables), docs/executors/kubernetes.
"""

from __future__ import annotations

import enum
import functools
import re

from gpu_pipeline.names import did_you_mean
from gpu_pipeline.record import Record

DEFAULT_POLL_TIMEOUT = 180  # seconds; common/const.go: KubernetesPollTimeout
DEFAULT_CONCURRENT = 1  # of config.toml; a missing or zero value
DEFAULT_HELM_CONCURRENT = 10  # charts/gitlab-runner: values.yaml
DEFAULT_REQUEST_CONCURRENCY = 1  # common/config.go: GetRequestConcurrency
POD_SPEC_FLAG = "FF_USE_ADVANCED_POD_SPEC_CONFIGURATION"  # off by default: helpers/featureflags
BUILD_CONTAINER = "build"  # executors/kubernetes/kubernetes.go: buildContainerName
GPU_RESOURCE = "nvidia.com/gpu"
# An array of tables of patches to the pod; docs: "Overwrite generated pod specifications".
PATCH_TYPES = ("strategic", "merge", "json")

SERVICE = "KUBERNETES_SERVICE_"  # of all services of a job, or in one service's variables
_RESOURCES = ("cpu", "memory", "ephemeral_storage")
CONTAINERS = ("", "helper_", "service_")
"""Prefixes of keys and variables: the build container, the helper, each service."""


class Kind(enum.Enum):
    """How the runner compares a variable's value with the key that permits it."""

    REGEX = "regex on the value"
    PAIR = "regex on key=value"
    TOLERATION = "regex on key[=value]:effect"
    SWITCH = "true or false"
    MAXIMUM = "the largest quantity"


class Permission(Record):
    """The key of [runners.kubernetes] that permits a variable; empty or absent: it is ignored."""

    key: str
    kind: Kind


_NAMED = {
    "KUBERNETES_NAMESPACE_OVERWRITE": ("namespace_overwrite_allowed", Kind.REGEX),
    "KUBERNETES_SERVICE_ACCOUNT_OVERWRITE": ("service_account_overwrite_allowed", Kind.REGEX),
    "KUBERNETES_BEARER_TOKEN": ("bearer_token_overwrite_allowed", Kind.SWITCH),
}
_PREFIXED = {
    "KUBERNETES_POD_LABELS_": ("pod_labels_overwrite_allowed", Kind.PAIR),
    "KUBERNETES_POD_ANNOTATIONS_": ("pod_annotations_overwrite_allowed", Kind.PAIR),
    "KUBERNETES_NODE_SELECTOR_": ("node_selector_overwrite_allowed", Kind.PAIR),
    "KUBERNETES_NODE_TOLERATIONS_": ("node_tolerations_overwrite_allowed", Kind.TOLERATION),
}
RESOURCE_KEYS = tuple(
    f"{container}{resource}_{side}"
    for container in CONTAINERS
    for resource in _RESOURCES
    for side in ("request", "limit")
) + tuple(f"pod_{resource}_{side}" for resource in _RESOURCES[:2] for side in ("request", "limit"))

PERMISSIONS: dict[str, Kind] = {
    **dict(_NAMED.values()),
    **dict(_PREFIXED.values()),
    **{f"{key}_overwrite_max_allowed": Kind.MAXIMUM for key in RESOURCE_KEYS},
}
# Every key of [runners.kubernetes] that is read here; the runner knows more.
KUBERNETES_KEYS = (
    *PERMISSIONS,
    *RESOURCE_KEYS,
    *("node_selector", "node_tolerations", "pod_spec", "poll_timeout", "services"),
)
GLOBAL_KEYS = ("concurrent",)
RUNNER_KEYS = ("environment", "executor", "feature_flags", "limit", "name", "request_concurrency")
# What Kubernetes itself puts into every container; no runner looks at it.
_NOT_OURS = re.compile(r"KUBERNETES_(?:PORT(?:_.*)?|SERVICE_(?:HOST|PORT(?:_.*)?))")


def is_for_the_runner(name: str) -> bool:
    """Whether a variable looks like one of those by which a job changes its pod."""
    return name.startswith("KUBERNETES_") and not _NOT_OURS.fullmatch(name)


@functools.lru_cache(maxsize=1024)  # thousands of jobs use the same few names
def permission_for(name: str) -> Permission | None:
    """What permits the variable `name`; None when the runner reads no such variable."""
    found = _NAMED.get(name)
    for prefix, entry in _PREFIXED.items():
        if name.startswith(prefix):
            found = entry
    key = name.removeprefix("KUBERNETES_").lower()
    if found is None and key in RESOURCE_KEYS and name == name.upper():
        found = (f"{key}_overwrite_max_allowed", Kind.MAXIMUM)
    return Permission(key=found[0], kind=found[1]) if found else None


def known_variables() -> list[str]:
    """Names (or beginnings of names) of all variables that the runner reads."""
    return [*_NAMED, *_PREFIXED, *(f"KUBERNETES_{key.upper()}" for key in RESOURCE_KEYS)]


def instead_of(name: str) -> str:
    """What to say after the name of a variable that no runner reads."""
    if "GPU" in name:
        return "; the number of GPUs is a property of the runner: a pod_spec patch asks for them"
    return did_you_mean(name, known_variables())


def environment_name(key: str) -> str:
    """The manager's environment variable that sets a key of [runners.kubernetes]."""
    return f"KUBERNETES_{key.upper()}"
