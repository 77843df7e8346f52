"""Actions on many answers of a list at once: decide, tag, add to a queue, rejudge, export."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from judgeboard.domain import Action, Decision
from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Table
from judgeboard.reviews.bulk import (
    MOST_ANSWERS,
    BulkAdded,
    BulkDecided,
    add_many,
    decide_many,
    last_decided,
    undo_many,
)
from judgeboard.reviews.decisions import IMPLIED, implying_rules
from judgeboard.store.issues import list_modes
from judgeboard.store.listing import LinePage
from judgeboard.store.queues import ANSWERS, list_queues
from judgeboard_dashboard.evidence import show, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.queues import known_people
from judgeboard_dashboard.review.screen import implied_words
from judgeboard_dashboard.session import (
    button,
    current_query,
    current_reviewer,
    in_row,
    read,
    reading,
    store,
)
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import csv_button, data_frame
from judgeboard_dashboard.widgets.texts import caption, count, rule_words

ASKED_FROM = 20  # an action on more answers than this needs a second click
_SELECTING, _ASKED, _WORK, _DONE = "bulk_selecting", "bulk_asked", "bulk_work", "bulk_done"
_KEPT = "bulk_kept"  # the list from which somebody selects


@dataclass(frozen=True, slots=True)
class BulkWork:
    """A bulk action to do. After an interruption by a reload, a repetition with the same id completes the action."""

    bulk_id: str
    response_ids: tuple[int, ...]
    act: Callable[..., BulkDecided | BulkAdded]


@dataclass(frozen=True, slots=True)
class Selectable:
    """A list whose rows can be selected.

    ``shown`` is the page of the list on the screen: each line has a ``response_id`` and an
    ``external_id``. ``all_ids`` returns the ids of all answers of the list, ``export`` the table of
    all answers. ``query`` is the filter in the address. ``rejudged`` is the choice on the page Judge
    answers that selects this list, None without such a choice.
    """

    page: str
    shown: LinePage[Any]
    all_ids: Callable[[], Sequence[int]]
    export: Callable[[], Table]
    query: Query
    rejudged: str | None


def select_button(page: str) -> bool:
    """Show the button that switches a table between opening and selecting rows (key X); True: the table selects."""
    selecting = bool(st.session_state.get(f"{page}_{_SELECTING}"))
    button(
        "Stop selecting" if selecting else "Select",
        key=f"{page}_select",
        type="tertiary",
        icon=":material/check_box:",
        shortcut="X",
        help="Select several rows: click, or Shift and click for a range",
        on_click=_put,
        args=(f"{page}_{_SELECTING}", not selecting),
    )
    if not selecting:
        _put(_KEPT, None)
    return selecting


def selecting_rows(rows: Table, selectable: Selectable) -> None:
    """Show a table whose rows can be selected, and the actions on the selected answers.

    The rows stay the same until an action, another filter or another page, even if other people
    decide some of the answers.
    """
    reviewer = current_reviewer()
    place = (
        reviewer,
        selectable.page,
        current_query(),
        st.session_state.get(f"{selectable.page}_page"),
    )
    frozen = st.session_state.get(_KEPT)
    if frozen is None or frozen[0] != place:
        frozen = (place, rows, selectable)
        _put(_KEPT, frozen)
    _, rows, selectable = frozen
    ids = tuple(line.response_id for line in selectable.shown.lines)
    ids_hash = hash(ids)  # a selection is a list of positions, so other rows need a new selection
    bar = in_row(f"{selectable.page}_bulk")
    # Show which labels a decision on many answers implies, if the person has answered this question.
    if reviewer is not None:
        rules, unasked = read(implying_rules, reviewer.id)
        if rules and not unasked:
            caption(f"Implied label ({', '.join(map(rule_words, rules))}):{implied_words(IMPLIED)}")
    event = data_frame(
        rows, key=f"{selectable.page}_select_{ids_hash}", modes=["multi-row"], on_select="rerun"
    )
    places = [place for place in event.selection.rows if place < len(ids)]
    with bar:
        _actions(rows, selectable, places, ids_hash)


def _actions(rows: Table, selectable: Selectable, places: Sequence[int], ids_hash: int) -> None:
    page, everything, total = selectable.page, False, selectable.shown.total
    lines = [selectable.shown.lines[place] for place in places]
    if total > len(selectable.shown.lines):
        most = "" if total <= MOST_ANSWERS else f", the first {MOST_ANSWERS:,}"
        everything = st.checkbox(
            f"All {total:,} in this filter{most}", key=f"{page}_bulk_all_{ids_hash}"
        )
    number = min(total, MOST_ANSWERS) if everything else len(lines)
    words = tag("div", tag("b", count(number, "answer")), " selected", cls="jb-say jb-line")
    show(
        words, width="content"
    )  # the actions are on the left, because the table's toolbar covers the right end
    asked_name = st.session_state.get(f"{page}_{_ASKED}")
    for offer in _offers(page):
        sure = asked_name == offer.name
        if button(
            f"{offer.label} {count(number, 'answer')}?" if sure else offer.label,
            key=f"{page}_bulk_{offer.name}",
            type="primary" if sure else "secondary",
            shortcut=offer.key,
            help=offer.help,
            disabled=not number or offer.act is None,
        ):
            again = number > ASKED_FROM and not sure
            _put(f"{page}_{_ASKED}", offer.name if again else None)
            if offer.act is not None and not again:
                ids = selectable.all_ids() if everything else [line.response_id for line in lines]
                _put(_KEPT, None)
                _put(_WORK, BulkWork(secrets.token_urlsafe(9), tuple(ids), offer.act))
            st.rerun()
    if asked_name is not None:
        st.button(
            "Cancel",
            key=f"{page}_bulk_cancel",
            on_click=_put,
            args=(f"{page}_{_ASKED}", None),
            type="tertiary",
        )
    if not number:
        return
    ids_of: Query = {"id": [line.external_id for line in lines]}
    rejudged = selectable.rejudged if everything else "match"
    if permitted(Action.REJUDGE_MANY) and rejudged is not None:
        answers = Rows(
            "rejudge", {**(selectable.query if everything else ids_of), "rows": rejudged}
        )
        label = f"Rejudge {count(total if everything else number, 'answer')}"
        open_button(label, answers, key=f"{page}_bulk_rejudge", type="tertiary")
    selected_rows = Table(rows.columns, tuple(rows.rows[place] for place in places))
    csv_button(
        selectable.export if everything else selected_rows,
        f"{page}-selected",
        key=f"{page}_bulk_csv",
    )


class Offer(NamedTuple):
    """An action that is offered for the selected answers; ``act`` is None while the action is not possible."""

    name: str
    label: str
    act: Callable[..., BulkDecided | BulkAdded] | None
    help: str
    key: str | None = None


def _offers(page: str) -> list[Offer]:
    reviewer = current_reviewer() if permitted(Action.REVIEW) else None
    with reading() as connection:
        mode_names = [mode.name for mode in list_modes(connection).values() if not mode.retired]
        queues = (
            list_queues(connection, only_open=True, subject=ANSWERS)
            if permitted(Action.ASSIGN)
            else []
        )
    chosen_modes = (
        st.multiselect(
            "Failure modes",
            mode_names,
            key=f"{page}_bulk_modes",
            placeholder="Failure modes",
            label_visibility="collapsed",
            width=190,
        )
        if mode_names
        else ()
    )
    modes = tuple(chosen_modes)
    decide = None if reviewer is None else partial(decide_many, reviewer=reviewer, modes=modes)
    offers = [
        Offer(
            decision.value,
            label,
            decide and partial(decide, decision=decision),
            "Decides all open flags of the selected answers",
            key,
        )
        for decision, label, key in (
            (Decision.CONFIRM, "Confirm", "Y"),
            (Decision.DISMISS, "Dismiss", "N"),
        )
    ]
    if mode_names:
        tagging = decide and partial(decide, decision=None) if modes else None
        offers.append(
            Offer(
                "tag",
                "Tag",
                tagging,
                "Tags the selected answers with failure modes, without a decision",
            )
        )
    if reviewer is not None and permitted(Action.ASSIGN):
        goals: dict[str, dict[str, Any]] = {
            each.name: {"queue": each.name} for each in queues if not each.training
        }
        goals |= {f"{name} (person)": {"person": name} for name in known_people()}
        goal = st.selectbox(
            "Queue or person",
            list(goals),
            index=None,
            key=f"{page}_bulk_goal",
            placeholder="Queue or person",
            label_visibility="collapsed",
            width=190,
        )
        add = partial(add_many, reviewer=reviewer, **goals[goal]) if goal in goals else None
        tip = "Adds the selected answers to the queue, or assigns them to the person in a separate queue"
        offers.append(Offer("add", "Add", add, tip))
    return offers


def bulk_outcome() -> None:
    """Do the chosen bulk action with a progress bar. Then show the result and the button to undo (key Z)."""
    reviewer, work = current_reviewer(), st.session_state.get(_WORK)
    if reviewer is not None and isinstance(work, BulkWork):
        bar = st.progress(0.0, text=f"0 of {count(len(work.response_ids), 'answer')}")

        def progress(number: int) -> None:
            bar.progress(
                number / len(work.response_ids),
                text=f"{number:,} of {count(len(work.response_ids), 'answer')}",
            )

        try:
            outcome = work.act(store(), work.response_ids, bulk_id=work.bulk_id, progress=progress)
        except JudgeboardError:
            _put(_WORK, None)
            raise
        bar.empty()
        _put(_WORK, None)
        _put(
            _DONE,
            (
                work.bulk_id,
                outcome.sentences,
                outcome.added if isinstance(outcome, BulkAdded) else outcome.decided,
            ),
        )
    if reviewer is not None and _DONE not in st.session_state:
        last = read(last_decided, reviewer)
        _put(_DONE, last and (last[0], last[1].sentences, last[1].decided))
    if st.session_state.get(_DONE) is None:
        return
    bulk_id, words, number = st.session_state[_DONE]
    with in_row("bulk_done"):
        show_div("jb-say jb-line", words, role="status")
        if number and button(
            f"Undo {count(number, 'answer')}", key="bulk_undo", shortcut="Z", type="tertiary"
        ):
            if reviewer is not None:
                _put(_KEPT, None)
                undone_answers = undo_many(store(), bulk_id, reviewer=reviewer)
                _put(_DONE, (bulk_id, f"Undone: {count(undone_answers, 'answer')}.", 0))
            st.rerun()


def _put(key: str, value: object) -> None:
    st.session_state[key] = value
