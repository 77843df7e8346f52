"""Ends a server or a worker in time, whatever the threads do."""

import os
import signal
import threading
from functools import partial
from types import FrameType

END_SECONDS = 9.0  # after a signal; who stops a service waits 10 s


def end_in_time() -> None:
    """Let SIGINT and SIGTERM end this process within 10 seconds, and a second signal at once.

    The earlier handlers are called as before; what the handlers have not ended by then is as after
    a crash. Does nothing outside the main thread, which alone gets signals.
    """
    if threading.current_thread() is threading.main_thread():
        first_signal = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, partial(_end, first_signal, signal.getsignal(number)))


def _end(
    first_signal: threading.Event, handler: object, number: int, frame: FrameType | None
) -> None:
    if first_signal.is_set():
        os._exit(128 + number)
    first_signal.set()
    timer = threading.Timer(END_SECONDS, os._exit, [128 + number])
    timer.daemon = True
    timer.start()
    if callable(handler):
        handler(number, frame)
