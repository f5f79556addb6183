"""What a runner would do to the jobs it takes, told by its configuration."""

from gpu_pipeline.checks.runner.entry import check_runner, runners_of

__all__ = ["check_runner", "runners_of"]
