"""`gitlab verify` of a pipeline on a tag."""

from __future__ import annotations

from tests.conftest import REFERENCE
from tests.gitlab_server import World

from .conftest import GitLab
from .nights import night


def test_a_pipeline_on_a_tag_is_not_one_on_a_branch(gitlab: GitLab, world: World) -> None:
    """Its rules see the tag, and no branch of that name."""
    routing = gitlab.folder / "routing.toml"
    rule = '[[pipeline.rules]]\nif = \'$CI_COMMIT_TAG == "v1"\'\nwhen = "on_success"\n\n'
    text = (REFERENCE / "routing.toml").read_text(encoding="utf-8")
    routing.write_text(text.replace("[[pipeline.rules]]", f"{rule}[[pipeline.rules]]", 1))
    above, _ = night(world)
    above.source, above.ref, above.tag = "push", "v1", True
    inputs = ("--routing", routing, "--templates", REFERENCE / "templates")
    done = gitlab("verify", above.id, *inputs)
    assert "renders for a parent pipeline from push on tag v1" in done.err
    assert done.out.splitlines()[-1].startswith("19 jobs: ")
    above.tag = False
    assert gitlab("verify", above.id, *inputs).code == 3
