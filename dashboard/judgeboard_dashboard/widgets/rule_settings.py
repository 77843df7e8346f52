"""The form of thresholds and rules on the Settings page, with what a change would do."""

import difflib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from judgeboard.errors import JudgeboardError
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
    """A line of two prompts; a gap stands for equal lines that are left out."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str


@dataclass(frozen=True, slots=True)
class ParamLine:
    """A parameter in both versions, as JSON; None where a version has no such parameter."""

    name: str
    old: str | None
    new: str | None

    @property
    def differs(self) -> bool:
        """Whether the two versions differ in it."""
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
    """Return every parameter, with kind, model and scale among them; those that differ come first."""
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


@dataclass(frozen=True, slots=True)
class NumberField:
    """A threshold: what it is called, what it does, from where to where it goes."""

    label: str
    tip: str
    low: float
    high: float
    step: float

    def refused(self, value: float | None) -> str | None:
        """Return why a number cannot be the threshold, None where it can; nan is in no range."""
        if value is not None and self.low <= value <= self.high:
            return None
        given = "" if value is None else f", not {value:g}"
        return f"{self.label}: a number from {self.low:g} to {self.high:g}{given}."


NUMBERS: dict[str, NumberField] = {
    "low_groundedness": NumberField(
        "Groundedness is low below", "Rule “low groundedness”: the primary judge's groundedness, 0 to 1.", 0, 1, 0.05
    ),
    "low_quality": NumberField(
        "Quality is low up to", "Rule “low quality”: the primary judge's quality, 1 to 4.", 0, 4, 1
    ),
    "feedback_gap": NumberField(
        "User and judge differ from",
        "Rule “feedback gap”: their distance on the scale of 1 to 4.",
        0.25,
        3,
        0.25,
    ),
    "disagree_groundedness": NumberField(
        "Judges differ from, groundedness", "Rule “judges disagree”: the distance of two judges, 0 to 1.", 0.01, 1, 0.05
    ),
    "disagree_quality": NumberField(
        "Judges differ from, quality", "Rule “judges disagree”: the distance of two judges, 1 to 3.", 1, 3, 1
    ),
    "random_share": NumberField(
        "Drawn at random, share", "Rule “random sample”: 0.02 draws 2 % of all answers.", 0, 1, 0.01
    ),
}


def origin_words(line: SettingLine) -> str:
    """Return where the value in force comes from: the environment, somebody, or nobody."""
    if line.origin == "env":
        return f"set by {variable_of(line.key)}, which wins over what is stored here"
    if line.origin == "stored" and line.at is not None:
        return f"by {line.by}, {when(line.at)}"
    return "the default"


def changed(lines: list[SettingLine], given: dict[str, Any]) -> dict[str, Any]:
    """Return what was given other than it is in force; what the environment sets cannot be changed here."""
    return {
        line.key: given[line.key]
        for line in lines
        if line.origin != "env" and line.key in given and not _same(given[line.key], line.value)
    }


def _same(given: Any, in_force: Any) -> bool:
    if isinstance(given, float) and isinstance(in_force, int | float):
        return abs(given - in_force) < 1e-9
    if isinstance(given, tuple | list):
        return sorted(given) == sorted(in_force or ())
    return bool(given == in_force)


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


_APPLIED = "settings_applied"


def apply_rules(responses: int) -> None:
    """Show the button, after a change with the reason for it; what came of it stays until the next change."""
    applied = st.session_state.get(_APPLIED)
    if just_saved():
        said = "Saved. New verdicts are flagged by it; what is stored has the flags of before until you apply it: "
        show(tag("div", said, commands("here, or in a terminal `judgeboard flag`"), cls="jb-note"))
        applied = None
    elif isinstance(applied, FlagSummary):
        show(tag("div", applied_words(applied), cls="jb-say"))
    pressed = st.button(
        f"Apply the rules to {count(responses, 'answer')}",
        key="settings_apply",
        icon=":material/flag:",
        disabled=not responses,
        help="Raises what the rules now ask for and supersedes open flags whose reason is gone. Decided flags stay. "
        "The page must stay open; what is done stays done.",
        wrap=False,
    )
    if pressed:
        st.session_state[_APPLIED] = raise_flags(store(), actor=current_reviewer() or "somebody", progress=_bar())
        forget_saved()
        st.rerun()


def applied_words(summary: FlagSummary) -> str:
    """Return what applying the rules came to."""
    return (
        f"Applied to {count(summary.logged, 'answer')}: {count(summary.raised, 'flag')} raised, "
        f"{summary.superseded:,} superseded."
    )


def _bar() -> Callable[[int, int], None]:
    bar = st.progress(0.0, text="0 answers")

    def told(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0, text=f"{done:,} of {total:,} answers")

    return told
