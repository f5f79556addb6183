#!/usr/bin/env python3
"""Entry point: write the child pipeline that routing.toml describes. See `--help`."""

import sys

from gpu_pipeline.cli import main

if __name__ == "__main__":
    sys.exit(main())
