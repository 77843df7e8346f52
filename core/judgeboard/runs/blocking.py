"""Waits for a coroutine where no event loop runs; there the first Ctrl-C or SIGTERM stops a run, not the process."""

import asyncio
import functools
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from judgeboard.errors import BadInput

P = ParamSpec("P")
T = TypeVar("T")

# Only who waits for a run here has Ctrl-C handled here: an event loop of a caller's own keeps its handlers.
_owns_ctrl_c = ContextVar("owns_ctrl_c", default=False)


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a function that waits out of an async one, for callers without an event loop.

    The first Ctrl-C in the main thread finishes the calls in flight and ends the run; a second one breaks it off.
    Where an event loop runs already, as in a notebook, it raises BadInput.
    """

    @functools.wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(function, *args, **kwargs)

    wait.__name__ = function.__name__.removesuffix("_async")
    return wait


def run_blocking(function: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call an async function, or an object that is called like one, and return its result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        token = _owns_ctrl_c.set(True)
        try:
            return asyncio.run(function(*args, **kwargs))
        finally:
            _owns_ctrl_c.reset(token)
    name = getattr(function, "__name__", None)
    itself = "the object itself" if name is None else f"judgeboard.{name}(...)"
    raise BadInput(f"an event loop runs here: await {itself} instead")


@contextmanager
def on_first_ctrl_c(do: Callable[[], None]) -> Iterator[None]:
    """Call ``do`` from the running event loop at the first Ctrl-C or SIGTERM; a second one has its usual effect.

    Changes nothing in the event loop of a caller's own, outside of the main thread, which alone receives signals, and
    where the event loop cannot handle them (Windows).
    """
    if not _owns_ctrl_c.get() or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}

    def hand_back() -> None:
        for number, handler in before.items():
            if loop.remove_signal_handler(number):
                signal.signal(number, handler)

    def first() -> None:
        hand_back()
        do()

    try:
        for number in before:
            loop.add_signal_handler(number, first)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        hand_back()
