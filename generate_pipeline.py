#!/usr/bin/env python3
"""Entry point: write the child pipeline that routing.toml describes. See `--help`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the reason is told, not a traceback
    sys.exit("error: Python 3.11 or newer is needed, this is " + sys.version.split()[0])

try:
    from gpu_pipeline.cli import main

    if __name__ == "__main__":
        sys.exit(main())
except KeyboardInterrupt:  # between the start and main()
    sys.exit(130)
