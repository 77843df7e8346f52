"""What every judge that asks a chat model shares: the model, its price, its end."""

from judgeboard.llm.endpoint import ModelEndpoint


class ModelJudge:
    """A judge over one model, which is closed with it."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to; None for recorded replies and callables."""
        return self._endpoint.host

    @property
    def priced(self) -> bool:
        """Whether a call's cost is known; what recorded replies once cost is not."""
        return self._endpoint.priced

    async def aclose(self) -> None:
        """Close the chat model."""
        await self._endpoint.aclose()
