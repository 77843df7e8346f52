"""``judgeboard queue confirm|dismiss|tag|add|undo``: one action on all answers of a filter, and its undo."""

import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.domain import Decision
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.reviews.bulk import BulkAdded, BulkDecided

_mode = click.option("--mode", "modes", multiple=True, metavar="NAME", help="Failure mode to tag the answers with.")
_many_options = options.decorator(
    options.where,
    click.option("--yes", is_flag=True, help="Act without a question."),
    click.option("--bulk", metavar="ID", help="Id of an interrupted action, to complete it."),
    options.json_and_database,
)


@click.command("confirm", epilog=options.example("judgeboard queue confirm --where rule=low_groundedness --yes"))
@_mode
@_many_options
def confirm(modes: tuple[str, ...], **chosen: Any) -> None:
    """Confirm all open flags of the answers that match --where, at most 10,000 answers."""
    _decide(Decision.CONFIRM, modes, **chosen)


@click.command("dismiss", epilog=options.example("judgeboard queue dismiss --where query_type=smalltalk --yes"))
@_mode
@_many_options
def dismiss(modes: tuple[str, ...], **chosen: Any) -> None:
    """Dismiss all open flags of the answers that match --where, at most 10,000 answers."""
    _decide(Decision.DISMISS, modes, **chosen)


@click.command("tag", epilog=options.example("judgeboard queue tag --where rule=low_quality --mode 'off topic' --yes"))
@_mode
@_many_options
def tag(modes: tuple[str, ...], **chosen: Any) -> None:
    """Tag the answers that match --where with failure modes, and decide nothing; at most 10,000 answers."""
    _decide(None, modes, **chosen)


@click.command(
    "add",
    epilog=options.example(
        "judgeboard queue add legal --where query_type=legal --yes",
        "judgeboard queue add --person Mara --where rule=low_quality --yes",
    ),
)
@click.argument("name", required=False)
@click.option("--person", metavar="NAME", help="Person to assign the answers to, in place of a queue.")
@_many_options
def add(name: str | None, person: str | None, **chosen: Any) -> None:
    """Add the flagged answers that match --where to the queue NAME, or to the queue of one person.

    At most 10,000 answers; they need not match the filter of the queue.
    """
    from judgeboard.reviews.bulk import add_many

    if (name is None) == (person is None):
        raise BadInput("name a queue, or a person with --person")
    _act("add", partial(add_many, queue=name, person=person), "added", **chosen)


@click.command("undo", epilog=options.example("judgeboard queue undo 3fB0x2aQk1Zs"))
@click.argument("bulk", metavar="ID")
@options.json_and_database
def undo(bulk: str) -> None:
    """Undo `queue confirm`, `dismiss`, `tag` or `add`: reviews are withdrawn, added answers leave their queue."""
    from judgeboard.reviews.bulk import undo_many

    store = options.open_store()
    undone = undo_many(store, bulk, reviewer=options.reviewer(store))
    options.show({"bulk": bulk, "undone": undone}, [f"undone on {undone:,} answers"])


def _decide(decision: Decision | None, modes: tuple[str, ...], **chosen: Any) -> None:
    from judgeboard.reviews.bulk import decide_many

    act = partial(decide_many, decision=decision, modes=modes)
    _act("tag" if decision is None else decision.value, act, "decided", **chosen)


def _act(
    verb: str,
    act: "Callable[..., BulkDecided | BulkAdded]",
    result: str,
    *,
    where: RowFilter,
    yes: bool,
    bulk: str | None,
) -> None:
    from judgeboard.reviews.bulk import MOST_ANSWERS
    from judgeboard.store.open_flags import listed_answers

    store = options.open_store()
    who = options.reviewer(store)
    with options.seen(store).reading() as connection:
        ids = listed_answers(connection, where, most=MOST_ANSWERS, reviewer_id=who.id)
    question = f"{verb.capitalize()} {counted(len(ids), 'answer')}?"
    if not yes and (options.as_json() or not click.confirm(question, err=True)):
        raise BadInput("nothing was changed: use --yes to act without a question")
    bulk_id = bulk or secrets.token_hex(6)
    click.echo(f"action {bulk_id}", err=True)  # known before it can be interrupted
    with options.progress(f"{verb.capitalize()} answers") as shown:
        progress = partial(shown, total=len(ids))
        done = act(store, ids, reviewer=who, bulk_id=bulk_id, progress=lambda number: progress(completed=number))
    options.show({"bulk": bulk_id, result: done}, [done.sentences, f"To undo: judgeboard queue undo {bulk_id}"])
