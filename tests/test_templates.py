"""A mistake in a template ends with the template, the line and what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import TEMPLATES, Result

TASK = "tasks/hyperopt.yml.j2"
TRAIN = "tasks/train-validate.yml.j2"
SHARED = "tasks/_task.yml.j2"
BASE = "bases/_base.yml.j2"
ROOT = "child-pipeline.yml.j2"
MISTAKES = [
    # file, what stands there, what replaces it, line, what the message says
    (TASK, "job.epochs", "job.epocs", 5, 'ChildJob has no "epocs"; did you mean "epochs"?'),
    (TASK, "{{ model }}", "{{ modle }}", 5, '"modle" is not defined'),
    (TASK, "job.models", "jobs.models", 4, '"jobs" is not defined; did you mean "job"?'),
    (TASK, "filter quoted", "filter qoted", 5, 'named "qoted"; did you mean "quoted"?'),
    (TASK, "{% endfor %}", "", 7, "unknown tag 'endblock'"),
    (TASK, "_task.yml.j2", "_tsk.yml.j2", 2, 'did you mean "tasks/_task.yml.j2"?'),
    (TASK, "{{ model }}", "{{ model.upper() }}", 5, 'str has no "upper"'),
    (TASK, "{{ model }}", "{{ model + 1 }}", 5, "can only concatenate str"),
    (TASK, "{{ model }}", "{{ job.variables.items }}", 5, 'has no "items" (known: ROUTE_EPOCHS)'),
    (TASK, "{{ model }}", "{{ job.variables['copy'] }}", 5, 'has no "copy"'),
    (TASK, "{{ model }}", "{{ job.__class__ }}", 5, 'ChildJob has no "__class__"'),
    (ROOT, "child.name | quoted", "child.bases | quoted", 4, "quoted takes text or a whole number"),
    (BASE, "base.settings", "base.setings", 4, 'did you mean "settings"?'),
    # what is rendered but does not say what was meant
    (TASK, "{% filter quoted %}", "", 5, "Encountered unknown tag 'endfilter'"),
    (BASE, "interruptible: false", "interruptible: no", None, '"no" stands bare'),
    (BASE, "  interruptible: false", "  stage: other", None, 'the key "stage" stands here twice'),
    (BASE, "max: 2", "max: 0,1", None, '"0,1" stands bare and may be misread'),
    (BASE, "- nvidia-smi", "- echo lr: 3", None, "not as a command; quote it"),
    (BASE, "- nvidia-smi", "- {}", None, "before_script[2] is read as {}, not as a command"),
    (ROOT, "child.stages", "child.variables", None, "stages is read back as"),
    (ROOT, "workflow:", "workflows:", None, "workflow was not rendered"),
    (ROOT, "stages:", "extra: {}\nstages:", None, "unplanned top-level key: extra"),
    (ROOT, "name: {{", "# {{", None, "is not read back as such"),
    (SHARED, "  timeout:", "  when: manual\n  timeout:", None, "when is read"),
    (SHARED, "{{ job.timeout | quoted }}", '"1h"', None, "hyperopt-dqn:timeout is read"),
    (SHARED, "  script:\n", "  before_script:\n", None, "hyperopt-dqn has no script"),
    (SHARED, "{{ job.variables | yaml(4) }}", "    A: b", None, "variables is read back"),
    (SHARED, "  script:\n", "  before_script:\n    - hi\n  script:\n", None, "check of the GPU"),
    (BASE, "{{ base.marker | quoted }}", '"hi"', None, "must begin with {{ base.marker }}"),
    (BASE, "{{ command | quoted }}", '"hi"', None, "must hold each command of {{ base.guard }}"),
    (TRAIN, "job.models", "job.models[:1]", None, "script never names ppo; loop over job.models"),
    (TASK, "{% block script %}", "  cache: x\n{% block script %}", 3, "would be dropped"),
    (TASK, "{% block script %}", "{% for _ in '1' %}\n  cache: x\n{% endfor %}\n{% block script %}",
     4, "would be dropped"),
    (TASK, "{% block script %}", "{% if job %}{% include 'x' %}{% endif %}\n{% block script %}", 3,
     "would be dropped"),
    (TASK, "{{ job.epochs }}", "{{ child.notice }}", 5, "not set (None)"),
    (SHARED, "{{ job.name | name }}:", "fixed:", None, "stands here twice"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "message"), MISTAKES, ids=[str(n) for n in range(len(MISTAKES))]
)
def test_a_mistake_is_named_with_its_place(
    file: str,
    old: str,
    new: str,
    line: int | None,
    message: str,
    templates: Path,
    run: Callable[..., Result],
) -> None:
    path = templates / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    Path("child-pipeline.yml").write_text("old", encoding="utf-8")
    result = run("--templates", templates, "--source", "push", "--branch", "main", "--quiet")
    assert result.code == 2, result
    assert message in result.err
    assert result.err.startswith("error: templates")
    if line is not None:
        assert f"templates/{file}:{line}: " in result.err
    assert Path("child-pipeline.yml").read_text(encoding="utf-8") == "old"


def test_broken_yaml_shows_the_rendered_line(templates: Path, run: Callable[..., Result]) -> None:
    path = templates / TASK
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("{% endfilter +%}", "{% endfilter +%}\n   - x: ["), encoding="utf-8"
    )
    result = run("--templates", templates)
    assert result.code == 2
    assert "templates/tasks/hyperopt.yml.j2: rendered line" in result.err
    assert "  >  110 |    - x: [" in result.err


def test_a_template_that_includes_itself_is_an_error(
    templates: Path, run: Callable[..., Result]
) -> None:
    (templates / TASK).write_text('{% include "tasks/hyperopt.yml.j2" %}', encoding="utf-8")
    result = run("--templates", templates)
    assert result.code == 2
    assert "includes itself" in result.err


def test_a_template_that_is_not_utf8_is_an_error(
    templates: Path, run: Callable[..., Result]
) -> None:
    (templates / TASK).write_bytes(b"# \xff\n")
    result = run("--templates", templates)
    assert result.code == 2
    assert "templates" in result.err
    assert "Traceback" not in result.err


def test_a_folder_without_templates_is_named(tmp_path: Path, run: Callable[..., Result]) -> None:
    result = run("--templates", tmp_path / "none")
    assert result.code == 2
    assert "holds no child-pipeline.yml.j2; name others with --templates" in result.err


def test_a_teams_own_command_is_one_line(templates: Path, run: Callable[..., Result]) -> None:
    path = templates / TASK
    text = path.read_text(encoding="utf-8")
    command = """cargo run --bin tune -- --lr "1e-5 & <x>" --m '{{ model }}' # note: 'x'"""
    old = text[text.index("trainer") : text.index("{% endfilter")]
    path.write_text(text.replace(old, command), encoding="utf-8")
    result = run("--templates", templates, "-o", "-", "--job", "hyperopt-dqn")
    assert result.code == 0, result.err
    assert r"""cargo run --bin tune -- --lr \"1e-5 & <x>\" --m 'dqn' # note: 'x'""" in result.out


def test_a_template_may_add_keys_of_its_own(templates: Path, run: Callable[..., Result]) -> None:
    path = templates / BASE
    text = path.read_text(encoding="utf-8")
    addition = '  cache:\n    key: "data"\n    paths:\n      - data/\n  interruptible: false'
    path.write_text(text.replace("  interruptible: false", addition), encoding="utf-8")
    assert run("--templates", templates, "--quiet").code == 0


def test_a_new_task_is_a_template_and_a_table(
    templates: Path, edit: Callable[..., Path], run: Callable[..., Result]
) -> None:
    script = (templates / TASK).read_text(encoding="utf-8").replace("hyperopt", "export")
    (templates / "tasks" / "export.yml.j2").write_text(script, encoding="utf-8")
    routing = edit(
        ("[tasks.hyperopt]", '[tasks.export]\nepochs = 1\ntimeout = "1h"\n[tasks.hyperopt]')
    )
    result = run("-o", "-", "--routing", routing, "--templates", templates, "--job", "export-*")
    assert result.code == 0, result.err
    assert result.out.count("trainer export --model") == 10


def test_rendering_twice_gives_the_same_bytes(run: Callable[..., Result]) -> None:
    first = run("-o", "-", "--source", "push", "--branch", "main")
    second = run("-o", "-", "--source", "push", "--branch", "main")
    assert first.out == second.out
    assert first.out.endswith("\n")
    assert not first.out.endswith("\n\n")
    assert "\r" not in first.out
    assert not first.out.startswith("\ufeff")


def test_the_fingerprint_changes_with_routing_and_templates(
    templates: Path, edit: Callable[..., Path], run: Callable[..., Result]
) -> None:
    def fingerprint(*options: str | Path) -> str:
        out = run("-o", "-", *options).out
        return out[out.index("ROUTE_FINGERPRINT") :].splitlines()[0]

    shipped = fingerprint()
    assert fingerprint("--templates", TEMPLATES) == shipped
    assert fingerprint("--routing", edit(("concurrency = 4", "concurrency = 3"))) != shipped
    assert fingerprint("--templates", templates) == shipped, "the folder's name does not count"
    (templates / "unused.j2").write_text("x", encoding="utf-8")
    assert fingerprint("--templates", templates) != shipped
