"""Queues: created, closed and assigned by leads, and their progress."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import (
    Action,
    FlagState,
    ItemState,
    QueueOrder,
    QueueState,
    Role,
)
from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.formats.label_schema import LabelSchema
from judgeboard.people.permissions import Actor, actor_name, allowed, as_stored, role_of
from judgeboard.people.roster import list_people
from judgeboard.reviews.checks import ASKED
from judgeboard.reviews.outcome import update_flag_states
from judgeboard.settings.option_words import option_of, unit_of
from judgeboard.settings.sections import TESTS, QueueOptions
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.label_schemas import ensure_schema, schema_by_id, schema_named
from judgeboard.store.leases import count_declined
from judgeboard.store.next_items import add_training_items, count_gold
from judgeboard.store.queue_filling import (
    CreatedQueue,
    add_drawn,
    any_pairs,
    count_matching,
    count_sampled,
    fill_queue,
    values_without_rows,
)
from judgeboard.store.queue_items import decided_flags_in, item_by_id
from judgeboard.store.queues import (
    ORDER_LABELS,
    PAIRS,
    assign,
    assignees,
    count_items,
    count_leases,
    count_skipped,
    count_work,
    free_name,
    insert_queue,
    median_seconds,
    queue_by_id,
    queue_named,
    set_queue_state,
    unassign,
)
from judgeboard.store.reviewers import reviewers_by_id
from judgeboard.store.reviews import lock_flag
from judgeboard.store.strata import Candidate, DrawPlan, draw_by_stratum
from judgeboard.store.tables import Queue, Reviewer, SchemaVersion
from judgeboard.store.visible_sources import visible_queues
from judgeboard.text import some_of


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """The work of one person in a queue. ``leases`` is the number of items leased to the person now.

    ``median_seconds`` is the time per item without absences, None if no time was measured.
    """

    reviewer: Reviewer
    done: int = 0
    unsure: int = 0
    skipped: int = 0
    leases: int = 0
    median_seconds: float | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """The progress of a queue, with the options by label (``rules``).

    An item that needs reviews is ``leased`` or ``waiting``; the other states are the states of
    `ItemState`. An item is ``declined`` if somebody skipped the item because nobody can judge it.
    ``several`` is the number of items that need more than one review; ``several_finished`` of these
    items agree or are adjudicated. ``sampled`` is the number of randomly sampled answers; ``short``
    more were requested but are not available. Repeats count in the work of people, but not as
    items. A queue that is ``assigned_to`` nobody is open to everybody.
    """

    queue: Queue
    rules: Mapping[str, str]
    items: int
    waiting: int
    leased: int
    agreed: int
    declined: int
    conflict: int
    adjudicated: int
    left: int
    reviews: int
    reviews_needed: int
    several: int
    several_finished: int
    sampled: int
    short: int
    assigned_to: tuple[Reviewer, ...]
    people: tuple[PersonProgress, ...]

    @property
    def finished(self) -> int:
        """Items with reviews that agree, or with an adjudication."""
        return self.agreed + self.adjudicated


def create_queue(
    store: Store,
    new: Queue,
    *,
    by: Actor,
    assigned: Sequence[Reviewer] = (),
    schema: str | None = None,
    plan: DrawPlan | None = None,
    now: datetime | None = None,
) -> CreatedQueue:
    """Store a queue of `new_queue` and add everything that matches the filter.

    Args:
        store: The database.
        new: The queue, which is not stored yet.
        by: Who creates it.
        assigned: The people who may take items (default: everybody). A blind queue must be
            assigned: the queue hides the answers from these people until they have reviewed them.
        schema: Title of a label schema ("support v2", or a name for the newest version). Reviewers
            fill in the fields of the schema in place of the grades of the queue.
        plan: With a plan, the items are a random sample of each stratum (`draw_by_stratum`), and
            the strata are stored.
        now: The time (default: that of the clock).

    Raises:
        NoPeople: A blind queue is not assigned.
        BadInput: A queue has this name already, no flag can ever match, the queue does not fit the
            plan, or one of the people may not review.
        NotFound: There is no such schema.
    """
    at = now or utc_now()
    check_people(new, assigned)
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        new = new.changed(created_by=actor_name(by), created_at=at)
        if new.max_items is not None and not new.training:
            matching = count_matching(
                connection, new.filter, subject=new.subject, flagged_only=new.flagged_only
            )
            new = new.changed(drawn_from=matching)
        # The fields of the schema say which grades people are asked for.
        if schema is not None:
            if new.subject == PAIRS:
                raise BadInput("a queue of pairs has no label schema")
            version = schema_named(connection, schema)
            graded = [field for field in version.content.fields if field.name in ASKED]
            new = new.changed(
                label_schema_id=version.id,
                grades=tuple(field.name for field in graded if field.required),
                optional_grades=tuple(field.name for field in graded if not field.required),
            )
        candidates: list[Candidate] = []
        if plan is not None:
            new, candidates = _planned(connection, new, plan)
        queue = insert_queue(connection, new)
        if queue is None:
            raise BadInput(
                f"there is a queue {new.name!r} already: choose another name, for example "
                f"{free_name(connection, new.name)!r}"
            )
        if queue.subject != PAIRS:
            if queue.flagged_only:
                check_open_flags(connection, queue.filter, of="a queue")
            else:
                check_flag_rules(connection, queue.filter)
        assign_people(connection, queue.id, assigned)
        if queue.training:
            created = CreatedQueue(queue, _fill_training(connection, queue, assigned, at))
        elif plan is not None:
            created = add_drawn(connection, queue, candidates, at)
        else:
            created = fill_queue(connection, queue, at)
        details = {
            "queue": queue.name,
            "items": created.joined,
            "assigned_to": [person.id for person in assigned],
        }
        if queue.drawn_from is not None:
            details |= {"drawn_from": queue.drawn_from, "seed": queue.seed}
        record_event(connection, "make_queue", actor_name(by), details=details, now=at)
        return created


class NoPeople(BadInput):
    """A blind queue is not assigned to anybody."""


def check_people(queue: Queue, people: Collection[Reviewer]) -> None:
    """Raise `NoPeople` if a blind queue would be assigned to nobody, and so hide the answers from everybody."""
    if queue.blind and not people:
        raise NoPeople(
            "a blind queue hides its answers from its reviewers, so it must name them: assign it to them"
        )


def assign_people(connection: Connection, queue_id: int, people: Collection[Reviewer]) -> None:
    """Assign a queue to people. Raises BadInput, with the names of reviewers, if a person may not review."""
    assigned_ids = {person.id for person in assignees(connection, queue_id)}
    for person in people:
        current = as_stored(connection, person)
        role, sources = role_of(current), current.sources
        if sources is not None and queue_id not in visible_queues(connection, sources):
            raise BadInput(
                f"{person.name} sees only {some_of(sources)}: a queue for this person needs a filter that names "
                "these sources alone"
            )
        if person.id not in assigned_ids and Action.REVIEW not in role.actions:
            may_review = (
                line.person.name
                for line in list_people(connection)
                if Action.REVIEW in line.role.actions
            )
            why = "was removed" if role is Role.NONE else f"has the role {role}"
            raise BadInput(
                f"{person.name} may not review: this person {why}. People who may: {some_of(may_review)}"
            )
    assign(connection, queue_id, [person.id for person in people])


def close_queue(store: Store, name: str, *, by: Actor, now: datetime | None = None) -> Queue:
    """Close a queue for good. Flags that only this queue kept open get the state of the decisions."""
    at = now or utc_now()
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        queue = queue_named(connection, name)
        if queue.state is QueueState.CLOSED:
            return queue
        flag_ids = decided_flags_in(connection, queue.id)
        set_queue_state(connection, queue.id, QueueState.CLOSED)
        update_flag_states(connection, [lock_flag(connection, flag_id)[0] for flag_id in flag_ids])
        details = {"queue": queue.name, "flags": len(flag_ids)}
        record_event(connection, "close_queue", actor_name(by), details=details, now=at)
        return queue_by_id(connection, queue.id)


def assign_queue(
    store: Store,
    name: str,
    *,
    by: Actor,
    add: Sequence[Reviewer] = (),
    remove: Sequence[Reviewer] = (),
    now: datetime | None = None,
) -> Queue:
    """Assign a queue to people and remove other people from the queue.

    Raises BadInput if the queue is closed or one of the people may not review, and NoPeople if the
    queue is blind and nobody would be left.
    """
    at = now or utc_now()
    with allowed(store, by, Action.ASSIGN) as connection:
        queue = queue_named(connection, name)
        check_open(queue)
        added_ids, removed_ids = [person.id for person in add], [person.id for person in remove]
        assign_people(connection, queue.id, add)
        unassign(connection, queue.id, removed_ids)
        check_people(queue, assignees(connection, queue.id))
        if queue.training:
            _fill_training(connection, queue, add, at)
        details = {"queue": queue.name, "assigned_to": added_ids, "removed": removed_ids}
        record_event(connection, "assign_queue", actor_name(by), details=details, now=at)
        return queue


def check_open(queue: Queue) -> None:
    """Raise `BadInput` if a queue is closed."""
    if queue.state is QueueState.CLOSED:
        raise BadInput(f"the queue {queue.name!r} is closed")


def add_schema(store: Store, schema: LabelSchema, *, by: Actor) -> SchemaVersion:
    """Store a version of a label schema for queues; a schema that is stored already is returned unchanged."""
    at = utc_now()
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        version = ensure_schema(connection, schema, actor_name(by), at)
        if version.created_at == at:
            record_event(
                connection, "add_schema", actor_name(by), details={"schema": version.title}, now=at
            )
        return version


def schema_of_item(store: Store, item_id: int) -> LabelSchema | None:
    """Return the label schema of an item's queue, None if the queue has no schema."""
    with store.reading() as connection:
        return schema_of_queue(
            connection, queue_by_id(connection, item_by_id(connection, item_id).queue_id)
        )


def schema_of_queue(connection: Connection, queue: Queue) -> LabelSchema | None:
    """Return the label schema of a queue, None if the queue has no schema."""
    return (
        None
        if queue.label_schema_id is None
        else schema_by_id(connection, queue.label_schema_id).content
    )


def queue_progress(
    connection: Connection,
    queue: str | Queue,
    *,
    with_people: bool = True,
    for_lead: bool = True,
    now: datetime | None = None,
) -> QueueProgress:
    """Return the progress of a queue, with about ten statements for any size of the queue.

    ``with_people`` adds the work of each person, which reads all reviews of the queue. Leases
    depend on ``now``. Options of repeats and test items are included only ``for_lead``.
    """
    at = now or utc_now()
    if isinstance(queue, str):
        queue = queue_named(connection, queue)
    items = count_items(connection, queue.id)
    states = {
        state: sum(each.items for each in items if each.state is state) for state in ItemState
    }
    leased, reviews = count_leases(connection, queue.id, at)
    sampled, short = count_sampled(connection, queue) if queue.sampling_rate else (0, 0)
    several = [each for each in items if each.several and each.state is not ItemState.LEFT]
    assigned_to = tuple(assignees(connection, queue.id))
    finished = {ItemState.AGREED, ItemState.ADJUDICATED}
    declined = count_declined(connection, queue.id)
    schema_id = queue.label_schema_id
    schema = None if schema_id is None else schema_by_id(connection, schema_id)
    # The work of each person who is assigned or has worked or skipped here.
    people: list[PersonProgress] = []
    if with_people:
        work = count_work(connection, queue.id, at)
        seconds = median_seconds(connection, queue.id)
        skipped = count_skipped(connection, queue.id)
        person_ids = {*work, *skipped, *(person.id for person in assigned_to)}
        people = [
            PersonProgress(
                person,
                **work.get(person.id, {}),
                skipped=skipped.get(person.id, 0),
                median_seconds=seconds.get(person.id),
            )
            for person in reviewers_by_id(connection, person_ids)
        ]
        people.sort(key=lambda each: (-each.done, each.reviewer.name, each.reviewer.id))
    return QueueProgress(
        queue=queue,
        rules=describe_rules(queue, schema, for_lead=for_lead),
        items=sum(states.values()) - states[ItemState.LEFT],
        waiting=states[ItemState.OPEN] - leased,
        leased=leased,
        agreed=states[ItemState.AGREED] - declined,
        declined=declined,
        conflict=states[ItemState.CONFLICT],
        adjudicated=states[ItemState.ADJUDICATED],
        left=states[ItemState.LEFT],
        reviews=reviews,
        reviews_needed=sum(
            each.reviews_needed for each in items if each.state is not ItemState.LEFT
        ),
        several=sum(each.items for each in several),
        several_finished=sum(each.items for each in several if each.state in finished),
        sampled=sampled,
        short=short,
        assigned_to=assigned_to,
        people=tuple(people),
    )


def describe_rules(
    queue: Queue, schema: SchemaVersion | None = None, *, for_lead: bool = False
) -> dict[str, str]:
    """Return the options of a queue by label; options of repeats and test items only ``for_lead``.

    An option that is off, and off by default, is left out.
    """
    plan = queue.plan or {"strata": (), "judge": None, "other_judge": None}
    kind = "flagged answers" if queue.flagged_only else "answers"
    where = "all" if queue.filter == RowFilter() else describe(queue.filter)
    number = min(queue.max_items or 0, queue.drawn_from or 0)
    if queue.plan is not None:
        number = sum(stratum["drawn"] for stratum in plan["strata"])
    is_limited = queue.max_items is not None and queue.drawn_from is not None
    values = {
        "Items": PAIRS
        if queue.subject == PAIRS
        else "training answers"
        if queue.training
        else kind,
        "Filter": "added one by one" if queue.filter.response_ids == () else where,
        "Drawn": f"{number:,} of {queue.drawn_from:,}" if is_limited else None,
        "Seed": queue.seed if is_limited and queue.sort is QueueOrder.RANDOM else None,
        "Strata": str(len(plan["strata"]) or ""),
        "Judges": ", ".join(filter(None, (plan["judge"], plan["other_judge"]))),
        "Order": ORDER_LABELS[queue.sort],
        "Label schema": None if schema is None else schema.title,
    }
    # The guidelines are long, and shown separately.
    left_out = queue.unused() | {"guidelines"}
    for name, about in QueueOptions.model_fields.items():
        value = getattr(queue, name)
        is_off = not value and value == about.default
        option = option_of(about)
        is_for_leads = option is not None and option.group == TESTS
        if about.title and not is_off and name not in left_out and (for_lead or not is_for_leads):
            if isinstance(value, bool):
                values[about.title] = "yes" if value else "no"
            elif isinstance(value, tuple):
                values[about.title] = ", ".join(value) or "none"
            elif isinstance(value, int | float):
                factor, unit = unit_of(about)
                values[about.title] = f"{value * factor:g} {unit}".strip()
            else:
                values[about.title] = str(value)
    return {label: value for label, value in values.items() if value}


def queue_warnings(connection: Connection, queue: Queue) -> list[str]:
    """Return a sentence if the queue has too few people, and for each value that occurs nowhere yet."""
    of_pairs, where = queue.subject == PAIRS, queue.filter
    if of_pairs and not any_pairs(connection):
        return [
            "there are no pairs yet: add some with `judgeboard import FILE --kind pairs` or `judgeboard compare`"
        ]
    noun = "pair" if of_pairs else "answer"
    types = values_without_rows(connection, "query_type", where.query_types, of_pairs=of_pairs)
    sources = values_without_rows(connection, "source", where.sources, of_pairs=of_pairs)
    sentences = [
        *(f"no {noun} has the query type {value!r}" for value in types),
        *(f"no {noun} has the source {value!r}" for value in sources),
    ]
    people = len(assignees(connection, queue.id))
    if 0 < people < queue.reviews_needed and not queue.training:
        sentences.append(
            f"an item needs {queue.reviews_needed} reviews by different people: assign the queue to more than {people}"
        )
    if not of_pairs:
        dimensions = [grade for grade in queue.asked if grade not in ASKED]
        sentences += [
            f"nothing is scored on {dimension!r} yet: reviewers score it as a dimension of a rubric, 1 to 5"
            for dimension in values_without_rows(connection, "dimension", dimensions)
        ]
    return sentences


def _fill_training(
    connection: Connection, queue: Queue, people: Sequence[Reviewer], now: datetime
) -> int:
    """Add the items of a training queue for these people; return how many items each person gets."""
    golds = count_gold(connection, queue.filter, queue.label_schema_id)
    if not golds:
        raise BadInput("no matching answer has a gold label: training needs adjudicated answers")
    for person in people:
        add_training_items(connection, queue, person.id, now)
    return min(golds, queue.max_items or golds)


def _planned(connection: Connection, new: Queue, plan: DrawPlan) -> tuple[Queue, list[Candidate]]:
    """Return a queue with its plan, and its answers."""
    is_lot = new.sort is QueueOrder.RANDOM and not new.flagged_only and not new.training
    if new.subject == PAIRS or not is_lot or new.max_items is None:
        raise BadInput("a planned queue has a number of answers, flagged or not, in random order")
    strata, candidates = draw_by_stratum(connection, new.filter, plan, new.max_items, new.seed)
    plan_values = plan.as_dict() | {"strata": [each.as_dict() for each in strata]}
    return new.changed(
        plan=plan_values, drawn_from=sum(each.answers for each in strata)
    ), candidates


def check_flag_rules(connection: Connection | None, where: RowFilter) -> None:
    """Raise `BadInput` for a rule of a filter that neither exists nor has flags in the database, if there is one."""
    unknown = [rule for rule in where.rules if rule not in RULES]
    if connection is not None:
        unknown = values_without_rows(connection, "rule", unknown)
    if unknown:
        raise BadInput(f"there is no rule {unknown[0]!r}; rules: {', '.join(RULES)}")


def check_open_flags(connection: Connection, where: RowFilter, *, of: str) -> None:
    """Raise `BadInput` for a rule that does not exist, or a state of flags other than open; ``of`` names the list."""
    check_flag_rules(connection, where)
    decided = [state for state in where.states if state != FlagState.OPEN]
    if decided:
        raise BadInput(f"{of} has open flags only: leave out state={decided[0]}")
