"""The page Settings: flag rules, thresholds, judge versions, failure modes, people and events."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from annotated_types import MaxLen

from judgeboard.flags.rules import LOW_GROUNDEDNESS, RULES
from judgeboard.people.permissions import Action
from judgeboard.people.roster import FlagSummary, change_settings, flags_to_supersede, raise_flags
from judgeboard.reviews.failure_modes import KEYS, LONGEST_MODE, save_mode, suggested_modes
from judgeboard.settings.model import THRESHOLDS, Settings, bounds
from judgeboard.store.issues import list_modes
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.overview import count_open_flags, count_responses
from judgeboard.store.response_pages import response_facets
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import PRIMARY_JUDGE, SETTING_KEYS, SettingLine, setting_origins
from judgeboard.store.statements import batches
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import demand, permitted, who_button
from judgeboard_dashboard.session import (
    ask_reviewer,
    current_reviewer,
    page,
    problem,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.administration import database, events, people, versions
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.texts import capital, caption, commands, count, heading, rule_words, when
from judgeboard_dashboard.widgets.thresholds import threshold_search

IMPLYING = (LOW_GROUNDEDNESS,)
ABOUT = Settings.model_fields
NUMBERS = [key for key in THRESHOLDS if ABOUT[key].annotation is float]
_SAVED = "settings_saved"  # whether a setting was saved after the rules were last applied
_SAVED_WORDS = (
    "Saved. New verdicts use the new settings. Stored answers keep their flags until you apply the rules, with this "
    "button or with `judgeboard flags apply`."
)
_APPLIED = "settings_applied"
_TO_SUPERSEDE = "settings_to_supersede"  # number of open flags that the rules would supersede
MODE_COLUMNS = {
    "name": st.column_config.TextColumn("Failure mode", width=200, required=True, max_chars=LONGEST_MODE),
    "key": st.column_config.SelectboxColumn("Key, with Shift", width=110, options=list(KEYS)),
    "description": st.column_config.TextColumn("Description", width=280),
    "retired": st.column_config.CheckboxColumn("Retired", width=80, default=False),
}


def rules() -> None:
    """Show the flag rules at the left, the judge versions at the right."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        lines = setting_origins(connection)
        listed, retired = list_versions(connection), retired_versions(connection)
        query_types = response_facets(connection).query_types
        answers, open_flags = count_responses(connection), count_open_flags(connection)
    left, right = stacking_columns("settings", [1, 1.35])
    with left:
        rules_form(lines, sorted({version.name for version in listed if version.id not in retired}), query_types)
        apply_rules(answers)
        if permitted(Action.MANAGE_PEOPLE):  # the environment contains addresses of machines
            database(store(), answers, open_flags)
    with right:
        versions(listed, retired)


def refused(key: str, value: float | None) -> str | None:
    """Return why a number is not valid for a threshold, None if it is valid."""
    low, high = bounds(ABOUT[key])
    if value is not None and low <= value <= high:  # nan is in no range
        return None
    entered = "" if value is None else f", not {value:g}"
    return f"{ABOUT[key].title}: enter a number from {low:g} to {high:g}{entered}."


def origin_words(line: SettingLine) -> str:
    """Return the origin of a value in words."""
    if line.is_fixed:
        return f"set by {line.origin}"
    if line.origin == "stored" and line.at is not None:
        return f"by {line.by}, {when(line.at)}"
    return "default"


def changed(lines: list[SettingLine], entered: dict[str, Any]) -> dict[str, Any]:
    """Return the entered values that differ from the current values. Values from the environment are left out."""
    return {
        line.key: entered[line.key]
        for line in lines
        if not line.is_fixed and line.key in entered and not _same(entered[line.key], line.value)
    }


def _same(entered: Any, in_force: Any) -> bool:
    if isinstance(entered, float) and isinstance(in_force, int | float):
        return abs(entered - in_force) < 1e-9
    if isinstance(entered, tuple | list) and in_force is not None:
        return sorted(entered) == sorted(in_force or ())
    return bool(entered == in_force)


def rules_form(lines: list[SettingLine], judges: Sequence[str], query_types: Sequence[str]) -> None:
    """Show a field for each setting that can be stored; the Save button stores each changed value."""
    heading("Flag rules")
    by_key = {line.key: line for line in lines}
    choices = {
        PRIMARY_JUDGE: sorted({*judges, *filter(None, [by_key[PRIMARY_JUDGE].value])}),
        "always_review": sorted({*query_types, *by_key["always_review"].value}),
        "implied_labels": [rule.name for rule in RULES],
    }
    with st.container(border=True, key="settings_rules"):
        entered = {PRIMARY_JUDGE: _field(by_key[PRIMARY_JUDGE], choices)}
        for pair in batches(NUMBERS, 2):
            for column, key in zip(st.columns(2, gap="small"), pair, strict=False):
                with column:
                    entered[key] = _field(by_key[key], choices)
        for key in SETTING_KEYS:
            if key not in entered:
                entered[key] = _field(by_key[key], choices)
        reasons = [reason for key in NUMBERS if (reason := refused(key, entered[key])) is not None]
        for reason in reasons:
            problem(f"Cannot be saved. {reason}")
        _save({} if reasons else changed(lines, entered), [line for line in lines if line.origin == "stored"])


# What a field shows if its value is a default that the model does not name.
DEFAULTS: dict[str, tuple[Any, str]] = {
    PRIMARY_JUDGE: (None, "default: the first judge"),
    "implied_labels": (IMPLYING, f"default: {rule_words(LOW_GROUNDEDNESS)}; each person is asked once"),
}


def _field(line: SettingLine, choices: Mapping[str, Sequence[str]]) -> Any:
    """Show the field of a setting and its origin, and return the entered value."""
    default, words = DEFAULTS.get(line.key, (None, "default"))
    value = default if line.value is None else line.value
    st.session_state.setdefault(_key(line.key), list(value) if isinstance(value, tuple) else value)
    entered = _widget(line.key, choices.get(line.key))(
        str(ABOUT[line.key].title), key=_key(line.key), help=ABOUT[line.key].description, disabled=line.is_fixed
    )
    shown = words if line.origin == "default" else origin_words(line)
    show(tag("div", shown, cls="jb-cap jb-line", title=shown))
    entered = tuple(entered) if isinstance(entered, list) else entered
    # A default that was not changed stays a default.
    return line.value if line.value is None and entered in (default, None) else entered


def _widget(key: str, choices: Sequence[str] | None) -> Callable[..., Any]:
    """Return the widget that fits the type of a setting."""
    about = ABOUT[key]
    extra: dict[str, Any] = about.json_schema_extra if isinstance(about.json_schema_extra, dict) else {}
    most = next((each.max_length for each in about.metadata if isinstance(each, MaxLen)), None)
    if about.annotation is float:
        # The field has no bounds, because Streamlit silently replaces a number outside them by the lowest.
        return partial(st.number_input, value=None, step=float(extra["step"]), format="%.6g")
    if about.annotation is bool:
        return st.checkbox
    if key == PRIMARY_JUDGE:
        return partial(st.selectbox, options=choices, placeholder="no judge yet")
    if "file" in extra:
        return partial(st.text_area, max_chars=most, height=120, placeholder=extra["example"])
    if about.annotation is str:
        return partial(st.text_input, max_chars=most)
    return partial(
        st.multiselect,
        options=choices or [],
        accept_new_options=choices is None,
        format_func=(lambda name: capital(rule_words(name))) if key == "implied_labels" else str,
        placeholder="none",
    )


def _save(changes: dict[str, Any], stored: list[SettingLine]) -> None:
    reviewer = ask_reviewer("Your name is stored with the setting.")
    label = f"Save {count(len(changes), 'change')}" if changes else "Save"
    with st.container(key="settings_buttons", horizontal=True, gap="small"):
        off = not changes or reviewer is None
        if st.button(label, key="settings_save", type="primary", disabled=off, wrap=False) and reviewer is not None:
            _store(changes, reviewer)
        nothing = not stored or reviewer is None
        if (
            st.button("Restore defaults", key="settings_defaults", type="tertiary", disabled=nothing, wrap=False)
            and reviewer is not None
        ):
            _store(dict.fromkeys(line.key for line in stored), reviewer)


def _store(changes: dict[str, Any], reviewer: Reviewer) -> None:
    with saving():
        change_settings(store(), changes, reviewer)
        for key in changes:
            st.session_state.pop(_key(key), None)
        st.session_state[_SAVED] = True


def _key(name: str) -> str:
    return f"setting_{name}"


def apply_rules(responses: int) -> None:
    """Show the button to apply the rules, with the reason to press it after a change, and the result of a press."""
    applied = st.session_state.get(_APPLIED)
    if st.session_state.get(_SAVED):
        show(tag("div", commands(_SAVED_WORDS), cls="jb-note"))
    elif isinstance(applied, FlagSummary):
        words = (
            f"Applied to {count(applied.logged, 'answer')}: {count(applied.raised, 'flag')} raised, "
            f"{applied.superseded:,} superseded."
        )
        show(tag("div", words, cls="jb-say"))
    pressed = st.button(
        f"Apply the rules to {count(responses, 'answer')}",
        key="settings_apply",
        icon=":material/flag:",
        disabled=not responses,
        help="Raises new flags, and supersedes open flags whose reason no longer holds. Decided flags do not change. "
        "Keep this page open until it is done.",
        wrap=False,
    )
    if pressed:
        st.session_state[_TO_SUPERSEDE] = flags_to_supersede(store())
        if not st.session_state[_TO_SUPERSEDE]:
            _apply()
    if superseded := st.session_state.get(_TO_SUPERSEDE):
        words = f"{count(superseded, 'open flag')} would be superseded: the reason no longer holds."
        show(tag("div", words, cls="jb-note"))
        with st.container(key="settings_supersede", horizontal=True, gap="small"):
            label = f"Apply and supersede {count(superseded, 'flag')}"
            confirmed = st.button(label, key="settings_apply_confirmed", type="primary", wrap=False)
            if st.button("Cancel", key="settings_apply_cancelled", type="tertiary", wrap=False):
                del st.session_state[_TO_SUPERSEDE]
                st.rerun()
        if confirmed:
            _apply()


def _apply() -> None:
    bar = st.progress(0.0, text="0 answers")

    def report(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0, text=f"{done:,} of {total:,} answers")

    st.session_state[_APPLIED] = raise_flags(store(), actor=current_reviewer() or "somebody", progress=report)
    st.session_state.pop(_SAVED, None)
    st.session_state.pop(_TO_SUPERSEDE, None)
    st.rerun()


def thresholds() -> None:
    """Show thresholds for a goal, set one, and apply it."""
    demand(Action.CHANGE_SETTINGS)
    threshold_search(_store)
    with reading() as connection:
        answers = count_responses(connection)
    apply_rules(answers)


def failure_mode_list() -> None:
    """Show the failure modes as a table to edit, and frequent phrases of notes without a failure mode."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        modes, suggestions = list_modes(connection), suggested_modes(connection)
    heading("Failure modes")
    caption("Reviewers tag answers with these modes. Add a mode in the last row. Retired modes keep their tags.")
    rows = pd.DataFrame(
        [[getattr(mode, name) for name in MODE_COLUMNS] for mode in modes.values()], columns=list(MODE_COLUMNS)
    )
    texts = {name: "boolean" if name == "retired" else "str" for name in MODE_COLUMNS}
    # The time of the last change is in the key: a new table has no edits.
    stored = max((mode.at for mode in modes.values()), default=None)
    edited = st.data_editor(
        rows.astype(texts), column_config=MODE_COLUMNS, hide_index=True, num_rows="add", key=f"failure_modes_{stored}"
    )
    reviewer = ask_reviewer("Your name is stored with the change.")
    pressed = st.button("Save failure modes", type="primary", key="failure_modes_save", disabled=reviewer is None)
    if pressed and reviewer is not None:
        known = [tuple(getattr(mode, name) for name in MODE_COLUMNS) for mode in modes.values()]
        rows_after: list[list[Any]] = edited.astype(object).where(edited.notna(), None).to_numpy().tolist()
        with saving():
            for name, key, description, retired in rows_after:
                if (name, key, description, retired) not in known:
                    save_mode(store(), name or "", description, key=key, retired=bool(retired), by=reviewer)
    if suggestions:
        frequent = ", ".join(f"{words} ({n})" for words, n in suggestions.items())
        caption(f"Frequent phrases in notes that have no failure mode: {frequent}.")


# The name of a part is also in the address.
PARTS: dict[str, Callable[[], None]] = {
    "Rules": rules,
    "Thresholds": thresholds,
    "Failure modes": failure_mode_list,
    "People": people,
    "Events": events,
}


def settings() -> None:
    """Show the selected part."""
    with st.container(key="settings_parts", horizontal=True, vertical_alignment="center", gap="small"):
        names = {name: name for name in PARTS}
        chosen = switch("Part of Settings", names, key="part", label_visibility="collapsed")
        show(tag("span"), width="stretch")
        who_button("settings")
    PARTS[chosen]()


with page("Settings", answers=False):
    settings()
