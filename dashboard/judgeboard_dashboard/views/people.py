"""The view People: everybody's work, and the accounts for admins."""

from collections.abc import Mapping

import streamlit as st

from judgeboard.domain import ROLES, Action, Role
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.people.permissions import ENTERED, IMPORTED, SIGNED_IN, role_words
from judgeboard.people.roster import (
    PersonLine,
    add_person,
    change_role,
    list_people,
    remove_person,
    set_sources,
)
from judgeboard.registry.methods import load_object, registrations
from judgeboard.reports.people import work_table
from judgeboard.reviews.person_work import everybodys_work
from judgeboard.store.response_pages import logged_values
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.review.people import queues_and_agreement
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    page,
    read,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.tables import choose_row, foot, table
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    caption,
    confirm,
    confirmation,
    count,
    empty,
    heading,
    sentence,
    when_known,
)


def people() -> None:
    """Show the work of everybody, and the queues of the selected person."""
    everybody = read(everybodys_work)
    if not everybody:
        words = "People are listed here with their load, pace and agreement."
        empty_page("Nobody has reviewed in a queue yet.", words)
        return
    items_left = sum(work.left for work in everybody)
    people = "1 person" if len(everybody) == 1 else f"{len(everybody)} people"
    sentence(f"{people}, {count(items_left, 'item')} left in assigned queues.")
    key = f"people_{len(everybody)}_{everybody[0].person.id}"
    rows = work_table(everybody, words=True).without_empty()  # empty columns would take width
    selected_work = everybody[choose_row(rows, key=key, most=10, placeholder="–")]
    figures = "Figures cover each person’s latest 1,000 reviews, with 95 % intervals. “–” means nothing to compare."
    foot(lambda: work_table(everybody), "people", figures)
    heading(f"{selected_work.person.name}: queues and agreement")
    queues_and_agreement(selected_work)


ORIGINS = {"oidc": "sign-in", "page": "name on a page", "cli": "terminal", "import": "import"}
NOBODY_SIGNS_IN = (
    "Sign-in is off: everyone who opens these pages may do everything, under any name. "
    "To turn sign-in on, invite the first admin in a terminal: `judgeboard people invite NAME --role admin`. "
    "“Sign-in” in the documentation has other ways."
)
ANNOTATORS = (
    "Some imported annotators are not linked to a person who signs in. To link one for later imports: "
    "`judgeboard people link E-MAIL --annotator NAME`"
)
ROLE_WORDS = {role: str(role) for role in ROLES} | {Role.NONE: "removed"}


def accounts() -> None:
    """Show all people who have used this database; admins add, promote and remove people."""
    lines = read(list_people)
    if not sign_in().asked:
        show_div("jb-say jb-wide", NOBODY_SIGNS_IN)
    left, right = stacking_columns("people", [1.7, 1])
    with left:
        heading("Accounts")
        if lines:
            table(Table.of(lines, PEOPLE_COLUMNS), key="people_table", name="people")
            if sign_in().asked and any(line.person.origin == IMPORTED for line in lines):
                caption(ANNOTATORS)
        else:
            empty("No people yet.", "`judgeboard people add NAME`")
    with right:
        heading("Manage people")
        people = [
            line.person
            for line in lines
            if line.person.origin in {SIGNED_IN, ENTERED} and not line.first_admin
        ]
        _changes(
            {
                (
                    person.name
                    if person.origin == SIGNED_IN
                    else f"{person.name} ({ORIGINS[person.origin]})"
                ): person
                for person in people
            }
        )


def _role(line: PersonLine) -> str:
    if line.role is Role.NONE:
        return "removed" if line.person.role is Role.NONE else UNKNOWN
    return f"{line.role} (set)" if line.first_admin else str(line.role)


PEOPLE_COLUMNS: Columns[PersonLine] = {
    Column("Name", width=250): lambda line: line.person.name,
    Column("Role", width=95): _role,
    Column("Sources", width=125): lambda line: (
        "all" if line.person.sources is None else ", ".join(line.person.sources)
    ),
    Column("Origin", width=125): lambda line: ORIGINS.get(line.person.origin, line.person.origin),
    Column("Last seen", width=120): lambda line: when_known(line.last_seen) or UNKNOWN,
    Column("Last review", width=120): lambda line: when_known(line.last_review) or UNKNOWN,
}


def _changes(people: Mapping[str, Reviewer]) -> None:
    """Show the fields that give a role to people of the list, or to new e-mail addresses."""
    admin = ask_reviewer("Your name is stored with the change.", to=Action.MANAGE_PEOPLE)
    with st.container(border=True, key="people_one"):
        names = st.multiselect(
            "People",
            list(people),
            key="people_names",
            accept_new_options=True,
            placeholder="Names, or new e-mail addresses",
        )
        role = st.selectbox(
            "Role",
            list(ROLE_WORDS),
            index=ROLES.index(Role.REVIEWER),
            format_func=ROLE_WORDS.__getitem__,
            key="people_role",
            help="Removed people may no longer sign in. Their reviews are kept, under their name.",
        )

        is_pressed = button(
            "Save role",
            key="people_save",
            type="primary",
            icon=":material/badge:",
            disabled=not (admin and names),
        )
    confirmation("people")
    if is_pressed and admin is not None:
        with saving("Not changed"):
            for name in names:
                person = people.get(name)
                address, origin = (
                    (name, SIGNED_IN) if person is None else (person.name, person.origin)
                )
                if role is Role.NONE:
                    remove_person(store(), address, admin, origin=origin)
                elif person is None or person.role is Role.NONE:
                    # A person who was removed may have signed in with another name than an address.
                    is_known = person is not None
                    add_person(store(), address, role, admin, origin=origin, any_name=is_known)
                else:
                    change_role(store(), address, role, admin)
            confirm("people", f"{', '.join(names)}: {ROLE_WORDS[role]}.")
    caption(*map(role_words, ROLES))
    _source_changes(people, admin)
    if admin is not None and sign_in().asked:
        for each in registrations():
            for section in each.people_sections:
                load_object(section)(admin)


def _source_changes(people: Mapping[str, Reviewer], admin: Reviewer | None) -> None:
    """Show the fields that give some sources only to a person of the list."""
    heading("Rights by source")
    with st.container(border=True, key="people_sources"):
        name = st.selectbox("Person", list(people), key="sources_person", index=None)
        person = None if name is None else people[name]
        before = [] if person is None else list(person.sources or ())
        sources = st.multiselect(
            "Sources",
            sorted({*read(logged_values, "source"), *before}),
            default=before,
            key=f"sources_of_{name}",
            accept_new_options=True,
            placeholder="All sources",
            help="Answers of other sources do not exist for this person. Empty: the person sees all.",
        )
        is_pressed = button(
            "Save sources",
            key="sources_save",
            icon=":material/visibility:",
            disabled=not (admin and person),
        )
    confirmation("sources_of_people")
    if is_pressed and admin is not None and person is not None:
        with saving("Not changed"):
            set_sources(store(), person.name, sources or None, admin, origin=person.origin)
            confirm(
                "sources_of_people", f"{person.name} sees {', '.join(sources) or 'all sources'}."
            )


with page():
    demand(Action.SEE_MANAGED)
    follow("people", own=("part",))
    parts = {"Work": people}
    if permitted(Action.MANAGE_PEOPLE):
        parts["Accounts"] = accounts
    parts[switch("Part", {name: name for name in parts}, key="part")]()
