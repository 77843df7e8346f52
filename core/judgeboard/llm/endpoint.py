"""A model to ask, with its name and price: over an endpoint, or from recorded replies."""

from dataclasses import dataclass
from pathlib import Path

from judgeboard.errors import BadInput
from judgeboard.llm.address import carries_login, host_of, is_address
from judgeboard.llm.chat import ChatModel
from judgeboard.llm.chat_on_first_use import ChatOnFirstUse
from judgeboard.llm.prices import Price, price_of
from judgeboard.llm.recorded import RecordedChat, read_replies
from judgeboard.llm.retry_policy import RetryPolicy
from judgeboard.settings import masked


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A chat model with what a judge version and its cost need; ``price`` None is unknown, which is not free."""

    chat: ChatModel
    model: str
    price: Price | None = None

    @property
    def host(self) -> str | None:
        """Host and port that the texts are sent to; None when nothing leaves the process."""
        return self.chat.host

    @property
    def priced(self) -> bool:
        """Whether a call's cost is known; what recorded replies once cost is not."""
        return self.price is not None

    async def aclose(self) -> None:
        """Release connections."""
        await self.chat.aclose()


def model_endpoint(
    asker: str,
    *,
    model: str | None,
    base_url: str | None = None,
    api_key: str | None = None,
    concurrency: int = 16,
    timeout_s: float = 60.0,
    tries: int = 5,
    prices: Path | None = None,
    replies: Path | None = None,
) -> ModelEndpoint:
    """Return the model that these options name; nothing is sent yet.

    Args:
        asker: Who needs it, for messages: "the rag judge".
        model: Name of the chat model, as the endpoint knows it.
        base_url: Address of an OpenAI-compatible endpoint, with its ``/v1``; None is OpenAI's own.
        api_key: May be None where ``base_url`` is given.
        concurrency: Calls in flight at most.
        timeout_s: Seconds that one call may take.
        tries: Calls made at most for one question.
        prices: Price file of the user.
        replies: File of recorded raw replies to answer from instead of an endpoint.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    if replies is not None:
        return ModelEndpoint(RecordedChat(read_replies(replies)), model or "recorded")
    if not model:
        raise BadInput(f"{asker} needs a model: give --model NAME (or recorded replies: --replies FILE)")
    if not base_url and not api_key:
        raise BadInput("no key: set OPENAI_API_KEY, or give the address of a server of your own (--base-url URL)")
    if base_url and not is_address(base_url):
        raise BadInput(f"--base-url must be an http:// or https:// address, not {masked(base_url)!r}")
    if base_url and carries_login(base_url):
        raise BadInput(f"the address of {host_of(base_url)} carries a user or password: give a key instead")

    def make() -> ChatModel:
        from judgeboard.llm.openai_chat import OpenAIChat

        return OpenAIChat(
            model,
            base_url=base_url,
            api_key=api_key,
            concurrency=concurrency,
            timeout_s=timeout_s,
            retries=RetryPolicy(tries=tries),
        )

    return ModelEndpoint(ChatOnFirstUse(host_of(base_url), make), model, price_of(model, prices))
