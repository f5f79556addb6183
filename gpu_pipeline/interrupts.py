"""Ctrl-C ends a command, whatever was running: also a library that swallows the exception.

A callback in native code that is interrupted gives up on what it was doing and lets the rest go on.
So that there was an interrupt is remembered, and decides how the command ended.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.seen = False

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        """The signal's handler."""
        self.seen = True
        raise KeyboardInterrupt


@contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Remember Ctrl-C while the block runs, and print nothing of it where it cannot be raised."""
    interrupts = Interrupts()
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not is_default:
        yield interrupts
        return
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None if interrupts.seen else hook(unraisable)
    signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = hook
