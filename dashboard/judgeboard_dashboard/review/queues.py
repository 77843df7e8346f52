"""The parts of the view Queues: the list of queues, one queue with people, and the form for a new queue."""

import hashlib
from collections.abc import Sequence
from itertools import chain
from itertools import count as count_from
from typing import Any

import streamlit as st
from pydantic.fields import FieldInfo

from judgeboard.domain import Action, QueueOrder, QueueState
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure import notes
from judgeboard.measure.plans import draw_plan
from judgeboard.people.permissions import ENTERED, SIGNED_IN, may
from judgeboard.people.roster import people_named
from judgeboard.reviews.checks import ASKED
from judgeboard.reviews.queue_work import MOST_COUNTED, nothing_left, own_queues
from judgeboard.reviews.queues import (
    PersonProgress,
    QueueProgress,
    assign_queue,
    close_queue,
    create_queue,
    queue_progress,
)
from judgeboard.settings.option_words import bounds, unit_of
from judgeboard.settings.sections import FIRST_SAMPLE, FIRST_SAMPLE_NAME, PRESETS, QueueOptions
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.next_items import count_gold
from judgeboard.store.queue_filling import count_matching
from judgeboard.store.queues import (
    ANSWERS,
    LONGEST_NAME,
    ORDER_LABELS,
    PAIRS,
    find_queue,
    list_queues,
    new_queue,
    orders_of,
)
from judgeboard.store.reviewers import reviewers_of
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import as_label, show, show_div, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.review.schema_editor import schema_editor
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    current_reviewer,
    in_row,
    open_rows,
    problem,
    read,
    read_all,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.widgets.filters import filter_in_address, query_of
from judgeboard_dashboard.widgets.navigation import (
    EVERY_ITEM,
    PAIR_ITEMS,
    PLANNED_ITEMS,
    Rows,
    go,
    open_button,
    pick_rows,
    start_button,
)
from judgeboard_dashboard.widgets.tables import choose_row, foot, show_rows
from judgeboard_dashboard.widgets.texts import (
    WORST_HELP,
    capital,
    caption,
    confirm,
    confirmation,
    count,
    day,
    empty,
    heading,
    note,
    sentence,
    when,
)

FLAGGED, EVERY = "Flagged answers", "Answers, flagged or not"
TRAINING = "Training"
ITEMS = (FLAGGED, EVERY, TRAINING, "Pairs")
_PRESET, _SIZE, _PROPOSED, _NEW_SCHEMA = "nq_preset", "nq_size", "nq_proposed", "nq_new_schema"
MOST_SHOWN = 5  # of a person's own queues
GRADES = {"label": "Label", "groundedness": "Groundedness", "quality": "Quality"}
PRESET_SIZE = 100
CHOICES = {"As in Settings": None, "Yes": True, "No": False}
MOST = 50
PLAN_LABELS = "Plan the labels for a figure"


PEOPLE_COLUMNS: Columns[PersonProgress] = {
    Column("Person", width=200): lambda person: person.reviewer.name,
    Column("Done", "count", width=65): lambda person: person.done,
    Column("Unsure", "count", width=70): lambda person: person.unsure,
    Column("Skipped", "count", width=75): lambda person: person.skipped,
    Column("Leased", "count", width=70): lambda person: person.leases,
    Column("Seconds", "integer", width=90, help="Median per item; breaks are not counted"): (
        lambda person: person.median_seconds
    ),
    Column("Last", width=115): lambda person: None if person.last is None else when(person.last),
}


def list_table(queues: Sequence[QueueProgress], reviewer_id: int | None) -> Table:
    """Return one row for each queue."""

    def title(progress: QueueProgress) -> str:
        return (
            f"{progress.queue.name}{'' if progress.queue.state is QueueState.OPEN else ' (closed)'}"
        )

    def done(progress: QueueProgress) -> int:
        return sum(person.done for person in progress.people if person.reviewer.id == reviewer_id)

    columns: Columns[QueueProgress] = {
        Column("Queue", width=210): title,
        Column(
            "Finished", "share", width=120, help="Items with a final decision", bar=True
        ): lambda progress: (
            # whole percents; 100 only when all are finished
            progress.finished * 100 // progress.items / 100 if progress.items else None
        ),
        Column("You", "count", width=55, help="Items that you reviewed"): done,
        Column("Open", "count", width=75, help="Items that can be leased"): lambda progress: (
            progress.waiting
        ),
        Column("Leased", "count", width=70, help="Items that somebody is reviewing now"): (
            lambda progress: progress.leased
        ),
        Column("Conflicts", "count", width=75, help="Reviewers differ: a lead adjudicates"): (
            lambda progress: progress.conflict
        ),
        Column("Items", width=90, right=True): item_words,
        Column("Reviews", width=95, help="Number of reviews given, and number needed"): (
            lambda progress: f"{progress.reviews:,} / {progress.reviews_needed:,}"
        ),
        Column(
            "Created", width=85, help="Open queues first, then the newest first"
        ): lambda progress: day(progress.queue.created_at),
        Column("Assigned to", width=150): lambda progress: (
            ", ".join(person.name for person in progress.assigned_to) or "everybody"
        ),
    }
    return Table.of(queues, columns)


def item_words(progress: QueueProgress) -> str:
    """Return the number of items of a queue with the noun, for example "30 pairs"."""
    return count(progress.items, "pair" if progress.queue.subject == PAIRS else "answer")


def progress_words(progress: QueueProgress) -> str:
    """Return the progress of a queue as a sentence."""
    items = item_words(progress)
    if progress.queue.state is QueueState.CLOSED:
        return notes.note(
            "queue_closed", finished=progress.finished, items=items, reviews=progress.reviews
        ).text
    parts = [f"{progress.waiting:,} of {items} open"]
    if progress.leased:
        parts.append(f"{progress.leased:,} leased")
    if progress.conflict:
        parts.append(f"{count(progress.conflict, 'conflict')}")
    if progress.declined:
        parts.append(f"{progress.declined:,} declined")
    return f"{', '.join([*parts, f'{progress.finished:,} finished'])}."


def short_sample_note(progress: QueueProgress) -> notes.Note | None:
    """Return how many answers the random sample lacks; None if the sample is complete."""
    return (
        notes.note("short_sample", sampled=progress.sampled, short=progress.short)
        if progress.short
        else None
    )


def known_people() -> list[str]:
    """Return the names of people who may review: people with a sign-in, otherwise people who entered a name."""
    origins = (SIGNED_IN,) if sign_in().asked else (SIGNED_IN, ENTERED)
    with reading() as connection:
        people = [person for origin in origins for person in reviewers_of(connection, origin)]
    return sorted({person.name for person in people if may(person, Action.REVIEW)})


def _chosen_queue(progress: QueueProgress, reviewer: Reviewer) -> None:
    queue, lead = progress.queue, may(reviewer, Action.ASSIGN)
    is_open = queue.state is QueueState.OPEN
    nothing = read(nothing_left, queue, reviewer.id) if is_open else None
    with in_row("queue_chosen", wrap=False):
        show_div("jb-say jb-line", tag("b", queue.name), " · ", progress_words(progress))
        if progress.conflict and lead:
            rows = Rows("conflicts", {"of": queue.name})
            label = count(progress.conflict, "conflict")
            open_button(label, rows, key="queue_conflicts", icon=":material/call_split:")
        if queue.of_rate and progress.reviews:
            open_button(
                "Share of bad answers",
                Rows("overview", {}),
                key="queue_rate",
                icon=":material/percent:",
            )
        if nothing is None or nothing.skipped:  # the page of the queue offers the skipped items
            rows = Rows("item", {"queue": queue.name})
            start_button("Start reviewing", rows, key="queue_review", disabled=not is_open)
    if nothing is not None:
        show_div("jb-say", nothing.note.text)
    caption(" · ".join(f"{label}: {value}" for label, value in progress.rules.items()))
    sample = short_sample_note(progress)
    if sample is not None:
        note(sample.text, lead="The random sample is short.")
    left, right = stacking_columns("queue", [1.3, 1])
    with left:
        heading("People")
        if progress.people:
            people = Table.of(progress.people, PEOPLE_COLUMNS)
            show_rows(people, key=f"queue_people_{queue.id}", most=8)
        else:
            show_div("jb-mut", "Nobody has reviewed anything yet.")
    with right:
        if lead and is_open:
            _lead(progress, reviewer)
        if queue.guidelines:
            heading("Guidelines")
            show_div("jb-reason", queue.guidelines)


def _lead(progress: QueueProgress, reviewer: Reviewer) -> None:
    queue = progress.queue
    heading("Assigned to")
    now = [person.name for person in progress.assigned_to]
    with in_row("queue_assign", align="bottom"):
        names = st.multiselect(
            "Assigned to",
            sorted({*known_people(), *now}),
            default=now,
            key=f"queue_given_{queue.id}_{len(now)}",
            accept_new_options=True,
            placeholder="Everybody",
            label_visibility="collapsed",
            width="stretch",
        )
        if button("Save", key="queue_assign_save", disabled=set(names) == set(now)):
            with saving():
                people = people_named(store(), names, new=not sign_in().asked, by=reviewer)
                former_people = [person for person in progress.assigned_to if person not in people]
                assign_queue(store(), queue.name, by=reviewer, add=people, remove=former_people)
        with st.popover("Close", icon=":material/lock:"):
            show(
                tag(
                    "div",
                    "Nobody can review in a closed queue, and it cannot be opened again. Its reviews are kept.",
                )
            )
            if button(f"Close {as_label(queue.name)}", key="queue_close"):
                close_queue(store(), queue.name, by=reviewer)
                st.rerun()
    if queue.blind and progress.assigned_to:
        caption("Assigned reviewers of a blind queue see its answers only in the queue.")
    elif queue.blind:
        caption(
            "Its answers are hidden from everybody until they have reviewed them. Assign it to its reviewers."
        )


def your_queues(reviewer: Reviewer | None, subject: str | None = None) -> bool:
    """Show the queues that are assigned to a person and have items left. Return False without such queues.

    ``subject`` limits the list to queues of answers or of pairs.
    """
    if reviewer is None:
        return False
    own = [work for work in read(own_queues, reviewer.id) if subject in {None, work.queue.subject}]
    if not own:
        return False
    with st.container(key="your_queues", gap="xsmall"):
        heading("Your queues")
        for place, (queue, reviewed, rest, skipped) in enumerate(own[:MOST_SHOWN]):
            with in_row():
                rows = Rows("item", {"queue": queue.name})
                start_button(
                    "Start",
                    rows,
                    key=f"your_queue_{queue.id}",
                    shortcut="Enter" if place == 0 else None,
                )
                number = f"more than {MOST_COUNTED - 1:,}" if rest >= MOST_COUNTED else f"{rest:,}"
                of_them = f" ({skipped:,} skipped)" if skipped else ""
                pairs = (" pair" if rest == 1 else " pairs") if queue.subject == PAIRS else ""
                words = f"{number}{pairs} left for you{of_them}, {reviewed:,} done"
                show_div("jb-say jb-line", tag("b", queue.name), f" · {words}")
        if len(own) > MOST_SHOWN:
            caption(f"{len(own) - MOST_SHOWN:,} more are under Queues.")
    return True


def start_reviewing() -> None:
    """Show the button that starts the review: the person's first queue, a new blind random sample, or the flags.

    The sample is created once, and assigned to everybody who may review.
    """
    reviewer = current_reviewer()
    with reading() as connection:
        own = [] if reviewer is None else own_queues(connection, reviewer.id)
        is_drawn = find_queue(connection, FIRST_SAMPLE_NAME) is not None
    if own or reviewer is None or is_drawn or not may(reviewer, Action.MAKE_QUEUES):
        start_button(
            "Start reviewing",
            Rows("item", {"queue": own[0].queue.name} if own else {}),
            key="overview_start",
        )
        return
    with in_row("overview_start_row"):
        tip = f"Draws {FIRST_SAMPLE.max_items} answers at random. You label them before you see the judge."
        icon = ":material/play_arrow:"
        if button(
            "Start reviewing",
            key="overview_start",
            type="primary",
            icon=icon,
            shortcut="Enter",
            help=tip,
        ):
            with saving("Not created"):
                plan = read_all(draw_plan, RowFilter())
                create_queue(
                    store(),
                    new_queue(FIRST_SAMPLE_NAME, **FIRST_SAMPLE.given()),
                    by=reviewer,
                    assigned=people_named(store(), [*known_people(), reviewer.name], by=reviewer),
                    plan=plan,
                )
                open_rows("item", queue=FIRST_SAMPLE_NAME)
        open_button("Open the flags", Rows("item", {}), key="overview_start_flags")


def queue_list() -> None:
    """Show the queues that the person may review; a lead sees all."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    lead = may(reviewer, Action.MAKE_QUEUES)
    confirmation("queues")
    with in_row("queues_top"):
        closed = st.toggle("Include closed queues", key="queues_closed")
        if lead:
            button(
                "New queue",
                key="queues_new",
                icon=":material/add:",
                on_click=go,
                kwargs={"new": "1"},
            )
    with reading() as connection:
        newest = list_queues(connection, only_open=not closed)[:MOST]
        progress = [queue_progress(connection, queue, for_lead=lead) for queue in newest]
    queues = [
        each
        for each in progress
        if lead or not each.assigned_to or reviewer.id in {person.id for person in each.assigned_to}
    ]
    open_queues = [each for each in queues if each.queue.state is QueueState.OPEN]
    if open_queues:
        items = sum(each.waiting for each in open_queues)
        sentence(f"{count(len(open_queues), 'open queue')} with {count(items, 'open item')}.")
    if len(newest) == MOST:
        caption(f"Shows the newest {MOST:,}. `judgeboard queue list` shows all.")
    if not queues:
        to_create = "Create one with New queue, or in a terminal: `judgeboard queue create NAME`"
        empty(
            "No queue is open.",
            to_create
            if lead
            else "Leads create queues. All other open flags are under Open flags.",
        )
        return
    names = [progress.queue.name for progress in queues]
    key = f"queues_{hashlib.sha256(repr(names).encode()).hexdigest()[:8]}"  # a selection is an index into the names
    rows = list_table(queues, reviewer.id)
    place = choose_row(rows, key=key, most=8)
    foot(rows, "queues")
    _chosen_queue(queues[place], reviewer)


def new_queue_head(new: str) -> None:
    """Show the heading over a form of a new queue, to leads: the usual form and that of a plan lead to each other."""
    demand(Action.MAKE_QUEUES)
    label, other = (
        ("Choose the items yourself", EVERY_ITEM)
        if new == PLANNED_ITEMS
        else (PLAN_LABELS, PLANNED_ITEMS)
    )
    with in_row("new_queue_top"):
        heading("New queue")
        button(label, key="new_queue_other", on_click=go, kwargs={"new": other})
        st.button(
            "Back to the queues",
            key="new_queue_back",
            type="tertiary",
            on_click=go,
            kwargs={"new": None},
        )


def queue_form() -> None:
    """Show the form that creates a queue from rules."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    where = filter_in_address()
    left, right = stacking_columns("new_queue", 2, gap="large")
    values: dict[str, Any] = {}
    with left:
        st.selectbox(
            "Start from a preset",
            list(PRESETS),
            index=None,
            format_func=lambda name: PRESETS[name].words,
            key=_PRESET,
            placeholder="None: choose everything yourself",
            on_change=_use_preset,
        )
        _what(values, where)
    with right:
        # First, because the possible orders and the size depend on these options.
        schema = None if values["subject"] == PAIRS else _schema()
        _options(
            values,
            are_numbers=False,
            without=() if schema is None else ("grades", "optional_grades"),
        )
        is_blind = values["blind_judge"] or values["blind_people"]
        people = st.multiselect(
            "Assign to",
            known_people(),
            key="nq_people",
            accept_new_options=True,
            placeholder="Choose its reviewers"
            if is_blind or values["subject"] == PAIRS or values["training"]
            else "Everybody",
            help="A blind queue must name its reviewers. They see its answers only in the queue, until they have "
            "reviewed them.",
        )
    with left:
        _order(values)
        _options(values, are_numbers=True)
        _size(values)
    with in_row("nq_end"):
        if button("Create queue", key="nq_create", type="primary", icon=":material/add:"):
            with saving("Not created"):
                new = new_queue(**values)
                assigned = people_named(store(), people, new=not sign_in().asked, by=reviewer)
                created = create_queue(store(), new, by=reviewer, assigned=assigned, schema=schema)
                items = count(created.joined, "pair" if new.subject == PAIRS else "answer")
                sample = f" ({created.sampled:,} randomly sampled)" if created.sampled else ""
                message = f"Created: {created.queue.name} with {items}{sample}."
                if created.short:
                    message += f" {created.short:,} more were requested, but no random-sample flags are left."
                confirm("queues", message)
                go(new=None)


def _what(values: dict[str, Any], where: RowFilter) -> None:
    values["name"] = st.text_input(
        "Name", key="nq_name", placeholder="March audit", max_chars=LONGEST_NAME
    )
    asked_for = {EVERY_ITEM: EVERY, PAIR_ITEMS: ITEMS[-1]}.get(
        st.query_params.get("new", ""), FLAGGED
    )
    st.session_state.setdefault("nq_subject", asked_for)
    items = st.segmented_control("Items", ITEMS, required=True, key="nq_subject")
    values["subject"] = PAIRS if items == ITEMS[-1] else ANSWERS
    values["training"] = items == TRAINING
    values["flagged_only"] = items not in {EVERY, TRAINING}
    values["where"] = where
    noun = "answers with a gold label" if values["training"] else (items or FLAGGED).casefold()
    with in_row():
        words = f"all {noun}" if where == RowFilter() else f"{noun}: {describe(where)}"
        show_div("jb-say", tag("b", "Which: "), words)
        view, page = (
            ("open_flags", "Open flags") if values["flagged_only"] else ("responses", "Answers")
        )
        open_button(
            f"Filter them under {page}",
            Rows(view, query_of(where)),
            key="nq_narrow",
            type="tertiary",
        )


def _order(values: dict[str, Any]) -> None:
    if values["training"]:
        caption(
            "Everybody reviews all items, in random order, and is told the gold label after each review."
        )
        values["sort"] = QueueOrder.RANDOM
        return
    if values["subject"] == PAIRS:
        caption("Pairs are chosen by query type, source, model and id.")
    blind = values["blind_judge"] or values["subject"] == PAIRS
    order = st.selectbox(
        "Order",
        orders_of(blind=blind, flagged_only=values["flagged_only"]),
        key=_order_field(blind, values["flagged_only"]),
        format_func=lambda order: capital(ORDER_LABELS[order]),
        help=f"{WORST_HELP} This also holds for answers of the same difference. Answers that join the queue later come "
        "after those of the same severity, difference or day.",
    )
    values["sort"] = order or QueueOrder.OLDEST


def _options(values: dict[str, Any], *, are_numbers: bool, without: Sequence[str] = ()) -> None:
    """Show a field for each option that has a title and an effect on the queue, and store the value in ``values``."""
    # The guidelines come last, because the field for guidelines is the largest one.
    options = QueueOptions.model_fields.items()
    for name, about in sorted(options, key=lambda option: option[0] == "guidelines"):
        unused = QueueOptions.model_construct(**values).unused()
        is_shown = about.title is not None and name not in unused and name not in without
        if is_shown and (about.annotation in {int, float}) == are_numbers:
            values[name] = _option(name, about)


def _option(name: str, about: FieldInfo) -> object:
    """Show the field of an option, and return the value."""
    title, tip, key = about.title or name, about.description, f"nq_{name}"
    # The state of the session has the value of a preset.
    st.session_state.setdefault(key, _shown(about, about.default))
    if about.annotation in {int, float}:
        factor, unit = unit_of(about)
        low, high = bounds(about)
        number = st.number_input(
            f"{title} ({unit})" if unit else title,
            float(low * factor),
            float(high * factor),
            step=1.0,
            format="%.4g",
            key=key,
            help=tip,
        )
        return round(number / factor) if about.annotation is int else number / factor
    if about.annotation is bool:
        return st.checkbox(title, key=key, help=tip)
    if isinstance(about.default, tuple):
        grades = st.multiselect(
            title,
            ASKED,
            format_func=lambda name: GRADES.get(name, name),
            key=key,
            accept_new_options=True,
            placeholder="None",
            help=tip,
        )
        return tuple(grades)
    if about.annotation == bool | None:
        choice = st.segmented_control(title, list(CHOICES), required=True, key=key, help=tip)
        return CHOICES.get(choice or "")
    text = st.text_area(title, key=key, height=140, help=tip)
    return text.strip() or None


def _shown(about: FieldInfo, value: Any) -> object:
    """Return the value of an option in the form that the field needs."""
    if about.annotation in {int, float}:
        return float(value * unit_of(about)[0])
    if about.annotation == bool | None:
        return next(label for label, choice in CHOICES.items() if choice is value)
    if isinstance(value, tuple):
        return list(value)
    return "" if value is None else value


def _size(values: dict[str, Any]) -> None:
    if not values["flagged_only"] and not values["training"]:
        st.session_state[_SIZE] = st.session_state.get(_SIZE) or PRESET_SIZE
    size = st.number_input(
        "Number of items (empty: all, also those flagged later)"
        if values["flagged_only"]
        else "Number of items",
        min_value=1,
        max_value=int(bounds(QueueOptions.model_fields["max_items"])[1]),
        value=None,
        key=_SIZE,
        help="The queue takes the first items of its order. If the order is random, the seed determines them.",
    )
    values["max_items"] = None if size is None else int(size)
    pairs = values["subject"] == PAIRS
    try:
        with reading() as connection:
            matching = (
                count_gold(connection, values["where"], None)
                if values["training"]
                else count_matching(
                    connection,
                    values["where"],
                    subject=values["subject"],
                    flagged_only=values["flagged_only"],
                )
            )
    except JudgeboardError as error:
        problem(str(error))
        return
    words = f"{count(matching, 'pair' if pairs else 'answer')} {'matches' if matching == 1 else 'match'}. "
    size = matching if values["max_items"] is None else min(matching, values["max_items"])
    sample = ", drawn at random" if size < matching and values["sort"] is QueueOrder.RANDOM else ""
    show_div("jb-say", words, tag("b", f"The queue will have {size:,}{sample}."))


def _order_field(blind: bool, flagged_only: bool) -> str:
    return f"nq_order_{blind}_{flagged_only}"


def start_overlap() -> None:
    """Open the form of a new queue with the preset for two reviewers. The callback of a button."""
    st.session_state[_PRESET] = "random"
    _use_preset()
    pick_rows(Rows("queues", {"new": "1"}))


def _use_preset() -> None:
    preset_name = st.session_state.get(_PRESET)
    if preset_name is None:
        return
    options = PRESETS[preset_name].options
    st.session_state["nq_subject"] = FLAGGED if options.flagged_only else EVERY
    st.session_state[_SIZE] = options.max_items
    for name in set().union(*(preset.options.model_fields_set for preset in PRESETS.values())):
        about = QueueOptions.model_fields[name]
        if about.title is not None:
            st.session_state[f"nq_{name}"] = _shown(about, getattr(options, name))
    order = _order_field(blind=options.blind_judge, flagged_only=options.flagged_only)
    st.session_state[order] = options.sort
    if st.session_state.get("nq_name", "") in ("", st.session_state.get(_PROPOSED)):
        # A name with today's date that no queue has.
        name = f"{PRESETS[preset_name].name}, {day(utc_now())}"
        taken_names = {queue.name for queue in read(list_queues, only_open=False)}
        names = chain([name], (f"{name} ({number})" for number in count_from(2)))
        st.session_state["nq_name"] = st.session_state[_PROPOSED] = next(
            each for each in names if each not in taken_names
        )


def _schema() -> str | None:
    """Show the field to choose a label schema. Return the title of the schema, None for grades."""
    titles = [each.title for each in read(list_schemas)]
    if _NEW_SCHEMA in st.session_state:
        st.session_state["nq_schema"] = st.session_state.pop(_NEW_SCHEMA)
    with in_row(align="bottom"):
        schema = st.selectbox(
            "Label schema",
            titles,
            index=None,
            key="nq_schema",
            placeholder="None: the grades below",
            help="Fields that reviewers fill in instead of the grades.",
        )
        if button("New schema", key="nq_schemas", icon=":material/add:", type="tertiary"):
            _new_schema()
    return schema


@st.dialog("New label schema", width="large")
def _new_schema() -> None:
    """Show the form for a label schema over the form for a queue, which then uses the new schema."""
    schema_editor(None, on_save=lambda schema: st.session_state.update({_NEW_SCHEMA: schema.title}))
