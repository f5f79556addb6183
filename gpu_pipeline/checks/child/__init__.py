"""A child pipeline file, checked offline as GitLab would and a little further.

`check_child` is pure: a text in, findings out. Nothing in it knows routing.toml, so that any child
file can be checked, also one that was written by hand.
"""

from gpu_pipeline.checks.child.entry import check_child

__all__ = ["check_child"]
