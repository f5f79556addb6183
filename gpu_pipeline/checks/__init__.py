"""Findings: where GitLab, the runner or the cluster would do something else than was meant."""
