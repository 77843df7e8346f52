"""The person's notifications in the header of a page, with links to pages, and the open alarms."""

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import JudgeboardError
from judgeboard.measure.alarms import LONGEST_NOTE, acknowledge, alarm_sentence, open_alarms
from judgeboard.store.events import (
    CONFLICT,
    MENTION,
    mark_read,
    notifications,
    read_until,
)
from judgeboard.store.responses import external_ids
from judgeboard.store.tables import Event, Reviewer
from judgeboard.text import day_words, shortened
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import (
    button,
    current_reviewer,
    in_row,
    named_reviewer,
    numbered,
    open_rows,
    read,
    reading,
    saving,
    store,
)
from judgeboard_dashboard.widgets.navigation import Rows, item
from judgeboard_dashboard.widgets.texts import caption, note, when

LISTED = 20
_GOAL = "notification_goal"


def notification_bell() -> None:
    """Show the number of new notifications and the list; open the page of a clicked notification."""
    goal: Rows | None = st.session_state.pop(_GOAL, None)
    if goal is not None:
        open_rows(goal.page, **dict(goal.query))
    try:
        person = current_reviewer()
        if person is None:
            return
        with reading() as connection:
            latest = notifications(connection, person.id, limit=LISTED)
            read = read_until(connection, person.id)
            answers = external_ids(connection, {each.response_id or 0 for each in latest})
    except JudgeboardError:  # the page below shows the error
        return
    except Exception as error:  # noqa: BLE001 - the page below stays usable, and the log has the error
        numbered(error)
        return
    unread = sum(each.id > read for each in latest)
    label = f"Notifications ({unread})" if unread else "Notifications"
    icon = ":material/notifications_active:" if unread else ":material/notifications:"
    with (
        st.container(key="bell"),
        st.popover(label, icon=icon, type="tertiary", key="bell_list"),
    ):
        if not latest:
            caption(
                "Queues that are assigned to you, conflicts on your items and comments with @your name are listed here."
            )
            return
        for each in latest:
            st.button(
                words(each, answers.get(each.response_id or 0)),
                key=f"notification_{each.id}",
                type="tertiary" if each.id <= read else "secondary",
                on_click=_open,
                args=(person, each),
                width="stretch",
            )
        if unread:
            button(
                "Mark all as read",
                key="notifications_read",
                on_click=_read,
                args=(person, latest[0].id),
            )


def words(notification: Event, external_id: str | None) -> str:
    """Return a notification as a label: "Ann mentioned you on chat-1 · 12 Mar 09:41"."""
    queue = shortened(notification.details.get("queue") or "a queue", 40)
    answer = shortened(external_id or "a pair", 40)
    sentence = {
        CONFLICT: f"Reviewers differ on {answer}",
        MENTION: f"{notification.actor} mentioned you on {answer}",
    }.get(notification.kind, f"{notification.actor} assigned you the queue {queue}")
    return as_label(f"{sentence} · {when(notification.at)}")


def rows_of(notification: Event) -> Rows:
    """Return what a notification is about: an answer, a conflict or the queues."""
    if notification.kind == MENTION and notification.response_id is not None:
        return item(notification.response_id)
    if notification.kind == CONFLICT:
        return Rows("conflicts", {"conflict": str(notification.details.get("item"))})
    return Rows("queues", {})


def _open(person: Reviewer, notification: Event) -> None:
    _read(person, notification.id)
    # Open rows in the next run; the callback of a button.
    rows = rows_of(notification)
    st.session_state[_GOAL] = rows


def _read(person: Reviewer, until: int) -> None:
    with store().writing() as connection:
        mark_read(connection, person.id, until)


def show_alarms() -> None:
    """Show a sentence for each alarm that nobody has acknowledged. Leads can acknowledge an alarm here."""
    alarms = read(open_alarms)
    may_acknowledge = permitted(Action.ACKNOWLEDGE_ALARMS)
    for each in alarms:
        alarm = each.alarm
        with in_row(f"alarm_{alarm.id}", wrap=False):
            note(alarm_sentence(each), lead=f"Alarm {alarm.id}.")
            if may_acknowledge:
                with st.popover(
                    "Acknowledge", icon=":material/check:", key=f"alarm_{alarm.id}_form"
                ):
                    text = st.text_area(
                        "Note",
                        key=f"alarm_{alarm.id}_note",
                        max_chars=LONGEST_NOTE,
                        height=80,
                        help="Cause of the change, or what was done. The detectors of this figure then start anew on "
                        f"{day_words(alarm.from_day, year=True)}.",
                    )
                    is_pressed = button(
                        "Acknowledge alarm", key=f"alarm_{alarm.id}_save", type="primary"
                    )
                    person = named_reviewer() if is_pressed else None
                    if person is not None:
                        with saving("Not acknowledged"):
                            acknowledge(store(), alarm.id, text, by=person)
    if alarms and not may_acknowledge:
        caption("A lead acknowledges an alarm. Its detectors then start anew.")
