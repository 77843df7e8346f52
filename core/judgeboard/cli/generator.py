"""The options of the model that answers, for commands that have answers made."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judgeboard.cli.options import FiniteRange

if TYPE_CHECKING:
    from judgeboard.llm.generator import Generator

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--generator", required=True, metavar="MODEL", help="The chat model that answers."),
    click.option("--generator-base-url", help="Its OpenAI-compatible address. Default: that of the judge."),
    click.option("--generator-max-output", type=click.IntRange(1), default=2048, show_default=True, help="Its tokens."),
    click.option("--generator-temperature", type=FiniteRange(0), help="Sent only where given: its own settings hold."),
    click.option(
        "--generator-replies", type=click.Path(path_type=Path), help="Recorded answers (JSONL: response_id, raw)."
    ),
)


def generator_options(command: F) -> F:
    """Give a command the options of the model that answers."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen_generator(chosen: dict[str, Any]) -> "Generator":
    """Take the generator's options out of ``chosen`` and return the generator.

    Address, price file, time limit and concurrency are those of the judge where the generator has none of its own.
    """
    from judgeboard.methods.generation import make_generator

    return make_generator(
        chosen.pop("generator"),
        max_output=chosen.pop("generator_max_output"),
        temperature=chosen.pop("generator_temperature"),
        base_url=chosen.pop("generator_base_url") or chosen.get("base_url"),
        provider=chosen.get("provider"),
        replies=chosen.pop("generator_replies"),
        prices=chosen.get("prices"),
        timeout_s=chosen.get("timeout_s"),
        concurrency=chosen["concurrency"],
    )
