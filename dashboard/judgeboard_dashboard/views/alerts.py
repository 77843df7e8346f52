"""The page Alerts: open events, the alert rules, the latest messages, and a form for a new rule."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from judgeboard.alerts.conditions import CONDITIONS
from judgeboard.alerts.destinations import web_addresses
from judgeboard.alerts.events import send_test
from judgeboard.alerts.levels import DEFAULT_WINDOW, LEAST_ANSWERS, LEVEL_MEASURES, levels_now
from judgeboard.alerts.rules import (
    DAILY,
    add_alert_rule,
    limits_words,
    reminder_words,
    unset_webhooks,
)
from judgeboard.domain import Action, AlertCondition
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.trend_figures import MEASURES
from judgeboard.runs.rules import LONGEST_NAME
from judgeboard.settings.option_words import checked
from judgeboard.settings.sections import AlertSettings
from judgeboard.store.alerts import latest_deliveries, open_events
from judgeboard.store.criteria import Criterion, criteria_by_judge
from judgeboard.store.jobs import live_workers
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import AlertDelivery, AlertEvent, AlertRule
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    page,
    read,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.rule_states import show_problem, state_buttons
from judgeboard_dashboard.widgets.tables import choose_row, foot, table
from judgeboard_dashboard.widgets.texts import (
    capital,
    caption,
    confirm,
    confirmation,
    heading,
    is_confirmed,
    rule_words,
    sentence,
    when,
    when_known,
)

MOST = 50
EVENT_COLUMNS: Columns[tuple[str, AlertEvent]] = {
    Column("Since", width=120): lambda event: when(event[1].opened_at),
    Column("Rule", width=160): lambda event: event[0],
    Column("What", width=620): lambda event: event[1].sentence,
    Column("Messages", "count", width=80): lambda event: event[1].messages,
}
MESSAGE_COLUMNS: Columns[tuple[str, AlertDelivery]] = {
    Column("Time", width=120): lambda message: when(message[1].at),
    Column("Rule", width=160): lambda message: message[0],
    Column("Message", width=90): lambda message: message[1].kind.value,
    Column("State", width=80): lambda message: message[1].state,
    Column("Why not sent", width=420): lambda message: message[1].error,
    Column("To", width=220): lambda message: message[1].destination,
    Column("Attempts", "count", width=80): lambda message: message[1].attempts,
}


def alerts() -> None:
    """Show open events, rules with buttons, messages and the form."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        rules, events = list_rules(connection, AlertRule), open_events(connection)
        messages = latest_deliveries(connection, limit=MOST)
        criteria = criteria_by_judge(connection)
        has_worker = bool(live_workers(connection))
        rule_table = Table.of(
            rules,
            {
                Column("Rule", width=160): lambda rule: rule.name,
                Column("State", width=80): lambda rule: rule.state_now(has_worker=has_worker),
                Column("Condition", width=270): lambda rule: rule_words(limits_words(rule)),
                Column("To", width=270): lambda rule: ", ".join(rule.destinations),
                Column("Reminder", width=90): reminder_words,
                Column("Quiet hours", width=190): lambda rule: rule.quiet,
                Column("Evaluated", width=120): lambda rule: when_known(rule.evaluated_at),
            },
        )
    sentence(
        "An alert rule sends messages when a condition begins, while it lasts, and when it ends."
    )
    if events:
        heading("Open events")
        table(
            Table.of(events, EVENT_COLUMNS),
            key=f"alert_events_{len(events)}",
            name="alert_events",
            most=8,
        )
    if rules:
        selected_rule = rules[choose_row(rule_table, key=f"alert_rules_{len(rules)}", most=10)]
        for rule in rules:
            unset = unset_webhooks(rule.destinations)
            show_problem(rule.name, rule.problem or (unset.text if unset else None))
        foot(rule_table, "alert_rules", CONDITIONS[selected_rule.condition].words)
        for now in read(levels_now, selected_rule):
            caption(f"Now: {now}")
        state_buttons(selected_rule, test=send_test)
    else:
        caption("There is no alert rule yet. In a terminal: `judgeboard rule add alert --help`")
    if messages:
        heading("Latest messages")
        under = (f"The latest {MOST}" if len(messages) == MOST else None,)
        key = f"alert_messages_{messages[0][1].id}"
        table(
            Table.of(messages, MESSAGE_COLUMNS), key=key, name="alert_messages", under=under, most=8
        )
    _form(criteria)


def _form(criteria: Mapping[str, Mapping[str, Criterion]]) -> None:
    heading("New rule")
    is_added = is_confirmed("alert")
    confirmation("alert")  # above the form: a longer table may have moved the button out of sight
    reviewer = ask_reviewer("Your name is stored with the rule.", to=Action.KEEP_RULES)
    if reviewer is None:
        return
    if is_added:
        st.session_state["alert_name"] = ""  # the next rule has another name
    left, right = stacking_columns("alerts_form", 2, gap="large")
    with left:
        name = st.text_input("Name", key="alert_name", max_chars=LONGEST_NAME)
        conditions = list(AlertCondition)
        suffixes = {AlertCondition.LEVEL: " (mean score, or share of low groundedness)"}
        when_ = (
            st.selectbox(
                "Condition",
                conditions,
                format_func=lambda each: capital(rule_words(each)) + suffixes.get(each, ""),
                key="alert_when",
            )
            or conditions[0]
        )
        condition = CONDITIONS[when_]
        caption(condition.words)
        above = after = only = None
        of_level: dict[str, Any] = _level_fields(criteria) if when_ is AlertCondition.LEVEL else {}
        if condition.unit is not None and not of_level:
            label = f"Threshold ({condition.unit})"
            default = None if condition.threshold is None else float(condition.threshold)
            above = st.number_input(
                label, 0.0, value=default, step=1.0, format="%g", key=f"alert_above_{when_}"
            )
        if condition.period is not None:
            after = st.text_input(
                "Period", condition.period, key=f"alert_after_{when_}", help="Such as 30min or 2d"
            )
        if condition.subject is not None:
            placeholder = "All answers, or for example query_type=QA" if of_level else "All"
            only = st.text_input(
                f"Only this {condition.subject}", key=f"alert_only_{when_}", placeholder=placeholder
            )
        side = next((each for each in ("above", "below") if each in of_level), None)
        has_threshold = (
            of_level[side] is not None if side else above is not None or condition.unit is None
        )
    with right:
        to = st.text_area(
            "Destinations, one per line",
            key="alert_to",
            placeholder="slack:env:SLACK_URL\nemail:quality@example.org",
            help="`slack:env:NAME` or `webhook:env:NAME`: the worker's environment variable NAME has the address. "
            " `email:ADDRESS` or `command`.",
        )
        variables = ", ".join(web_addresses()) or "none"
        caption(
            f"Environment variables of this server that have a web address: {variables}. To set one, before you start "
            "the server and the workers: `export SLACK_URL=https://hooks.slack.com/services/…`"
        )
        remind = st.text_input(
            "Reminder every", DAILY, key="alert_remind", help="A period, or never"
        )
        quiet = st.text_input(
            "Quiet hours", key="alert_quiet", placeholder="22:00-07:00 Europe/Berlin"
        )
    usable = bool(name.strip() and to.strip()) and has_threshold
    if button("Add rule", key="alert_add", type="primary", disabled=not usable):
        with saving():
            fields = {
                "when": when_,
                "to": [line for line in to.splitlines() if line.strip()],
                "above": above,
                "after": after or None,
                "only": [only.strip()] if only and only.strip() else [],
                "remind": remind or DAILY,
                "quiet": quiet.strip() or None,
            }
            rule = add_alert_rule(
                store(), name, checked(AlertSettings, fields | of_level), reviewer
            )
            confirm(
                "alert",
                f"Added: {rule.name}.",
                "Workers evaluate it every minute."
                if read(live_workers)
                else "No worker runs now. A worker evaluates it every minute: `judgeboard worker`",
            )


def _level_fields(criteria: Mapping[str, Mapping[str, Criterion]]) -> dict[str, Any]:
    """Show the fields of a level; return the arguments of `AlertSettings`."""
    measures: dict[str, dict[str, str]] = {
        capital(MEASURES[each].words): {"measure": each} for each in LEVEL_MEASURES
    }
    for judge, names in criteria.items():
        measures |= {f"{name} ({judge})": {"criterion": name, "judge": judge} for name in names}
    measure = measures[
        st.selectbox("Measure", list(measures), key="alert_measure") or next(iter(measures))
    ]
    is_share = any(
        MEASURES[each].is_share for each in LEVEL_MEASURES if each == measure.get("measure")
    )
    sides = ["above", "below"] if is_share else ["below", "above"]
    direction = st.segmented_control(
        "Alert if it is", sides, default=sides[0], required=True, key=f"alert_direction_{sides[0]}"
    )
    label = f"Threshold ({'%' if is_share else 'score'})"
    threshold = st.number_input(
        label, value=None, step=1.0 if is_share else 0.1, format="%g", key="alert_level"
    )
    last = st.text_input(
        "Window",
        DEFAULT_WINDOW,
        key="alert_last",
        help="A number of newest answers (10 to 20,000), or of days (1 to 366, UTC) such as 7d (default: 200 answers). "
        f"At least {LEAST_ANSWERS} answers are needed.",
    )
    return measure | {direction or sides[0]: threshold, "last": last or DEFAULT_WINDOW}


with page():
    alerts()
