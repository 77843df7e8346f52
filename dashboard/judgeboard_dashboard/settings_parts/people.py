"""The people who may come in: who they are, what they may do, when they were last here; for admins, changing it."""

from collections.abc import Callable
from datetime import datetime

import streamlit as st

from judgeboard.domain import Role
from judgeboard.errors import JudgeboardError
from judgeboard.people import Action
from judgeboard.people.permissions import SIGNED_IN
from judgeboard.people.roster import (
    LONGEST_ADDRESS,
    ROLES,
    PersonLine,
    add_person,
    change_role,
    list_people,
    remove_person,
)
from judgeboard.review import Reviewer
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.saying import caption, empty, heading
from judgeboard_dashboard.session import ask_reviewer, reading, store
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import when

COLUMNS = {"Name": "str", "Role": "str", "Known from": "str", "Last seen": "str", "Last review": "str"}
FROM = {"oidc": "signs in", "desk": "typed at a desk", "cli": "a terminal", "import": "an import"}
MEANS = {
    Role.REVIEWER: "Reviewer: reviews, and has single answers judged again.",
    Role.LEAD: "Lead: also makes queues, assigns, decides where people differ, changes thresholds, imports.",
    Role.ADMIN: "Admin: also manages people and retires judge versions.",
}
NOBODY_SIGNS_IN = (
    "Nobody signs in here: whoever opens these pages may do everything, under any name. "
    "To have people sign in, see Sign-in in the README. Those who are added here may then come in."
)
_SAID = "people_said"
_ADDRESS = "people_address"


def people() -> None:
    """Show everybody who was ever here; admins add, promote and remove."""
    demand(Action.READ_EVENTS)
    with reading() as connection:
        lines = list_people(connection)
    if not sign_in().asked:
        show(tag("div", NOBODY_SIGNS_IN, cls="jb-say jb-wide"))
    with st.container(key="stack_people"):
        left, right = st.columns([1.7, 1], gap="medium")
    with left:
        heading("People")
        _table(lines)
    with right:
        heading("Change who may come in")
        if not permitted(Action.MANAGE_PEOPLE):
            show(tag("div", "Admins add people and change their roles.", cls="jb-cap"))
            return
        _changes([line for line in lines if line.person.origin == SIGNED_IN and not line.first_admin])


def _table(lines: list[PersonLine]) -> None:
    if not lines:
        empty("Nobody was here yet.", "`judgeboard people add E-MAIL --role admin`")
        return
    rows = frame(COLUMNS, map(_row, lines))
    st.dataframe(
        rows,
        key="people_table",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        column_config={
            "Name": st.column_config.TextColumn(width=250),
            "Role": st.column_config.TextColumn(width=95),
            "Known from": st.column_config.TextColumn(width=125),
            "Last seen": st.column_config.TextColumn(width=120),
            "Last review": st.column_config.TextColumn(width=120),
        },
    )
    csv_button(rows, "people", key="people_csv")


def _row(line: PersonLine) -> tuple[str, str, str, str, str]:
    role = _role(line)
    known = FROM.get(line.person.origin, line.person.origin)
    return line.person.name, role, known, _at(line.last_seen), _at(line.last_review)


def _role(line: PersonLine) -> str:
    if line.role is Role.NONE:
        return "removed" if line.person.origin == SIGNED_IN else "–"
    return f"{line.role} (set)" if line.first_admin else str(line.role)


def _at(moment: datetime | None) -> str:
    return "–" if moment is None else when(moment)


def _changes(lines: list[PersonLine]) -> None:
    """The two forms; what came of the last press stands under them."""
    admin = ask_reviewer("It stands beside the change.")
    with st.container(border=True, key="people_add"):
        st.text_input("E-mail address", key=_ADDRESS, max_chars=LONGEST_ADDRESS, placeholder="ann@example.org")
        role = st.selectbox(
            "Role", ROLES, format_func=str.capitalize, key="people_role", help="\n\n".join(MEANS.values())
        )
        st.button(
            "Add",
            key="people_add_button",
            type="primary",
            icon=":material/person_add:",
            disabled=admin is None,
            on_click=_add,
            args=(admin, role),
            wrap=False,
        )
    if lines:
        _one(lines, admin)
    said: str | None = st.session_state.pop(_SAID, None)
    if said is not None:
        problem(said) if said.startswith("Not ") else show(tag("div", said, cls="jb-say", role="status"))
    caption(*MEANS.values())


def _one(lines: list[PersonLine], admin: Reviewer | None) -> None:
    by_name = {line.person.name: line for line in lines}
    with st.container(border=True, key="people_one"):
        name = st.selectbox("Person", list(by_name), key="people_name")
        now = by_name[name].role
        role = st.selectbox(
            "New role",
            ROLES,
            index=ROLES.index(now) if now in ROLES else 0,
            format_func=str.capitalize,
            key=f"people_new_role_{name}_{now}",
        )
        with st.container(horizontal=True, gap="small"):
            gone = now is Role.NONE
            st.button(
                "Let in again" if gone else "Change role",
                key="people_change",
                icon=":material/badge:",
                disabled=admin is None or role is now,
                on_click=_again if gone else _change,
                args=(admin, name, role),
                wrap=False,
            )
            st.button(
                "Remove",
                key="people_remove",
                icon=":material/person_remove:",
                disabled=admin is None or gone,
                help="Gets in no more. What the person said stays, under their name.",
                on_click=_remove,
                args=(admin, name),
                wrap=False,
            )


def _add(admin: Reviewer, role: Role) -> None:
    address = st.session_state[_ADDRESS]
    if _done(lambda: add_person(store(), address, role, admin), f"{address.strip().lower()} may come in, as {role}."):
        st.session_state[_ADDRESS] = ""


def _again(admin: Reviewer, name: str, role: Role) -> None:
    _done(lambda: add_person(store(), name, role, admin), f"{name} may come in again, as {role}.")


def _change(admin: Reviewer, name: str, role: Role) -> None:
    _done(lambda: change_role(store(), name, role, admin), f"{name} is {role} now.")


def _remove(admin: Reviewer, name: str) -> None:
    _done(lambda: remove_person(store(), name, admin), f"{name} gets in no more.")


def _done(change: Callable[[], Reviewer], said: str) -> bool:
    try:
        change()
    except JudgeboardError as error:
        st.session_state[_SAID] = f"Not changed: {error}"
        return False
    st.session_state[_SAID] = said
    return True
