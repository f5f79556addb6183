#!/usr/bin/env python3
"""Entry point: write the child pipeline that routing.toml describes. See `--help`."""

import gc
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the reason is told, not a traceback
    sys.exit("error: Python 3.11 or newer is needed, this is " + sys.version.split()[0])

# What a run makes it keeps to its end: looking for garbage every 700 objects finds none.
gc.set_threshold(200_000)

try:
    from gpu_pipeline.cli import main

    if __name__ == "__main__":
        code = main()
        gc.freeze()  # nor does the interpreter, as it ends, look through all of it once more
        sys.exit(code)
except KeyboardInterrupt:  # between the start and main()
    sys.exit(130)
