"""What `--help` says of each command besides its options: examples and exit codes.

The same texts make docs/commands.md, and tests hold every exit code to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_OK = "done"
_USAGE = "wrong usage, routing or template"
_NO_JOB = "--job or TRAIN_JOBS matches no job"
_NETWORK = "GitLab refused or could not be reached"

# Of every command: 70 is a mistake of this program, 130 is Ctrl-C.
EXIT_CODES: Mapping[str, Mapping[int, str]] = {
    "render": {
        0: "written or printed; with --check: the file is current",
        1: "an error that nobody would tell; with --check: the file differs",
        2: _USAGE,
        3: "nothing would run, or --job or TRAIN_JOBS matches no job",
    },
    "preview": {0: _OK, 2: _USAGE, 3: _NO_JOB},
    "check": {
        0: "no finding that is as bad as --fail-on says",
        1: "an error, with --fail-on warning also a warning",
        2: _USAGE,
        3: _NO_JOB,
    },
    "plan": {
        0: "a plan in which every job runs to its end",
        1: "a job never starts, waits too long for its node, or is ended by its timeout",
        2: _USAGE,
        3: _NO_JOB,
    },
    "eval": {0: "true or false was printed", 2: "wrong usage, or GitLab refuses the expression"},
    "explain": {0: _OK, 2: f"{_USAGE}, or no such job"},
    "cluster runner": {0: _OK, 2: _USAGE},
    "cluster sharing": {0: _OK, 2: _USAGE},
    "cluster fit": {0: _OK, 2: _USAGE},
    "diff": {
        0: "compared, also when something differs",
        1: "with --exit-code: something differs",
        2: f"{_USAGE}, on one of the two sides",
        3: "--job matches no job of either side",
    },
    "gitlab doctor": {
        0: "nothing keeps the night from training",
        1: "an error does",
        2: _USAGE,
        4: _NETWORK,
    },
    "gitlab lint": {
        0: "GitLab takes both files",
        1: "it would refuse one",
        2: _USAGE,
        3: "no kind of parent pipeline has a job",
        4: _NETWORK,
    },
    "gitlab trigger": {
        0: "started; with --wait: and ended well",
        1: "with --wait: it, or a job that was played, failed",
        2: _USAGE,
        3: "--play matches no job; the pipeline goes on",
        4: f"{_NETWORK}, or --timeout ran out",
    },
    "gitlab watch": {
        0: "the pipeline and its children ended well",
        1: "one of them failed or was cancelled",
        2: _USAGE,
        4: f"{_NETWORK}, or --timeout ran out",
    },
    "gitlab verify": {
        0: "nothing FAILs; with --strict: everything is a PASS",
        1: "something FAILs; with --strict: or is UNPROVEN",
        2: _USAGE,
        3: "no job is planned, or --job matches none",
        4: _NETWORK,
    },
    "gitlab schedule": {0: "it is as it should be", 2: _USAGE, 4: _NETWORK},
    "gitlab history": {0: "written", 2: _USAGE, 3: "no job was measured", 4: _NETWORK},
    "gitlab note": {0: "it says so now", 2: _USAGE, 4: _NETWORK},
    "init": {
        0: "written, and every job is as it was",
        1: "written, but something could not be expressed",
        2: "wrong usage, or no training job in the file",
    },
    "schema": {0: _OK, 2: "wrong usage"},
    "completion": {0: _OK, 2: "wrong usage, or the package shtab is not installed"},
}

# Arguments, and what they are for.
EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "render": {
        "": "child-pipeline.yml, as a manual pipeline on this branch gets it",
        "--source schedule --branch main --var TRAIN_VALIDATE=true": "as the night gets it",
        "--job 'hyperopt-*' -o -": "some jobs only, to stdout",
        "--check": "is the file on disk current?",
    },
    "preview": {
        "": "where each job runs, and with what",
        "--all": "which jobs run when",
        "--why hyperopt-dqn --source schedule": "why a job runs or not: every rule",
        "--format markdown -o jobs.md": "for a note on a merge request",
    },
    "check": {
        "": "the routing, its child in every kind of parent, the parent pipeline",
        "--runner config.toml": "and what the runner would ignore or refuse",
        "child-pipeline.yml": "a file as it stands, also one written by hand",
        "--fail-on warning": "exit 1 for warnings, too",
    },
    "plan": {
        "": "makespan, cost, who runs where, what binds",
        "--against examples/single-pool.toml": "this routing next to another",
        "--sweep ci-training.concurrency=1..6": "the curve over one number of routing.toml",
        "--suggest": "cheaper or faster routings, each with its patch",
        "--durations durations.json --measured": "how near the plan comes to measured runs",
        "--format html -o plan.html": "one page with a Gantt chart, to open in a browser",
    },
    "eval": {
        """'$A == "1"' --var A=1""": "true",
        """'$B'""": "false: what is not given is undefined",
    },
    "explain": {
        "hyperopt-dqn": "each value, and the line that set it",
        "hyperopt-dqn --format json": "for scripts",
    },
    "cluster runner": {
        "": "a config.toml to merge into yours",
        "--format helm -o values.yaml": "the same for the Helm chart",
    },
    "cluster sharing": {"": "a ConfigMap for NVIDIA's device plugin"},
    "cluster fit": {
        "": "build containers only",
        "--runner config.toml": "with the runner's helper and services",
    },
    "diff": {
        "main": "what this branch changes",
        "HEAD~3 --exit-code": "exit 1 if anything moved in the last three commits",
        "examples/single-pool.toml": "another file; it wins over a branch of that name",
        "origin/main --format markdown -o routing-diff.md": "for a note on a merge request",
    },
    "gitlab doctor": {"": "is tonight ready?", "--ref main --format json": "for scripts"},
    "gitlab lint": {"": "what would be rendered", "--child child-pipeline.yml": "a file"},
    "gitlab trigger": {
        "--ref main --wait": "start it and wait for its end",
        "--play 'hyperopt-dqn'": "and press a button of the child",
        "--var TRAIN_JOBS='*-tft'": "with some jobs only",
    },
    "gitlab watch": {
        "4711": "until it ends",
        "4711 --durations durations.json --timeout 43200": "with measured times, 12 h at most",
    },
    "gitlab verify": {
        "4711 --child child-pipeline.yml": "against the file that was rendered",
        "4711 --strict --junit verdicts.xml": "after a night that ran by itself",
    },
    "gitlab schedule": {
        "--cron '0 2 * * *' --timezone Europe/Paris": "at two each night",
        "--dry-run": "what would change?",
    },
    "gitlab history": {
        "": "durations.json, which plan and watch read",
        "-o durations.json --ref main": "of one branch",
    },
    "gitlab note": {
        "--body-file diff.md --body-file check.md": "in a merge request's pipeline",
        "--merge-request 12 --body-file -": "from stdin",
    },
    "init": {
        "--from .gitlab-ci.yml -o -": "print the routing, and write nothing",
        "--from ci.yml -o cluster --gpu l40s='NVIDIA L40S'": "into a folder of its own",
        "--from ci.yml -o cluster --assume limits.memory=40Gi": "what jobs do not say",
        "--from .gitlab-ci.yml --force": "replace routing and templates here",
    },
    "schema": {"-o docs/routing.schema.json": "the file that routing.toml names"},
    "completion": {
        "bash -o ~/.gpu_pipeline.bash": "a file that ~/.bashrc reads with `source`",
        "zsh -o ~/.zfunc/_generate_pipeline.py": "a folder of $fpath",
        "fish -o ~/.config/fish/completions/generate_pipeline.py.fish": "where fish looks",
    },
}

FURTHER: Mapping[str, str] = {
    "init": """\
The file is only read, and nothing is fetched: what it includes is not seen. The
result is rendered in memory and compared with the file, job by job.
docs/adopting.md goes through it.""",
    "diff": """\
A revision's routing and templates are read with git; nothing is checked out.
What a revision does not have is new. `refs/heads/NAME` is a branch even if a
file has that name.""",
    "gitlab": """\
The token is GITLAB_TOKEN, or --token-file, or python-gitlab's configuration
file; in a CI job the server and the project are the job's own. docs/gitlab.md
says what the token must be allowed.""",
}


_WIDTH = 78


def epilog(command: str) -> str:
    """What stands below the options of a command, such as "gitlab verify"."""
    codes = (f"  {code}  {text}" for code, text in EXIT_CODES[command].items())
    further = FURTHER.get(command, FURTHER.get(command.split(maxsplit=1)[0]))
    parts = [
        "\n".join(["examples:", *_examples(command)]),
        "\n".join(["exit codes:", *codes]),
        *([further] if further else []),
    ]
    return "\n\n".join(parts)


def _examples(command: str) -> Iterator[str]:
    """The examples in two columns, or each in two lines where 80 columns have no room for that."""
    lines = {f"{command} {each}".rstrip(): what for each, what in EXAMPLES[command].items()}
    width = max(map(len, lines))
    fits = all(width + len(what) + 4 <= _WIDTH for what in lines.values())
    for line, what in lines.items():
        yield f"  {line:<{width}}  {what}" if fits else f"  {line}\n      {what}"
