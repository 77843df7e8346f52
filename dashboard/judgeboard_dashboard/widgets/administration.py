"""The parts of the Settings page: people, judge versions, database and events."""

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

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
    restore_version,
    retire_version,
    set_sources,
)
from judgeboard.registry.methods import load_object, registrations
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.response_pages import logged_values
from judgeboard.store.responses import external_ids
from judgeboard.store.tables import Event, Reviewer, StoredVersion
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    read,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.widgets.confirmations import confirm, confirmation
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import (
    choose_row,
    table,
)
from judgeboard_dashboard.widgets.texts import UNKNOWN, caption, empty, heading, when, when_known

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
    """Show all people who have used this database; admins add, promote and remove them."""
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

        pressed = button(
            "Save role",
            key="people_save",
            type="primary",
            icon=":material/badge:",
            disabled=not (admin and names),
        )
    confirmation("people")
    if pressed and admin is not None:
        with saving("Not changed"):
            for name in names:
                person = people.get(name)
                address, origin = (
                    (name, SIGNED_IN) if person is None else (person.name, person.origin)
                )
                if role is Role.NONE:
                    remove_person(store(), address, admin, origin=origin)
                elif person is None or person.role is Role.NONE:
                    add_person(store(), address, role, admin, origin=origin)
                else:
                    change_role(store(), address, role, admin)
            confirm("people", f"{', '.join(names)}: {ROLE_WORDS[role]}.")
    caption(*map(role_words, ROLES))
    _source_changes(people)
    if admin is not None and sign_in().asked:
        for section in (place for each in registrations() for place in each.people_sections):
            load_object(section)(admin)


def _source_changes(people: Mapping[str, Reviewer]) -> None:
    """Show the fields that give some sources only to a person of the list."""
    heading("Rights by source")
    admin = ask_reviewer("Your name is stored with the change.", to=Action.MANAGE_PEOPLE)
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
        pressed = button(
            "Save sources",
            key="sources_save",
            icon=":material/visibility:",
            disabled=not (admin and person),
        )
    confirmation("sources_of_people")
    if pressed and admin is not None and person is not None:
        with saving("Not changed"):
            set_sources(store(), person.name, sources or None, admin, origin=person.origin)
            seen = ", ".join(sources) if sources else "all sources"
            confirm("sources_of_people", f"{person.name} sees {seen}.")


def versions(listed: Sequence[StoredVersion], retired: Mapping[int, Event]) -> None:
    """Show the versions, and the selected version's prompt or its difference from another. Admins can retire it."""
    if not listed:
        empty("No judge yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(listed, key=lambda version: -version.id)
    columns: Columns[StoredVersion] = {
        Column("Judge version", width=190): lambda each: (
            f"{each.title}{' (retired)' if each.id in retired else ''}"
        ),
        Column("Kind", width=85): lambda each: each.kind,
        Column("Model", width=190): lambda each: each.model,
        Column("Since", width=115): lambda each: when(each.created_at),
        Column("Fingerprint", width=125): lambda each: each.fingerprint[:12],
    }
    key = f"versions_{newest_first[0].id}_{len(listed)}"
    chosen = newest_first[choose_row(Table.of(newest_first, columns), key=key, most=6)]
    fact = retired.get(chosen.id)
    with in_row("versions_retiring"):
        if fact is not None:
            state = f"{chosen.title} was retired by {fact.actor}, {when(fact.at)}: it makes no new judgments."
            show_div("jb-cap", state)
        admin = ask_reviewer("Your name is stored with the change.", to=Action.RETIRE_VERSIONS)
        pressed = button(
            "Restore version" if fact is not None else "Retire version",
            key="version_retire",
            type="tertiary",
            icon=":material/unarchive:" if fact is not None else ":material/archive:",
            disabled=admin is None,
            help="A retired version makes no new judgments. Existing ones are kept.",
        )
    if pressed and admin is not None:
        with saving("Not changed"):
            change = retire_version if fact is None else restore_version
            change(store(), chosen.id, admin)
    others = {version.id: version for version in newest_first if version.id != chosen.id}
    other = None
    if others:
        other = st.selectbox(
            "Compare with",
            list(others),
            index=None,
            format_func=lambda version_id: others[version_id].title,
            placeholder="Another version",
            key=f"versions_other_{chosen.id}",
            width=260,
        )
    if other is not None:
        both = Rows("verdicts", {"old": others[other].title, "new": chosen.title})
        open_button("Compare verdicts", both, key="versions_compare", icon=":material/difference:")
    _prompts(chosen if other is None else others[other], chosen)


def param_lines(old: StoredVersion, new: StoredVersion) -> list[tuple[str, str | None, str | None]]:
    """Return name, old and new value of each parameter (also kind, model, scale); parameters that differ come first."""
    before, after = _params(old), _params(new)
    lines = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return sorted(lines, key=lambda line: line[1] == line[2])


def _params(version: StoredVersion) -> dict[str, str]:
    fixed: dict[str, Any] = {"kind": version.kind, "model": version.model, "scale": version.scale}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in (fixed | version.params).items()
        if value is not None
    }


def _prompts(old: StoredVersion, new: StoredVersion) -> None:
    """Show prompt and parameters of ``new``, or how they differ from those of ``old`` if it is another version."""
    lines = param_lines(old, new)
    if old is new:
        heading(f"{new.title}: prompt and parameters")
        params = Table((Column("Parameter"), Column("Value")), tuple(line[:2] for line in lines))
        show_div("jb-raw jb-prompt", new.prompt) if new.prompt else caption(
            "This version has no prompt."
        )
    else:
        heading(f"From {old.title} to {new.title}")
        columns = (Column("Parameter"), Column("Old"), Column("New"), Column("Differs"))
        params = Table(
            columns, tuple((*line, None if line[1] == line[2] else "differs") for line in lines)
        )
        show_prompt_difference(old.prompt, new.prompt)
    table(params, key=f"params_{old.id}_{new.id}", name="parameters", most=10, placeholder=UNKNOWN)


def show_prompt_difference(old: str | None, new: str | None) -> None:
    """Show the lines in which two prompts differ, each with two equal lines before and after."""
    lines = list(unified_diff((old or "").splitlines(), (new or "").splitlines(), n=2, lineterm=""))
    if lines:
        st.code("\n".join(lines[2:]), language="diff", wrap_lines=True)
    else:
        caption("Both prompts are equal." if old or new else "Neither has a prompt.")


MOST_EVENTS = 1_000


def events() -> None:
    """Show the latest events, newest first."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        latest = latest_events(connection, EventFilter(), limit=MOST_EVENTS)
        answers = external_ids(connection, {each.response_id or 0 for each in latest})
    if not latest:
        empty("No events yet.")
        return
    older = f"The latest {MOST_EVENTS:,} events. For older ones: `judgeboard db events`"
    columns: Columns[Event] = {
        Column("When", width=115): lambda event: when(event.at),
        Column("Who", width=200): lambda event: event.actor,
        Column("What", width=190): lambda event: event.kind.replace("_", " "),
        Column("Answer", width=170): lambda event: answers.get(event.response_id or 0),
        Column("Details", width=480): _details,
        Column("Event", "integer", width=75): lambda event: event.id,
    }
    table(Table.of(latest, columns), key="events", most=20, under=(older,))


def _details(event: Event) -> str:
    return " · ".join(
        f"{name.replace('_', ' ')} {_detail(value)}"
        for name, value in event.details.items()
        if value is not None and value not in ({}, [])
    )


def _detail(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value):
        return ", ".join(map(_detail, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
