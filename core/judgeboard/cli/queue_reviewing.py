"""``judgeboard queue next|decide|reveal|skip|release``: a queue reviewed in a terminal."""

import re
import secrets
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, given_grade, grade_options, note_option, show_json

if TYPE_CHECKING:
    from judgeboard.reviews.leases import LeasedItem
    from judgeboard.reviews.queue_decisions import DecidedItem
    from judgeboard.reviews.shown import ItemText
    from judgeboard.store.engine import Store
    from judgeboard.store.items import ItemFlag, ItemJudgment
    from judgeboard.store.reviewers import Reviewer


# What would steer a terminal: control characters, half characters, and marks that turn the direction of reading.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MISSING = "(not there: forgotten or never recorded)"


def readable(text: str | None) -> str:
    """Return a text of a log as a terminal may show it: without the control characters that would steer it."""
    return MISSING if text is None else _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def held_lines(held: "LeasedItem", text: "ItemText") -> list[str]:
    """Return an item with its guidelines and the commands that decide it."""
    from judgeboard.reviews.shown import PairText

    lines = [f"{held.queue.name}: item {held.item_id}, {readable(text.query_type)}, yours until {held.until:%H:%M} UTC"]
    if held.queue.guidelines:
        lines += _part("guidelines", held.queue.guidelines)
    lines += _part("question", text.question)
    if isinstance(text, PairText):
        lines += [line for number, one in enumerate(text.options, 1) for line in _part(f"option {number}", one)]
    for number, passage in enumerate(text.passages or (), 1):
        lines += _part(f"passage {number}", passage)
    if isinstance(text, PairText):
        lines += [*_part("left", text.left), *_part("right", text.right), ""]
        return [*lines, f"judgeboard queue decide {held.token} left|tie|right --note WHY"]
    if text.passages is None:
        lines += ["", "(the log carried no passages)"]
    lines += ["", f"ANSWER {readable(text.external_id)}", readable(text.answer), ""]
    return [*lines, f"judgeboard queue decide {held.token} confirm|dismiss|unsure {_options(held.queue.grades)}"]


def held_json(held: "LeasedItem", text: "ItemText") -> dict[str, Any]:
    """Return an item as JSON values."""
    from judgeboard.reviews.shown import PairText
    from judgeboard.text import iso_z

    shown: dict[str, Any] = {
        "item": held.item_id,
        "token": held.token,
        "until": iso_z(held.until),
        "queue": held.queue.name,
        "guidelines": held.queue.guidelines,
        "query_type": text.query_type,
        "question": text.question,
        "passages": None if text.passages is None else list(text.passages),
    }
    if isinstance(text, PairText):
        return shown | {"options": list(text.options), "left": text.left, "right": text.right}
    return shown | {"id": text.external_id, "answer": text.answer, "grades": list(held.queue.grades)}


def judge_lines(flags: "Sequence[ItemFlag]", judgments: "Sequence[ItemJudgment]") -> list[str]:
    """Return why an answer is flagged and what the judges say of it now."""
    lines = [readable(flag.why) for flag in flags]
    for one in judgments:
        groundedness = None if one.groundedness is None else f"groundedness {one.groundedness:.2f}"
        quality = None if one.quality is None else f"quality {one.quality}"
        said = ", ".join(each for each in (one.label, groundedness, quality) if each is not None) or "no score"
        lines += [f"{one.version_title} (judgment {one.id}): {said}"]
        lines += [f"  {readable(one.reasoning)}"] if one.reasoning else []
    return lines


def judge_json(flags: "Sequence[ItemFlag]", judgments: "Sequence[ItemJudgment]") -> dict[str, Any]:
    """Return the same as JSON values."""
    names = ("id", "version_title", "label", "groundedness", "quality", "reasoning")
    return {
        "flags": [{"rule": flag.rule, "why": flag.why} for flag in flags],
        "judgments": [{name: getattr(one, name) for name in names} for one in judgments],
    }


def _part(title: str, text: str | None) -> list[str]:
    return ["", title.upper(), readable(text)]


def _options(grades: Sequence[str]) -> str:
    known = {
        "label": "--label grounded|hallucinated",
        "groundedness": "--groundedness 0..1",
        "quality": "--quality 1..4",
    }
    return " ".join(known.get(grade, f"--score '{grade}=1..5'") for grade in grades)


ANSWER_WORDS = ("confirm", "dismiss", "unsure")
PAIR_WORDS = ("left", "tie", "right")
_SECONDS = click.option("--seconds", type=options.FiniteRange(0), help="How long you looked.")


@click.command("next", epilog=options.example("judgeboard queue next legal"))
@click.argument("name")
@as_json
@options.database
def next_(name: str, as_json: bool, db: str | None) -> None:
    """Take the next item of a queue.

    Its texts are shown, and the token that decides it. What you hold comes again until you decide it.
    """
    from judgeboard.cli.options import reviewer
    from judgeboard.reviews.leases import next_item
    from judgeboard.reviews.shown import item_texts, judges_on
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        who = reviewer(store)
        held = next_item(store, name, who)
        if held is None:
            show_json({"item": None}) if as_json else click.echo(f"{name} has nothing left for {who.name}")
            return
        with store.reading() as connection:
            (text,) = item_texts(connection, [held], who.id)
            shown = held.response_id is not None and not held.queue.blind_judge
            said = judges_on(connection, held.response_id or 0, who.id) if shown else ((), ())
    if as_json:
        show_json(held_json(held, text) | (judge_json(*said) if shown else {}))
        return
    lines = held_lines(held, text)
    told = judge_lines(*said)
    for line in [*lines[:-1], *told, "", lines[-1]] if told else lines:
        click.echo(line)


@click.command(
    "decide",
    epilog=options.example(
        "judgeboard queue decide 12.dWx9 confirm --groundedness 0.2 --note 'the fee is made up'",
        "judgeboard queue decide 12.dWx9 left",
    ),
)
@click.argument("token")
@click.argument("said", metavar="|".join((*ANSWER_WORDS, *PAIR_WORDS)), type=click.Choice((*ANSWER_WORDS, *PAIR_WORDS)))
@grade_options
@note_option
@_SECONDS
@click.option("--judgment", "judgment_id", type=options.ROW_ID, help="The judgment that you saw.")
@click.option("--reveal", is_flag=True, help="Show afterwards what the judge said.")
@as_json
@options.database
def decide(
    token: str,
    said: str,
    seconds: float | None,
    judgment_id: int | None,
    reveal: bool,
    as_json: bool,
    db: str | None,
    **grade: Any,
) -> None:
    """Decide the item that you hold.

    Confirm that the answer is bad, dismiss that, or be unsure; of a pair say which side is better. TOKEN is what
    `queue next` shows.
    """
    from judgeboard.cli.options import reviewer
    from judgeboard.domain import Decision
    from judgeboard.reviews.queue_decisions import decide_item, preference_at
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        who = reviewer(store)
        decision = preference_at(store, token, who, said) if said in PAIR_WORDS else Decision(said)
        decided = decide_item(
            store,
            token,
            reviewer=who,
            decision=decision,
            grade=given_grade(grade),
            judgment_seen_id=judgment_id,
            seconds=seconds,
            request_key=_press(),
        )
        judges = _reveal(store, who, decided.review_id) if reveal and decided.reveal else None
    _show_decided(decided, judges, as_json=as_json, asked_to_reveal=reveal)


@click.command(
    "reveal",
    epilog=options.example("judgeboard queue reveal 31", "judgeboard queue reveal 31 confirm --quality 2"),
)
@click.argument("review_id", type=options.ROW_ID, metavar="REVIEW")
@click.argument("said", required=False, type=click.Choice(ANSWER_WORDS))
@grade_options
@note_option
@_SECONDS
@click.option("--judgment", "judgment_id", type=options.ROW_ID, help="The judgment that you saw.")
@as_json
@options.database
def reveal(
    review_id: int,
    said: str | None,
    seconds: float | None,
    judgment_id: int | None,
    as_json: bool,
    db: str | None,
    **grade: Any,
) -> None:
    """Show the judge after a blind review.

    With a decision or a grade: say what you think now of the answer that you reviewed blind (REVIEW). That review
    stays and is the one that counts.
    """
    from judgeboard.cli.options import reviewer
    from judgeboard.domain import Decision, Grade
    from judgeboard.reviews.queue_decisions import answer_reveal
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        who, given = reviewer(store), given_grade(grade)
        if said is None and given == Grade():
            lines, values = _reveal(store, who, review_id)
            show_json(values) if as_json else click.echo("\n".join(lines))
            return
        stored = answer_reveal(
            store,
            review_id,
            reviewer=who,
            grade=given,
            decision=None if said is None else Decision(said),
            judgment_seen_id=judgment_id,
            seconds=seconds,
            request_key=_press(),
        )
    if as_json:
        show_json({"review": stored, "blind": review_id})
        return
    click.echo(f"stored beside your blind review, as review {stored}")


@click.command("skip", epilog=options.example("judgeboard queue skip 12.dWx9 --reason 'in French'"))
@click.argument("token")
@click.option("--reason", help="Why.")
@as_json
@options.database
def skip(token: str, reason: str | None, as_json: bool, db: str | None) -> None:
    """Put an item that you hold aside. Others get it, you do not again."""
    from judgeboard.cli.options import reviewer
    from judgeboard.reviews.leases import skip as skip_item
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        done = skip_item(store, token, reviewer(store), reason=reason)
    show_json({"skipped": done}) if as_json else click.echo("put aside" if done else _NOT_HELD)


@click.command("release", epilog=options.example("judgeboard queue release 12.dWx9"))
@click.argument("token")
@as_json
@options.database
def release(token: str, as_json: bool, db: str | None) -> None:
    """Give an item back undecided, for others and for you later."""
    from judgeboard.cli.options import reviewer
    from judgeboard.reviews.leases import release as release_item
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        done = release_item(store, token, reviewer(store))
    show_json({"released": done}) if as_json else click.echo("given back" if done else _NOT_HELD)


_NOT_HELD = "you do not hold this item any more"


def _reveal(store: "Store", who: "Reviewer", review_id: int) -> tuple[list[str], dict[str, Any]]:
    from judgeboard.reviews.queue_decisions import reveal as reveal_blind
    from judgeboard.reviews.shown import judges_on
    from judgeboard.store.reviews import review_by_id

    reveal_blind(store, review_id, reviewer=who)
    with store.reading() as connection:
        review = review_by_id(connection, review_id)
        said = judges_on(connection, (review and review.response_id) or 0, who.id)
    lines = judge_lines(*said) or ["no judge said anything of it"]
    return [*lines, "", f"judgeboard queue reveal {review_id} confirm|dismiss|unsure … says what you think now"], (
        judge_json(*said)
    )


def _show_decided(
    decided: "DecidedItem",
    judges: tuple[list[str], dict[str, Any]] | None = None,
    *,
    as_json: bool,
    asked_to_reveal: bool = False,
) -> None:
    if as_json:
        show_json(
            {"review": decided.review_id, "item": decided.item_id}
            | {"state": decided.state.value, "repeated": decided.repeated}
            | ({} if judges is None else judges[1])
        )
        return
    click.echo(f"stored; {_STATES[decided.state.value]}")
    if judges is not None:
        click.echo("\n".join(judges[0]))
    elif decided.reveal and not asked_to_reveal:
        click.echo(f"judgeboard queue reveal {decided.review_id} shows what the judge said")


_STATES = {
    "open": "the item needs more reviews",
    "agreed": "the item is settled",
    "conflict": "a lead decides it",
    "adjudicated": "the item is adjudicated",
    "left": "the item left its queue",
}


def _press() -> str:
    """A request key of its own for each command typed."""
    return f"cli:{secrets.token_urlsafe(16)}"
