"""gcip writes jobs that are given as finished values: `gcip_jobs.py JOBS.json OUT.yml`.

It runs with the Python that has gcip, not with ours, and decides nothing: JOBS.json has every value
of every job worked out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gcip import Job, Pipeline, Rule, WhenStatement
from gcip.core.artifacts import Artifacts
from gcip.core.retry import Retry, RetryWhen
from gcip.core.workflow import AutoCancelOnNewCommit, Workflow


def main(jobs: str, output: str) -> None:
    """Read the jobs, make them gcip's own, and let it write them."""
    document = json.loads(Path(jobs).read_text(encoding="utf-8"))
    workflow = document["workflow"]
    pipeline = Pipeline(
        workflow=Workflow(
            name=workflow["name"],
            auto_cancel_on_new_commit=AutoCancelOnNewCommit(
                workflow["auto_cancel"]["on_new_commit"]
            ),
        )
    )
    made: dict[str, Job] = {}
    for name, keys in document["jobs"].items():
        made[name] = _job(keys, made)
        pipeline.add_children(made[name], name=name.removesuffix(f"-{keys['stage']}"))
    pipeline.write_yaml(output)


def _job(keys: dict[str, Any], made: dict[str, Job]) -> Job:
    artifacts, retry = keys["artifacts"], keys["retry"]
    return Job(
        stage=keys["stage"],
        script=list(keys["script"]),
        image=keys["image"],
        tags=keys["tags"],
        rules=[_rule(rule) for rule in keys["rules"]],
        variables=keys["variables"],
        needs=[made[name] for name in keys["needs"]] if "needs" in keys else None,
        artifacts=Artifacts(
            *artifacts["paths"],
            expire_in=artifacts["expire_in"],
            when=WhenStatement(artifacts["when"]),
        ),
        retry=Retry(max=retry["max"], when=[RetryWhen(reason) for reason in retry["when"]]),
        timeout=keys["timeout"],
        resource_group=keys.get("resource_group"),
    )


def _rule(keys: dict[str, Any]) -> Rule:
    return Rule(
        if_statement=keys.get("if"),
        when=WhenStatement(keys["when"]) if "when" in keys else None,
        allow_failure=keys.get("allow_failure"),
        variables=keys.get("variables"),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
