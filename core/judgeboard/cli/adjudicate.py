"""``judgeboard adjudicate``: items in conflict, and a lead's final decision on one."""

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, given_grade, grade_options, show_json

if TYPE_CHECKING:
    from judgeboard.reviews.conflicts import Conflict, ConflictPage


PREFERENCES = ("a", "b", "tie")


@click.command(
    epilog=options.example(
        "judgeboard adjudicate --queue legal",
        "judgeboard adjudicate 17",
        "judgeboard adjudicate 17 --decision confirm --reason 'clause 3 says the contrary' --quality 1",
    )
)
@click.argument("item_id", required=False, type=options.ROW_ID, metavar="[ITEM]")
@click.option("--queue", metavar="NAME", help="Without ITEM: list only the conflicts of this queue.")
@click.option(
    "--decision",
    type=click.Choice(("confirm", "dismiss", *PREFERENCES)),
    help="Final decision. For an answer: confirm that it is bad, or dismiss the flag. For a pair: the better answer "
    "(a or b, as `adjudicate ITEM` prints them), or tie.",
)
@click.option("--reason", help="Reason for the decision. Required with --decision.")
@grade_options
@as_json
@options.database
def adjudicate_command(
    item_id: int | None,
    queue: str | None,
    decision: str | None,
    reason: str | None,
    as_json: bool,
    db: str | None,
    **grade: Any,
) -> None:
    """Decide items whose reviewers differ.

    Without ITEM, the command lists the conflicts. With ITEM, it prints the item and its reviews. With --decision, it
    stores the adjudication. The label of the adjudication is the gold label. `judgeboard agreement` compares judges and
    people with gold labels.
    """
    from judgeboard.cli.options import reviewer
    from judgeboard.domain import Decision, Preference
    from judgeboard.errors import BadInput
    from judgeboard.reviews.conflicts import load_conflict, open_conflicts
    from judgeboard.reviews.queue_decisions import adjudicate
    from judgeboard.store.engine import open_store

    final_grade = given_grade(grade | {"note": reason})
    if decision is not None and item_id is None:
        raise BadInput("--decision needs an ITEM: `judgeboard adjudicate` lists them")
    if decision is not None and not (reason or "").strip():
        raise BadInput("--decision needs a reason: give it with --reason")
    with closing(open_store(db)) as store:
        who = reviewer(store)
        if item_id is None:
            with store.reading() as connection:
                _show_list(open_conflicts(connection, queue, limit=100), as_json=as_json)
            return
        if decision is None:
            with store.reading() as connection:
                _show_conflict(load_conflict(connection, item_id, who), as_json=as_json)
            return
        adjudicated = adjudicate(
            store,
            item_id,
            by=who,
            decision=Preference(decision) if decision in PREFERENCES else Decision(decision),
            grade=final_grade,
            request_key=f"cli:{secrets.token_urlsafe(16)}",
        )
    if as_json:
        show_json({"review": adjudicated.review_id, "item": item_id, "state": "adjudicated"})
        return
    click.echo(f"Item {item_id} is adjudicated.")


def _show_list(page: "ConflictPage", *, as_json: bool) -> None:
    from judgeboard.cli.queue_reviewing import readable

    if as_json:
        show_json({"conflicts": page.lines, "more": page.next is not None})
        return
    if not page.lines:
        click.echo("There are no conflicts.")
    for line in page.lines:
        item = line.item
        subject = f"pair {item.pair_id}" if item.external_id is None else readable(item.external_id)
        differ = ", ".join(line.differ_on)
        click.echo(f"item {item.item_id}  {item.queue}  {subject}  {line.reviews} reviews differ on {differ}")
    if page.next is not None:
        click.echo("There are more conflicts: the list shows them after these are adjudicated.")


def _show_conflict(conflict: "Conflict", *, as_json: bool) -> None:
    from judgeboard.cli.queue_reviewing import readable

    if as_json:
        show_json(conflict)
        return
    differ = f", reviews differ on {', '.join(conflict.differ_on)}" if conflict.differ_on else ""
    click.echo(f"{conflict.queue.name}: item {conflict.item.id}, {conflict.item.state}{differ}")
    answer, pair = conflict.answer, conflict.pair
    if answer is not None:
        question, passages, answers = answer.question, answer.passages, [("ANSWER", answer.answer)]
    elif pair is not None:
        question, passages = pair.question, pair.passages
        answers = [("A", pair.answer_a), ("B", pair.answer_b)]
    else:
        return
    numbered = [(f"PASSAGE {number}", text) for number, text in enumerate(passages or (), 1)]
    for title, text in [("QUESTION", question), *numbered, *answers]:
        click.echo(f"\n{title}\n{readable(text)}")
    click.echo("")
    for review in conflict.reviews:
        parts = [review.decision, review.label]
        parts += [] if review.groundedness is None else [f"groundedness {review.groundedness:g}"]
        parts += [] if review.quality is None else [f"quality {review.quality}"]
        parts += [f"{name} {value:g}" for name, value in review.scores.items()]
        stage = "" if review.stage is None else f" ({review.stage})"
        click.echo(f"{review.reviewer}{stage}: {', '.join(part for part in parts if part) or '–'}")
        if review.note:
            click.echo(f"  {readable(review.note)}")
