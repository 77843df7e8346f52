"""``judgeboard queue adjudicate`` lists items in conflict and stores a lead's final decision."""

import secrets
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.asking import given_grade, grade_options
from judgeboard.cli.queue_reviewing import MISSING
from judgeboard.domain import GRADE_TEXTS, Decision, Preference
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import two_decimals
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.cli.asking import GradeKeywords
    from judgeboard.reviews.outcome import Conflict, ConflictPage
    from judgeboard.store.queue_items import QueueReview


PREFERENCES = ("a", "b", "tie")


@options.command(
    "judgeboard queue adjudicate --queue legal",
    "judgeboard queue adjudicate 17",
    "judgeboard queue adjudicate 17 --decision confirm --reason 'clause 3 says the contrary' --quality 1",
)
@click.argument("item_id", required=False, type=options.ROW_ID, metavar="[ITEM]")
@click.option("--queue", metavar="NAME", help="Without ITEM: list only the conflicts of this queue.")
@click.option(
    "--decision",
    type=click.Choice(("confirm", "dismiss", *PREFERENCES)),
    help="Final decision. For an answer: confirm that it is bad, or dismiss the flag. For a pair: the better answer "
    "(a or b, as `queue adjudicate ITEM` prints them), or tie.",
)
@click.option("--reason", help="Reason for the decision. Required with --decision.")
@grade_options
def adjudicate_command(
    item_id: int | None,
    queue: str | None,
    decision: str | None,
    reason: str | None,
    **grade: "Unpack[GradeKeywords]",
) -> None:
    """Decide items on which the reviews differ.

    Without ITEM, the command lists the conflicts. With ITEM, it prints the item and its reviews. With --decision, it
    stores the adjudication. The label of the adjudication is the gold label. `judgeboard agreement` measures judges
    and people against the gold labels.
    """
    from judgeboard.reviews.outcome import load_conflict, open_conflicts
    from judgeboard.reviews.queue_decisions import adjudicate
    from judgeboard.reviews.queues import schema_of_item

    if decision is not None and item_id is None:
        raise BadInput("--decision needs an ITEM: `judgeboard queue adjudicate` lists the items")
    if decision is not None and not (reason or "").strip():
        raise BadInput("--decision needs a reason: give it with --reason")
    store = options.open_store()
    who = options.reviewer(store)
    if decision is not None and item_id is not None:
        final_grade = given_grade(grade | {"note": reason}, schema_of_item(store, item_id))
        review_id = adjudicate(
            store,
            item_id,
            by=who,
            decision=Preference(decision) if decision in PREFERENCES else Decision(decision),
            grade=final_grade,
            request_key=f"cli:{secrets.token_urlsafe(16)}",
        )
        result = {"review": review_id, "item": item_id, "state": "adjudicated"}
        options.show(result, [f"Item {item_id} is adjudicated."])
        return
    with store.reading() as connection:
        if item_id is None:
            page = open_conflicts(connection, queue, limit=100)
            options.show({"conflicts": page.lines, "more": page.next is not None}, _list_lines(page))
        else:
            conflict = load_conflict(connection, item_id, who)
            options.show(_conflict_json(conflict), _conflict_lines(conflict), verbatim=True)


def _list_lines(page: "ConflictPage") -> Iterator[str]:
    from judgeboard.reviews.outcome import differ_words

    if not page.lines:
        yield "There are no conflicts."
    for line in page.lines:
        item = line.item
        subject = f"pair {item.pair_id}" if item.external_id is None else item.external_id
        reviews = f"{counted(line.reviews, 'review')} {differ_words(line.differ_on)}"
        yield f"item {item.item_id}  {item.queue}  {subject}  {reviews.rstrip()}"
    if page.next is not None:
        yield "There are more conflicts. The list shows them after these are adjudicated."


def _conflict_json(conflict: "Conflict") -> dict[str, Any]:
    parts = {each.name: getattr(conflict, each.name) for each in fields(conflict)}
    return parts | {"reviews": [_review_json(review) for review in conflict.reviews]}


def _review_json(review: "QueueReview") -> dict[str, Any]:
    """Return a review with the parts of its grade that are compared or shown, beside its own."""
    grade = review.grade
    return {
        "id": review.id,
        "reviewer_id": review.reviewer_id,
        "reviewer": review.reviewer,
        "stage": review.stage,
        "decision": review.decision,
        "label": grade.label,
        "groundedness": grade.groundedness,
        "quality": grade.quality,
        "scores": grade.by_dimension,
        "note": grade.note,
        "seconds": review.seconds,
        "at": review.at,
        "choices": grade.choices,
        "texts": grade.texts,
        "spans": grade.spans or (),
        **{name: getattr(grade, name) for name in GRADE_TEXTS},  # the note stays in its place above
    }


def _conflict_lines(conflict: "Conflict") -> Iterator[str]:
    from judgeboard.reviews.outcome import differ_words

    differ = f", reviews {differ_words(conflict.differ_on)}" if conflict.differ_on else ""
    yield f"{conflict.queue.name}: item {conflict.item.id}, {conflict.item.state}{differ}"
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
        yield f"\n{title}\n{MISSING if text is None else text}"
    yield ""
    for review in conflict.reviews:
        grade = review.grade
        parts = [review.decision, grade.label]
        parts += [] if grade.groundedness is None else [f"groundedness {two_decimals(grade.groundedness)}"]
        parts += [] if grade.quality is None else [f"quality {grade.quality}"]
        parts += [f"{name} {value:g}" for name, value in grade.by_dimension.items()]
        parts += [f"{name} {value}" for name, value in {**grade.choices, **grade.texts}.items()]
        stage = "" if review.stage is None else f" ({review.stage})"
        yield f"{review.reviewer}{stage}: {', '.join(part for part in parts if part) or '–'}"
        for name, text in grade.notes.items():
            yield f"  {text}" if name == "note" else f"  {GRADE_TEXTS[name].label}: {text}"
