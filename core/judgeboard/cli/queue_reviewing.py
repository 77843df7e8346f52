"""``judgeboard queue next|decide|reveal|skip|release``: work through a queue in a terminal."""

import secrets
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.cli.grade_options import given_grade, grade_options, note_option

if TYPE_CHECKING:
    from judgeboard.queues import DecidedItem
    from judgeboard.store.engine import Store
    from judgeboard.store.reviews.reviewers import Reviewer

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
    from judgeboard.cli.queue_lines import held_json, held_lines, judge_json, judge_lines
    from judgeboard.cli.terminal import reviewer
    from judgeboard.queues import item_texts, next_item
    from judgeboard.queues.judge_words import judges_on
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
    from judgeboard.cli.terminal import reviewer
    from judgeboard.domain import Decision
    from judgeboard.queues import decide_item, preference_at
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
    from judgeboard.cli.terminal import reviewer
    from judgeboard.domain import Decision, Grade
    from judgeboard.queues import answer_reveal
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
    from judgeboard.cli.terminal import reviewer
    from judgeboard.queues import skip as skip_item
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
    from judgeboard.cli.terminal import reviewer
    from judgeboard.queues import release as release_item
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        done = release_item(store, token, reviewer(store))
    show_json({"released": done}) if as_json else click.echo("given back" if done else _NOT_HELD)


_NOT_HELD = "you do not hold this item any more"


def _reveal(store: "Store", who: "Reviewer", review_id: int) -> tuple[list[str], dict[str, Any]]:
    from judgeboard.cli.queue_lines import judge_json, judge_lines
    from judgeboard.queues import reveal as reveal_blind
    from judgeboard.queues.judge_words import judges_on
    from judgeboard.store.reviews.reviews import review_by_id

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
    "settled": "the item is settled",
    "split": "a lead decides it",
    "adjudicated": "the item is adjudicated",
    "left": "the item left its queue",
}


def _press() -> str:
    """A request key of its own for each command typed."""
    return f"cli:{secrets.token_urlsafe(16)}"
