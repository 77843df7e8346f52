"""The group ``judgeboard queue``, and its commands to review one item, or all answers that match a filter."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.asking import given_grade, grade_options
from judgeboard.domain import Decision, Grade
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import two_decimals
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.cli.asking import GradeKeywords
    from judgeboard.formats.label_schema import LabelSchema, SchemaField
    from judgeboard.reviews.bulk import BulkAdded, BulkDecided
    from judgeboard.reviews.leases import LeasedItem
    from judgeboard.reviews.shown import ItemText
    from judgeboard.store.engine import Store
    from judgeboard.store.items import ItemFlag, ItemJudgment
    from judgeboard.store.reviewers import Reviewer

    Judges = tuple[Sequence[ItemFlag], Sequence[ItemJudgment]]


NO_PASSAGES = "(the log has no passages for this answer)"
MISSING = "(not available: forgotten or never recorded)"
ANSWER_DECISIONS = ("confirm", "dismiss", "unsure")
PAIR_DECISIONS = ("left", "tie", "right")
_NOT_LEASED = "You no longer lease this item."
_STATES = {
    "open": "The item needs more reviews.",
    "agreed": "The reviews of the item agree.",
    "conflict": "The reviews of the item differ, so a lead decides.",
    "adjudicated": "The item is adjudicated.",
    "left": "The item left its queue.",
}
_USAGE = {
    "label": "--label grounded|hallucinated",
    "groundedness": "--groundedness 0..1",
    "quality": "--quality 1..4",
}
_review_options: Callable[[options.F], options.F] = options.decorator(
    grade_options,
    click.option("--note", help="Reason for the grade."),
    click.option("--seconds", type=options.FiniteRange(0), help="Time that you spent on the item, in seconds."),
    click.option(
        "--judgment",
        "judgment_id",
        type=options.ROW_ID,
        help="Id of the judgment that you saw, as `queue next` prints it.",
    ),
)


@options.group(
    "judgeboard queue create legal --where query_type=legal --order oldest --needed 2 --blind-judge --assign Mara,Jon",
    "judgeboard queue next legal",
    "judgeboard queue decide TOKEN confirm --quality 2 --note 'the fee is made up'",
    "judgeboard queue list legal",
)
def queue_command() -> None:
    """Create review queues and label schemas; decide flags.

    A queue has answers or pairs. `queue adjudicate` decides items on which the reviews differ.
    """


@options.command("judgeboard queue next legal", group=queue_command)
@click.argument("name")
def next_(name: str) -> None:
    """Lease the next item of a queue and print it.

    The output has the item's texts and the token for `queue decide`. The command prints the same item until you
    decide, skip or release it.
    """
    from judgeboard.reviews.leases import next_item
    from judgeboard.reviews.nothing_left import nothing_left
    from judgeboard.reviews.queues import schema_of_item
    from judgeboard.reviews.shown import item_texts, judges_on
    from judgeboard.store.queues import queue_named

    store = options.open_store()
    who = options.reviewer(store)
    item = next_item(store, name, who)
    if item is None:
        with store.reading() as connection:
            nothing = nothing_left(connection, queue_named(connection, name), who.id)
        reason = "" if nothing is None else f" {nothing.reason}"
        leases, skipped = (0, 0) if nothing is None else (nothing.with_others, nothing.skipped)
        nothing_json = {"item": None, "leased": leases, "skipped": skipped}
        options.show(nothing_json, [f"{name} has nothing left for {who.name}.{reason}"])
        return
    with store.reading() as connection:
        (text,) = item_texts(connection, [item], who.id)
        shows_judge = item.response_id is not None and not item.queue.rules.blind_judge
        judges = judges_on(connection, item.response_id or 0, who.id) if shows_judge else None
    schema = schema_of_item(store, item.item_id)
    leased = {"item": item.item_id, "token": item.token, "until": item.until, "queue": item.queue.name}
    rules = item.queue.rules
    grades = {"grades": rules.grades, "optional_grades": rules.optional_grades}
    asked = {"guidelines": rules.guidelines, **grades, "texts": text}
    fields = {} if schema is None else {"schema": schema.as_json()}
    result = leased | asked | fields | _judges_json(judges)
    options.show(result, _item_lines(item, text, judges, schema), verbatim=True)


@options.command(
    "judgeboard queue decide 12.dWx9 confirm --groundedness 0.2 --note 'the fee is made up'",
    "judgeboard queue decide 12.dWx9 left",
    group=queue_command,
)
@click.argument("token")
@click.argument(
    "decision",
    metavar="|".join((*ANSWER_DECISIONS, *PAIR_DECISIONS)),
    type=click.Choice((*ANSWER_DECISIONS, *PAIR_DECISIONS)),
)
@_review_options
@click.option("--reveal", is_flag=True, help="Print the judge's result after a blind review.")
def decide(
    token: str,
    decision: str,
    seconds: float | None,
    judgment_id: int | None,
    reveal: bool,
    **grade: "Unpack[GradeKeywords]",
) -> None:
    """Store your review of a leased item.

    For an answer: `confirm` that it is bad, `dismiss` the flag, or `unsure`. For a pair: the side of the better
    answer. TOKEN is printed by `queue next`. `confirm` and `dismiss` need every grade that the queue requires.
    """
    from judgeboard.reviews.person_work import feedback_words, training_feedback
    from judgeboard.reviews.queue_decisions import decide_item, preference_at
    from judgeboard.reviews.queues import schema_of_item
    from judgeboard.store.leases import split_token
    from judgeboard.store.queue_items import item_by_id
    from judgeboard.store.queues import queue_by_id

    store = options.open_store()
    who = options.reviewer(store)
    on_pair = decision in PAIR_DECISIONS
    decided = decide_item(
        store,
        token,
        reviewer=who,
        decision=preference_at(store, token, who, decision) if on_pair else Decision(decision),
        grade=given_grade(grade, schema_of_item(store, split_token(token)[0])),
        judgment_seen_id=judgment_id,
        seconds=seconds,
        request_key=_request_key(),
    )
    judges = _reveal(store, who, decided.review_id) if reveal and decided.reveal else None
    with store.reading() as connection:
        feedback = training_feedback(connection, decided.item_id, decided.review_id)
        queue = queue_by_id(connection, item_by_id(connection, decided.item_id).queue_id)
    result: dict[str, Any] = {"review": decided.review_id, "item": decided.item_id, "state": decided.state}
    lines = [f"Stored. {_STATES[decided.state.value]}"]
    if feedback is not None:
        result |= {"agrees_with_gold": feedback.agrees, "differs_on": feedback.differ_on}
        lines = [f"Stored. {feedback_words(feedback)}"]
    if judges is not None:
        lines += _revealed_lines(judges, decided.review_id)
    elif decided.reveal and not reveal:
        lines.append(f"To see the judge's result: {options.completed(f'judgeboard queue reveal {decided.review_id}')}")
    options.show(result | {"repeated": decided.repeated} | _judges_json(judges), lines, verbatim=True)
    options.suggest("queue", "next", queue.name)


@options.command("judgeboard queue reveal 31", "judgeboard queue reveal 31 confirm --quality 2", group=queue_command)
@click.argument("review_id", type=options.ROW_ID, metavar="REVIEW")
@click.argument("decision", required=False, type=click.Choice(ANSWER_DECISIONS))
@_review_options
def reveal(
    review_id: int,
    decision: str | None,
    seconds: float | None,
    judgment_id: int | None,
    **grade: "Unpack[GradeKeywords]",
) -> None:
    """Show the judge's result for an item that you reviewed blind. REVIEW is the id that `queue decide` prints.

    If you add a decision or a grade, it is stored as your opinion after the reveal. Your blind review is kept, and
    only the blind review counts.
    """
    from judgeboard.reviews.queue_decisions import answer_reveal
    from judgeboard.store.label_schemas import schema_by_id
    from judgeboard.store.reviews import find_review

    store = options.open_store()
    who = options.reviewer(store)
    with store.reading() as connection:
        blind = find_review(connection, review_id)
        schema_id = None if blind is None else blind.label_schema_id
        schema = None if schema_id is None else schema_by_id(connection, schema_id).schema
    own_grade = given_grade(grade, schema)
    if decision is None and own_grade == Grade():
        judges = _reveal(store, who, review_id)
        options.show(_judges_json(judges), _revealed_lines(judges, review_id), verbatim=True)
        return
    new_decision = None if decision is None else Decision(decision)
    stored = answer_reveal(
        store,
        review_id,
        reviewer=who,
        decision=new_decision,
        grade=own_grade,
        judgment_seen_id=judgment_id,
        seconds=seconds,
        request_key=_request_key(),
    )
    line = f"Stored as review {stored}. Your blind review {review_id} is kept."
    options.show({"review": stored, "blind": review_id}, [line])


@options.command("judgeboard queue skip 12.dWx9 --reason 'in French'", group=queue_command)
@click.argument("token")
@click.option("--reason", help='Why you skip the item. With "cannot be judged", nobody else gets it.')
def skip(token: str, reason: str | None) -> None:
    """Release a leased item for others. `queue next` never shows it to you again."""
    from judgeboard.reviews.leases import skip as skip_item

    store = options.open_store()
    done = skip_item(store, token, options.reviewer(store), reason=reason)
    options.show({"skipped": done}, ["Skipped." if done else _NOT_LEASED])


@options.command("judgeboard queue release 12.dWx9", group=queue_command)
@click.argument("token")
def release(token: str) -> None:
    """Release a leased item without a decision. You or another reviewer can review it later."""
    from judgeboard.reviews.leases import release as release_item

    store = options.open_store()
    done = release_item(store, token, options.reviewer(store))
    options.show({"released": done}, ["Released." if done else _NOT_LEASED])


def _reveal(store: "Store", who: "Reviewer", review_id: int) -> "Judges":
    from judgeboard.reviews.queue_decisions import reveal as reveal_blind
    from judgeboard.reviews.shown import judges_on
    from judgeboard.store.reviews import find_review

    reveal_blind(store, review_id, reviewer=who)
    with store.reading() as connection:
        review = find_review(connection, review_id)
        return judges_on(connection, (review and review.response_id) or 0, who.id)


def _revealed_lines(judges: "Judges", review_id: int) -> Iterator[str]:
    yield from _judge_lines(judges) or ["No judge has judged this answer."]
    command = options.completed(f"judgeboard queue reveal {review_id} confirm|dismiss|unsure")
    yield f"\nTo store your opinion now: {command}"


def _item_lines(
    item: "LeasedItem", text: "ItemText", judges: "Judges | None", schema: "LabelSchema | None"
) -> Iterator[str]:
    """Yield an item with its guidelines, and the command to store a review of it."""
    from judgeboard.reviews.shown import PairText

    rules = item.queue.rules
    head = f"{rules.name}: item {item.item_id}, {text.query_type}"
    yield f"{head}, leased to you until {item.until:%H:%M} UTC"
    parts: list[tuple[str, str | None]] = [("GUIDELINES", rules.guidelines)] if rules.guidelines else []
    parts.append(("QUESTION", text.question))
    if isinstance(text, PairText):
        parts += [(f"OPTION {number}", option) for number, option in enumerate(text.options, 1)]
    parts += [(f"PASSAGE {number}", passage) for number, passage in enumerate(text.passages or (), 1)]
    if isinstance(text, PairText):
        parts += [("LEFT", text.left), ("RIGHT", text.right)]
        usage = "left|tie|right --note WHY"
    else:
        if text.passages is None:
            parts.append(("", NO_PASSAGES))
        parts.append((f"ANSWER {text.external_id}", text.answer))
        required = (_usage(grade) for grade in rules.grades)
        optional = (f"[{_usage(grade)}]" for grade in rules.optional_grades)
        fields = () if schema is None else (_field_usage(field) for field in schema.own)
        usage = " ".join(("confirm|dismiss|unsure", *required, *optional, *fields))
    for title, part in parts:
        yield from ("", title, MISSING if part is None else part) if title else ("", NO_PASSAGES)
    judge_lines = [] if judges is None else _judge_lines(judges)
    yield from ("", *judge_lines, "") if judge_lines else ("",)
    yield options.completed(f"judgeboard queue decide {item.token} {usage}")
    if not isinstance(text, PairText):
        yield "confirm: yes, the answer has a problem. dismiss: no, it has none. unsure: it does not count."


def _usage(grade: str) -> str:
    return _USAGE.get(grade, f"--score '{grade}=1..5'")


def _field_usage(field: "SchemaField") -> str:
    """Return the option that gives a field: "--field 'verdict=correct|wrong'"."""
    values = "yes|no" if field.type == "yes_no" else "|".join(map(str, field.values)) or field.type.value.upper()
    if field.type == "spans":
        values = f'[{{"type": "{field.values[0]}", "start": 0, "end": 9}}]'
    option = f"--field '{field.name}={values}'"
    return option if field.required else f"[{option}]"


def _judge_lines(judges: "Judges") -> list[str]:
    """Return why an answer is flagged, and the judges' current judgments of it."""
    flags, judgments = judges
    lines = [flag.why for flag in flags]
    for judgment in judgments:
        groundedness = None if judgment.groundedness is None else f"groundedness {two_decimals(judgment.groundedness)}"
        quality = None if judgment.quality is None else f"quality {judgment.quality}"
        scores = ", ".join(score for score in (judgment.label, groundedness, quality) if score is not None)
        lines += [f"{judgment.version_title} (judgment {judgment.id}): {scores or 'no score'}"]
        lines += [f"  {judgment.reasoning}"] if judgment.reasoning else []
    return lines


def _judges_json(judges: "Judges | None") -> dict[str, Any]:
    if judges is None:
        return {}
    flags, judgments = judges
    names = ("id", "version_title", "label", "groundedness", "quality", "reasoning")
    return {
        "flags": [{"rule": flag.rule, "why": flag.why} for flag in flags],
        "judgments": [{name: getattr(judgment, name) for name in names} for judgment in judgments],
    }


def _request_key() -> str:
    import secrets

    return f"cli:{secrets.token_urlsafe(16)}"


_mode = click.option("--mode", "modes", multiple=True, metavar="NAME", help="Failure mode to tag the answers with.")


class ManyKeywords(TypedDict):
    """The values of the options of an action on many answers."""

    where: RowFilter
    yes: bool
    bulk: str | None


_many_options = options.decorator(
    options.where,
    click.option("--yes", is_flag=True, help="Skip the confirmation."),
    click.option(
        "--bulk",
        metavar="ID",
        help="Id of an interrupted action, to complete it. The action prints its id when it begins.",
    ),
)


@options.command(
    "judgeboard queue confirm --where id=4711",
    "judgeboard queue confirm --where rule=low_groundedness --yes",
    group=queue_command,
)
@_mode
@_many_options
def confirm(modes: tuple[str, ...], **chosen: Unpack[ManyKeywords]) -> None:
    """Confirm all open flags of the selected answers. --where selects at most 10,000 answers."""
    _decide(Decision.CONFIRM, modes, **chosen)


@options.command("judgeboard queue dismiss --where query_type=smalltalk --yes", group=queue_command)
@_mode
@_many_options
def dismiss(modes: tuple[str, ...], **chosen: Unpack[ManyKeywords]) -> None:
    """Dismiss all open flags of the selected answers. --where selects at most 10,000 answers."""
    _decide(Decision.DISMISS, modes, **chosen)


@options.command("judgeboard queue tag --where rule=low_quality --mode 'off topic' --yes", group=queue_command)
@_mode
@_many_options
def tag(modes: tuple[str, ...], **chosen: Unpack[ManyKeywords]) -> None:
    """Tag the selected answers with failure modes. This decides no flag. --where selects at most 10,000 answers."""
    _decide(None, modes, **chosen)


@options.command(
    "judgeboard queue add legal --where query_type=legal --yes",
    "judgeboard queue add --person Mara --where rule=low_quality --yes",
    group=queue_command,
)
@click.argument("name", required=False)
@click.option("--person", metavar="NAME", help="Person to assign the answers to, in place of a queue NAME.")
@_many_options
def add(name: str | None, person: str | None, **chosen: Unpack[ManyKeywords]) -> None:
    """Add flagged answers to a queue. --where selects them.

    The queue is NAME, or with --person the queue of that person. --where selects at most 10,000 answers. They need not
    match the filter of the queue.
    """
    from judgeboard.reviews.bulk import add_many

    if (name is None) == (person is None):
        raise BadInput("name a queue, or a person with --person")
    _act("add", partial(add_many, queue=name, person=person), "added", **chosen)


@options.command("judgeboard queue undo 3fB0x2aQk1Zs", group=queue_command)
@click.argument("bulk", metavar="ID")
def undo(bulk: str) -> None:
    """Undo `queue confirm`, `dismiss`, `tag` or `add`.

    ID is the id that the action printed. The reviews of this action are withdrawn. Answers that `queue add` added are
    removed from the queue.
    """
    from judgeboard.reviews.bulk import undo_many

    store = options.open_store()
    undone = undo_many(store, bulk, reviewer=options.reviewer(store))
    options.show({"bulk": bulk, "undone": undone}, [f"undone on {counted(undone, 'answer')}"])


def _decide(decision: Decision | None, modes: tuple[str, ...], **chosen: Unpack[ManyKeywords]) -> None:
    from judgeboard.reviews.bulk import decide_many

    act = partial(decide_many, decision=decision, modes=modes)
    _act("tag" if decision is None else decision.value, act, "decided", **chosen)


def _act(
    verb: str,
    act: "Callable[..., BulkDecided | BulkAdded]",
    result: str,
    **chosen: Unpack[ManyKeywords],
) -> None:
    import secrets

    from judgeboard.reviews.bulk import MOST_ANSWERS
    from judgeboard.reviews.decisions import IMPLIED, implying_rules
    from judgeboard.reviews.queues import check_open_flags
    from judgeboard.store.open_flags import listed_answers

    store = options.open_store()
    who = options.reviewer(store)
    with options.seen(store).reading() as connection:
        check_open_flags(connection, chosen["where"], of="the list of flagged answers")
        ids = listed_answers(connection, chosen["where"], most=MOST_ANSWERS, reviewer_id=who.id)
        rules, unasked = implying_rules(connection, who.id)
    question = f"{verb.capitalize()} {counted(len(ids), 'answer')}?"
    if rules and not unasked and verb in {*IMPLIED}:
        question += f" For flags of {', '.join(rules)}, the label {IMPLIED[Decision(verb)]} is stored too."
    if not chosen["yes"] and (options.as_json() or not click.confirm(question, err=True)):
        raise BadInput("nothing was changed: use --yes to skip the confirmation")
    bulk_id = chosen["bulk"] or secrets.token_hex(6)
    click.echo(f"action {bulk_id}", err=True)  # before the action, because --bulk needs the id after an interruption
    with options.progress(f"{verb.capitalize()} answers") as shown:
        progress = partial(shown, total=len(ids))
        done = act(store, ids, reviewer=who, bulk_id=bulk_id, progress=lambda number: progress(completed=number))
    undo_line = [f"To undo: `judgeboard queue undo {bulk_id}`"] if chosen["bulk"] or getattr(done, result) else []
    options.show({"bulk": bulk_id, result: done}, [done.sentences, *undo_line])
