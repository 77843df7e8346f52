"""The people, the judge versions, the database and the events on the Settings page."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import streamlit as st

from judgeboard.domain import ROLES, Role
from judgeboard.errors import JudgeboardError
from judgeboard.llm.endpoint import PROVIDERS
from judgeboard.people.permissions import SIGNED_IN, Action, role_words
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
from judgeboard.settings import ConfigLine, config_lines, load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, StoredEvent, event_actors, event_kinds, event_page, latest_events
from judgeboard.store.judge_versions import Retired, StoredVersion
from judgeboard.store.migrations import HEAD
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, problem, reading, store
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.rule_settings import param_lines, prompt_difference
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, csv_button, frame, height, place_in, turning_foot
from judgeboard_dashboard.widgets.texts import caption, count, empty, heading, sentence, when

COLUMNS = {"Name": "str", "Role": "str", "Known from": "str", "Last seen": "str", "Last review": "str"}
FROM = {"oidc": "signs in", "desk": "typed at a desk", "cli": "a terminal", "import": "an import"}
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
            "Role",
            ROLES,
            index=ROLES.index(Role.REVIEWER),
            format_func=str.capitalize,
            key="people_role",
            help="\n\n".join(map(role_words, ROLES)),
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
    caption(*map(role_words, ROLES))


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


VERSION_COLUMNS = {"Judge version": "str", "Kind": "str", "Model": "str", "Since": "str", "Fingerprint": "str"}
PARAMS = {"Parameter": "str", "Old": "str", "New": "str", "Differs": "str"}
_NOT_RETIRED = "version_not_retired"
MARKS = {"added": "+", "removed": "−", "same": "", "gap": "…"}


def versions(listed: Sequence[StoredVersion], retired: Mapping[int, Retired]) -> None:
    """Show them; of the chosen one the prompt, and what differs from another; admins retire it."""
    heading("Judge versions")
    if not listed:
        empty("Nothing has judged yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(listed, key=lambda version: -version.id)
    chosen = _versions_table(newest_first, retired)
    _retiring(chosen, retired.get(chosen.id))
    other = _other(chosen, newest_first)
    if other is None:
        _prompt(chosen)
    else:
        _difference(other, chosen)


def _retiring(version: StoredVersion, fact: Retired | None) -> None:
    """Whether the version is asked anything more, and the button that changes it."""
    with st.container(key="versions_retiring", horizontal=True, vertical_alignment="center", gap="small"):
        if fact is not None:
            said = f"{version.title} was retired by {fact.by}, {when(fact.at)}: nothing more is asked of it."
            show(tag("div", said, cls="jb-cap"))
        if not permitted(Action.RETIRE_VERSIONS):
            show(tag("div", "Admins retire judge versions.", cls="jb-cap"))
            return
        admin = current_reviewer()
        st.button(
            "Take back" if fact is not None else "Retire",
            key="version_retire",
            type="tertiary",
            icon=":material/unarchive:" if fact is not None else ":material/archive:",
            disabled=admin is None,
            help="Nothing more is asked of a retired version, and it is not offered. What it said stays."
            if admin is not None
            else "Give your name first: it stands beside the change.",
            on_click=_retire,
            args=(version.id, fact is None),
            wrap=False,
        )
    said = st.session_state.pop(_NOT_RETIRED, None)
    if said is not None:
        problem(f"Not retired: {said}")


def _retire(version_id: int, retire: bool) -> None:
    admin = current_reviewer()
    if admin is None:
        return
    try:
        (retire_version if retire else restore_version)(store(), version_id, admin)
    except JudgeboardError as error:
        st.session_state[_NOT_RETIRED] = str(error)


def _versions_table(listed: Sequence[StoredVersion], retired: Mapping[int, Retired]) -> StoredVersion:
    table = frame(
        VERSION_COLUMNS,
        (
            (
                f"{each.title} (retired)" if each.id in retired else each.title,
                each.kind,
                each.model,
                when(each.created_at),
                each.fingerprint[:12],
            )
            for each in listed
        ),
    )
    event = st.dataframe(
        table,
        key=f"versions_{listed[0].id}_{len(listed)}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=6),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            "Judge version": st.column_config.TextColumn(width=190),
            "Kind": st.column_config.TextColumn(width=85),
            "Model": st.column_config.TextColumn(width=190),
            "Since": st.column_config.TextColumn(width=115),
            "Fingerprint": st.column_config.TextColumn(width=125),
        },
    )
    csv_button(lambda: _file(listed), "judge-versions", key="versions_csv")
    rows = event.selection.rows
    return listed[rows[0] if rows and rows[0] < len(listed) else 0]


def _file(listed: Sequence[StoredVersion]) -> pd.DataFrame:
    """All there is of every version, for a file."""
    names = ("title", "kind", "model", "scale", "fingerprint", "prompt")
    columns = dict.fromkeys((*names, "params", "created_at"), "str")
    return frame(
        columns,
        ((*(getattr(each, name) for name in names), str(each.params), each.created_at.isoformat()) for each in listed),
    )


def _other(chosen: StoredVersion, listed: Sequence[StoredVersion]) -> StoredVersion | None:
    others = {version.id: version for version in listed if version.id != chosen.id}
    if not others:
        return None
    picked = st.selectbox(
        "Compare with",
        list(others),
        index=None,
        format_func=lambda version_id: others[version_id].title,
        placeholder="an older version",
        key=f"versions_other_{chosen.id}",
        width=260,
    )
    return None if picked is None else others[picked]


def _prompt(version: StoredVersion) -> None:
    heading(f"{version.title}: prompt and parameters")
    if version.prompt is None:
        caption("It has no prompt.")
    else:
        show(tag("div", version.prompt, cls="jb-raw jb-prompt"))
    lines = param_lines(version, version)
    table = frame({"Parameter": "str", "Value": "str"}, ((line.name, line.new) for line in lines))
    _params(table, f"params_{version.id}")


def _difference(old: StoredVersion, new: StoredVersion) -> None:
    heading(f"From {old.title} to {new.title}")
    lines = prompt_difference(old.prompt, new.prompt)
    if lines:
        marked = [
            tag("div", tag("span", MARKS[line.kind]), tag("span", line.text), cls=f"jb-diff jb-{line.kind}")
            for line in lines
        ]
        show(tag("div", *marked, cls="jb-raw jb-prompt"))
    else:
        caption("Their prompts are equal." if old.prompt or new.prompt else "Neither has a prompt.")
    table = frame(
        PARAMS,
        ((line.name, line.old, line.new, "differs" if line.differs else None) for line in param_lines(old, new)),
    )
    _params(table, f"params_{old.id}_{new.id}")


def _params(table: pd.DataFrame, key: str) -> None:
    st.dataframe(table, key=key, hide_index=True, placeholder="–", row_height=36, height=height(len(table), most=10))
    csv_button(table, "parameters", key="params_csv")


MEGABYTE = 1_000_000
DATABASE_VARIABLE = "JUDGEBOARD_DB"


def database(store: Store, answers: int, open_flags: int) -> None:
    """Show which database this is, and every variable that can be set."""
    heading("Database in use")
    engine = "SQLite" if store.is_sqlite else "PostgreSQL"
    show(tag("div", tag("span", store.shown_url, cls="jb-code"), cls="jb-address"))
    said = [engine, f"schema {HEAD}", count(answers, "answer"), count(open_flags, "open flag")]
    size = _size(store)
    caption(" · ".join([*said, size] if size else said))
    heading("Environment")
    table = frame(
        {"Variable": "str", "Value": "str"},
        ((line.variable, _value(line)) for line in config_lines(load_settings(), PROVIDERS)),
    )
    st.dataframe(
        table,
        key="environment",
        hide_index=True,
        placeholder="not set",
        row_height=36,
        height=height(len(table), most=6),
    )
    csv_button(table, "environment", key="environment_csv")


def _value(line: ConfigLine) -> str | None:
    """The server keeps the address that it was given with --db under this name: nobody needs to have set it."""
    if line.variable == DATABASE_VARIABLE:
        return "the database above"
    return line.value if line.is_set else None


def _size(store: Store) -> str | None:
    if not store.is_sqlite:
        return None
    path = Path(str(store.engine.url.database))
    return f"{path.stat().st_size / MEGABYTE:,.1f} MB" if path.exists() else None


PAGE = "events"
MOST_EXPORTED = 100_000
SINCE = {"day": ("the last day", 1), "week": ("the last 7 days", 7), "month": ("the last 30 days", 30)}
EVENT_COLUMNS = {"When": "str", "Who": "str", "What": "str", "Answer": "str", "Details": "str", "Event": "Int64"}
WORDS = {
    "decide": "decided a flag",
    "keep_draft": "came too late to a flag",
    "grade": "graded",
    "undo": "took a review back",
    "prefer": "preferred an answer",
    "make_queue": "made a queue",
    "close_queue": "closed a queue",
    "assign_queue": "gave a queue to people",
    "decide_item": "reviewed an item of a queue",
    "skip": "put an item aside",
    "reveal": "looked at the judge after a blind review",
    "answer_reveal": "kept or changed a grade after the judge was shown",
    "adjudicate": "decided where reviewers differed",
    "export_bundle": "gave a part of a queue out as a file",
    "merge_bundle": "brought a part of a queue back",
    "select_attempt": "selected an attempt",
    "deselect_attempt": "deselected an attempt",
    "forget": "had an answer forgotten",
    "first_seen": "came for the first time",
    "sign_in": "signed in",
    "refused": "was refused",
    "add_person": "added a person",
    "change_role": "changed a role",
    "remove_person": "removed a person",
    "set_setting": "changed a setting",
    "apply_rules": "applied the rules",
    "retire_version": "retired a judge version",
    "restore_version": "took a judge version back",
    "start_import": "began an import",
    "finish_import": "finished an import",
    "start_run": "began a run",
    "resume_run": "went on with a run",
    "finish_run": "ended a run",
    "job_requested": "asked for a job",
    "job_began": "had a job begin",
    "job_cancelled": "cancelled a job",
    "job_failed": "had a job fail",
    "start_worker": "began to take jobs",
    "stop_worker": "takes no more jobs",
    "make_control_answers": "made control answers",
    "make_pairs": "made pairs",
    "combine": "combined verdicts",
    "audit_recorded": "compared verdicts",
}


def events() -> None:
    """Show the list."""
    demand(Action.READ_EVENTS)
    now = datetime.now(UTC)
    with reading() as connection:
        given, query = _filters(event_kinds(connection), event_actors(connection), now)
        place = place_in(PAGE, query)
        found = event_page(connection, given, after=place.after, before=place.before, limit=PAGE_SIZE)
    if not found.lines:
        empty("No event matches." if given != EventFilter() else "Nothing was done here yet.")
        return
    sentence(f"{count(found.total, 'event')}, newest first.")
    rows = _frame(found.lines)
    st.dataframe(
        rows,
        key=f"events_table_{found.lines[0].id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        column_config={
            "When": st.column_config.TextColumn(width=115),
            "Who": st.column_config.TextColumn(width=200),
            "What": st.column_config.TextColumn(width=190),
            "Answer": st.column_config.TextColumn(width=170),
            "Details": st.column_config.TextColumn(width=480),
            "Event": st.column_config.NumberColumn(width=75, format="%d"),
        },
    )
    turning_foot(PAGE, found, "event", lambda: _export(given), query=query)


def event_words(kind: str) -> str:
    """Return what somebody did, as a page says it."""
    return WORDS.get(kind, kind.replace("_", " "))


def _filters(kinds: tuple[str, ...], actors: tuple[str, ...], now: datetime) -> tuple[EventFilter, Query]:
    with st.container(key="filters_events", horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = _select("What", kinds, "kind", "Everything", event_words)
        actor = _select("Who", actors, "actor", "Everybody", as_label)
        since = _select("Since", tuple(SINCE), "since", "The beginning", lambda name: SINCE[name][0].capitalize())
        named = st.text_input("Answer", key="answer", bind="query-params", placeholder="Id", width=190)
    from_ = None if since is None else now - timedelta(days=SINCE[since][1])
    fields = {"kind": kind, "actor": actor, "since": since, "answer": named.strip()}
    query = {name: [value] for name, value in fields.items() if value}
    return EventFilter(kind, actor, named.strip() or None, from_), query


def _select(
    label: str, options: tuple[str, ...], key: str, placeholder: str, words: Callable[[str], str]
) -> str | None:
    chosen: str | None = st.selectbox(
        label,
        options,
        index=None,
        key=key,
        bind="query-params",
        placeholder=placeholder,
        format_func=words,
        width=210,
    )
    return chosen


def _frame(events: tuple[StoredEvent, ...]) -> pd.DataFrame:
    return frame(
        EVENT_COLUMNS,
        (
            (when(event.at), event.actor, event_words(event.kind), event.response, _details(event), event.id)
            for event in events
        ),
    )


def _details(event: StoredEvent) -> str:
    return " · ".join(
        f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in event.details.items()
        if value is not None
    )


def _export(given: EventFilter) -> pd.DataFrame:
    columns = {"id": "Int64", "at": "str", "actor": "str", "kind": "str", "response": "str", "details": "str"}
    with reading() as connection:
        found = latest_events(connection, given, limit=MOST_EXPORTED)
    return frame(
        columns,
        (
            (event.id, event.at.isoformat(), event.actor, event.kind, event.response, json.dumps(event.details))
            for event in found
        ),
    )
