"""Ends a process that serves or works in time, whatever its threads do."""

import os
import signal
import threading
from functools import partial
from types import FrameType

END_SECONDS = 9.0  # after a signal; who stops a service waits 10 s


def end_in_time() -> None:
    """Let SIGINT and SIGTERM end this process within 10 seconds, and a second signal at once.

    Their handlers are called as before; what they have not ended by then is as after a crash. Does
    nothing outside the main thread, which alone gets signals.
    """
    if threading.current_thread() is threading.main_thread():
        asked = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(_end, asked, signal.getsignal(number)))


def _end(asked: threading.Event, handler: object, number: int, frame: FrameType | None) -> None:
    if asked.is_set():
        os._exit(128 + number)
    asked.set()
    timer = threading.Timer(END_SECONDS, os._exit, [128 + number])
    timer.daemon = True
    timer.start()
    if callable(handler):
        handler(number, frame)
