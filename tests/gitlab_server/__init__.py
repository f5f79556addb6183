"""A GitLab server on loopback for tests: stateful, with the shapes and refusals of the real API.

    world = World()                             # one project, id 7, `team/training`, branch `main`
    parent = world.add_pipeline(source="schedule", status="success")
    child = world.add_pipeline(source="parent_pipeline", status="failed")
    world.add_bridge(parent, "train-scheduled", downstream=child)
    job = world.add_job(child, "hyperopt-dqn", status="failed", failure_reason="script_failure",
                        trace=raw_trace(["$ nvidia-smi", ...], seconds_after=...))
    world.retry(job, status="success")          # a newer attempt; the first is now hidden
    with GitLabServer(world) as server:
        run(["--server", server.url, "--project", "7"], {"GITLAB_TOKEN": world.token()})
        assert len(server.asked("GET", r"/trace$")) == 2

Tokens: `world.token()` is a maintainer's; `world.token(access=DEVELOPER, scopes=("read_api",))`,
`world.token(kind="job")` and so on are made when they are asked for. What a token may not do is
refused as GitLab does: 401 to a job token, 403 with or without `insufficient_scope`, or 404 to a
stranger.

Time: `world.later` is a queue of functions; each `GET` of one pipeline runs the next one before it
answers, so that a client that polls sees the pipeline move on. `world.on_pipeline(pipeline)` is
called for each pipeline that a request creates, `world.on_play(job)` for each job that is played:
there a test gives the pipeline its jobs, or the job its end. `world.clock()` is the time, and may
be replaced.

Faults: `server.faults.each_get(2)` makes each GET fail twice before it is answered, `.lose_posts()`
loses the answer to each first POST after it took effect, and `.add("GET", r"/trace$", "cut",
"503")` fails the next requests whose method and path match, one kind each (faults.py lists them).

`server.requests` holds all requests, `server.most_at_once` how many were served at a time.
"""

from .faults import Faults
from .server import GitLabServer
from .traces import raw_trace
from .world import DEVELOPER, MAINTAINER, REPORTER, Job, Pipeline, Project, Schedule, World

__all__ = [
    "DEVELOPER",
    "MAINTAINER",
    "REPORTER",
    "Faults",
    "GitLabServer",
    "Job",
    "Pipeline",
    "Project",
    "Schedule",
    "World",
    "raw_trace",
]
