"""The segments of the Queue page, the list of queues, and one queue with its people."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import QueueState, Role
from judgeboard.errors import JudgeboardError, NotFound
from judgeboard.people.permissions import SIGNED_IN, Action, may
from judgeboard.reports.tables import Column, Table
from judgeboard.reviews.checks import people_named
from judgeboard.reviews.queues import QueueProgress, assign_queue, close_queue, queue_progress
from judgeboard.store.queues import PAIRS, list_queues
from judgeboard.store.reviewers import Reviewer, reviewers_of
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.session import ORIGIN, ask_reviewer, problem, reading, store
from judgeboard_dashboard.widgets.navigation import Rows, pick_rows
from judgeboard_dashboard.widgets.tables import choose_row, show_rows
from judgeboard_dashboard.widgets.texts import caption, count, empty, heading, note, sentence, when

OPEN_FLAGS, QUEUES, CONFLICTS, MY_REVIEWS = "Open flags", "Queues", "Conflicts", "My reviews"
SEGMENTS = (OPEN_FLAGS, QUEUES, CONFLICTS, MY_REVIEWS)
FIELDS = ("show", "new", "conflict", "of", "on")
PAIRS_SEGMENT = "pairs"
CREATED = "queue_created"
"""The key of the session state with the sentence about the queue that was just created."""
MOST = 50
_FIELD, _SEEN = "queue_segment", "queue_segment_seen"


@dataclass(frozen=True, slots=True)
class Place:
    """A segment of the page; ``new`` shows the form, ``conflict`` is the id of an item.

    ``of`` limits the conflicts to one queue, ``on_pairs`` one's own reviews to pairs.
    """

    segment: str
    new: bool = False
    conflict: int | None = None
    of: str | None = None
    on_pairs: bool = False


def place() -> Place:
    """Show the segments and return the place in the address.

    Raises:
        NotFound: It names no item.
    """
    segment = _segment()
    conflict = st.query_params.get("conflict")
    if conflict is not None and (not conflict.isdecimal() or len(conflict) > 18):
        raise NotFound(f"This address names no item: conflict={conflict}")
    return Place(
        segment,
        new=st.query_params.get("new") == "1",
        conflict=None if conflict is None else int(conflict),
        of=st.query_params.get("of"),
        on_pairs=st.query_params.get("on") == PAIRS_SEGMENT,
    )


def _segment() -> str:
    """Show the segments. They follow the address, which links within the page change; a bound field forbids that."""
    asked = st.query_params.get("show") or OPEN_FLAGS
    asked = asked if asked in SEGMENTS else OPEN_FLAGS
    if st.session_state.get(_SEEN) != asked or _FIELD not in st.session_state:
        st.session_state[_FIELD] = asked
    with st.container(key="segments"):
        field = st.segmented_control("Show", SEGMENTS, required=True, key=_FIELD, label_visibility="collapsed")
    chosen = field or asked
    if chosen != asked:
        go(show=None if chosen == OPEN_FLAGS else chosen, new=None, conflict=None, of=None, on=None)
    st.session_state[_SEEN] = chosen
    return chosen


def go(**parameters: str | None) -> None:
    """Change parameters of the address; None removes one."""
    for name, value in parameters.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = value


LIST_COLUMNS = (
    Column("Queue", width=210),
    Column("Finished", "share", width=120, help="Items with a final decision", bar=True),
    Column("You", "count", width=55, help="Items that you reviewed"),
    Column("Open", "count", width=75, help="Items that can be leased"),
    Column("Leased", "count", width=70, help="Items that somebody reviews"),
    Column("Conflicts", "count", width=75, help="Reviewers differ: a lead adjudicates"),
    Column("Items", "count", width=65),
    Column("Reviews", width=95, help="Given of needed"),
    Column("Assigned to", width=150),
    Column("Rules", width=480),
)
PEOPLE_COLUMNS = (
    Column("Person", width=200),
    Column("Done", "count", width=65),
    Column("Unsure", "count", width=70),
    Column("Skipped", "count", width=75),
    Column("Leased", "count", width=70),
    Column("Seconds", "integer", width=90, help="Median per item, without absences"),
    Column("Last", width=115),
)


def list_table(queues: Sequence[QueueProgress], reviewer_id: int | None) -> Table:
    """Return one row for each queue."""
    rows = []
    for progress in queues:
        own = next((person for person in progress.people if person.reviewer.id == reviewer_id), None)
        name = progress.queue.name
        rows.append(
            (
                name if progress.queue.state is QueueState.OPEN else f"{name} (closed)",
                # whole percents; 100 only when all are finished
                progress.finished * 100 // progress.items / 100 if progress.items else None,
                0 if own is None else own.done,
                progress.waiting,
                progress.leased,
                progress.conflict,
                progress.items,
                f"{progress.reviews:,} / {progress.reviews_needed:,}",
                ", ".join(person.name for person in progress.assigned_to) or "everybody",
                " · ".join(progress.rules),
            )
        )
    return Table(LIST_COLUMNS, tuple(rows))


def people_table(progress: QueueProgress) -> Table:
    """Return one row for each person to whom a queue is assigned or who did something in it."""
    rows = (
        (
            person.reviewer.name,
            person.done,
            person.unsure,
            person.skipped,
            person.leases,
            person.median_seconds,
            None if person.last is None else when(person.last),
        )
        for person in progress.people
    )
    return Table(PEOPLE_COLUMNS, tuple(rows))


def progress_words(progress: QueueProgress) -> str:
    """Return the progress of a queue as a sentence."""
    items = count(progress.items, "pair" if progress.queue.subject == PAIRS else "answer")
    if progress.queue.state is QueueState.CLOSED:
        return f"Closed: {progress.finished:,} of {items} finished, {count(progress.reviews, 'review')} given."
    parts = [f"{progress.waiting:,} of {items} open"]
    if progress.leased:
        parts.append(f"{progress.leased:,} leased")
    if progress.conflict:
        parts.append(f"{count(progress.conflict, 'conflict')}")
    return f"{', '.join(parts)}, {progress.finished:,} finished."


def sample_words(progress: QueueProgress) -> str | None:
    """Return what the random sample lacks, None where it lacks nothing."""
    if not progress.short:
        return None
    return (
        f"{count(progress.sampled, 'answer')} in the random sample. {progress.short:,} more "
        f"{'was' if progress.short == 1 else 'were'} requested, but no random-sample flags are left for these query "
        "types, sources and days."
    )


def known_people() -> list[str]:
    """Return the names of those who sign in and may review, and of those who gave a name in this dashboard."""
    with reading() as connection:
        people = [person for origin in (SIGNED_IN, ORIGIN) for person in reviewers_of(connection, origin)]
    return sorted({person.name for person in people if person.role is not Role.NONE or person.origin != SIGNED_IN})


def _chosen_queue(progress: QueueProgress, reviewer: Reviewer) -> None:
    """Show one queue: its progress, its people, and the button that starts."""
    queue, lead = progress.queue, may(reviewer, Action.ASSIGN)
    is_open = queue.state is QueueState.OPEN
    with st.container(key="queue_chosen", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(tag("div", tag("b", queue.name), " · ", progress_words(progress), cls="jb-say jb-line"))
        if progress.conflict and lead:
            st.button(
                count(progress.conflict, "conflict"),
                key="queue_conflicts",
                icon=":material/call_split:",
                on_click=pick_rows,
                args=(Rows("queue", {"show": CONFLICTS, "of": queue.name}),),
                wrap=False,
            )
        st.button(
            "Start reviewing",
            key="queue_review",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            disabled=not is_open,
            on_click=pick_rows,
            args=(Rows("item", {"queue": queue.name}),),
            wrap=False,
        )
    show(tag("div", " · ".join(progress.rules), cls="jb-cap"))
    sample = sample_words(progress)
    if sample is not None:
        note(sample, lead="The random sample is short.")
    with st.container(key="stack_queue"):
        left, right = st.columns([1.3, 1], gap="medium")
    with left:
        _people(progress)
    with right:
        if lead and is_open:
            _lead(progress, reviewer)
        if queue.guidelines:
            heading("Guidelines")
            show(tag("div", queue.guidelines, cls="jb-reason"))


def _people(progress: QueueProgress) -> None:
    heading("People")
    if not progress.people:
        show(tag("div", "Nobody has reviewed anything yet.", cls="jb-mut"))
        return
    show_rows(people_table(progress), key=f"queue_people_{progress.queue.id}", most=8)


def _lead(progress: QueueProgress, reviewer: Reviewer) -> None:
    """Show to whom the queue is assigned, and the button that closes it."""
    queue = progress.queue
    heading("Assigned to")
    now = [person.name for person in progress.assigned_to]
    key = f"queue_given_{queue.id}_{len(now)}"
    with st.container(key="queue_assign", horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.multiselect(
            "Assigned to",
            sorted({*known_people(), *now}),
            default=now,
            key=key,
            accept_new_options=True,
            placeholder="Everybody",
            label_visibility="collapsed",
            width="stretch",
        )
        if st.button("Save", key="queue_assign_save", disabled=set(wanted) == set(now), wrap=False):
            _assign(progress, wanted, reviewer)
        with st.popover("Close", icon=":material/lock:"):
            show(
                tag("div", "Nobody can review in a closed queue, and it cannot be opened again. Its reviews are kept.")
            )
            if st.button(f"Close {as_label(queue.name)}", key="queue_close", wrap=False):
                close_queue(store(), queue.name, by=reviewer)
                st.rerun()
    if queue.blind:
        caption("Assigned reviewers of a blind queue see its answers nowhere else.")


def _assign(progress: QueueProgress, wanted: list[str], reviewer: Reviewer) -> None:
    try:
        people = people_named(store(), wanted)
        ids = {person.id for person in people}
        removed = [person for person in progress.assigned_to if person.id not in ids]
        assign_queue(store(), progress.queue.name, by=reviewer, add=people, remove=removed)
    except JudgeboardError as error:
        problem(f"Not saved: {error}")
        return
    st.rerun()


def queue_list() -> None:
    """Show the queues that the person may review; a lead sees all."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    lead = may(reviewer, Action.MAKE_QUEUES)
    created: str | None = st.session_state.pop(CREATED, None)
    if created:
        show(tag("div", created, cls="jb-say"))
    with st.container(key="queues_top", horizontal=True, vertical_alignment="center", gap="small"):
        closed = st.toggle("Include closed queues", key="queues_closed")
        if lead:
            st.button(
                "New queue", key="queues_new", icon=":material/add:", on_click=go, kwargs={"new": "1"}, wrap=False
            )
    queues = _own_queues(reviewer, lead=lead, closed=closed)
    if not queues:
        empty(
            "No queue is open.",
            *(
                ["Create one with New queue, or in a terminal: `judgeboard queue create NAME`"]
                if lead
                else [f"Leads create queues. All other open flags are under {OPEN_FLAGS}."]
            ),
        )
        return
    names = [progress.queue.name for progress in queues]
    key = f"queues_{hashlib.sha256(repr(names).encode()).hexdigest()[:8]}"  # a selection is an index into them
    _chosen_queue(queues[choose_row(list_table(queues, reviewer.id), key=key, most=8)], reviewer)


def _own_queues(reviewer: Reviewer, *, lead: bool, closed: bool) -> list[QueueProgress]:
    with reading() as connection:
        queues = list_queues(connection, only_open=not closed)[:MOST]
        progress = [queue_progress(connection, queue) for queue in queues]
    own = [
        each
        for each in progress
        if lead or not each.assigned_to or reviewer.id in {person.id for person in each.assigned_to}
    ]
    open_queues = [each for each in own if each.queue.state is QueueState.OPEN]
    if open_queues:
        items = sum(each.waiting for each in open_queues)
        sentence(f"{count(len(open_queues), 'open queue')} with {count(items, 'open item')}.")
    if len(queues) == MOST:
        caption(f"The newest {MOST:,}. `judgeboard queue list` shows all.")
    return own
