"""``judgeboard queue confirm|dismiss|undo``: one decision on all flagged answers of a filter, and its undo."""

import secrets

import click

from judgeboard.cli import options
from judgeboard.domain import Decision
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter

_many_options = options.decorator(
    options.where,
    click.option("--mode", "modes", multiple=True, metavar="NAME", help="Failure mode to tag the answers with."),
    click.option("--yes", is_flag=True, help="Decide without asking."),
    click.option("--bulk", metavar="ID", help="Id of an interrupted action, to complete it."),
    options.json_and_database,
)


@click.command("confirm", epilog=options.example("judgeboard queue confirm --where rule=low_groundedness --yes"))
@_many_options
def confirm(where: RowFilter, modes: tuple[str, ...], yes: bool, bulk: str | None) -> None:
    """Confirm all open flags of the answers that match --where, at most 10,000 answers."""
    _decide(where, Decision.CONFIRM, modes, bulk, yes=yes)


@click.command("dismiss", epilog=options.example("judgeboard queue dismiss --where query_type=smalltalk --yes"))
@_many_options
def dismiss(where: RowFilter, modes: tuple[str, ...], yes: bool, bulk: str | None) -> None:
    """Dismiss all open flags of the answers that match --where, at most 10,000 answers."""
    _decide(where, Decision.DISMISS, modes, bulk, yes=yes)


@click.command("undo", epilog=options.example("judgeboard queue undo 3fB0x2aQk1Zs"))
@click.argument("bulk", metavar="ID")
@options.json_and_database
def undo(bulk: str) -> None:
    """Undo an action of `queue confirm` or `queue dismiss`: its reviews are withdrawn and its flags are open again."""
    from judgeboard.reviews.bulk import undo_many

    store = options.open_store()
    undone = undo_many(store, bulk, reviewer=options.reviewer(store))
    options.show({"bulk": bulk, "undone": undone}, [f"{undone:,} reviews withdrawn"])


def _decide(where: RowFilter, decision: Decision, modes: tuple[str, ...], bulk: str | None, *, yes: bool) -> None:
    from judgeboard.reviews.bulk import MOST_ANSWERS, decide_many
    from judgeboard.store.open_flags import listed_answers

    store = options.open_store()
    who = options.reviewer(store)
    with options.seen(store).reading() as connection:
        ids = listed_answers(connection, where, most=MOST_ANSWERS, reviewer_id=who.id)
    answers = f"{len(ids):,} answer{'' if len(ids) == 1 else 's'}"
    if not yes and (options.as_json() or not click.confirm(f"{decision.value.capitalize()} {answers}?", err=True)):
        raise BadInput("nothing is decided; use --yes to decide without asking")
    bulk_id = bulk or secrets.token_hex(6)
    click.echo(f"action {bulk_id}", err=True)  # known before it can be interrupted
    with options.progress(f"{decision.value.capitalize()} answers") as shown:
        decided = decide_many(
            store,
            ids,
            reviewer=who,
            decision=decision,
            bulk_id=bulk_id,
            modes=modes,
            progress=lambda done: shown(completed=done, total=len(ids)),
        )
    lines = [decided.sentences(decision)]
    if decided.decided:
        lines.append(f"To undo: judgeboard queue undo {bulk_id}")
    options.show({"bulk": bulk_id, "decided": decided}, lines)
