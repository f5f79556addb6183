"""Runner files of all kinds are read with their lines, and what cannot be read is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_pipeline.cluster.runner_file import read_runner_file
from gpu_pipeline.errors import GeneratorError, UsageError

from ..conftest import ROOT, SHIPPED
from .examples import check

KUBERNETES = '[[runners]]\nexecutor = "kubernetes"\n[runners.kubernetes]\n'
BAD = [
    ("config.toml", "concurrent = ", "config.toml:1: not valid TOML"),
    (
        "config.toml",
        'concurrent = "6"\n' + KUBERNETES,
        "config.toml:1: concurrent: the runner wants",
    ),
    (
        "config.toml",
        KUBERNETES + 'poll_timeout = "900"',
        "config.toml:4: runners[0].kubernetes.poll",
    ),
    (
        "config.toml",
        KUBERNETES + "poll_timeout = true",
        "config.toml:4: runners[0].kubernetes.poll",
    ),
    (
        "config.toml",
        KUBERNETES + "node_selector = 'a'",
        "config.toml:4: runners[0].kubernetes.node",
    ),
    ("config.toml", KUBERNETES + "pod_spec = 'a'", "the runner wants tables [[pod_spec]] here"),
    ("config.toml", KUBERNETES + "cpu_limit = 2", "config.toml:4: runners[0].kubernetes.cpu_limit"),
    ("config.toml", "runners = 1", "config.toml:1: runners: the runner wants tables"),
    ("config.toml", KUBERNETES.replace('"kubernetes"', '"docker"'), "has no [[runners]] with the"),
    ("config.toml", "", "has no [[runners]] with the Kubernetes executor"),
    ("config.toml", "a = " + "[" * 2000, "config.toml:1: "),
    (
        "config.toml",
        KUBERNETES + "[[runners.kubernetes.pod_spec]]\npatch_type = 'replace'",
        "config.toml:5: runners[0].kubernetes.pod_spec[0].patch_type: must be one of strategic",
    ),
    (
        "config.toml",
        KUBERNETES + "[[runners.kubernetes.pod_spec]]\npatch = 'a'\npatch_path = 'b'",
        "takes either patch or patch_path",
    ),
    ("values.yaml", "runners: [", "values.yaml:2: not valid YAML"),
    ("values.yaml", "a: 1", "has no text runners.config"),
    ("values.yaml", "runners:\n  config: 3", "values.yaml:2: has no text runners.config"),
    (
        "values.yaml",
        "runners:\n  config: |\n    [[runners]]\n    a =\n",
        "values.yaml:4: not valid",
    ),
    (
        "values.yaml",
        "concurrent: many\nrunners:\n  config: |\n    [[runners]]\n",
        "values.yaml:1: ",
    ),
    (
        "values.yaml",
        "runners:\n  config: |\n    {{ if .Values.gpu }}\n    [[runners]]\n",
        "`helm template`",
    ),
    (
        "values.yaml",
        "runners:\n  config: |\n    [[runners]]\n      [runners.kubernetes]\n"
        "        node_selector_overwrite_allowed = {{ .Values.allowed | quote }}\n",
        "values.yaml:5: runners[0].kubernetes.node_selector_overwrite_allowed: is a Helm template",
    ),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_a_file_that_the_runner_could_not_read_is_refused(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(GeneratorError) as error:
        read_runner_file(text.encode(), name)
    assert message in str(error.value)
    assert error.value.exit_code == 2


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(GeneratorError, match=r"config.toml:2: is not UTF-8"):
        read_runner_file(b"concurrent = 1\n# \xff", "config.toml")


def test_a_file_is_named_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"nowhere.toml: cannot be read .*--runner"):
        check(SHIPPED, "--runner", "nowhere.toml")


VALUES = """\
gitlabUrl: https://gitlab.example.com
concurrent: 7
envVars:
  - name: KUBERNETES_POLL_TIMEOUT
    value: "1200"
runners:
  name: trainer
  tags: "kapsule, gpu"
  config: |

    # a comment
    [[runners]]
      [runners.kubernetes]
        namespace = {{ default .Release.Namespace .Values.runners.jobNamespace | quote }}
        poll_timeout = 1
        cpu_limit = "2"
"""


def test_helm_values_keep_the_lines_of_their_own_file() -> None:
    file = read_runner_file(VALUES.encode(), "values.yaml")
    [runner] = file.runners
    assert (file.concurrent.value, file.concurrent.line) == (7, 2)
    assert (runner.name, runner.tags, runner.line) == ("trainer", ("kapsule", "gpu"), 12)
    assert (runner.kubernetes_line, runner.resources["cpu_limit"].line) == (13, 16)
    assert (runner.poll_timeout.value, runner.poll_timeout.line) == (1200, 5)


def test_values_of_a_chart_that_includes_the_runner() -> None:
    nested = "gitlab-runner:\n" + "".join(f"  {line}\n" for line in VALUES.splitlines())
    file = read_runner_file(nested.encode(), "values.yml")
    assert file.concurrent.value == 7
    assert file.runners[0].resources["cpu_limit"].line == 17


def test_a_quoted_config_has_the_line_of_its_key() -> None:
    text = "runners:\n  config: \"[[runners]]\\n[runners.kubernetes]\\ncpu_limit = '2'\\n\"\n"
    file = read_runner_file(text.encode(), "values.yaml")
    assert file.runners[0].resources["cpu_limit"].line == 2


def test_keys_count_regardless_of_case_as_the_runner_reads_them() -> None:
    text = KUBERNETES + 'Node_Selector_Overwrite_Allowed = "x"'
    [runner] = read_runner_file(text.encode(), "config.toml").runners
    assert runner.permissions["node_selector_overwrite_allowed"].value == "x"


def two_runners(tmp_path: Path, *names: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(
        "".join(f'[[runners]]\nname = "{n}"\nexecutor = "kubernetes"\n' for n in names),
        encoding="utf-8",
    )
    return path


def test_of_several_runners_one_must_be_named(tmp_path: Path) -> None:
    path = two_runners(tmp_path, "small", "large")
    with pytest.raises(UsageError, match=r"small \(line 1\), large \(line 4\).*--runner-name"):
        check(SHIPPED, "--runner", path)
    found = check(SHIPPED, "--runner", path, "--runner-name", "large")
    assert {f.place.line for f in found if f.code == "RUN101"} == {4}
    with pytest.raises(UsageError, match='no such runner; did you mean "large"'):
        check(SHIPPED, "--runner", path, "--runner-name", "larg")
    twice = two_runners(tmp_path, "same", "same")
    with pytest.raises(UsageError, match="has 2 runners of this name"):
        check(SHIPPED, "--runner", twice, "--runner-name", "same")


def test_runners_named_after_their_tags_need_no_option(tmp_path: Path) -> None:
    path = two_runners(tmp_path, "gke-gpu", "gke-gpu-large")
    found = check(ROOT / "examples/other-cloud.toml", "--runner", path)
    lines = {f.place.line: f.message for f in found if f.code == "RUN101"}
    assert set(lines) == {1, 4}
    assert "hyperopt-bert-large" in lines[4]
    assert "hyperopt-bert-large" not in lines[1]


def test_tags_that_only_the_server_knows_are_asked_for(tmp_path: Path) -> None:
    path = two_runners(tmp_path, "one")
    routing = ROOT / "examples/other-cloud.toml"
    with pytest.raises(UsageError, match="say it with --runner-tags gke,gpu"):
        check(routing, "--runner", path)
    found = check(routing, "--runner", path, "--runner-tags", "gke,gpu-large")
    assert any(f.code == "RUN124" for f in found)


@pytest.mark.parametrize("options", [(), ("--runner-tags", "gpu,kapsule")])
def test_a_runner_beside_the_one_named_after_the_tags_is_left_out(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path = two_runners(tmp_path, "cpu", "kapsule-gpu")
    found = check(SHIPPED, "--runner", path, *options)
    assert {f.place.line for f in found if f.code == "RUN101"} == {4}


def test_given_tags_pick_one_of_the_runners_named_after_theirs(tmp_path: Path) -> None:
    path = two_runners(tmp_path, "cpu", "gke-gpu", "gke-gpu-large")
    options = ("--runner", path, "--runner-tags", "gke,gpu-large")
    found = check(ROOT / "examples/other-cloud.toml", *options)
    assert {f.place.line for f in found if f.code == "RUN101"} == {7}
    twice = two_runners(tmp_path, "kapsule-gpu", "kapsule-gpu")
    with pytest.raises(UsageError, match="--runner-name"):
        check(SHIPPED, "--runner", twice)


def test_a_maximum_timeout_may_be_in_seconds(tmp_path: Path) -> None:
    path = two_runners(tmp_path, "one")
    found = check(SHIPPED, "--runner", path, "--runner-max-timeout", "7200")
    [finding] = [f for f in found if f.code == "RUN121"]
    assert "ends jobs after 2h" in finding.message
    assert "maximumTimeout" not in str(finding)
    with pytest.raises(UsageError, match="--runner-max-timeout"):
        check(SHIPPED, "--runner", path, "--runner-max-timeout", "long")


@pytest.mark.parametrize("name", ['"{{ .Release.Name }}"', "{{ .Release.Name | quote }}"])
def test_a_template_in_a_key_that_decides_nothing_is_no_matter(name: str) -> None:
    text = f"runners:\n  config: |\n    [[runners]]\n      name = {name}\n"
    assert read_runner_file(text.encode(), "values.yaml").runners[0].name == ""


def test_a_template_in_place_of_a_number_is_called_one() -> None:
    text = "runners:\n  config: |\n    [[runners]]\n      limit = {{ .Values.limit }}\n"
    with pytest.raises(GeneratorError, match=r"values.yaml:4: .*limit: is a Helm template"):
        read_runner_file(text.encode(), "values.yaml")
