"""Turns the first Ctrl-C into a wish to stop."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_first_ctrl_c(do: Callable[[], None]) -> Iterator[None]:
    """Call ``do`` from the running event loop at the first Ctrl-C; a second one has the effect it always had.

    Changes nothing outside of the main thread, which alone is told of signals, and where the event loop cannot take
    them (Windows).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def hand_back() -> None:
        if loop.remove_signal_handler(signal.SIGINT):
            signal.signal(signal.SIGINT, before)

    def first() -> None:
        hand_back()
        do()

    try:
        loop.add_signal_handler(signal.SIGINT, first)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        hand_back()
