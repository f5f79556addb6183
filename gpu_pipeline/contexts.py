"""The kinds of parent pipeline there are: the usual eight, and those that routing.toml adds."""

from __future__ import annotations

from gpu_pipeline.context import MERGE_REQUEST, Context, make_context
from gpu_pipeline.routing_model import ParentContext, Routing

_TRAIN = {"TRAIN_VALIDATE": "true"}
_USUAL = (
    make_context("push to main", "push", branch="main", variables={}),
    make_context("push to another branch", "push", branch="topic", variables={}),
    make_context("schedule with TRAIN_VALIDATE", "schedule", branch="main", variables=_TRAIN),
    make_context("schedule without it", "schedule", branch="main", variables={}),
    make_context("web", "web", branch="main", variables={}),
    make_context("api", "api", branch="main", variables={}),
    make_context("merge request", MERGE_REQUEST, variables={}),
    make_context("tag", "push", tag="v1.0.0", variables={}),
)


def parent_contexts(routing: Routing) -> list[Context]:
    """All kinds of parent pipeline; one of routing.toml replaces a usual one of the same name."""
    contexts = {context.name: context for context in _USUAL}
    for added in routing.contexts or ():
        contexts[added.name or ""] = _from_routing(added)
    return list(contexts.values())


def _from_routing(added: ParentContext) -> Context:
    return make_context(
        added.name or "",
        added.source or "",
        branch=added.branch,
        tag=added.tag,
        variables=added.variables or {},
    )
