"""Waits for a coroutine where no event loop runs."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from judgeboard.errors import BadInput

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T], *, instead: str) -> T:
    """Return what ``work`` gives; ``instead`` says what to write where an event loop runs already.

    Raises:
        BadInput: One does, as in a notebook.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise BadInput(f"an event loop runs here: {instead}")
