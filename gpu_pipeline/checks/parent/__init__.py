"""The parent pipeline: when it triggers the child, from what, and what it hands down."""

from gpu_pipeline.checks.parent.entry import check_parent

__all__ = ["check_parent"]
