"""What the runner says it overwrote, held against what the job asked for.

The runner's lines are the only trace of a permission: for a variable that config.toml does not
permit it writes nothing and goes on (gitlab-runner: executors/kubernetes/overwrites.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_pipeline.gitlab.aspects import Aspect, Verdict, failed, passed, unproven
from gpu_pipeline.gitlab.evidence import Evidence
from gpu_pipeline.gitlab.planned import SELECTOR, SIZES, TOLERATION, PlannedJob
from gpu_pipeline.quantity import QuantityError, parse_quantity

_IGNORED = "the runner said nothing of it, so it ignored the request: its config.toml has no"


def judge_route(planned: PlannedJob, seen: Evidence, gpu: Verdict) -> Aspect:
    """Whether the pod was sent to the pool that was planned, and tolerated its taints.

    A job of the runner's default pool asks for nothing: it is there if the runner named no selector
    and the GPU, whose verdict is `gpu`, is the default pool's.
    """
    asked = [
        (SELECTOR, "node_selector_overwrite_allowed", planned.selectors),
        (TOLERATION, "node_tolerations_overwrite_allowed", planned.tolerations),
    ]
    found = _Found()
    for field, permission, wanted in asked:
        said = _said(seen, field)
        for key in dict.fromkeys([*said, *wanted]):
            if key in said:
                found.compare(field, key, said[key], wanted.get(key))
            else:
                found.absent.append(f'no {field} "{key}": {_IGNORED} {permission}')
    hidden = [text for pair in planned.selectors.items() for text in pair if _is_hidden(text)]
    if found.hidden or hidden:
        return unproven("routed", "; ".join([*found.hidden, *hidden]) + ": the value is not known")
    if found.wrong:
        return failed("routed", "; ".join(found.wrong))
    if not seen.prepared:
        return unproven("routed", _unprepared(seen))
    if found.absent:
        return failed("routed", "; ".join(found.absent))
    if planned.selectors:
        return passed("routed", "; ".join(found.right))
    return _default_pool(planned, gpu)


class _Found:
    """What the runner said of selectors and tolerations, by how it agrees with the plan."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.absent: list[str] = []
        self.right: list[str] = []
        self.hidden: list[str] = []

    def compare(self, field: str, key: str, values: list[str], wanted: str | None) -> None:
        shown = " and ".join(f'{field} "{key}" "{value}"' for value in values)
        if any(map(_is_hidden, [key, *values, wanted or ""])):
            self.hidden.append(shown)
        elif wanted is None:
            self.wrong.append(f"{shown}, which the job does not ask for")
        elif values != [wanted]:
            self.wrong.append(f'{shown}, not "{wanted}"')
        else:
            self.right.append(shown)


def _is_hidden(text: str) -> bool:
    """Whether a value cannot be compared: it holds a variable, or GitLab masked it in the log."""
    return "$" in text or "[MASKED]" in text


def _default_pool(planned: PlannedJob, gpu: Verdict) -> Aspect:
    pool = f"the runner's default pool, {planned.pool}" if planned.pool else "the default pool"
    if gpu is Verdict.PASS:
        return passed("routed", f"no selector, and the GPU of {pool}")
    if gpu is Verdict.FAIL:
        return failed("routed", f"no selector, but not the GPU of {pool}")
    return unproven("routed", f"no selector; that this was {pool}, nothing shows")


def judge_sizes(planned: PlannedJob, seen: Evidence) -> Iterator[Aspect]:
    """For each size that was asked for, or that the runner names, whether it is what was asked."""
    found = {
        field: values[""]
        for field in dict.fromkeys(each.field for each in seen.overwrites)
        if field in SIZES and "" in (values := _said(seen, field))
    }
    for field in dict.fromkeys([*planned.sizes, *found]):
        shown = found.get(field, [])
        if field in planned.sizes:
            yield _size(field, planned.sizes[field], shown, seen)
        else:
            yield failed(field, f"{' and '.join(shown)}, which the job does not ask for")


def _size(field: str, wanted: str, found: list[str], seen: Evidence) -> Aspect:
    shown = " and ".join(found)
    if seen.refused == field:
        return failed(field, f"{wanted} was refused: more than the runner's config.toml permits")
    if not found and seen.prepared:
        return failed(field, f"{wanted}: {_IGNORED} {SIZES[field]}_overwrite_max_allowed")
    if not found:
        return unproven(field, _unprepared(seen))
    if all(_are_equal(value, wanted) for value in found):
        return passed(field, shown)
    if any(map(_is_hidden, [*found, wanted])):
        return unproven(field, f"{shown}, and {wanted} was asked for: the value is not known")
    return failed(field, f"{shown}, not {wanted}")


def _are_equal(found: str, wanted: str) -> bool:
    """Whether two quantities are the same amount: "3" is "3000m"."""
    try:
        return parse_quantity(found) == parse_quantity(wanted)
    except QuantityError:
        return found == wanted


def _said(seen: Evidence, field: str) -> Mapping[str, list[str]]:
    """The values that the runner named for each key of a field."""
    found: dict[str, list[str]] = {}
    for each in seen.overwrites:
        if each.field == field and each.value not in found.setdefault(each.key, []):
            found[each.key].append(each.value)
    return found


def _unprepared(seen: Evidence) -> str:
    if seen.is_empty:
        return "there is no log"
    return "the log does not show the runner's whole preparation"
