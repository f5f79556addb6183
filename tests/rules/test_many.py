"""Deciding many jobs at once gives for each what deciding it alone gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.rules import RuleError, decide
from gpu_pipeline.rules.many import Decider

NAMES = st.sampled_from("ABCDE")
VARIABLES = st.dictionaries(NAMES, st.sampled_from(["", "1", "true"]), max_size=4)
CONDITIONS = st.sampled_from(
    ["$A", '$B == "1"', "$C =~ /^tr/ && $A", "$D == null", '$CI_PIPELINE_SOURCE == "x"', "$A =~ 1"]
)
RULES = st.fixed_dictionaries(
    {"when": st.sampled_from(["manual", "never", "on_success"])},
    optional={"if": CONDITIONS, "variables": VARIABLES, "allow_failure": st.booleans()},
)
JOBS = st.lists(st.tuples(st.lists(RULES, min_size=1, max_size=3), VARIABLES), max_size=8)


def outcome(work: object) -> object:
    try:
        return work()
    except RuleError as error:
        return str(error)


@given(JOBS, VARIABLES, st.sampled_from([{}, {"A": "1"}, {"CI_PIPELINE_SOURCE": "x"}]))
def test_jobs_are_decided_as_one_by_one(jobs: list, root: dict, predefined: dict) -> None:
    decider = Decider(global_variables=root, predefined=predefined)
    for rules, variables in jobs * 2:
        alone = outcome(
            lambda rules=rules, variables=variables: decide(
                {"rules": rules, "variables": variables},
                global_variables=root,
                predefined=predefined,
            )
        )
        together = outcome(
            lambda rules=rules, variables=variables: decider.decide(rules, variables)
        )
        assert together == alone
