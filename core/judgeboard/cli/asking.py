"""What every command that asks a model shares: its options, its progress, its JSON."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from judgeboard.cli.options import FiniteRange
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.method import RunOptions

F = TypeVar("F", bound=Callable[..., Any])

_MODEL = click.option("--model", help="The chat model, as its endpoint names it.")
_OPTIONS = (
    click.option("--provider", help="API of the endpoint: openai or anthropic (default: by the model's name)."),
    click.option("--base-url", help="Address of the endpoint, with /v1 (OPENAI_BASE_URL, else the provider's)."),
    click.option(
        "--replies", type=click.Path(path_type=Path), help="Read recorded raw replies (JSONL: response_id, raw)."
    ),
    click.option("--concurrency", type=click.IntRange(1, 1024), default=16, show_default=True, help="Calls in flight."),
    click.option("--max-cost", type=FiniteRange(0, min_open=True), help="Stop when the calls have cost this much."),
    click.option("--prices", type=click.Path(path_type=Path), help="A price file of your own (TOML)."),
    click.option("--max-output", type=click.IntRange(1), help="Tokens a reply may have (512)."),
    click.option("--timeout", "timeout_s", type=FiniteRange(1), help="Seconds a call may take (60)."),
)

as_json = click.option("--json", "as_json", is_flag=True, help="JSON alone on standard output.")


def model_options(command: F) -> F:
    """Give a command the options of the model that it asks."""
    return _MODEL(endpoint_options(command))


def endpoint_options(command: F) -> F:
    """Give a command the same options but for ``--model``: one that calls its model by another name."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def run_options(concurrency: int, max_cost: float | None) -> Iterator["RunOptions"]:
    """Give the fields of `RunOptions` for a run in a terminal: a progress bar, Ctrl-C, what is said where it stops."""
    from judgeboard.cli.judging_progress import judging_progress
    from judgeboard.cli.terminal import actor
    from judgeboard.runner import INTERRUPTED

    def stopping(why: str, in_flight: int) -> None:
        if in_flight:
            again = "; Ctrl-C again breaks them off" if why == INTERRUPTED else ""
            click.echo(f"{why}: finishing {in_flight:,} calls in flight{again}", err=True)

    with judging_progress() as show:
        yield {
            "concurrency": concurrency,
            "max_cost": max_cost,
            "actor": actor(),
            "on_progress": show,
            "on_stop": stopping,
        }


def check_pairs(file: str | Path, source: str | None) -> None:
    """Refuse a file of pairs that cannot be read, before a model that is not set up is complained of.

    Raises:
        BadInput: There is no such file, or it is none that can be read.
    """
    from judgeboard.imports.reading import read_records

    read_records(file, kind="pairs", source=source).close()


# What only an asked model takes, whatever the method.
_FOR_A_MODEL = frozenset(
    (
        "model",
        "provider",
        "base_url",
        "replies",
        "concurrency",
        "max_cost",
        "prices",
        "max_output",
        "timeout_s",
        "rejudge",
        "name",
    )
)


def nobody_asked(context: click.Context, *own: str) -> None:
    """Refuse options that only an asked model takes: ``--recorded`` would leave them without effect.

    Args:
        context: That of the command.
        own: Such options beside the common ones, as the command's parameters are called.

    Raises:
        BadInput: One of them was given.
    """
    needless = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in _FOR_A_MODEL | {*own}
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if needless:
        raise BadInput(f"--recorded asks nobody: it takes no {', '.join(needless)}")


def show_json(result: object) -> None:
    """Write a result on standard output as JSON."""
    from judgeboard.reports.json_output import to_json

    click.echo(to_json(result))
