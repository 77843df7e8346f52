"""A caller's own function in the place of a model: messages in, text out, sync or async."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from judgeboard.domain import Attempt
from judgeboard.llm.chat import ChatRequest, NoReply, Reply
from judgeboard.storable_text import storable

Chat = Callable[[list[dict[str, Any]]], Any]
"""From messages to a text, or to an awaitable of one."""


async def call(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> Any:
    """Call ``chat`` with copies of ``messages`` and return what it gives, awaited where that is needed.

    A plain function runs in a thread: one that blocks holds up nobody, and one that starts an event loop of its own,
    as many wrappers of tool-calling agents do, may.
    """
    given = [dict(message) for message in messages]
    target = chat if inspect.isroutine(chat) else getattr(chat, "__call__", chat)  # noqa: B004 - an object's own call
    if inspect.iscoroutinefunction(chat) or inspect.iscoroutinefunction(target):
        return await chat(given)
    result = await asyncio.to_thread(chat, given)
    return await result if inspect.isawaitable(result) else result


class CallableChat:
    """Answers with a caller's function; whatever that raises is why there is no reply."""

    host: str | None = None

    def __init__(self, chat: Chat) -> None:
        self._call = chat

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request`` with the function's text."""
        started = time.monotonic()
        try:
            text = await call(self._call, request.messages)
            reason = None if isinstance(text, str) else f"the callable gave {type(text).__name__}, not a text"
        except Exception as error:  # noqa: BLE001 - a caller's code may raise anything: this one reply is missing
            text, reason = "", f"{type(error).__name__}: {error}"
        spent = round((time.monotonic() - started) * 1000)
        if reason is not None:
            said = storable(reason)[0]
            return NoReply(said, (Attempt(why=request.why, status="raised", latency_ms=spent, detail=said),))
        answer = storable(text)[0]
        return Reply(answer, (Attempt(why=request.why, status="ok", raw=answer, latency_ms=spent),))

    async def aclose(self) -> None:
        """Hold nothing, release nothing."""
