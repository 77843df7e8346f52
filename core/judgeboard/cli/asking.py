"""Options that several commands share: the model, rubrics and examples, the generator."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from judgeboard.cli import options
from judgeboard.cli.drawn_options import drawn
from judgeboard.cli.options import FILE, F, FiniteRange, decorator
from judgeboard.errors import BadInput, DatabaseAway, OtherHost
from judgeboard.reports.terminal import judging_progress
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.errors import OtherHost
    from judgeboard.judges.judge import AskedJudge
    from judgeboard.llm.asking import Generator
    from judgeboard.measure.notes import Note
    from judgeboard.runs.method import RunAccount, RunOptions
    from judgeboard.store.engine import Store


JUDGE = "judgeboard.settings.sections:JudgeSettings"

address_options: Callable[[F], F] = drawn(JUDGE, "provider", "base_url")
yes_option: Callable[[F], F] = click.option(
    "--yes",
    is_flag=True,
    callback=options.keep,
    expose_value=False,
    help="Do not ask for confirmation, even if the texts go to another host than in earlier runs.",
)
# The options of every run: the judge's own options do not contain these options.
_run_options: Callable[[F], F] = decorator(
    click.option(
        "--replies",
        type=FILE,
        help="Use recorded replies instead of a model: a JSONL file with response_id and raw (the reply as it came).",
    ),
    click.option(
        "--max-cost",
        type=FiniteRange(0, min_open=True),
        help="Stop when the calls of the run have cost this much, in dollars (default: no limit). Calls "
        "before an interruption and calls of other processes in the same run count too.",
    ),
    click.option(
        "--wait",
        type=FiniteRange(0, 3600),
        callback=options.keep,
        expose_value=False,
        help="Seconds to wait if the database cannot be used during the run, from 0 to 3,600 (default: 60). "
        "Replies are kept meanwhile.",
    ),
    click.option(
        "--prices",
        type=FILE,
        help="Price file in TOML (default: JUDGEBOARD_PRICES, else built-in prices).",
    ),
    yes_option,
    group="Calls",
)
# For commands with a special option for the model, whose help names the purpose of the model.
call_options: Callable[[F], F] = decorator(
    drawn(JUDGE, "provider", "base_url", "concurrency", "timeout"), _run_options
)
endpoint_options: Callable[[F], F] = decorator(call_options, drawn(JUDGE, "max_output"))
model_options: Callable[[F], F] = decorator(drawn(JUDGE, "model"), endpoint_options)
prompt_option: Callable[[F], F] = drawn(JUDGE, "prompt")
asking_options: Callable[[F], F] = drawn(JUDGE, "temperature", "prompt")
rating_word_option: Callable[[F], F] = drawn(JUDGE, "rating_word")
# For a judge whose rubric and examples do not come from a file.
judge_options: Callable[[F], F] = decorator(
    drawn(JUDGE, "domain", "claims", "dialogue"), model_options, asking_options
)
stored_judge_options: Callable[[F], F] = decorator(drawn(JUDGE), _run_options)
generator_options: Callable[[F], F] = decorator(
    click.option(
        "--generator", required=True, metavar="MODEL", help="Chat model that writes the answers."
    ),
    click.option(
        "--generator-base-url",
        help="Address of the generator's endpoint, with /v1 (default: --base-url).",
    ),
    options.with_default(
        "--generator-max-output",
        type=click.IntRange(1),
        default=2048,
        help="Maximum number of tokens per answer.",
    ),
    click.option(
        "--generator-temperature",
        type=FiniteRange(0),
        help="Sampling temperature of the generator (default: the endpoint's default).",
    ),
    click.option(
        "--generator-replies",
        type=FILE,
        help="Use recorded answers instead of a model: a JSONL file with response_id and raw (the answer as it came).",
    ),
    group="Generator",
)

EXAMPLE_MODEL = "gpt-4o-mini"  # of commands in messages


@contextmanager
def run_options(
    judge_fields: Mapping[str, object], max_cost: float | None
) -> Iterator["RunOptions"]:
    """Yield the `RunOptions` of a run in a terminal: on stderr an estimate, progress, and why a run stops early.

    ``judge_fields`` are the options of a judge.
    """
    from judgeboard.judges.judge import concurrency_of
    from judgeboard.runs.runner import INTERRUPTED
    from judgeboard.store.outages import WAIT_SECONDS

    wait = click.get_current_context().meta.get("wait")

    def stopping(why: str, in_flight: int) -> None:
        if in_flight:
            again = "; press Ctrl-C again to cancel them" if why == INTERRUPTED else ""
            click.echo(f"{why}; waiting for {counted(in_flight, 'running call')}{again}", err=True)

    with judging_progress() as show:
        run: RunOptions = {
            "max_cost": max_cost,
            "wait": WAIT_SECONDS if wait is None else wait,
            "actor": options.actor(),
            "on_progress": show,
            "on_other_host": confirm_host,
            "on_stop": stopping,
            "on_estimate": lambda estimate: options.echo(estimate.sentence, err=True),
            "concurrency": concurrency_of(judge_fields),
        }
        try:
            yield run
        except DatabaseAway as error:
            again = (
                "This command asks for them again, and goes on"
                if error.lost
                else "This command goes on"
            )
            raise DatabaseAway(
                f"{error}. {again}: `{options.same_command()}`", error.lost
            ) from error


def confirm_host(change: "OtherHost") -> bool:
    """Ask whether texts may go to another host; raise BadInput with the command where nobody can be asked."""
    if click.get_current_context().meta.get("yes"):
        return True
    if not sys.stdin.isatty():
        raise BadInput(f"{change}. To send them there: `{options.same_command('--yes')}`")
    click.echo(f"{change}.", err=True)
    return click.confirm("Send them there?", err=True)


R = TypeVar("R")


def with_confirmed_host(request: Callable[..., R]) -> R:
    """Call ``request``; again with ``confirmed_host`` if texts would go to another host and the person agrees.

    Raises BadInput with the command where nobody can be asked, or where the address is not known.
    """
    try:
        return request()
    except OtherHost as change:
        if not confirm_host(change):
            raise
        return request(confirmed_host=change.now)


def at_last_address(
    store: "Store", make: Callable[..., "AskedJudge"], judge_fields: dict[str, object]
) -> dict[str, object]:
    """Return the options of a judge; without an address, with the address of the judge's last run."""
    from judgeboard.runs import named_judges

    return named_judges.at_last_address(store, make, judge_fields)


def warned(warnings: Iterable["Note | None"]) -> dict[str, list[str]]:
    """Print warnings to stderr, and return the warnings for the JSON output."""
    texts = [warning.text for warning in warnings if warning is not None]
    for warning in texts:
        options.echo(f"warning: {warning}", err=True)
    return {"warnings": texts}


def account_lines(head: str, account: "RunAccount") -> Iterator[str]:
    """Yield lines with the calls of a run by status, the cost, and the reason if the run stopped early."""
    yield f"{head}: {account.words()}" + (f"; cost {account.cost_words}" if account.run_id else "")
    yield from stopped_lines(account)


def stopped_lines(account: "RunAccount") -> Iterator[str]:
    """Yield how many calls a run did not make, the reason, and how to continue the run."""
    from judgeboard.measure.notes import note
    from judgeboard.runs.runner import COST_LIMIT

    if account.not_reached:
        yield f"{account.not_reached:,} not reached"
    if account.why_stopped:
        yield f"stopped: {account.why_stopped}"
        yield note("continue_costlier" if account.why_stopped == COST_LIMIT else "continue").text


def check_pairs(file: str | Path, source: str | None) -> None:
    """Refuse an unreadable file of pairs before the model is set up."""
    from judgeboard.imports.reading import read_records

    read_records(file, kind="pairs", source=source).close()


_FOR_A_MODEL = frozenset(
    (
        "model",
        "provider",
        "base_url",
        "replies",
        "concurrency",
        "max_cost",
        "wait",
        "prices",
        "max_output",
        "timeout_s",
    )
) | {"rejudge", "name", "temperature", "prompt", "yes"}


def nobody_asked(context: click.Context, *own: str) -> None:
    """Refuse model options, and the options ``own``, which would have no effect with ``--recorded``."""
    refuse_given(context, "--recorded makes no model calls", _FOR_A_MODEL | {*own})


def refuse_given(context: click.Context, why: str, names: Collection[str]) -> None:
    """Raise BadInput if options with these names were given. ``why`` is the reason why the options have no effect."""
    needless = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if needless:
        raise BadInput(f"{why}: remove {', '.join(needless)}")


def judge_part(judge_fields: dict[str, object]) -> dict[str, object]:
    """Return the options of the judge, without the options of the generator."""
    return {name: value for name, value in judge_fields.items() if not name.startswith("generator")}


def chosen_generator(fields: dict[str, object], judge: dict[str, object]) -> "Generator":
    """Return the generator of the options.

    The generator uses the judge's provider, prices, time limit and concurrency. Without an address
    for the generator, the generator uses the address of ``judge``, the options from
    `at_last_address`.
    """
    from judgeboard.runs.generation import make_generator

    address = judge
    if fields["generator_base_url"] is not None:
        address = {
            "provider": fields.get("provider"),
            "base_url": fields["generator_base_url"],
        }
    return make_generator(
        model=fields["generator"],
        **{name: fields[f"generator_{name}"] for name in ("max_output", "temperature", "replies")},
        **{name: address.get(name) for name in ("provider", "base_url", "api_key")},
        **{name: fields.get(name) for name in ("prices", "timeout_s", "concurrency")},
    )
