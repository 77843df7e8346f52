"""The known providers, and the chat model that given options choose: provider, address and price."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from judgeboard.errors import BadInput
from judgeboard.llm.anthropic_provider import ANTHROPIC
from judgeboard.llm.chat import ChatModel, ChatRequest, NoReply, Reply
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.provider import (
    Provider,
    host_of,
    is_own_host,
)
from judgeboard.registry.plugins import Plugin, Registry
from judgeboard.settings.model import load_settings
from judgeboard.settings.sections import Price
from judgeboard.text import file_text

_DATE = re.compile(r"-20\d\d-\d\d-\d\d\Z")


FREE = Price(Decimal(0), Decimal(0))
"""The price of calls that cost nothing."""


def _parse(text: str, where: str) -> dict[str, Price]:
    prices = {}
    try:
        for pattern, entry in tomllib.loads(text, parse_float=Decimal)["models"].items():
            if not isinstance(entry, dict):
                raise ValueError(f"{pattern}: not a table of input and output")
            amounts: list[Decimal] = []
            for value in (entry.get("input"), entry.get("output")):
                amount = (
                    Decimal(value)
                    if isinstance(value, int | Decimal) and not isinstance(value, bool)
                    else Decimal("nan")
                )
                if not amount.is_finite() or not 0 <= amount < 10**6:
                    raise ValueError(f"{pattern}: input and output must be numbers from 0")
                amounts.append(amount)
            prices[pattern] = Price(*amounts)
    except (tomllib.TOMLDecodeError, KeyError, AttributeError, ValueError) as error:
        form = '[models], then lines like "my-model" = { input = 0.15, output = 0.60 } in USD per million tokens'
        raise BadInput(
            f"the price file {where} cannot be used ({error}); expected {form}"
        ) from error
    return prices


@cache
def _shipped_prices() -> dict[str, Price]:
    text = resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8")
    return _parse(text, "prices.toml")


def price_of(model: str, price_file: Path | None = None, host: str | None = None) -> Price | None:
    """Return the price of ``model`` from ``price_file``, otherwise from the shipped file; None if unknown.

    A price file has prices by pattern of model names (``gpt-4o-*``). The longest pattern that
    matches is used. A model in neither file is free if ``host``, which serves the model, is this
    machine or in the local network. A gateway to a paid model keeps the price of the model.
    """
    lists = [_shipped_prices()]
    if (price := load_settings().price_of(model)) is not None:
        return price
    if price_file is not None:
        lists.insert(
            0, _parse(file_text(price_file, f"the price file {price_file}"), str(price_file))
        )
    names = {model.casefold(), _DATE.sub("", model.casefold())}
    for prices in lists:
        fitting = [
            pattern
            for pattern in prices
            if any(fnmatchcase(name, pattern.casefold()) for name in names)
        ]
        if fitting:
            return prices[max(fitting, key=len)]
    return FREE if is_own_host(host) else None


def _checked(plugin: Plugin, provider: Any) -> Provider:
    if not isinstance(provider, Provider):
        raise BadInput("it must be a `Provider` of judgeboard.llm.provider")
    if provider.name != plugin.name:
        raise BadInput(f"its `name` must be {plugin.name!r}, the name of the entry point")
    if "-" in provider.name:
        raise BadInput(
            "its name needs _ instead of -, because the names of its variables begin with it"
        )
    return provider


PROVIDERS: Registry[Provider] = Registry(
    "judgeboard.providers", {provider.name: provider for provider in (OPENAI, ANTHROPIC)}, _checked
)
"""The providers by name. A new provider is one file and a name here. Other packages add providers, too."""


def choose_provider(
    name: str | None = None, *, model: str | None = None, base_url: str | None = None
) -> Provider:
    """Return the provider with this name. Without a name, the name of the model decides.

    Without a name but with ``base_url``, the provider is OpenAI: gateways serve all models with
    OpenAI's API.
    """
    if name is not None:
        if name not in PROVIDERS:
            raise BadInput(f"there is no provider {name!r}; choose {' or '.join(PROVIDERS)}")
        return PROVIDERS[name]
    if model and not base_url:
        return next(
            (
                provider
                for provider in PROVIDERS.values()
                if provider.models and model.startswith(provider.models)
            ),
            OPENAI,
        )
    return OPENAI


@dataclass(frozen=True, slots=True)
class Address:
    """Where texts are sent: the name of the provider, and the address of the endpoint.

    ``base_url`` has scheme, host, port and path. Without user, password and query, the address can
    be stored.
    """

    provider: str
    base_url: str

    @property
    def host(self) -> str:
        """Host and port."""
        return host_of(self.base_url)


def bare_address(provider: str, base_url: str) -> Address:
    """Return an address without user, password, query and fragment."""
    parts = urlsplit(base_url)
    return Address(provider, urlunsplit((parts.scheme, host_of(base_url), parts.path, "", "")))


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A chat model with name and price. If ``price`` is None, the price is unknown, not 0.

    ``address`` is where the texts are sent; None if the calls do not go to a provider.
    """

    chat: ChatModel
    model: str
    price: Price | None = None
    address: Address | None = None

    @property
    def host(self) -> str | None:
        """Host and port that the texts are sent to; None when nothing leaves the process."""
        return self.chat.host

    @property
    def priced(self) -> bool:
        """Whether the cost of a call is known."""
        return self.price is not None

    async def aclose(self) -> None:
        """Release connections."""
        await self.chat.aclose()


@dataclass(slots=True)
class ChatOnFirstUse:
    """Makes the real chat model at the first request: the client takes seconds to import and 20 ms to make."""

    host: str | None
    make: Callable[[], ChatModel]
    chat: ChatModel | None = None

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Make the request."""
        if self.chat is None:
            self.chat = self.make()
        return await self.chat.complete(request)

    async def aclose(self) -> None:
        """Release connections."""
        if self.chat is not None:
            await self.chat.aclose()
