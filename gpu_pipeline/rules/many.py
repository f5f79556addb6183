"""Deciding the jobs of one pipeline, of which there may be thousands with a few lists of rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from msgspec.structs import replace

from gpu_pipeline.rules.decision import Decision, decide
from gpu_pipeline.rules.evaluator import names_in


class Decider:
    """Decides jobs that have nothing but rules and variables, as `decide` would.

    Jobs have many variables and their rules read few: jobs whose rules are the same, and read the
    same, differ in the variables that they end up with but not in what is decided.
    """

    def __init__(
        self, *, global_variables: Mapping[str, object], predefined: Mapping[str, str]
    ) -> None:
        self._global_variables = global_variables
        self._predefined = predefined
        self._names: dict[str, tuple[str, ...]] = {}
        self._decided: dict[Hashable, Decision] = {}

    def decide(self, rules: object, variables: Mapping[str, str]) -> Decision:
        """What GitLab does with the job. Raises RuleError. `rules` are plain data."""
        written = repr(rules)
        if written not in self._names:
            self._decide(rules, variables)  # raises for rules that are wrong, and says which
            self._names[written] = tuple(dict.fromkeys(self._names_that_matter(rules)))
        names = self._names[written]
        alike = (written, *map(variables.get, names))
        if alike not in self._decided:
            relevant = {name: variables[name] for name in names if name in variables}
            self._decided[alike] = self._decide(rules, relevant)
        decision = self._decided[alike]
        return replace(decision, variables={**variables, **decision.variables})

    def _decide(self, rules: object, variables: Mapping[str, str]) -> Decision:
        return decide(
            {"rules": rules, "variables": variables},
            global_variables=self._global_variables,
            predefined=self._predefined,
        )

    def _names_that_matter(self, rules: object) -> Iterator[str]:
        """Those that rules read or set, and those of which the job may override the child's."""
        yield from self._global_variables
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(condition := rule.get("if"), str):
                yield from names_in(condition)
            yield from rule.get("variables") or ()
