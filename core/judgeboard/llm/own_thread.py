"""Own threads: for a call that may block for longer than the caller waits, and for the shared event loop."""

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from judgeboard.errors import BadInput

P = ParamSpec("P")
T = TypeVar("T")


async def in_own_thread(
    daemon: bool, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a blocking function in a new thread and return the result.

    If the caller is cancelled, the function goes on. At the end, the program waits for the function
    unless ``daemon``.
    """
    # `asyncio.run` waits for the threads of `asyncio.to_thread`, also for threads that nobody
    # awaits any more.
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # otherwise a cancelled caller cancels the future
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.set_result(context.run(function, *args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the caller gets what the function raises
            result.set_exception(error)

    threading.Thread(target=work, name="judgeboard-call", daemon=daemon).start()
    return await asyncio.wrap_future(result)


EXIT_SECONDS = (
    5.0  # that the program waits at the end until the calls in the shared event loop have ended
)


def from_any_thread(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return a blocking version of an async function. Connections stay open from call to call."""

    @wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return in_shared_loop(function, *args, **kwargs)

    return wait


def in_shared_loop(
    function: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call an async function in the event loop that all blocking calls of the process share, and return the result.

    If the caller is interrupted, the call is cancelled. Raises BadInput in this loop, which cannot
    wait for itself.
    """
    loop = _shared_loop(os.getpid())
    with suppress(RuntimeError):
        if asyncio.get_running_loop() is loop:
            raise BadInput(
                "a blocking call waits for this function: await the async version of the call here"
            )
    future = asyncio.run_coroutine_threadsafe(function(*args, **kwargs), loop)
    try:
        return future.result()
    finally:
        future.cancel()


@cache
def _shared_loop(process: int) -> asyncio.AbstractEventLoop:
    """Start the shared event loop of a process. A fork inherits no threads, so a fork starts another loop."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        while True:
            with suppress(
                KeyboardInterrupt, SystemExit
            ):  # raised by a function of the user, whose caller gets it
                return loop.run_forever()

    thread = threading.Thread(target=run, name="judgeboard-loop", daemon=True)
    thread.start()

    if hasattr(os, "register_at_fork"):
        # In a fork, this loop never runs, and open connections are not the fork's: no need to log
        # that.
        os.register_at_fork(
            after_in_child=lambda: loop.set_exception_handler(lambda _loop, _context: None)
        )

    async def close() -> None:
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await loop.shutdown_asyncgens()  # closes connections

    @atexit.register
    def end() -> None:
        if os.getpid() != process:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(close(), loop).result(EXIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(EXIT_SECONDS)
        if not thread.is_alive():
            loop.close()  # a later call raises an error instead of waiting

    return loop
