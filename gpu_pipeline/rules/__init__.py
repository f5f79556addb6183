"""GitLab's `rules`, offline: the language of `rules:if` and the lists of rules.

`evaluate` gives the value of an expression, `explain_if` also what it read; `decide` says what
GitLab does with a job, `decide_workflow` whether there is a pipeline at all. The behaviour is that
of GitLab 18.11, where it differs from what one expects too.
"""

from gpu_pipeline.rules.decision import (
    Decision,
    RuleRead,
    RuleResult,
    WorkflowDecision,
    decide,
    decide_workflow,
)
from gpu_pipeline.rules.errors import RuleError, RuleSyntaxError
from gpu_pipeline.rules.evaluator import Evaluation, Read, evaluate, explain_if, parse_expression
from gpu_pipeline.rules.variables import Origin

__all__ = [
    "Decision",
    "Evaluation",
    "Origin",
    "Read",
    "RuleError",
    "RuleRead",
    "RuleResult",
    "RuleSyntaxError",
    "WorkflowDecision",
    "decide",
    "decide_workflow",
    "evaluate",
    "explain_if",
    "parse_expression",
]
