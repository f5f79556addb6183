"""Every command: its help, what it does when all is well, bad input, and each exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpu_pipeline import cli, waiting
from gpu_pipeline.colours import painted
from gpu_pipeline.commands.help import EXAMPLES, EXIT_CODES
from gpu_pipeline.parser import Parser
from gpu_pipeline.reports.layout import table

from .conftest import ROOT, SHIPPED, Result

BEFORE = str(ROOT / "examples/single-pool.toml")
HAND = str(ROOT / "tests/init/good/team-two-pools.yml")
INCLUDES = str(ROOT / "tests/init/good/includes.yml")
LATE = "late.toml"  # a routing whose jobs are ended by their timeout
FAULTY = "faulty.yml"  # a child that GitLab would refuse
# command, arguments, exit code, and a piece of what is said.
CASES = [
    ("render", "-o -", 0, "# Written by generate_pipeline.py"),
    ("render", "--check", 1, "`render` writes it"),
    ("render", "--var REGISTRY", 2, "write NAME=VALUE"),
    ("render", "--source push --branch topic", 3, "`preview --all` shows when each job runs"),
    ("preview", "", 0, "19 jobs for a parent pipeline from web"),
    ("preview", "--why hyperopt-dqm", 2, 'did you mean "hyperopt-dqn"?'),
    ("preview", "--job nothing-*", 3, 'no job matches "nothing-*"'),
    ("check", "", 0, "notes"),
    ("check", FAULTY, 1, "error PIP"),
    ("check", "absent.yml", 2, "absent.yml: cannot be read"),
    ("check", "--job nothing-*", 3, "no job matches"),
    ("plan", "", 0, "19 jobs: done after"),
    ("plan", f"--routing {LATE}", 1, "and its timeout is 1h"),
    ("plan", "--measured", 2, "--measured needs --durations FILE"),
    ("plan", "--job nothing-*", 3, "no job matches"),
    ("eval", "'$A == null'", 0, "true"),
    ("eval", "'$A = 1'", 2, "write == to compare"),
    ("explain", "hyperopt-dqn", 0, "trains dqn on NVIDIA L4"),
    ("explain", "hyperopt-dqm", 2, 'did you mean "hyperopt-dqn"?'),
    ("cluster runner", "", 0, "node_selector_overwrite_allowed"),
    ("cluster runner", "--tags nobody", 2, "nobody"),
    ("cluster sharing", "", 0, "kind: ConfigMap"),
    ("cluster sharing", "--routing absent.toml", 2, "name another file with --routing"),
    ("cluster fit", "", 0, "bound by"),
    ("cluster fit", "--runner absent.toml", 2, "absent.toml: cannot be read"),
    ("diff", BEFORE, 0, "Jobs moved or changed"),
    ("diff", f"{BEFORE} --exit-code", 1, "Jobs moved or changed"),
    ("diff", "no-such-revision", 2, "no-such-revision"),
    ("diff", f"{BEFORE} --job nothing-*", 3, 'no job matches "nothing-*"'),
    ("init", f"--from {HAND} -o -", 0, "[families."),
    ("init", f"--from {INCLUDES} -o -", 1, "include"),
    ("init", "--from absent.yml", 2, "absent.yml: cannot be read"),
    ("schema", "", 0, '"$defs"'),
    ("schema", "--rooting x", 2, 'unknown option "--rooting"'),
    ("completion", "bash", 0, "_shtab_generate_pipeline_py generate_pipeline.py"),
    ("completion", "bsh", 2, "choose from"),
]


def parsers(parser: Parser, name: str = "") -> Iterator[tuple[str, Parser]]:
    """Every command with options of its own, such as "gitlab verify"."""
    if not parser.topics:
        yield name, parser
    for topic, each in parser.topics.items():
        yield from parsers(each, f"{name} {topic}".strip())


PARSERS = dict(parsers(cli.build_parser()))


@pytest.fixture(autouse=True)
def _inputs(edit: Callable[..., Path]) -> None:
    edit(('timeout = "12h"', 'timeout = "1h"')).rename(LATE)
    Path(FAULTY).write_text("job:\n  script: []\n  when: sometimes\n", encoding="utf-8")


@pytest.mark.parametrize(("command", "arguments", "code", "said"), CASES)
def test_exit_code_and_message(
    command: str, arguments: str, code: int, said: str, run: Callable[..., Result]
) -> None:
    result = run(*command.split(), *shlex.split(arguments))
    assert result.code == code, result.err
    assert said in result.out + result.err
    assert "Traceback" not in result.err


def test_every_exit_code_of_a_command_has_its_case() -> None:
    """Those of `gitlab` have theirs in tests/gitlab/test_exit_codes.py."""
    told = {(command, code) for command, codes in EXIT_CODES.items() for code in codes}
    assert {(command, code) for command, _, code, _ in CASES} == {
        (command, code) for command, code in told if not command.startswith("gitlab ")
    }


@pytest.mark.parametrize("command", PARSERS)
def test_help_has_usage_examples_and_exit_codes(
    command: str, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(*command.split(), "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"usage: generate_pipeline.py {command} ")
    assert "\nexamples:\n" in result.out
    for code, text in EXIT_CODES[command].items():
        assert f"\n  {code}  {text}\n" in result.out
    assert [line for line in result.out.splitlines() if len(line) > 80] == []


def test_every_command_has_its_texts() -> None:
    assert set(PARSERS) == set(EXIT_CODES) == set(EXAMPLES)


@pytest.mark.parametrize(
    "line", [f"{name} {each}" for name, examples in EXAMPLES.items() for each in examples]
)
def test_every_example_is_understood(line: str) -> None:
    assert cli._parse(shlex.split(line)).command == line.split(maxsplit=1)[0]


def test_an_option_is_called_and_described_alike_everywhere() -> None:
    differ = {"--var", "--ref", "--output", "-o", "--format", "--timeout", "--interval", "--job",
              "--durations", "--schedule", "--child", "--tags", "--dry-run",
              "--templates"}  # fmt: skip
    found: dict[str, set[tuple[object, ...]]] = {}
    for parser in PARSERS.values():
        for action in parser._actions:
            for option in action.option_strings:
                said = action.help if option not in differ else ""
                metavar = "" if action.dest == "output" else action.metavar  # init takes a folder
                found.setdefault(option, set()).add((action.dest, metavar, said))
    assert {option: kinds for option, kinds in found.items() if len(kinds) > 1} == {}
    assert all("--quiet" in parser._option_string_actions for parser in PARSERS.values())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("rendr", 'unknown command "rendr"; did you mean "render"?'),
        ("gitlab verfy 4711", 'unknown topic "verfy"; did you mean "verify"?'),
        ("cluster runer", 'unknown topic "runer"; did you mean "runner"?'),
        ("--rooting x", 'unknown option "--rooting"; did you mean "--routing"?'),
        ("plan --agianst=x", 'unknown option "--agianst"; did you mean "--against"?'),
        ("gitlab verify --chid x 1", 'unknown option "--chid"; did you mean "--child"?'),
        ("--versoin", 'unknown option "--versoin"'),
        ("cluster", "required: TOPIC"),
        ("\x1b[2J", 'unknown command "\\u001b[2J"'),
    ],
)
def test_a_typo_names_the_nearest_and_where_help_is(
    words: str, said: str, run: Callable[..., Result]
) -> None:
    result = run(*words.split(" "))
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.endswith("--help` shows what it takes\n")


def test_the_version_is_that_of_the_project(run: Callable[..., Result]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert run("--version").out == f"gpu-pipeline {project['version']}\n"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.*?)\]", changes, re.MULTILINE)[0] == project["version"]


@pytest.mark.parametrize(
    "command",
    [
        f"{name} {arguments}"
        for name, arguments, code, _ in CASES
        if code == 0 and name not in ("render", "eval", "init")
    ],
)
def test_a_result_can_go_to_a_file(command: str, run: Callable[..., Result]) -> None:
    shown = run(*shlex.split(command))
    written = run(*shlex.split(command), "-o", "result")
    assert (written.code, written.out) == (0, "")
    assert Path("result").read_text(encoding="utf-8") == shown.out.rstrip("\n") + "\n"
    assert run(*shlex.split(command), "-o", "-").out == shown.out


@pytest.mark.parametrize(
    "command",
    ["preview", "preview --source schedule --var TRAIN_VALIDATE=true", "preview --all",
     "cluster fit", "plan", f"plan --against {BEFORE}", "plan --sweep ci-training.concurrency=1..3",
     "diff single-pool.toml", "explain hyperopt-dqn"],
)  # fmt: skip
def test_what_is_shown_fits_80_columns(command: str, run: Callable[..., Result]) -> None:
    Path("routing.toml").write_bytes(SHIPPED.read_bytes())
    Path("single-pool.toml").write_bytes(Path(BEFORE).read_bytes())
    result = run(*command.split(), "--routing", "routing.toml")
    assert result.code == 0, result.err
    assert [line for line in result.out.splitlines() if len(line) > 80] == []


def test_a_long_name_is_broken_where_a_person_would() -> None:
    gpu = "RTX-PRO-6000-Blackwell-Server-Edition"
    rows = [{"job": "hyperopt-" + "x" * 30, "GPU": gpu, "node": "scw-ci-training-0a1b2c3d"}]
    lines = table(rows, "text").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith(rows[0]["job"]), "the first column is searched for, so it is whole"
    assert "RTX-PRO-" in lines[2]
    assert gpu in table(rows, "markdown")


def coloured(run: Callable[..., Result], *arguments: str) -> bool:
    result = run("check", FAULTY, *arguments)
    assert result.code == 1
    return "\x1b[1;31merror\x1b[0m PIP" in result.out


def test_colours_are_for_terminals(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert not coloured(run), "a pipe"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert coloured(run)
    assert "\x1b[1;31merror\x1b[0m: " in run("explain", "nobody").err
    for arguments in (("--format", "json"), ("--format", "markdown"), ("-o", "findings.txt")):
        assert "\x1b" not in run("check", FAULTY, *arguments).out
    assert "\x1b" not in Path("findings.txt").read_text(encoding="utf-8")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured(run), "NO_COLOR wins"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("error: nothing", ["error"]),
        ("routing.toml:41: pools.x: note FIT104", ["note"]),
        ("child.yml:3: warning: jobs:x unknown keys", ["warning"]),
        ("ok       token: may do all of it", ["ok"]),
        ("warning  schedule: none", ["warning"]),
        ("FAIL     hyperopt-tft: GPU: another one", ["FAIL"]),
        ("hyperopt-tft  ci-training  UNPROVEN  succeeded", ["UNPROVEN"]),
        ("hyperopt-tft  BLOCKS  -  PASS", ["BLOCKS", "PASS"]),
        ("19 jobs: 18 PASS, 1 FAIL", []),
        ("train-error  note: an error occurred", []),
    ],
)
def test_only_severities_and_verdicts_have_colours(line: str, words: list[str]) -> None:
    assert re.findall(r"\x1b\[[0-9;]+m(.*?)\x1b\[0m", painted(line)) == words
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted(line)) == line


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    ("settings", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_shows_colours(settings: dict[str, str], coloured: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, ROOT / "generate_pipeline.py", "explain", "nobody"],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, check=False,
        env={"PATH": os.environ["PATH"], "TERM": "xterm", **settings},
    )  # fmt: skip
    said = os.read(ours, 4096).decode("utf-8")
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert said.startswith("\x1b[1;31merror\x1b[0m: " if coloured else "error: ")


class Terminal:
    """A stderr at which somebody sits, or not."""

    def __init__(self, *, is_terminal: bool) -> None:
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("quiet", "is_terminal", "told"),
    [(False, True, True), (True, True, False), (False, False, False)],
)
def test_whoever_waits_at_a_terminal_is_told_for_what(
    quiet: bool, is_terminal: bool, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, spoken = [], threading.Event()

    def say(text: str) -> None:
        said.append(text)
        spoken.set()

    monkeypatch.setattr(waiting, "say", say)
    monkeypatch.setattr(waiting, "_PATIENCE", 0)
    monkeypatch.setattr(sys, "stderr", Terminal(is_terminal=is_terminal))
    with waiting.told_if_slow(Namespace(command="plan", suggest=True, quiet=quiet)):
        if told:
            spoken.wait(10)
    assert said == (["looking for better routings: every step is played through …"] if told else [])


def test_what_is_done_in_time_needs_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(waiting, "say", said.append)
    monkeypatch.setattr(waiting, "_PATIENCE", 60)
    monkeypatch.setattr(sys, "stderr", Terminal(is_terminal=True))
    with waiting.told_if_slow(Namespace(command="check", quiet=False)):
        pass
    assert said == []


@pytest.mark.parametrize("shell", cli.SHELLS)
def test_each_shell_gets_a_script_that_knows_every_command(
    shell: str, run: Callable[..., Result]
) -> None:
    script = run("completion", shell).out
    for command in PARSERS:
        assert command.split()[-1] in script
    assert "--templates" in script


def test_bash_completes_topics_and_options(run: Callable[..., Result]) -> None:
    Path("completion").write_text(run("completion", "bash").out, encoding="utf-8")
    ask = (
        "source ./completion; complete -p generate_pipeline.py; for words in 'gitlab ver' "
        "'plan --sug'; do COMP_WORDS=(generate_pipeline.py $words); COMP_CWORD=2; "
        '_shtab_generate_pipeline_py; echo "${COMPREPLY[@]}"; done'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["verify", "--suggest"]


def test_fit_is_told_to_scripts_too(run: Callable[..., Result]) -> None:
    found = json.loads(run("cluster", "fit", "--format", "json").out)
    assert [(each["pool"], each["per_node"], each["binding"]) for each in found] == [
        ("ci-compile", 2, "cpu"),
        ("ci-training", 5, "memory"),
    ]
    assert found[0]["request"]["cpu"] == "3"
