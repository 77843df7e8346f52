"""The flag rules on the Settings page: the form of thresholds, the button that applies them, prompt differences."""

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, dataclass, fields
from itertools import zip_longest
from typing import Any, Literal

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.flags.rule import Thresholds
from judgeboard.people.roster import FlagSummary, change_settings, raise_flags
from judgeboard.settings import variable_of
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import LONGEST_SEED, PRIMARY_JUDGE, SettingLine
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, problem, store
from judgeboard_dashboard.widgets.texts import commands, count, heading, when

AROUND = 2  # equal lines shown around a change


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the difference of two prompts; a gap replaces equal lines."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str


@dataclass(frozen=True, slots=True)
class ParamLine:
    """A parameter of two judge versions, as JSON; None where a version lacks it."""

    name: str
    old: str | None
    new: str | None

    @property
    def differs(self) -> bool:
        """Whether the versions differ."""
        return self.old != self.new


def prompt_difference(old: str | None, new: str | None) -> list[DiffLine]:
    """Return the lines that differ, each with two equal ones around it; empty where the prompts are equal."""
    before, after = (old or "").splitlines(), (new or "").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines: list[DiffLine] = []
    for group in matcher.get_grouped_opcodes(AROUND):
        first = group[0]
        if lines or first[1] > 0:
            lines.append(DiffLine("gap", f"line {first[3] + 1}"))
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                lines += [DiffLine("same", text) for text in before[start:end]]
                continue
            lines += [DiffLine("removed", text) for text in before[start:end]]
            lines += [DiffLine("added", text) for text in after[new_start:new_end]]
    return lines


def param_lines(old: StoredVersion, new: StoredVersion) -> list[ParamLine]:
    """Return every parameter, including kind, model and scale, those that differ first."""
    before, after = dict(_params(old)), dict(_params(new))
    names = dict.fromkeys((*before, *after))
    return sorted(
        (ParamLine(name, before.get(name), after.get(name)) for name in names), key=lambda line: not line.differs
    )


def _params(version: StoredVersion) -> Iterator[tuple[str, str]]:
    fixed: dict[str, Any] = {"kind": version.kind, "model": version.model, "scale": version.scale}
    for name, value in (fixed | version.params).items():
        if value is not None:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# The number fields of the form, in pairs: all thresholds that have a range.
NUMBERS: dict[str, Field[Any]] = {field.name: field for field in fields(Thresholds) if "range" in field.metadata}


def refused(key: str, value: float | None) -> str | None:
    """Return why a number cannot be this threshold, None where it can."""
    low, high = NUMBERS[key].metadata["range"]
    if value is not None and low <= value <= high:  # nan is in no range
        return None
    entered = "" if value is None else f", not {value:g}"
    return f"{NUMBERS[key].metadata['label']}: enter a number from {low:g} to {high:g}{entered}."


def origin_words(line: SettingLine) -> str:
    """Return the origin of a value in words."""
    if line.origin == "env":
        return f"set by {variable_of(line.key)}, which overrides the value stored here"
    if line.origin == "stored" and line.at is not None:
        return f"by {line.by}, {when(line.at)}"
    return "default"


def changed(lines: list[SettingLine], entered: dict[str, Any]) -> dict[str, Any]:
    """Return the entered values that differ from those in force, without those that the environment sets."""
    return {
        line.key: entered[line.key]
        for line in lines
        if line.origin != "env" and line.key in entered and not _same(entered[line.key], line.value)
    }


def _same(entered: Any, in_force: Any) -> bool:
    if isinstance(entered, float) and isinstance(in_force, int | float):
        return abs(entered - in_force) < 1e-9
    if isinstance(entered, tuple | list):
        return sorted(entered) == sorted(in_force or ())
    return bool(entered == in_force)


_SAVED = "settings_saved"


def rules_form(lines: list[SettingLine], judges: Sequence[str], query_types: Sequence[str]) -> None:
    """Show the form; the Save button stores each changed value."""
    heading("Flag rules")
    by_key = {line.key: line for line in lines}
    entered: dict[str, Any] = {}
    with st.container(border=True, key="settings_rules"):
        entered[PRIMARY_JUDGE] = _primary(by_key[PRIMARY_JUDGE], judges)
        keys = list(NUMBERS)
        for pair in zip_longest(keys[::2], keys[1::2]):
            _numbers([key for key in pair if key is not None], by_key, entered)
        entered["always_review"] = _always(by_key["always_review"], query_types)
        entered["random_seed"] = _seed(by_key["random_seed"])
        reasons = [reason for key in NUMBERS if (reason := refused(key, entered[key])) is not None]
        for reason in reasons:
            problem(f"Cannot be saved. {reason}")
        _save({} if reasons else changed(lines, entered), [line for line in lines if line.origin == "stored"])


def just_saved() -> bool:
    """Whether a setting was saved in this session after the rules were last applied."""
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
        placeholder="no judge yet",
        disabled=line.origin == "env",
        help="Its current verdicts drive the rules for low scores and the feedback gap, the overview and trends.",
    )
    _origin(line, default="default: the first judge")
    return chosen if chosen is not None else line.value


def _numbers(keys: Sequence[str], by_key: dict[str, SettingLine], entered: dict[str, Any]) -> None:
    for column, key in zip(st.columns(2, gap="small"), keys, strict=False):
        line, metadata = by_key[key], NUMBERS[key].metadata
        _start(line, float(line.value))
        with column:
            entered[key] = st.number_input(
                # Without bounds: Streamlit silently replaces a number outside them by the lowest.
                metadata["label"],
                value=None,
                step=float(metadata["step"]),
                format="%.4g",
                key=_key(key),
                help=metadata["help"],
                disabled=line.origin == "env",
            )
            _origin(line)


def _always(line: SettingLine, query_types: Sequence[str]) -> tuple[str, ...]:
    options = sorted({*query_types, *line.value})
    _start(line, list(line.value))
    chosen = st.multiselect(
        "Query types to review in full",
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
        "Seed of the random sample",
        max_chars=LONGEST_SEED,
        key=_key(line.key),
        disabled=line.origin == "env",
        help="The same seed selects the same answers.",
    )
    _origin(line)
    return seed


def _origin(line: SettingLine, default: str | None = None) -> None:
    words = default if line.origin == "default" and default else origin_words(line)
    show(tag("div", words, cls="jb-cap jb-line", title=words))


def _start(line: SettingLine, value: Any) -> None:
    """Set a field to the value in force, unless it is being edited."""
    st.session_state.setdefault(_key(line.key), value)


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


_APPLIED = "settings_applied"


def apply_rules(responses: int) -> None:
    """Show the button; after a change, why to press it; after a press, the result."""
    applied = st.session_state.get(_APPLIED)
    if just_saved():
        show(
            tag(
                "div",
                commands(
                    "Saved. New verdicts use the new settings. Stored answers keep their flags until you apply the "
                    "rules, with this button or with `judgeboard flag`."
                ),
                cls="jb-note",
            )
        )
        applied = None
    elif isinstance(applied, FlagSummary):
        show(tag("div", applied_words(applied), cls="jb-say"))
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
        st.session_state[_APPLIED] = raise_flags(store(), actor=current_reviewer() or "somebody", progress=_bar())
        forget_saved()
        st.rerun()


def applied_words(summary: FlagSummary) -> str:
    """Return the result of applying the rules."""
    return (
        f"Applied to {count(summary.logged, 'answer')}: {count(summary.raised, 'flag')} raised, "
        f"{summary.superseded:,} superseded."
    )


def _bar() -> Callable[[int, int], None]:
    bar = st.progress(0.0, text="0 answers")

    def report(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0, text=f"{done:,} of {total:,} answers")

    return report
