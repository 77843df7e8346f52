"""The page Judging rules: the rules, the number of waiting answers, the judges, and a form for a new rule."""

import streamlit as st

from judgeboard.domain import Action
from judgeboard.flags.rules import RULES
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.people.permissions import may
from judgeboard.runs.judging_rules import (
    NO_WORKER,
    PAUSED,
    USED_UP,
    RuleProgress,
    add_rule,
    rule_progress,
    rule_spec,
    set_judge,
    with_model,
)
from judgeboard.runs.rules import LONGEST_NAME
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.response_pages import response_facets
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    current_reviewer,
    page,
    read,
    saving,
    seen,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.rejudge_form import ChosenJudge, judge_specs, with_destination
from judgeboard_dashboard.widgets.rule_states import show_problem, state_buttons
from judgeboard_dashboard.widgets.tables import choose_row, foot
from judgeboard_dashboard.widgets.texts import (
    caption,
    confirm,
    confirmation,
    count,
    duration,
    heading,
    is_confirmed,
    sentence,
    when,
)

# The columns up to the cost fit into 800 px.
COLUMNS: Columns[RuleProgress] = {
    Column("Rule", width=110): lambda line: line.rule.name,
    Column("State", width=112): lambda line: line.state,
    Column("Judge", width=90): lambda line: line.version.title,
    Column("Model", width=124): lambda line: line.version.model,
    Column(
        "Waiting", "count", width=70, help="Selected answers that are not judged yet"
    ): lambda line: line.waiting,
    Column(
        "Calls today", width=95, right=True, help="Calls since midnight UTC, of the maximum per day"
    ): (lambda line: line.calls_words),
    Column(
        "Cost today", width=125, right=True, help="Cost since midnight UTC, of the maximum per day"
    ): (lambda line: line.cost_words),
    Column("Oldest waits", width=105, help="Time since the first waiting answer was stored"): (
        lambda line: line.oldest and duration((utc_now() - line.oldest).total_seconds())
    ),
    Column("Sampling rate", width=115): lambda line: line.rate_words,
    Column("Answers", width=200, help="The filter of the rule"): lambda line: describe(
        line.rule.filter
    ),
}


def judging() -> None:
    """Show the rules with progress, the buttons of the selected rule, and the form."""
    sentence("A judging rule judges answers as they come.")
    lines = rule_progress(seen())
    if lines:
        key = f"judging_rules_{len(lines)}"
        line_of_rule = lines[choose_row(Table.of(lines, COLUMNS), key=key, most=10)]
        foot(
            Table.of(lines, COLUMNS), "judging_rules", "The budget of a day begins at midnight UTC."
        )
        for line in lines:
            show_problem(line.rule.name, line.rule.problem)
        name, judge = line_of_rule.rule.name, line_of_rule.version.title
        if line_of_rule.failed_today:
            caption(f"{name}: {count(line_of_rule.failed_today, 'call')} without a verdict today.")
        caption(_NEXT_STEPS.get(line_of_rule.state))
        if line_of_rule.earlier:
            before = ", ".join(
                f"{each.title} until {when(each.until)}" for each in line_of_rule.earlier
            )
            caption(f"Judges of this rule before {judge}: {before}. Their judgments are kept.")
        confirmation("judge_of_rule")
        state_buttons(line_of_rule.rule)
        reviewer = current_reviewer()
        if reviewer is not None and may(reviewer, Action.KEEP_RULES):
            with st.popover("Change judge", icon=":material/gavel:", key=f"judging_change_{name}"):
                # Show the fields of another judge for a rule, what happens to the answers, and the
                # button.
                chosen_judge = _judge_fields(f"judging_of_{name}_{judge}", line_of_rule)
                waiting_words = (
                    f"the {count(line_of_rule.waiting, 'waiting answer')} and "
                    if line_of_rule.waiting
                    else ""
                )
                caption(
                    f"The new judge judges {waiting_words}all later answers. Answers that {judge} judged keep their "
                    "judgments. The rule does not judge them again. Its name, filter, sampling rate and limits stay."
                )
                set_key = f"judging_set_{name}"
                if button(
                    "Save judge", key=set_key, type="primary", disabled=not chosen_judge.agreed
                ):
                    with saving():
                        set_judge(
                            store(),
                            name,
                            judge=chosen_judge.spec,
                            confirmed_host=chosen_judge.host,
                            actor=reviewer,
                        )
                        [new_line] = rule_progress(seen(), name=name)
                        confirm(
                            "judge_of_rule",
                            f"Saved: {name} has the judge {new_line.version.title} now.",
                            _NEXT_STEPS.get(new_line.state, _JUDGES),
                        )
    else:
        caption("There is no judging rule yet.")
    _form()


_NEXT_STEPS = {
    PAUSED: "The rule is paused: it judges after you resume it.",
    USED_UP: "The budget of today is used up: it judges from midnight UTC on.",
    NO_WORKER: "It judges as soon as a worker runs: `judgeboard worker`",
}
"""The next step of a rule that was just stored, by the state of the rule."""
_JUDGES = "It judges the waiting answers now, and new answers as they come."


def _judge_fields(key: str, line: RuleProgress | None = None) -> ChosenJudge:
    """Show the fields for a stored judge version, first the version of a rule, or for another model."""
    specs = judge_specs()
    if line is not None:
        own = read(rule_spec, line.rule)
        specs = ({} if own is None else {f"{line.version.title}, as now": own}) | specs
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
    chosen_judge = ChosenJudge(spec)
    return chosen_judge if spec.get("model") == "" else with_destination(chosen_judge, "answers")


def _form() -> None:
    heading("New rule")
    is_added = is_confirmed("rule")
    confirmation("rule")  # above the form: a longer table may have moved the button out of sight
    reviewer = ask_reviewer("Your name is stored with the rule.", to=Action.KEEP_RULES)
    if reviewer is None:
        return
    facets = read(response_facets)
    if is_added:
        # The next rule has another name, and the judge's own model.
        st.session_state["judging_name"] = st.session_state["judging_model"] = ""
    left, right = stacking_columns("judging_form", 2, gap="large")
    with left:
        name = st.text_input("Name", key="judging_name", max_chars=LONGEST_NAME)
        judge = _judge_fields("judging")
        sources = st.multiselect(
            "Sources", facets.parts["source"], key="judging_sources", placeholder="All"
        )
        query_types = st.multiselect(
            "Query types", facets.parts["query_type"], key="judging_types", placeholder="All"
        )
        flags = st.multiselect(
            "Flagged by", list(RULES), key="judging_flags", placeholder="Flagged or not"
        )
    with right:
        percent = st.number_input(
            "Sampling rate, %", 0.0, 100.0, 100.0, 5.0, format="%g", key="judging_rate"
        )
        cost = st.number_input(
            "Maximum cost per day, $", 0.0, value=None, key="judging_cost", placeholder="No limit"
        )
        calls = st.number_input(
            "Maximum calls per day", 1, value=None, key="judging_calls", placeholder="No limit"
        )
        existing = st.toggle(
            "Also judge the answers that are stored already", key="judging_existing"
        )
    usable = bool(name.strip()) and judge.agreed
    if button("Add rule", key="judging_add", type="primary", disabled=not usable):
        with saving():
            rule = add_rule(
                store(),
                name,
                judge=judge.spec,
                where=RowFilter(
                    sources=tuple(sources), query_types=tuple(query_types), rules=tuple(flags)
                ),
                rate=percent / 100,
                max_cost=cost,
                max_calls=calls,
                existing=existing,
                confirmed_host=judge.host,
                actor=reviewer,
            )
            [line] = rule_progress(seen(), name=rule.name)
            what = f"{line.version.title}, {line.rate_words} of {describe(rule.filter)}"
            confirm("rule", f"Added: {rule.name} ({what}).", _NEXT_STEPS.get(line.state, _JUDGES))
    caption("To use another prompt or address, use a terminal: `judgeboard rule add judge --help`")


with page(answers=False):
    judging()
