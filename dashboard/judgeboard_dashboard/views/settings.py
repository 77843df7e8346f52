"""The view Flag rules of the page Data & settings."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st
from annotated_types import MaxLen

from judgeboard.domain import Action
from judgeboard.flags.rules import LOW_GROUNDEDNESS, RULES
from judgeboard.settings.model import THRESHOLDS, Settings, naming
from judgeboard.settings.option_words import bounds
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.overview import count_log
from judgeboard.store.response_pages import logged_values
from judgeboard.store.settings import PRIMARY_JUDGE, SETTING_KEYS, SettingLine, setting_origins
from judgeboard.store.statements import batches
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    page,
    problem,
    reading,
    stacking_columns,
)
from judgeboard_dashboard.widgets.flag_rules import apply_rules, field_key, store_settings
from judgeboard_dashboard.widgets.texts import capital, caption, count, rule_words, when

IMPLYING = (LOW_GROUNDEDNESS,)
ABOUT = Settings.model_fields
NUMBERS = [key for key in THRESHOLDS if ABOUT[key].annotation is float]


def rules() -> None:
    """Show the flag rules at the left, and the button that applies the rules at the right."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        lines = setting_origins(connection)
        versions, retired = list_versions(connection), retired_versions(connection)
        query_types = logged_values(connection, "query_type")
        answers = count_log(connection)
    left, right = stacking_columns("settings", [1, 1])
    with left:
        rules_form(
            lines,
            sorted({version.name for version in versions if version.id not in retired}),
            query_types,
        )
    with right:
        apply_rules(answers)


def refused(key: str, value: float | None) -> str | None:
    """Return why a number is not valid for a threshold, None for a valid number."""
    low, high = bounds(ABOUT[key])
    if value is not None and low <= value <= high:  # nan is in no range
        return None
    instead_of = "" if value is None else f", not {value:g}"
    return f"{ABOUT[key].title}: enter a number from {low:g} to {high:g}{instead_of}."


def origin_words(line: SettingLine) -> str | None:
    """Return the origin of a value in words; None for a default."""
    if line.is_fixed:
        return f"Set by {line.origin}"
    return None if line.stored is None else f"By {line.stored.by}, {when(line.stored.at)}"


def changed(lines: list[SettingLine], values: dict[str, Any]) -> dict[str, Any]:
    """Return the ``values`` of the form that differ from the current values, without values from the environment."""
    return {
        line.key: values[line.key]
        for line in lines
        if not line.is_fixed and line.key in values and not _same(values[line.key], line.value)
    }


def _same(value: Any, current: Any) -> bool:
    if isinstance(value, float) and isinstance(current, int | float):
        return abs(value - current) < 1e-9
    if isinstance(value, tuple | list) and current is not None:
        return sorted(value) == sorted(current or ())
    return bool(value == current)


def rules_form(lines: list[SettingLine], judges: Sequence[str], query_types: Sequence[str]) -> None:
    """Show a field for each setting that can be stored; the Save button stores each changed value."""
    by_key = {line.key: line for line in lines}
    choices = {PRIMARY_JUDGE: sorted({*judges, *filter(None, [by_key[PRIMARY_JUDGE].value])})}
    for key in THRESHOLDS:
        names = naming(ABOUT[key])
        if names is not None and not names.assigns:  # nobody can list the numbers
            is_rule = names.what == "rule"
            choices[key] = list(RULES) if is_rule else sorted({*query_types, *by_key[key].value})
    with st.container(border=True, key="settings_rules"):
        values = {PRIMARY_JUDGE: _field(by_key[PRIMARY_JUDGE], choices)}
        for pair in batches(NUMBERS, 2):
            for column, key in zip(st.columns(2, gap="small"), pair, strict=False):
                with column:
                    values[key] = _field(by_key[key], choices)
        for key in SETTING_KEYS:
            if key not in values:
                values[key] = _field(by_key[key], choices)
        reasons = [reason for key in NUMBERS if (reason := refused(key, values[key])) is not None]
        for reason in reasons:
            problem(f"Cannot be saved. {reason}")
        changes = {} if reasons else changed(lines, values)
        stored_lines = [line for line in lines if line.origin == "stored"]
        reviewer = ask_reviewer("Your name is stored with the setting.", to=Action.CHANGE_SETTINGS)
        label = f"Save {count(len(changes), 'change')}" if changes else "Save"
        with in_row("settings_buttons"):
            off = not changes or reviewer is None
            if (
                button(label, key="settings_save", type="primary", disabled=off)
                and reviewer is not None
            ):
                store_settings(changes, reviewer)
            nothing = not stored_lines or reviewer is None
            if (
                button(
                    "Restore defaults", key="settings_defaults", type="tertiary", disabled=nothing
                )
                and reviewer is not None
            ):
                store_settings(dict.fromkeys(line.key for line in stored_lines), reviewer)


def _field(line: SettingLine, choices: Mapping[str, Sequence[str]]) -> Any:
    """Show the field of a setting and the origin of the setting. Return the entered value."""
    default = IMPLYING if line.key == "implied_labels" else None
    value = default if line.value is None else line.value
    st.session_state.setdefault(
        field_key(line.key), list(value) if isinstance(value, tuple) else value
    )
    field_value = _widget(line.key, choices.get(line.key))(
        str(ABOUT[line.key].title),
        key=field_key(line.key),
        help=ABOUT[line.key].description,
        disabled=line.is_fixed,
    )
    if origin := origin_words(line):
        caption(origin)
    field_value = tuple(field_value) if isinstance(field_value, list) else field_value
    # A default that was not changed stays a default.
    return line.value if line.value is None and field_value in (default, None) else field_value


def _widget(key: str, choices: Sequence[str] | None) -> Callable[..., Any]:
    """Return the widget that fits the type of a setting."""
    about = ABOUT[key]
    extra: dict[str, Any] = (
        about.json_schema_extra if isinstance(about.json_schema_extra, dict) else {}
    )
    most = next((each.max_length for each in about.metadata if isinstance(each, MaxLen)), None)
    if about.annotation is float:
        # The field has no bounds, because Streamlit silently replaces a number outside the bounds
        # by the lowest number.
        return partial(st.number_input, value=None, step=float(extra["step"]), format="%.6g")
    if about.annotation is bool:
        return st.checkbox
    if key == PRIMARY_JUDGE:
        return partial(st.selectbox, options=choices, placeholder="no judge yet")
    if "file" in extra:
        return partial(st.text_area, max_chars=most, height=120, placeholder=extra["example"])
    if about.annotation is str:
        return partial(st.text_input, max_chars=most)
    names = naming(about)
    return partial(
        st.multiselect,
        options=choices or [],
        accept_new_options=choices is None,
        format_func=(lambda name: capital(rule_words(name)))
        if names is not None and names.what == "rule"
        else str,
        placeholder="none",
    )


with page(answers=False):
    rules()
