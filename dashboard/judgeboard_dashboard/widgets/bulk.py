"""Actions on many answers of a list: rows are selected, then confirmed, dismissed, rejudged or exported at once."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Decision
from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action
from judgeboard.reports.output import Table
from judgeboard.reviews.bulk import MOST_ANSWERS, decide_many, undo_many
from judgeboard.reviews.decisions import IMPLIED
from judgeboard.store.failure_modes import list_modes
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import current_reviewer, reading, store
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import csv_button, data_frame
from judgeboard_dashboard.widgets.texts import count

ASKED_FROM = 20  # more answers than this are confirmed once more
_SELECTING, _ASKED, _WORK, _DONE = "bulk_selecting", "bulk_asked", "bulk_work", "bulk_done"
_VERBS = {Decision.CONFIRM: "Confirm", Decision.DISMISS: "Dismiss"}


@dataclass(frozen=True, slots=True)
class BulkWork:
    """A bulk action that is to be done: the same id again completes one that a reload interrupted."""

    bulk_id: str
    response_ids: tuple[int, ...]
    decision: Decision
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selectable:
    """A list whose rows can be selected: the ids of its page, its total, and how all of its answers are read."""

    page: str
    response_ids: Sequence[int]
    external_ids: Sequence[str]
    total: int
    all_ids: Callable[[], Sequence[int]]


def select_button(page: str) -> bool:
    """Show the button that switches a table between opening and selecting rows (key X); return whether it selects."""
    selecting = bool(st.session_state.get(f"{page}_{_SELECTING}"))
    st.button(
        "Stop selecting" if selecting else "Select",
        key=f"{page}_select",
        type="tertiary",
        icon=":material/check_box:",
        shortcut="X",
        help="Select several rows: click, or Shift and click for a range",
        on_click=_put,
        args=(f"{page}_{_SELECTING}", not selecting),
        wrap=False,
    )
    return selecting


def selecting_rows(rows: Table, listed: Selectable) -> None:
    """Show a table whose rows can be selected, and the actions on the selected answers."""
    shown = hash(tuple(listed.response_ids))  # other rows have another selection: it consists of positions
    bar = st.container(key=f"{listed.page}_bulk", horizontal=True, vertical_alignment="center", gap="small")
    event = data_frame(rows, key=f"{listed.page}_select_{shown}", selection_mode="multi-row", on_select="rerun")
    chosen = [place for place in event.selection.rows if place < len(listed.response_ids)]
    with bar:
        _actions(rows, listed, chosen, shown)


def _actions(rows: Table, listed: Selectable, chosen: Sequence[int], shown: int) -> None:
    page, everything = listed.page, False
    if listed.total > len(listed.response_ids):
        most = "" if listed.total <= MOST_ANSWERS else f", the first {MOST_ANSWERS:,}"
        everything = st.checkbox(f"All {listed.total:,} in this filter{most}", key=f"{page}_bulk_all_{shown}")
    number = min(listed.total, MOST_ANSWERS) if everything else len(chosen)
    words = tag("div", tag("b", count(number, "answer")), " selected", cls="jb-say jb-line")
    show(words, width="content")  # the actions stand at the left: the toolbar of the table covers the right end
    with reading() as connection:
        offered = [mode.name for mode in list_modes(connection).values() if not mode.retired]
    modes = (
        st.multiselect(
            "Failure modes",
            offered,
            key=f"{page}_bulk_modes",
            placeholder="Failure modes",
            label_visibility="collapsed",
        )
        if offered
        else []
    )
    asked: Decision | None = st.session_state.get(f"{page}_{_ASKED}")
    for decision, shortcut in ((Decision.CONFIRM, "Y"), (Decision.DISMISS, "N")):
        if st.button(
            _VERBS[decision] if asked is not decision else f"{_VERBS[decision]} {count(number, 'answer')}?",
            key=f"{page}_bulk_{decision.value}",
            type="primary" if asked is decision else "secondary",
            shortcut=shortcut,
            help=f"Decides all open flags of the selected answers. Low groundedness implies: {IMPLIED[decision]}",
            disabled=not number or current_reviewer() is None or not permitted(Action.REVIEW),
            wrap=False,
        ):
            if number > ASKED_FROM and asked is not decision:
                _put(f"{page}_{_ASKED}", decision)
            else:
                ids = listed.all_ids() if everything else [listed.response_ids[place] for place in chosen]
                _put(f"{page}_{_ASKED}", None)
                _put(_WORK, BulkWork(secrets.token_urlsafe(9), tuple(ids), decision, tuple(modes)))
            st.rerun()
    if asked is not None:
        st.button("Cancel", key=f"{page}_bulk_cancel", on_click=_put, args=(f"{page}_{_ASKED}", None), type="tertiary")
    if chosen and not everything:
        ids_of = [listed.external_ids[place] for place in chosen]
        for label, action, rows_of in (
            ("Assign", Action.MAKE_QUEUES, Rows("queue", {"id": ids_of, "show": "Queues", "new": "1"})),
            ("Rejudge", Action.REJUDGE_MANY, Rows("rejudge", {"id": ids_of, "rows": "match"})),
        ):
            if permitted(action):
                open_button(label, rows_of, key=f"{page}_bulk_{label.lower()}", type="tertiary")
        selected = Table(rows.columns, tuple(rows.rows[place] for place in chosen))
        csv_button(selected, f"{page}-selected", key=f"{page}_bulk_csv")


def bulk_outcome() -> None:
    """Do the bulk action that was chosen, with its progress; then show what it did, and its undo (key U)."""
    reviewer, work = current_reviewer(), st.session_state.get(_WORK)
    if reviewer is not None and isinstance(work, BulkWork):
        bar = st.progress(0.0, text=f"0 of {count(len(work.response_ids), 'answer')}")

        def progress(done: int) -> None:
            bar.progress(done / len(work.response_ids), text=f"{done:,} of {count(len(work.response_ids), 'answer')}")

        try:
            decided = decide_many(
                store(),
                work.response_ids,
                reviewer=reviewer,
                decision=work.decision,
                bulk_id=work.bulk_id,
                modes=work.modes,
                progress=progress,
            )
        except JudgeboardError:
            _put(_WORK, None)
            raise
        bar.empty()
        _put(_WORK, None)
        _put(_DONE, (work.bulk_id, decided.sentences(work.decision), decided.decided))
    if st.session_state.get(_DONE) is None:
        return
    bulk_id, words, number = st.session_state[_DONE]
    with st.container(key="bulk_done", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", words, cls="jb-say jb-line", role="status"))
        if number and st.button(
            f"Undo {count(number, 'answer')}", key="bulk_undo", shortcut="U", type="tertiary", wrap=False
        ):
            if reviewer is not None:
                undone = undo_many(store(), bulk_id, reviewer=reviewer)
                _put(_DONE, (bulk_id, f"Undone: {count(undone, 'answer')}.", 0))
            st.rerun()


def _put(key: str, value: object) -> None:
    st.session_state[key] = value
