"""Actions on many answers, and their undo.

An action runs in parts; each part is one transaction with a fixed number of statements. If an
action is interrupted, the complete parts stay stored. The same action with the same id then does
the rest and decides no answer twice.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import Action, Decision, FlagState, Grade
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.measure.notes import note, paragraph
from judgeboard.people.permissions import allowed
from judgeboard.people.roster import people_named
from judgeboard.reviews.checks import checked_key
from judgeboard.reviews.decisions import (
    VERBS,
    checked_review,
    implying_rules,
    keeping_earlier,
    own_decisions,
    replaced_by,
    with_implied,
    withdrawal,
)
from judgeboard.reviews.outcome import update_states
from judgeboard.reviews.queues import check_open, create_queue
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import hidden_answers
from judgeboard.store.leases import PEOPLE
from judgeboard.store.own_reviews import delete_drafts
from judgeboard.store.queue_filling import add_answers
from judgeboard.store.queue_items import items_of_bulk, remove_items, reviewed_in_queues
from judgeboard.store.queues import (
    PAIRS,
    assignees,
    free_name,
    new_queue,
    queue_named,
    queues_by_person,
)
from judgeboard.store.reviews import (
    Review,
    bulk_decisions,
    graded_by,
    insert_reviews,
    lock_flags,
    lock_responses,
    newest_bulk,
    reviewed_by_others,
    reviews_of_bulk,
)
from judgeboard.store.statements import batches, grouped
from judgeboard.store.tables import Flag, Reviewer
from judgeboard.text import counted

MOST_ANSWERS = 10_000
PART = 1_000  # answers per transaction

Progress = Callable[[int], None]
"""A function that is called after each part with the number of answers done so far."""


@dataclass(frozen=True, slots=True)
class BulkDecided:
    """The result of one decision on many answers. The numbers count answers.

    ``decided`` answers were decided (only tagged, if ``decision`` is None). ``held`` of the decided
    answers stay open because a queue needs more reviews. The other answers are unchanged: the
    reviewer must review the answer ``blind``, has reviewed the answer in a queue that needs more
    reviews (``in_queue``), or the answer has no open flag (``closed``).
    """

    decision: Decision | None
    decided: int = 0
    held: int = 0
    blind: int = 0
    in_queue: int = 0
    closed: int = 0

    @property
    def sentences(self) -> str:
        """What the action did."""
        count_words = (
            (self.held, "still open: a queue needs more reviews"),
            (self.blind, "refused: you review them blind in a queue"),
            (self.in_queue, "refused: your review in a queue counts"),
            (self.closed, "unchanged: no open flag is left"),
        )
        verb = VERBS[self.decision] if self.decision else "tagged"
        first_sentence = f"{verb.capitalize()} {counted(self.decided, 'answer')}."
        if not self.decided and not any(number for number, _ in count_words):
            first_sentence = "No answer with an open flag matches, so nothing was changed."
        return " ".join(
            (first_sentence, *(f"{number:,} {words}." for number, words in count_words if number))
        )


def decide_many(
    store: Store,
    response_ids: Collection[int],
    *,
    reviewer: Reviewer,
    decision: Decision | None,
    bulk_id: str,
    modes: Collection[str] = (),
    progress: Progress | None = None,
    now: datetime | None = None,
) -> BulkDecided:
    """Confirm or dismiss all open flags of many answers, as `submit` does for one answer. Refused answers are counted.

    Each answer is tagged with the failure ``modes``. If there is no decision, only these tags are
    stored. An implied label is stored if the reviewer agreed to implied labels and has not graded
    the answer.

    Raises:
        BadInput: There are more than 10,000 answers, the decision is neither confirm nor dismiss,
            there is neither a decision nor a mode, or ``bulk_id`` belongs to another action.
    """
    if decision not in VERBS and (decision is not None or not modes):
        raise BadInput("many answers can be confirmed, dismissed, or tagged with failure modes")
    request = Review(reviewer.id, checked_key(f"bulk:{bulk_id}"), now or utc_now())
    grade = Grade(modes=tuple(modes))
    counts = Counter[str]()
    for part in _parts(response_ids, progress):
        with allowed(store, reviewer, Action.REVIEW) as connection:
            counts.update(_decide(connection, part, reviewer, decision, grade, bulk_id, request))
    return BulkDecided(decision, **counts)


def last_decided(connection: Connection, reviewer: Reviewer) -> tuple[str, BulkDecided] | None:
    """Return the id and the result of a reviewer's last decision on many answers, None after any later review."""
    bulk_id = newest_bulk(connection, reviewer.id)
    if bulk_id is None:
        return None
    decided = bulk_decisions(connection, bulk_id)
    return bulk_id, BulkDecided(decided[0].decision, len(decided))


@dataclass(frozen=True, slots=True)
class BulkAdded:
    """How many answers were added to a queue. The others (``left``) were in the queue already or are forgotten."""

    queue: str
    added: int
    left: int

    @property
    def sentences(self) -> str:
        """What the action did."""
        left_note = note("in_queue_before", n=self.left) if self.left else None
        return paragraph((note("added_to_queue", queue=self.queue, n=self.added), left_note))


def add_many(
    store: Store,
    response_ids: Collection[int],
    *,
    reviewer: Reviewer,
    bulk_id: str,
    queue: str | None = None,
    person: str | None = None,
    progress: Progress | None = None,
    now: datetime | None = None,
) -> BulkAdded:
    """Add many answers to an open ``queue``, or assign them to a ``person``. The queue's filter is not applied.

    Answers for a person go to an open queue "For NAME" or "For NAME-2" that is assigned to this
    person alone. If there is none, it is created.

    Raises BadInput if there are more than 10,000 answers, or if the queue is closed, has pairs, or
    is for training. Raises NotFound if nobody has the name.
    """
    at, added_count = now or utc_now(), 0
    name = queue or ""
    if person is not None:
        [assigned] = people_named(store, [person], new=False)
        with store.reading() as connection:
            own_names = {
                each.name
                for each in queues_by_person(connection).get(assigned.id, ())
                if each.subject != PAIRS
                and not each.training
                and len(assignees(connection, each.id)) == 1
            }
            name = free_name(connection, f"For {assigned.name}", own_names)
        if name not in own_names:
            new = new_queue(name, RowFilter(response_ids=()))
            create_queue(store, new, by=reviewer, assigned=(assigned,), now=now)
    for part in _parts(response_ids, progress):
        with allowed(store, reviewer, Action.ASSIGN) as connection:
            open_queue = queue_named(connection, name)
            check_open(open_queue)
            if open_queue.subject == PAIRS or open_queue.training:
                raise BadInput(
                    f"the queue {name!r} takes no answers: it is for pairs or for training"
                )
            lock_responses(connection, part)
            number = add_answers(connection, open_queue, part, bulk_id, at)
            details = {"bulk": bulk_id, "queue": name, "answers": number}
            record_event(connection, "bulk_add", reviewer.name, details=details, now=at)
        added_count += number
    return BulkAdded(name, added_count, len(set(response_ids)) - added_count)


def undo_many(
    store: Store, bulk_id: str, *, reviewer: Reviewer, now: datetime | None = None
) -> int:
    """Undo a bulk action; return the number of answers that changed.

    The action's current reviews are withdrawn, and the flags are open again. Answers that the
    action added leave the queue, unless somebody leases or has reviewed the answer there: any lead
    may undo this. Raises NotFound if there is no such action, and DecisionRefused if the reviews are
    somebody else's.
    """
    at, undone = now or utc_now(), 0
    with store.reading() as connection:
        decided, items = bulk_decisions(connection, bulk_id), items_of_bulk(connection, bulk_id)
    if not (items or decided):
        raise NotFound(f"no bulk action {bulk_id!r}")
    if decided and decided[0].reviewer_id != reviewer.id:
        raise DecisionRefused(
            f"This is {decided[0].by}'s action: only {decided[0].by} can undo it."
        )
    action = Action.ASSIGN if items else Action.REVIEW
    for part in batches(items or sorted({review.response_id for review in decided}), PART):
        with allowed(store, reviewer, action) as connection:
            if items:
                number = remove_items(connection, part, at)
            else:
                responses = lock_responses(connection, part)
                reviews = reviews_of_bulk(connection, bulk_id, part)
                rows = [withdrawal(review, f"{bulk_id}:undo:{review.id}", at) for review in reviews]
                insert_reviews(connection, rows)
                flags = lock_flags(
                    connection,
                    responses,
                    [flag_id for review in reviews for flag_id in review.flag_ids],
                )
                update_states(connection, None, flags, at)
                number = len(rows)
            details = {"bulk": bulk_id, "answers": number}
            record_event(connection, "bulk_undo", reviewer.name, details=details, now=at)
        undone += number
    return undone


def _parts(response_ids: Collection[int], progress: Progress | None) -> Iterator[Sequence[int]]:
    """Yield the answers of each part and report how many are done; raise BadInput if there are too many."""
    if len(response_ids) > MOST_ANSWERS:
        raise BadInput(
            f"one action covers at most {MOST_ANSWERS:,} answers, not {len(response_ids):,}"
        )
    answer_count = 0
    for part in batches(sorted(set(response_ids)), PART):
        yield part
        answer_count += len(part)
        if progress is not None:
            progress(answer_count)


def _decide(
    connection: Connection,
    response_ids: Sequence[int],
    reviewer: Reviewer,
    decision: Decision | None,
    grade: Grade,
    bulk_id: str,
    request: Review,
) -> dict[str, int]:
    """Decide one part in a fixed number of statements; return the counts of `BulkDecided`."""
    responses = lock_responses(connection, response_ids)
    # The answers that this action has decided already.
    earlier_reviews = bulk_decisions(connection, bulk_id, responses)
    action = (reviewer.id, decision)
    if any((review.reviewer_id, review.decision) != action for review in earlier_reviews):
        raise BadInput(
            f"the id {bulk_id!r} belongs to another bulk action: every action needs its own"
        )
    repeated = {review.response_id for review in earlier_reviews}
    blind = hidden_answers(connection, reviewer.id, responses) - repeated
    in_queue: Collection[int] = ()
    if decision is None:
        flags: dict[int, list[Flag]] = {id_: [] for id_ in responses.keys() - repeated - blind}
    else:
        in_queue = reviewed_in_queues(connection, responses, reviewer.id).keys() - repeated - blind
        flags = grouped(
            (flag.response_id, flag)
            for flag in lock_flags(connection, responses)
            if flag.response_id not in repeated | blind | in_queue
        )
    flag_ids = {id_: tuple(flag.id for flag in of_answer) for id_, of_answer in flags.items()}
    own_reviews = (
        own_decisions(connection, reviewer.id, flag_ids)
        if flag_ids and decision is not None
        else ()
    )
    earlier = grouped((review.response_id or 0, review) for review in own_reviews)
    others = reviewed_by_others(connection, flags, reviewer.id)
    answers_to_label = set() if decision is None else _implied(connection, flags, reviewer)
    reviews: list[Review] = []
    for ids, stored_grade in (
        (flags.keys() - answers_to_label, grade),
        (answers_to_label, with_implied(grade, decision)),
    ):
        if not ids:
            continue
        first = responses[next(iter(ids))]
        review = replace(request, decision=decision, grade=stored_grade, bulk=bulk_id, seen=())
        checked_base = checked_review(connection, first, review)
        for id_ in sorted(ids):
            key, parts = f"{request.request_key}:{id_}", (PEOPLE,) if id_ in others else ()
            review = replace(
                checked_base, response_id=id_, flag_ids=flag_ids[id_], seen=parts, request_key=key
            )
            own_earlier = earlier.get(id_, [])
            review, withdrawals = replaced_by(review, own_earlier)
            reviews += (
                *withdrawals,
                keeping_earlier(review, own_earlier[0] if own_earlier else None),
            )
    insert_reviews(connection, reviews)
    delete_drafts(connection, reviewer.id, flags)
    decided = {flag_id for review in reviews for flag_id in review.flag_ids}
    states, _ = update_states(
        connection, None, lock_flags(connection, responses, decided), request.at
    )
    details = {"bulk": bulk_id, "decision": decision, "answers": len(flags)}
    record_event(connection, "bulk_decide", reviewer.name, details=details, now=request.at)
    return {
        "decided": len(flags) + len(repeated),
        "held": sum(
            any(states[each] is FlagState.OPEN for each in of_answer)
            for of_answer in flag_ids.values()
        ),
        "blind": len(blind),
        "in_queue": len(in_queue),
        "closed": len(response_ids) - len(repeated) - len(blind) - len(in_queue) - len(flags),
    }


def _implied(
    connection: Connection, flags: Mapping[int, Sequence[Flag]], reviewer: Reviewer
) -> set[int]:
    """Return the answers that get an implied label: the reviewer agreed to such labels and gave no grade."""
    rules, unasked = implying_rules(connection, reviewer.id)
    if unasked:
        return set()
    implying = {
        id_ for id_, of_answer in flags.items() if any(flag.rule in rules for flag in of_answer)
    }
    return implying - graded_by(connection, implying, reviewer.id)
