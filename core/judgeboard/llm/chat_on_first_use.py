"""A chat model whose client is made for its first request: to name a judge version takes no client."""

from collections.abc import Callable

from judgeboard.llm.chat import ChatModel, ChatRequest, NoReply, Reply


class ChatOnFirstUse:
    """Makes the real chat model when it is first asked; its client takes seconds to import and 20 ms to make."""

    def __init__(self, host: str | None, make: Callable[[], ChatModel]) -> None:
        self.host = host
        self._make = make
        self._chat: ChatModel | None = None

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request``, as the real one does.

        Raises:
            EndpointRefused: No request can succeed until the key, the address or the model's name is mended.
        """
        if self._chat is None:
            self._chat = self._make()
        return await self._chat.complete(request)

    async def aclose(self) -> None:
        """Release what was made."""
        if self._chat is not None:
            await self._chat.aclose()
