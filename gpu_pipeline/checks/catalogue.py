"""Every finding there is. A code is stable: it keeps its meaning, and its page in docs/findings."""

from __future__ import annotations

from gpu_pipeline.checks.finding import Finding, Place, Severity
from gpu_pipeline.record import Record


class Entry(Record):
    """What all findings of one code have in common."""

    severity: Severity
    title: str


def _error(title: str) -> Entry:
    return Entry(severity=Severity.ERROR, title=title)


def _warning(title: str) -> Entry:
    return Entry(severity=Severity.WARNING, title=title)


def _note(title: str) -> Entry:
    return Entry(severity=Severity.NOTE, title=title)


CATALOGUE: dict[str, Entry] = {
    # ACC: findings that routing.toml accepts
    "ACC101": _error("an acceptance has expired"),
    "ACC102": _error("an acceptance names a code that does not exist"),
    "ACC103": _note("an acceptance is not needed"),
    # PIP: a child pipeline file by itself
    "PIP101": _error("the file cannot be parsed"),
    "PIP102": _error("the file is empty or no mapping"),
    "PIP103": _error("a key stands twice"),
    "PIP104": _error("a job's name is refused"),
    "PIP105": _warning("a job's name has another meaning"),
    "PIP106": _error("a keyword of the top level is wrong"),
    "PIP107": _error("there is no visible job"),
    "PIP108": _error("a job has nothing to do"),
    "PIP109": _error("a job has a key that it cannot have"),
    "PIP110": _error("a stage does not exist"),
    "PIP111": _error("extends cannot be worked out"),
    "PIP112": _error("a !reference cannot be worked out"),
    "PIP113": _warning("a child triggers another pipeline"),
    "PIP114": _error("needs is wrong"),
    "PIP115": _error("a job is needed twice"),
    "PIP116": _error("a job waits for one of a later stage"),
    "PIP117": _error("dependencies name a job they cannot"),
    "PIP118": _error("trigger is wrong"),
    "PIP119": _warning("a file that takes inputs is not checked"),
    "PIP120": _error("retry is wrong"),
    "PIP121": _error("timeout is wrong"),
    "PIP122": _error("tags are wrong"),
    "PIP123": _error("parallel is wrong"),
    "PIP124": _error("artifacts are wrong"),
    "PIP125": _error("a resource group is wrong or silently dropped"),
    "PIP126": _error("environment is wrong"),
    "PIP127": _error("image or services are wrong"),
    "PIP128": _error("a value has the wrong type"),
    "PIP129": _error("cache is wrong"),
    "PIP130": _warning("no runner knows the cache policy"),
    "PIP131": _error("when, allow_failure, start_in, inherit or only is wrong"),
    "PIP132": _warning("a timeout has no unit"),
    "PIP140": _error("a script is no list of texts"),
    "PIP141": _warning("the end of a command is a comment"),
    "PIP142": _warning("only the last of several commands decides"),
    "PIP143": _warning("| tee hides a failure"),
    "PIP145": _error("the pipeline would have no job"),
    "PIP150": _error("a variable is refused"),
    "PIP151": _warning("a variable gets another text than was written"),
    "PIP152": _note("a variable is a number"),
    "PIP153": _warning("no shell can use a variable's name"),
    "PIP154": _error("a rule's variable is no text"),
    "PIP155": _warning("an image uses a variable that nobody defines"),
    "PIP156": _note("a script uses a variable that nobody defines"),
    "PIP157": _note("a rule reads a variable that the file does not define"),
    "PIP158": _warning("a variable is defined by itself"),
    "PIP159": _error("a variable for the runner makes the job fail"),
    "PIP160": _error("a bare value makes GitLab refuse the file"),
    "PIP161": _warning("a bare value is read as something else"),
    "PIP170": _error("a limit of GitLab is passed"),
    "PIP171": _warning("a limit of GitLab is near"),
    "PIP172": _note("a large part of a limit is used"),
    "PIP180": _warning("GitLab's schema has no place for a value"),
    "PIP181": _note("GitLab's schema was not asked"),
    # RUL: the rules of a child pipeline
    "RUL101": _error("a rule cannot be read by GitLab"),
    "RUL102": _error("a rule tests CI_PIPELINE_SOURCE for what a child pipeline never has"),
    "RUL103": _warning("a bare variable stands inside && or ||"),
    "RUL104": _warning("the right side of =~ is not a /regex/"),
    "RUL105": _warning("a rule compares a variable that nobody defines"),
    "RUL106": _warning("a variable differs from what rules test only in case or blanks"),
    "RUL107": _warning("a rule stands behind one that always matches"),
    "RUL108": _warning("a manual rule does not say allow_failure"),
    "RUL109": _warning("a job that runs by itself needs a manual one"),
    "RUL110": _warning("no kind of parent pipeline adds a job"),
    # NED: needs, in each kind of parent pipeline
    "NED101": _error("a job needs one that does not exist"),
    "NED102": _error("a job needs one that its rules leave out"),
    "NED103": _error("jobs need each other in a circle"),
    "NED104": _error("a job needs more than 50 others"),
    # PAR: the parent pipeline
    "PAR101": _error("the parent pipeline cannot be read by GitLab"),
    "PAR102": _error("nothing in the parent triggers the child"),
    "PAR103": _error("a trigger job exists and the child would be empty"),
    "PAR104": _warning("jobs would run and nothing triggers them"),
    "PAR105": _error("a trigger job runs without the job that generates its child"),
    "PAR106": _error("a forwarded variable overrides what the child sets for the runner"),
    "PAR107": _warning("a forwarded variable overrides one that the child sets"),
    "PAR108": _error("the artifact or job that a trigger includes does not exist"),
    "PAR109": _warning("a trigger with strategy depend waits for manual jobs only"),
    "PAR110": _warning("a variable is defined as itself"),
    "PAR111": _warning("a trigger job does not say what it needs"),
    "PAR112": _warning("the generate job keeps more than the child"),
    "PAR113": _warning("the child expires in under a day"),
    "PAR114": _error("a trigger job holds the resource group that its child's jobs wait for"),
    "PAR115": _note("included files are not looked at"),
    "PAR116": _warning("what a schedule should start waits for a click in the parent"),
    "PAR117": _error("a job of the parent needs one that the file does not have"),
    # RUN: the runner's configuration against what jobs emit
    "RUN101": _error("the runner ignores node selectors, so jobs land on other nodes"),
    "RUN102": _error("the runner ignores tolerations, so no tainted node takes the jobs"),
    "RUN103": _error("the runner ignores a request or limit"),
    "RUN104": _error("the runner ignores another variable"),
    "RUN105": _error("the runner refuses a value that its permission does not match"),
    "RUN106": _error("the runner refuses a quantity above its maximum"),
    "RUN107": _error("a setting of the runner is no regular expression or quantity"),
    "RUN108": _warning("a permission covers more than the routing emits"),
    "RUN109": _note("a permission covers nothing that the routing emits"),
    "RUN110": _error("the runner's own selector contradicts a pool"),
    "RUN111": _note("a label of the runner's own selector stays in force"),
    "RUN112": _error("the runner's own selector does not lead to the default pool"),
    "RUN113": _error("the runner gives up before a new node is ready"),
    "RUN114": _warning("the runner runs fewer jobs at once than planned"),
    "RUN115": _note("the runner asks for one job after another"),
    "RUN116": _warning("no job asks for a GPU, so nobody counts who shares one"),
    "RUN117": _error("a pod_spec patch has no effect or breaks the pod"),
    "RUN118": _error("a pod_spec patch asks for GPUs that no node has"),
    "RUN119": _error("a request is above a limit that comes from elsewhere"),
    "RUN120": _warning("the runner manager itself sits on a GPU pool"),
    "RUN121": _warning("the runner's maximum timeout ends jobs early"),
    "RUN122": _error("a setting is misspelt, or stands where the runner does not read it"),
    "RUN123": _error("a job sets a variable that no runner reads"),
    "RUN124": _note("another runner takes some of the jobs"),
    "RUN125": _error("no runner of the file takes the jobs"),
    "RUN126": _note("something cannot be decided without running a job"),
    "RUN127": _warning("the helper has little memory"),
    "RUN128": _warning("the runner sets where pods go in another place too"),
    # FIT: jobs on nodes and GPUs
    "FIT101": _error("a job fits on no node of its pool"),
    "FIT102": _error("more jobs at once than fit on a node"),
    "FIT103": _note("the limits of jobs at once exceed the node"),
    "FIT104": _note("the size of a pool's nodes was not measured"),
    "FIT105": _error("jobs at once need more GPU memory than there is"),
    "FIT106": _error("more jobs at once than the GPU's sharing allows"),
    "FIT107": _warning("several jobs share a GPU and nothing says how"),
    "FIT108": _warning("a quantity looks as if its unit were wrong"),
    "FIT109": _warning("a job sets a CUDA_MPS variable that is the device plugin's"),
}


def finding(code: str, place: Place, message: str, *, fix: str) -> Finding:
    """A finding of the catalogue."""
    return Finding(
        code=code, severity=CATALOGUE[code].severity, place=place, message=message, fix=fix
    )
