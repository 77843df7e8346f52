"""What a call costs, from a price file."""

import re
import tomllib
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from judgeboard.errors import BadInput

_DATE = re.compile(r"-20\d\d-\d\d-\d\d\Z")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, which is also micro-dollars per token."""

    input: Decimal
    output: Decimal

    def cost_micro(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Return the cost in whole micro-dollars, half of one rounded up; discounts for cached input are left out."""
        cost = self.input * prompt_tokens + self.output * completion_tokens
        return int(cost.to_integral_value(ROUND_HALF_UP))


def _parse(text: str, where: str) -> dict[str, Price]:
    try:
        models = tomllib.loads(text, parse_float=Decimal)["models"]
        return {pattern: _price(entry, pattern) for pattern, entry in models.items()}
    except (tomllib.TOMLDecodeError, KeyError, AttributeError, ValueError) as error:
        form = '[models], then lines like "my-model" = { input = 0.15, output = 0.60 } in USD per million tokens'
        raise BadInput(f"the price file {where} cannot be used ({error}); expected {form}") from error


def _price(entry: Any, pattern: str) -> Price:
    if not isinstance(entry, dict):
        raise ValueError(f"{pattern}: not a table of input and output")
    return Price(_amount(entry.get("input"), pattern), _amount(entry.get("output"), pattern))


def _amount(value: Any, pattern: str) -> Decimal:
    number = Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else Decimal("nan")
    if not number.is_finite() or not 0 <= number < 10**6:
        raise ValueError(f"{pattern}: input and output must be numbers from 0")
    return number


@cache
def _shipped_prices() -> dict[str, Price]:
    text = resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8")
    return _parse(text, "prices.toml")


def price_of(model: str, own: Path | None = None) -> Price | None:
    """Return the price of ``model``: from the user's file ``own`` if it names the model, else the shipped one.

    Prices are by pattern of the model's name (``gpt-4o-*``); the longest pattern that fits wins. None is unknown, which
    is not free.
    """
    lists = [_shipped_prices()]
    if own is not None:
        try:
            lists.insert(0, _parse(own.read_text(encoding="utf-8"), str(own)))
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"the price file {own} cannot be read: {error}") from error
    names = {model.casefold(), _DATE.sub("", model.casefold())}
    for prices in lists:
        fitting = [pattern for pattern in prices if any(fnmatchcase(name, pattern.casefold()) for name in names)]
        if fitting:
            return prices[max(fitting, key=len)]
    return None
