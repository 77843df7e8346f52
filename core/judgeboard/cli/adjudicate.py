"""``judgeboard adjudicate``: items in conflict, and a lead's final decision on one."""

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, given_grade, grade_options, show_json

if TYPE_CHECKING:
    from judgeboard.reviews.conflicts import Conflict, ConflictPage


PAIR_WORDS = ("a", "b", "tie")


@click.command(
    epilog=options.example(
        "judgeboard adjudicate --queue legal",
        "judgeboard adjudicate 17",
        "judgeboard adjudicate 17 --decision confirm --reason 'clause 3 says the contrary' --quality 1",
    )
)
@click.argument("item_id", required=False, type=options.ROW_ID, metavar="[ITEM]")
@click.option("--queue", metavar="NAME", help="Without ITEM: list those of this queue.")
@click.option(
    "--decision",
    type=click.Choice(("confirm", "dismiss", *PAIR_WORDS)),
    help="The last word: is the answer bad (confirm) or not; of a pair which answer is better, as `adjudicate ITEM` "
    "shows them.",
)
@click.option("--reason", help="Why; needed with --decision.")
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
    """Decide where reviewers differ. Without ITEM: list what is split; without --decision: show all that was said.

    What is adjudicated is gold: agreement holds judges and people against it.
    """
    from judgeboard.cli.options import reviewer
    from judgeboard.domain import Decision, Preference
    from judgeboard.errors import BadInput
    from judgeboard.reviews.conflicts import load_conflict, open_conflicts
    from judgeboard.reviews.queue_decisions import adjudicate
    from judgeboard.store.engine import open_store

    given = given_grade(grade | {"note": reason})
    if decision is not None and item_id is None:
        raise BadInput("--decision needs the ITEM: `judgeboard adjudicate` lists them")
    if decision is not None and not (reason or "").strip():
        raise BadInput("say why: give --reason with --decision")
    with closing(open_store(db)) as store:
        if item_id is None or decision is None:
            viewer = reviewer(store)
            with store.reading() as connection:
                if item_id is None:
                    _show_list(open_conflicts(connection, queue, limit=100), as_json=as_json)
                else:
                    _show_split(load_conflict(connection, item_id, viewer), as_json=as_json)
            return
        who, key = reviewer(store), f"cli:{secrets.token_urlsafe(16)}"
        final = Preference(decision) if decision in PAIR_WORDS else Decision(decision)
        stored = adjudicate(store, item_id, by=who, decision=final, grade=given, request_key=key)
    if as_json:
        show_json({"review": stored.review_id, "item": item_id, "state": "adjudicated"})
        return
    click.echo(f"item {item_id} is adjudicated")


def _show_list(page: "ConflictPage", *, as_json: bool) -> None:
    from judgeboard.cli.queue_reviewing import readable

    if as_json:
        lines = [
            {
                "item": line.item.item_id,
                "queue": line.item.queue,
                "id": line.item.external_id,
                "pair": line.item.pair_id,
                "differ_on": list(line.differ_on),
                "reviews": line.reviews,
            }
            for line in page.lines
        ]
        show_json({"splits": lines, "more": page.next is not None})
        return
    if not page.lines:
        click.echo("nothing is split")
    for line in page.lines:
        what = f"pair {line.item.pair_id}" if line.item.external_id is None else readable(line.item.external_id)
        differ = ", ".join(line.differ_on)
        click.echo(f"item {line.item.item_id}  {line.item.queue}  {what}  {line.reviews} reviews differ on {differ}")
    if page.next is not None:
        click.echo("and more: they follow as these are decided")


def _show_split(split: "Conflict", *, as_json: bool) -> None:
    from judgeboard.cli.queue_reviewing import readable

    if as_json:
        show_json(_split_json(split))
        return
    differ = f", reviews differ on {', '.join(split.differ_on)}" if split.differ_on else ""
    click.echo(f"{split.queue.name}: item {split.item.id}, {split.item.state.value}{differ}")
    for title, text in _texts(split):
        click.echo(f"\n{title}\n{readable(text)}")
    click.echo("")
    for word in split.reviews:
        said = [word.decision, word.label]
        said += [] if word.groundedness is None else [f"groundedness {word.groundedness:g}"]
        said += [] if word.quality is None else [f"quality {word.quality}"]
        said += [f"{name} {value:g}" for name, value in word.scores.items()]
        stage = "" if word.stage is None else f" ({word.stage.value})"
        click.echo(f"{word.reviewer}{stage}: {', '.join(each for each in said if each) or '–'}")
        if word.note:
            click.echo(f"  {readable(word.note)}")


def _texts(split: "Conflict") -> list[tuple[str, str | None]]:
    passages = (split.answer.passages if split.answer is not None else split.pair and split.pair.passages) or ()
    numbered = [(f"PASSAGE {number}", text) for number, text in enumerate(passages, 1)]
    if split.answer is not None:
        return [("QUESTION", split.answer.question), *numbered, ("ANSWER", split.answer.answer)]
    if split.pair is None:
        return []
    return [("QUESTION", split.pair.question), *numbered, ("A", split.pair.answer_a), ("B", split.pair.answer_b)]


def _split_json(split: "Conflict") -> dict[str, Any]:
    from judgeboard.text import iso_z

    return {
        "item": split.item.id,
        "queue": split.queue.name,
        "state": split.item.state.value,
        "id": None if split.answer is None else split.answer.external_id,
        "pair": split.item.pair_id,
        "differ_on": list(split.differ_on),
        "texts": {title.lower().replace(" ", "_"): text for title, text in _texts(split)},
        "reviews": [
            {
                "review": word.id,
                "reviewer": word.reviewer,
                "stage": None if word.stage is None else word.stage.value,
                "decision": word.decision,
                "label": word.label,
                "groundedness": word.groundedness,
                "quality": word.quality,
                "scores": word.scores,
                "note": word.note,
                "seconds": word.seconds,
                "at": iso_z(word.at),
            }
            for word in split.reviews
        ],
        "skips": [{"reviewer": skip.reviewer_id, "reason": skip.reason} for skip in split.skips],
    }
