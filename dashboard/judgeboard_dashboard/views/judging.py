"""The page Judging rules: the rules, the answers that wait for each, their judges, and a form for a new rule."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from judgeboard.flags.rules import RULES
from judgeboard.people.permissions import Action, may
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.runs.jobs import judge_spec
from judgeboard.runs.judging_rules import (
    LONGEST_NAME,
    NO_WORKER,
    PAUSED,
    RuleProgress,
    add_rule,
    change_rule,
    rule_progress,
    rule_spec,
    set_judge,
    with_model,
)
from judgeboard.settings import load_settings
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.judging_rules import rule_named
from judgeboard.store.listing import occurring_values
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.statements import LOGGED
from judgeboard.store.tables import RESPONSE
from judgeboard_dashboard.session import (
    ask_reviewer,
    current_reviewer,
    page,
    reading,
    saving,
    seen,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.rejudge_form import destination, show_destination
from judgeboard_dashboard.widgets.rule_states import show_problem, state_buttons
from judgeboard_dashboard.widgets.tables import choose_row, foot
from judgeboard_dashboard.widgets.texts import caption, count, duration, heading, sentence, when

_ADDED = "judging_rule_added"
OFFLINE = "lexical (word overlap, no model)"
CHAT = "rag (chat model)"


def _age(rule: RuleProgress) -> str | None:
    return None if rule.oldest is None else duration((utc_now() - rule.oldest).total_seconds())


# The columns up to the judge fit into 800 px.
COLUMNS: Columns[RuleProgress] = {
    Column("Rule", width=110): lambda rule: rule.name,
    Column("State", width=120): lambda rule: rule.state,
    Column("Waiting", "count", width=75, help="Selected answers that are not judged yet"): lambda rule: rule.waiting,
    Column("Oldest waits", width=105, help="Time since the first waiting answer was stored"): _age,
    Column("Calls today", width=105, right=True, help="Calls since midnight UTC, of the maximum per day"): (
        lambda rule: rule.calls_words
    ),
    Column("Cost today", width=130, right=True, help="Cost since midnight UTC, of the maximum per day"): (
        lambda rule: rule.cost_words
    ),
    Column("Judge", width=120): lambda rule: rule.judge,
    Column("Sampling rate", width=115): lambda rule: rule.rate_words,
    Column("Answers", width=200, help="The filter of the rule"): lambda rule: describe(rule.where),
}


def judging() -> None:
    """Show the rules with their progress, the buttons of the selected rule, and the form."""
    sentence("A judging rule judges answers as they come.")
    rules = rule_progress(seen())
    if rules:
        key = f"judging_rules_{len(rules)}"
        chosen = rules[choose_row(Table.of(rules, COLUMNS), key=key, most=10)]
        foot(Table.of(rules, COLUMNS), "judging_rules", "The budget of a day begins at midnight UTC.")
        for rule in rules:
            show_problem(rule.name, rule.problem)
        _buttons(chosen)
    else:
        caption("There is no judging rule yet. In a terminal: `judgeboard rules add NAME --judge KIND`")
    reviewer = current_reviewer()
    if reviewer is not None and not may(reviewer, Action.KEEP_JUDGING_RULES):
        caption("Only leads and admins add and change judging rules.")
        return
    _form()


def _load(rule: RuleProgress) -> str:
    """Return the waiting answers of a rule and its spending today, in words."""
    oldest = f", the oldest for {age}" if (age := _age(rule)) else ""
    verb = "waits" if rule.waiting == 1 else "wait"
    failed = f" {count(rule.failed_today, 'call')} gave no verdict." if rule.failed_today else ""
    calls = count(rule.calls_today, "call") if rule.max_calls is None else f"{rule.calls_words} calls"
    return f"{rule.name}: {count(rule.waiting, 'answer')} {verb}{oldest}. Today: {calls}, {rule.cost_words}.{failed}"


def _buttons(rule: RuleProgress) -> None:
    caption(_load(rule))
    if rule.state == NO_WORKER:
        caption("No process judges now. Start `judgeboard serve` or `judgeboard worker`.")
    if rule.earlier:
        before = ", ".join(f"{each.title} until {when(each.until)}" for each in rule.earlier)
        caption(f"Judges of this rule before {rule.judge}: {before}. Their judgments are kept.")
    paused = rule.state == PAUSED
    state_buttons(rule.name, Action.KEEP_JUDGING_RULES, change_rule, key="judging", paused=paused)
    reviewer = current_reviewer()
    if reviewer is not None and may(reviewer, Action.KEEP_JUDGING_RULES):
        with st.popover("Change judge", icon=":material/gavel:", key=f"judging_change_{rule.name}"):
            _change_judge(rule, reviewer)


def _change_judge(rule: RuleProgress, reviewer: Reviewer) -> None:
    """Show the fields of another judge for a rule, what happens to its answers, and the button."""
    with reading() as connection:
        spec = rule_spec(connection, rule_named(connection, rule.name))
    chosen = _judge_fields(f"judging_of_{rule.name}_{rule.judge}", {} if spec is None else {rule.judge: spec})
    waiting = f"the {count(rule.waiting, 'waiting answer')} and " if rule.waiting else ""
    caption(
        f"The new judge judges {waiting}all later answers. Answers that {rule.judge} judged keep their judgments. The "
        "rule does not judge them again. Its name, filter, sampling rate and limits stay."
    )
    key = f"judging_set_{rule.name}"
    if st.button("Save judge", key=key, type="primary", disabled=not chosen.agreed, wrap=False):
        with saving():
            set_judge(store(), rule.name, judge=chosen.spec, confirmed_host=chosen.host, actor=reviewer)


class _ChosenJudge(NamedTuple):
    """The fields of a judge, the host that gets the answers, and whether the person agreed if that is another one."""

    spec: dict[str, Any]
    host: str | None
    agreed: bool


def _judge_fields(key: str, first: Mapping[str, dict[str, Any]] | None = None) -> _ChosenJudge:
    """Show the fields for a stored judge version, those of ``first`` before the others, or another model of it."""
    specs = _specs()
    specs = {**(first or {}), **{title: spec for title, spec in specs.items() if title not in (first or {})}}
    judge = st.selectbox("Judge", list(specs), key=f"{key}_judge")
    spec = specs[judge]
    model = ""
    if "model" in spec:
        model = st.text_input(
            "Model",
            key=f"{key}_model",
            placeholder=spec["model"] or "as its endpoint spells it",
            help="Another chat model for this judge, as its endpoint spells it. It makes a new judge version with the "
            "same name, prompt and settings.",
        ).strip()
    if model:
        spec = with_model(spec, model)
    address = None if spec.get("model") == "" else destination(spec)
    if address is None:
        return _ChosenJudge(spec, None, agreed=False)
    agreed = show_destination(address, "answers")
    return _ChosenJudge(spec, address.host if agreed else None, agreed)


def _specs() -> dict[str, dict[str, Any]]:
    """Return the fields of the judges that a rule can use, by title, the newest first."""
    with reading() as connection:
        retired = retired_versions(connection)
        versions = [version for version in list_versions(connection) if version.id not in retired]
        specs = {version.title: judge_spec(connection, version) for version in reversed(versions)}
    others: dict[str, dict[str, Any]] = {
        CHAT: {"kind": "rag", "model": load_settings().model or ""},
        OFFLINE: {"kind": "lexical"},
    }
    return {title: spec for title, spec in specs.items() if spec is not None} | others


def _form() -> None:
    heading("New rule")
    reviewer = ask_reviewer("Your name is stored with the rule.")
    if reviewer is None:
        return
    with reading() as connection:
        known_types = occurring_values(connection, RESPONSE.c.query_type, LOGGED)
    if st.session_state.pop(_ADDED, False):
        st.session_state["judging_name"] = ""  # the next rule has another name
    left, right = stacking_columns("judging_form", 2, gap="large")
    with left:
        name = st.text_input("Name", key="judging_name", max_chars=LONGEST_NAME)
        chosen = _judge_fields("judging")
        query_types = st.multiselect("Query types", known_types, key="judging_types", placeholder="All")
        flags = st.multiselect(
            "Flagged by", [rule.name for rule in RULES], key="judging_flags", placeholder="Flagged or not"
        )
    with right:
        percent = st.number_input("Sampling rate, %", 0.0, 100.0, 100.0, 5.0, format="%g", key="judging_rate")
        cost = st.number_input("Maximum cost per day, $", 0.0, value=None, key="judging_cost", placeholder="No limit")
        calls = st.number_input("Maximum calls per day", 1, value=None, key="judging_calls", placeholder="No limit")
        existing = st.toggle("Also judge the answers that are stored already", key="judging_existing")
    usable = bool(name.strip()) and chosen.agreed
    if st.button("Add rule", key="judging_add", type="primary", disabled=not usable, wrap=False):
        with saving():
            add_rule(
                store(),
                name,
                judge=chosen.spec,
                where=RowFilter(query_types=tuple(query_types), rules=tuple(flags)),
                rate=percent / 100,
                max_cost=cost,
                max_calls=calls,
                existing=existing,
                confirmed_host=chosen.host,
                actor=reviewer,
            )
            st.session_state[_ADDED] = True
    caption("To use another prompt or address, use a terminal: `judgeboard rules add --help`")


with page("Judging rules", answers=False):
    judging()
