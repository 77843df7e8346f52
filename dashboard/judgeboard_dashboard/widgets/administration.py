"""The parts of the Settings page: people, judge versions, database and events."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from judgeboard.domain import ROLES, Action, Role
from judgeboard.errors import JudgeboardError
from judgeboard.llm.endpoint import PROVIDERS
from judgeboard.people.permissions import ENTERED, IMPORTED, SIGNED_IN, role_words
from judgeboard.people.roster import (
    LONGEST_ADDRESS,
    PersonLine,
    add_person,
    change_role,
    list_people,
    remove_person,
    restore_version,
    retire_version,
)
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.settings.model import shown_settings
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, StoredEvent, event_page, event_values, latest_events
from judgeboard.store.judge_versions import Retired, StoredVersion
from judgeboard.store.migrations import HEAD
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import SETTING_KEYS, settings_in_force
from judgeboard.text import folded_address
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, problem, reading, stacking_columns, store
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.tables import (
    PAGE_SIZE,
    choose_row,
    csv_button,
    current_page,
    show_rows,
    sorts_by_header,
    table,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import UNKNOWN, caption, count, empty, heading, sentence, when

ORIGINS = {"oidc": "sign-in", "page": "name on a page", "cli": "terminal", "import": "import"}
NOBODY_SIGNS_IN = (
    "Sign-in is off: everyone who opens these pages may do everything, under any name. "
    "To turn sign-in on, see “Sign in” in the documentation. The people below may then sign in."
)
ANNOTATORS = (
    "Some imported annotators are not linked to a person who signs in. To link one for later imports: "
    "`judgeboard people link E-MAIL --annotator NAME`"
)
_RESULT = "people_result"
_ADDRESS = "people_address"


def accounts() -> None:
    """Show all people who have used this database; admins add, promote and remove them."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        lines = list_people(connection)
    if not sign_in().asked:
        show(tag("div", NOBODY_SIGNS_IN, cls="jb-say jb-wide"))
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
        _changes([line for line in lines if line.person.origin in {SIGNED_IN, ENTERED} and not line.first_admin])


def _role(line: PersonLine) -> str:
    if line.role is Role.NONE:
        return "removed" if line.person.role is Role.NONE else UNKNOWN
    return f"{line.role} (set)" if line.first_admin else str(line.role)


PEOPLE_COLUMNS: Columns[PersonLine] = {
    Column("Name", width=250): lambda line: line.person.name,
    Column("Role", width=95): _role,
    Column("Origin", width=125): lambda line: ORIGINS.get(line.person.origin, line.person.origin),
    Column("Last seen", width=120): lambda line: when(line.last_seen) if line.last_seen else UNKNOWN,
    Column("Last review", width=120): lambda line: when(line.last_review) if line.last_review else UNKNOWN,
}


def _changes(lines: list[PersonLine]) -> None:
    may_change = ask_reviewer("Your name is stored with the change.", to=Action.MANAGE_PEOPLE) is not None
    with st.container(border=True, key="people_add"):
        st.text_input("E-mail address", key=_ADDRESS, max_chars=LONGEST_ADDRESS, placeholder="ann@example.org")
        role = st.selectbox(
            "Role",
            ROLES,
            index=ROLES.index(Role.REVIEWER),
            format_func=str.capitalize,
            key="people_role",
            help="\n\n".join(map(role_words, ROLES)),
        )
        st.button(
            "Add person",
            key="people_add_button",
            type="primary",
            icon=":material/person_add:",
            disabled=not may_change,
            on_click=_add,
            args=(role,),
            wrap=False,
        )
    if lines:
        _change_person({_label(line.person): line.person for line in lines}, may_change=may_change)
    _show_result()
    caption(*map(role_words, ROLES))


def _change_person(people: dict[str, Reviewer], *, may_change: bool) -> None:
    with st.container(border=True, key="people_one"):
        person = people[st.selectbox("Person", list(people), key="people_name")]
        name, now, origin = person.name, person.role, person.origin
        removed, signs_in = now is Role.NONE, origin == SIGNED_IN
        role = Role.REVIEWER
        if signs_in:
            role = st.selectbox(
                "New role",
                ROLES,
                index=ROLES.index(now) if now in ROLES else 0,
                format_func=str.capitalize,
                key=f"people_new_role_{name}_{now}",
            )
        with st.container(horizontal=True, gap="small"):
            if removed:
                st.button(
                    "Add again",
                    key="people_add_again",
                    icon=":material/badge:",
                    disabled=not may_change,
                    on_click=_change,
                    args=(
                        lambda admin: add_person(store(), name, role, admin, origin=origin),
                        f"{name} may sign in again, as {role}." if signs_in else f"{name} was added again.",
                    ),
                    wrap=False,
                )
            elif signs_in:
                st.button(
                    "Change role",
                    key="people_change",
                    icon=":material/badge:",
                    disabled=not may_change or role is now,
                    on_click=_change,
                    args=(lambda admin: change_role(store(), name, role, admin), f"{name} is now {role}."),
                    wrap=False,
                )
            st.button(
                "Remove person",
                key="people_remove",
                icon=":material/person_remove:",
                disabled=not may_change or removed,
                help="Removed people may no longer sign in. Their reviews are kept, under their name.",
                on_click=_change,
                args=(lambda admin: remove_person(store(), name, admin, origin=origin), f"{name} was removed."),
                wrap=False,
            )


def _label(person: Reviewer) -> str:
    """Return the name of a person; one who only entered it on a page is told from one who signs in."""
    return person.name if person.origin == SIGNED_IN else f"{person.name} ({ORIGINS[person.origin]})"


def _add(role: Role) -> None:
    address = st.session_state[_ADDRESS]
    added = f"{folded_address(address.strip())} may sign in, as {role}."
    _change(lambda admin: add_person(store(), address, role, admin), added)
    if st.session_state.get(_RESULT) == added:
        st.session_state[_ADDRESS] = ""


def _change(change: Callable[[Reviewer], object], result: str = "") -> None:
    """Make a change in the name of the admin, and keep its result for the page to show."""
    try:
        admin = current_reviewer()
        if admin is None:
            return
        change(admin)
    except JudgeboardError as error:
        result = f"Not changed: {error}"
    st.session_state[_RESULT] = result


def _show_result() -> None:
    if result := st.session_state.pop(_RESULT, ""):
        problem(result) if result.startswith("Not ") else show(tag("div", result, cls="jb-say", role="status"))


DiffKind = Literal["added", "removed", "same", "gap"]
MARKS: dict[DiffKind, str] = {"added": "+", "removed": "−", "same": "", "gap": "…"}
AROUND = 2  # equal lines shown around a change


def versions(listed: Sequence[StoredVersion], retired: Mapping[int, Retired]) -> None:
    """Show the versions, and the selected version's prompt or its difference from another. Admins can retire it."""
    heading("Judge versions")
    if not listed:
        empty("No judge yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(listed, key=lambda version: -version.id)
    columns: Columns[StoredVersion] = {
        Column("Judge version", width=190): lambda each: f"{each.title}{' (retired)' if each.id in retired else ''}",
        Column("Kind", width=85): lambda each: each.kind,
        Column("Model", width=190): lambda each: each.model,
        Column("Since", width=115): lambda each: when(each.created_at),
        Column("Fingerprint", width=125): lambda each: each.fingerprint[:12],
    }
    key = f"versions_{newest_first[0].id}_{len(listed)}"
    chosen = newest_first[choose_row(Table.of(newest_first, columns), key=key, most=6)]
    csv_button(lambda: _versions_file(newest_first), "judge-versions", key="versions_csv")
    _retiring(chosen, retired.get(chosen.id))
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
    _prompts(chosen if other is None else others[other], chosen)


def _retiring(version: StoredVersion, fact: Retired | None) -> None:
    with st.container(key="versions_retiring", horizontal=True, vertical_alignment="center", gap="small"):
        if fact is not None:
            state = f"{version.title} was retired by {fact.by}, {when(fact.at)}: it makes no new judgments."
            show(tag("div", state, cls="jb-cap"))
        admin = ask_reviewer("Your name is stored with the change.", to=Action.RETIRE_VERSIONS)
        st.button(
            "Restore version" if fact is not None else "Retire version",
            key="version_retire",
            type="tertiary",
            icon=":material/unarchive:" if fact is not None else ":material/archive:",
            disabled=admin is None,
            help="A retired version makes no new judgments. Existing ones are kept.",
            on_click=_change,
            args=(lambda by: (retire_version if fact is None else restore_version)(store(), version.id, by),),
            wrap=False,
        )
    _show_result()


def _versions_file(listed: Sequence[StoredVersion]) -> Table:
    names = ("title", "kind", "model", "scale", "fingerprint", "prompt", "params")
    rows = ((*(getattr(version, name) for name in names), version.created_at.isoformat()) for version in listed)
    return Table(tuple(map(Column, (*names, "created_at"))), tuple(rows))


def prompt_difference(old: str | None, new: str | None) -> list[tuple[DiffKind, str]]:
    """Return the lines that differ, each with two equal lines before and after; empty if the prompts are equal.

    A line of the kind gap replaces the other equal lines.
    """
    before, after = (old or "").splitlines(), (new or "").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines: list[tuple[DiffKind, str]] = []
    for group in matcher.get_grouped_opcodes(AROUND):
        first = group[0]
        if lines or first[1] > 0:
            lines.append(("gap", f"line {first[3] + 1}"))
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                lines += [("same", text) for text in before[start:end]]
                continue
            lines += [("removed", text) for text in before[start:end]]
            lines += [("added", text) for text in after[new_start:new_end]]
    return lines


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
        show(tag("div", new.prompt, cls="jb-raw jb-prompt")) if new.prompt else caption("This version has no prompt.")
    else:
        heading(f"From {old.title} to {new.title}")
        columns = (Column("Parameter"), Column("Old"), Column("New"), Column("Differs"))
        params = Table(columns, tuple((*line, None if line[1] == line[2] else "differs") for line in lines))
        show_prompt_difference(old.prompt, new.prompt)
    table(params, key=f"params_{old.id}_{new.id}", name="parameters", most=10, placeholder=UNKNOWN)


def show_prompt_difference(old: str | None, new: str | None) -> None:
    """Show the lines in which two prompts differ."""
    marked = [
        tag("div", tag("span", MARKS[kind]), tag("span", text), cls=f"jb-diff jb-{kind}")
        for kind, text in prompt_difference(old, new)
    ]
    if marked:
        show(tag("div", *marked, cls="jb-raw jb-prompt"))
    else:
        caption("Both prompts are equal." if old or new else "Neither has a prompt.")


def database(store: Store, answers: int, open_flags: int) -> None:
    """Show which database is in use, and the environment variables."""
    heading("Database in use")
    engine = "SQLite" if store.is_sqlite else "PostgreSQL"
    show(tag("div", tag("span", store.shown_url, cls="jb-code"), cls="jb-address"))
    facts = [engine, f"schema {HEAD}", count(answers, "answer"), count(open_flags, "open flag")]
    file = Path(str(store.engine.url.database))
    if store.is_sqlite and file.exists():
        facts.append(f"{file.stat().st_size / 1_000_000:,.1f} MB")
    caption(" · ".join(facts))
    heading("Environment and project file")
    with reading() as connection:
        settings = shown_settings(settings_in_force(connection), PROVIDERS)
    # The server sets the variable of the database even if --db was given.
    rows = [each for each in settings if each.name not in (*SETTING_KEYS, "db")]
    table(
        Table(tuple(map(Column, ("Setting", "Value", "Origin"))), tuple(rows)),
        key="environment",
        most=6,
        placeholder="not set",
    )


PAGE = "events"
MAX_EXPORTED = 100_000  # events in one file
SINCE = {"day": ("last day", 1), "week": ("last 7 days", 7), "month": ("last 30 days", 30)}
EVENT_WORDS = {
    "decide": "decided a flag",
    "bulk_decide": "decided many answers",
    "bulk_undo": "undid a decision on many answers",
    "keep_draft": "had a decision refused; its note is stored",
    "grade": "graded",
    "send_review": "sent a review in the name of a person",
    "undo": "undid a review",
    "prefer": "preferred an answer",
    "make_queue": "created a queue",
    "close_queue": "closed a queue",
    "assign_queue": "assigned a queue",
    "decide_item": "reviewed a queue item",
    "skip": "skipped a queue item",
    "undo_skip": "undid a skip",
    "reveal": "saw the judgment after a blind review",
    "answer_reveal": "kept or changed a grade after seeing the judgment",
    "adjudicate": "adjudicated a conflict",
    "conflict": "gave a review that made a conflict",
    "mention": "mentioned people in a comment",
    "link_person": "linked a user of the terminal to a person",
    "export_bundle": "exported a bundle of a queue",
    "merge_bundle": "merged a bundle into a queue",
    "select_attempt": "selected an attempt",
    "deselect_attempt": "deselected an attempt",
    "forget": "deleted the texts of an answer",
    "forget_traces": "deleted the spans of traces without an answer",
    "first_seen": "used Judgeboard for the first time",
    "sign_in": "signed in",
    "refused": "was not allowed",
    "add_person": "added a person",
    "change_role": "changed a role",
    "remove_person": "removed a person",
    "set_setting": "changed a setting",
    "apply_rules": "applied the flag rules",
    "retire_version": "retired a judge version",
    "restore_version": "restored a judge version",
    "start_import": "started an import",
    "finish_import": "finished an import",
    "start_run": "started a run",
    "resume_run": "continued a run",
    "finish_run": "finished a run",
    "job_requested": "requested a job",
    "job_began": "started a job",
    "job_cancelled": "cancelled a job",
    "job_failed": "had a job that failed",
    "add_rule": "added a judging rule",
    "set_rule_judge": "changed the judge of a judging rule",
    "set_rule_state": "paused, resumed or removed a judging rule",
    "add_alert_rule": "added an alert rule",
    "set_alert_rule_state": "paused, resumed or removed an alert rule",
    "start_worker": "started a worker",
    "stop_worker": "stopped a worker",
    "use_settings": "read its settings",
    "raise_alarm": "found a change that raised an alarm",
    "acknowledge_alarm": "acknowledged an alarm",
    "align_judge": "tested a changed prompt of a judge",
    "accept_aligned_judge": "accepted a changed prompt of a judge",
    "make_anchors": "fixed anchors",
    "make_control_answers": "created control answers",
    "make_pairs": "created pairs",
    "create_key": "created a key",
    "revoke_key": "revoked a key",
    "set_trace_rules": "changed the rules of a source",
    "expire_feedback": "deleted feedback whose answer did not come",
    "combine": "combined verdicts",
    "audit_recorded": "compared verdicts",
}


def events() -> None:
    """Show the events, newest first."""
    demand(Action.SEE_MANAGED)
    now = utc_now()
    with reading() as connection:
        chosen, query = _filters(event_values(connection, "kind"), event_values(connection, "actor"), now)
        turned = current_page(PAGE, query)
        page = event_page(connection, chosen, after=turned.after, before=turned.before, limit=PAGE_SIZE)
    if not page.lines:
        empty("No event matches." if chosen != EventFilter() else "No events yet.")
        return
    sentence(f"{count(page.total, 'event')}, newest first.")
    rows, key = Table.of(page.lines, EVENT_COLUMNS), f"events_table_{page.lines[0].id}"
    show_rows(rows, key=key, sort=sorts_by_header(PAGE, {}))
    turning_foot(PAGE, page, "event", lambda: _export(chosen), query=query)


def event_words(kind: str) -> str:
    """Return a kind of event as the predicate of a sentence."""
    return EVENT_WORDS.get(kind, kind.replace("_", " "))


def _filters(kinds: tuple[str, ...], actors: tuple[str, ...], now: datetime) -> tuple[EventFilter, Query]:
    looks: dict[str, Any] = {"index": None, "bind": "query-params", "width": 210}
    with st.container(key="filters_events", horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = st.selectbox("What", kinds, key="kind", placeholder="All events", format_func=event_words, **looks)
        actor = st.selectbox("Who", actors, key="actor", placeholder="All people", format_func=as_label, **looks)
        words = {name: f"The {words}" for name, (words, _) in SINCE.items()}
        since = st.selectbox(
            "Since", list(SINCE), key="since", placeholder="Any time", format_func=words.__getitem__, **looks
        )
        named = st.text_input("Answer", key="answer", bind="query-params", placeholder="Id", width=190)
    from_ = None if since is None else now - timedelta(days=SINCE[since][1])
    fields = {"kind": kind, "actor": actor, "since": since, "answer": named.strip()}
    query = {name: [value] for name, value in fields.items() if value}
    return EventFilter(kind, actor, named.strip() or None, from_), query


def _details(event: StoredEvent) -> str:
    return " · ".join(
        f"{name.replace('_', ' ')} {_detail(value)}"
        for name, value in event.details.items()
        if value is not None and value not in ({}, [])
    )


def _detail(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(each, (list, dict)) for each in value):
        return ", ".join(map(_detail, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


EVENT_COLUMNS: Columns[StoredEvent] = {
    Column("When", width=115): lambda event: when(event.at),
    Column("Who", width=200): lambda event: event.actor,
    Column("What", width=190): lambda event: event_words(event.kind),
    Column("Answer", width=170): lambda event: event.response,
    Column("Details", width=480): _details,
    Column("Event", "integer", width=75): lambda event: event.id,
}
FILE_COLUMNS: Columns[StoredEvent] = {
    Column("id", "integer"): lambda event: event.id,
    Column("at"): lambda event: event.at.isoformat(),
    Column("actor"): lambda event: event.actor,
    Column("kind"): lambda event: event.kind,
    Column("response"): lambda event: event.response,
    Column("details"): lambda event: json.dumps(event.details),
}


def _export(chosen: EventFilter) -> Table:
    with reading() as connection:
        return Table.of(latest_events(connection, chosen, limit=MAX_EXPORTED), FILE_COLUMNS)
