"""Waits for a coroutine where no event loop runs."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from judgeboard.errors import BadInput

P = ParamSpec("P")
T = TypeVar("T")


def run_blocking(asked: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **options: P.kwargs) -> T:
    """Call an async function, or what is called like one, and return what it gives.

    Raises:
        BadInput: An event loop runs already, as in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asked(*args, **options))
    name = getattr(asked, "__name__", None)
    itself = "the object itself" if name is None else f"judgeboard.{name}(...)"
    raise BadInput(f"an event loop runs here: await {itself} instead")
