"""The form of thresholds and primary judge: each with who set it when; the environment wins."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.review import Reviewer
from judgeboard.setting_changes import change_settings
from judgeboard.store.settings_table import LONGEST_SEED, PRIMARY_JUDGE, SettingLine
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.saying import heading
from judgeboard_dashboard.session import ask_reviewer, store
from judgeboard_dashboard.settings_parts.fields import NUMBERS, changed, origin_words
from judgeboard_dashboard.words import count

_SAVED = "settings_saved"


def rules_form(lines: list[SettingLine], judges: Sequence[str], query_types: Sequence[str]) -> None:
    """Show the form; what is changed is stored at a press, as one more row each."""
    heading("Flag rules")
    by_key = {line.key: line for line in lines}
    given: dict[str, Any] = {}
    with st.container(border=True, key="settings_rules"):
        given[PRIMARY_JUDGE] = _primary(by_key[PRIMARY_JUDGE], judges)
        for row in (("low_groundedness", "low_quality"), ("feedback_gap", "random_share")):
            _numbers(row, by_key, given)
        _numbers(("disagree_groundedness", "disagree_quality"), by_key, given)
        given["always_review"] = _always(by_key["always_review"], query_types)
        given["random_seed"] = _seed(by_key["random_seed"])
        refused = [why for key in NUMBERS if (why := NUMBERS[key].refused(given[key])) is not None]
        for why in refused:
            problem(f"Not to be saved. {why}")
        _save({} if refused else changed(lines, given), [line for line in lines if line.origin == "stored"])


def just_saved() -> bool:
    """Whether a setting was saved in this session since the rules were applied."""
    return bool(st.session_state.get(_SAVED))


def forget_saved() -> None:
    """Note that the rules were applied."""
    st.session_state.pop(_SAVED, None)


def _primary(line: SettingLine, judges: Sequence[str]) -> str | None:
    options = sorted({*judges, *([line.value] if line.value else [])})
    _start(line, line.value)
    chosen: str | None = st.selectbox(
        "Primary judge",
        options,
        key=_key(line.key),
        placeholder="nobody has judged yet",
        disabled=line.origin == "env",
        help="Low-score rules, the feedback gap, the quadrant and the trends read its current verdicts.",
    )
    _origin(line, default="the first that judged")
    return chosen if chosen is not None else line.value


def _numbers(keys: Sequence[str], by_key: dict[str, SettingLine], given: dict[str, Any]) -> None:
    for column, key in zip(st.columns(len(keys), gap="small"), keys, strict=True):
        field, line = NUMBERS[key], by_key[key]
        _start(line, float(line.value))
        with column:
            given[key] = st.number_input(
                # Without bounds: Streamlit would put the lowest in place of a number beyond them and say nothing.
                field.label,
                value=None,
                step=float(field.step),
                format="%.4g",
                key=_key(key),
                help=field.tip,
                disabled=line.origin == "env",
            )
            _origin(line)


def _always(line: SettingLine, query_types: Sequence[str]) -> tuple[str, ...]:
    options = sorted({*query_types, *line.value})
    _start(line, list(line.value))
    chosen = st.multiselect(
        "Query types that people see in full",
        options,
        key=_key(line.key),
        placeholder="none",
        disabled=line.origin == "env",
        help="Rule “always review”: every answer of these types is flagged.",
    )
    _origin(line)
    return tuple(chosen)


def _seed(line: SettingLine) -> str:
    _start(line, line.value)
    seed: str = st.text_input(
        "Seed of the random draw",
        max_chars=LONGEST_SEED,
        key=_key(line.key),
        disabled=line.origin == "env",
        help="The same seed draws the same answers; another one draws anew.",
    )
    _origin(line)
    return seed


def _origin(line: SettingLine, default: str | None = None) -> None:
    said = default if line.origin == "default" and default else origin_words(line)
    show(tag("div", said, cls="jb-cap jb-line", title=said))


def _start(line: SettingLine, value: Any) -> None:
    """Set a field to what is in force, unless somebody is changing it."""
    st.session_state.setdefault(_key(line.key), value)


def _save(changes: dict[str, Any], stored: list[SettingLine]) -> None:
    reviewer = ask_reviewer("It stands beside the setting.")
    label = f"Save {count(len(changes), 'change')}" if changes else "Save"
    with st.container(key="settings_buttons", horizontal=True, gap="small"):
        off = not changes or reviewer is None
        if st.button(label, key="settings_save", type="primary", disabled=off, wrap=False) and reviewer is not None:
            _store(changes, reviewer)
        nothing = not stored or reviewer is None
        if (
            st.button("All defaults", key="settings_defaults", type="tertiary", disabled=nothing, wrap=False)
            and reviewer is not None
        ):
            _store(dict.fromkeys(line.key for line in stored), reviewer)


def _store(changes: dict[str, Any], reviewer: Reviewer) -> None:
    try:
        change_settings(store(), changes, reviewer)
    except JudgeboardError as error:
        problem(f"Not saved: {error}")
        return
    for key in changes:
        del st.session_state[_key(key)]
    st.session_state[_SAVED] = True
    st.rerun()


def _key(name: str) -> str:
    return f"setting_{name}"
