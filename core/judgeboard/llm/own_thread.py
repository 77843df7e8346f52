"""A thread of its own for a call that may block for longer than its caller waits."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_own_thread(daemon: bool, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function in a new thread and return its result.

    If the caller is cancelled, the function goes on. At its end, the program waits for it unless ``daemon``.
    """
    # `asyncio.run` waits for the threads of `asyncio.to_thread`, also for those that nobody awaits any more.
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # otherwise a cancelled caller cancels it, and it could take no result
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.set_result(context.run(function, *args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the caller gets what the function raises
            result.set_exception(error)

    threading.Thread(target=work, name="judgeboard-call", daemon=daemon).start()
    return await asyncio.wrap_future(result)
