"""A few requests at a time, of which nothing is left behind when somebody loses patience."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(function: Callable[[T], R], items: Sequence[T], *, at_once: int) -> Iterator[R]:
    """The results in the order of the items; the first error ends it, and nothing more is begun.

    The threads are daemons: an executor's are waited for when the program ends, so that Ctrl-C
    would take as long as the slowest answer.
    """
    tasks: queue.SimpleQueue[tuple[int, T]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, list[R], Exception | None]] = queue.SimpleQueue()
    stopped = threading.Event()
    for task in enumerate(items):
        tasks.put(task)

    def work() -> None:
        while not stopped.is_set():
            try:
                number, item = tasks.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, [function(item)], None))
            except Exception as error:  # it belongs to whoever asks for the result
                done.put((number, [], error))

    for _ in range(min(at_once, len(items))):
        threading.Thread(target=work, name="log", daemon=True).start()
    early: dict[int, tuple[list[R], Exception | None]] = {}
    try:
        for wanted in range(len(items)):
            while wanted not in early:
                number, found, failure = done.get()
                early[number] = found, failure
            results, error = early.pop(wanted)
            if error is not None:
                raise error
            yield from results
    finally:
        stopped.set()
