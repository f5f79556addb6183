"""Bounds that GitLab sets, as they are unless an administrator changed them."""

from __future__ import annotations

MAX_NEEDS = 50  # ci_needs_size_limit
MAX_TAGS = 49  # lib/gitlab/ci/config/entry/tags.rb
