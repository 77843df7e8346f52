"""Old and new verdicts of a run beside each other: what changed side, one row with both reasonings."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from judgeboard.rejudge_comparison import ComparisonPage, run_comparison, version_comparison
from judgeboard.store.figures.verdict_pairs import OneVerdict, PairTexts
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.verdict_changes import Compared
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.picking import item, pick_rows
from judgeboard_dashboard.saying import caption, sentence
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import UNKNOWN, score

PAGE_SIZE = 50
MOST_UNASKED = 5_000  # usable verdicts of a run that are compared without being asked
BEFORE = 0
COLUMNS = {
    "Question": "str",
    "Old": "Float64",
    "New": "Float64",
    "Change": "Float64",
    "Flip": "str",
    "Old quality": "Int64",
    "New quality": "Int64",
    "People": "str",
    "Id": "str",
}
PEOPLE = {"good": "grounded", "bad": "hallucinated"}


@dataclass(frozen=True, slots=True)
class Compare:
    """What is compared: the run, its judge version, and the versions beside which it may be put."""

    run_id: int
    version_id: int
    versions: tuple[StoredVersion, ...]

    def title(self, version_id: int) -> str:
        """Return what people call a version."""
        return next((version.title for version in self.versions if version.id == version_id), f"version {version_id}")


def comparison(run_id: int, version_id: int, usable: int) -> None:
    """Show what a run said beside what was said before; where nothing was, beside another version.

    Of a run with very many usable verdicts only at a press: all of them are read.
    """
    if usable > MOST_UNASKED and not _wanted(run_id, usable):
        return
    with reading() as connection:
        compare = Compare(run_id, version_id, tuple(list_versions(connection)))
    beside = _beside(compare)
    offset = _offset(compare, beside)
    found = _found(compare, beside, offset)
    _say(found, compare, beside)
    if not found.shown:
        return
    chosen = _table(found, compare, beside, offset)
    _foot(found, compare, beside, offset)
    _row(chosen, found.texts.get(chosen.pair.response_id), compare)


def _wanted(run_id: int, usable: int) -> bool:
    key = f"compare_{run_id}"
    if not st.session_state.get(key):
        st.session_state[key] = st.button(f"Compare {usable:,} verdicts with those before", key=f"{key}_button")
    return bool(st.session_state[key])


def _say(found: ComparisonPage, compare: Compare, beside: int) -> None:
    if not found.comparison.rows:
        said = "The judge had said nothing of these answers before." if beside == BEFORE else found.sentence
        sentence(said)
        return
    lead, colon, rest = found.sentence.partition(": ")
    sentence(rest, lead=f"{lead}:") if colon else sentence(found.sentence)
    if beside != BEFORE:
        caption(f"All answers that both {compare.title(beside)} and {compare.title(compare.version_id)} judged.")


def _beside(compare: Compare) -> int:
    """Which verdicts are the old ones: those before the run, or another version's."""
    others = {version.id: version.title for version in compare.versions if version.id != compare.version_id}
    if not others:
        return BEFORE
    key = f"beside_{compare.run_id}"
    if key not in st.session_state:
        first = next(iter(sorted(others)))
        st.session_state[key] = BEFORE if _found(compare, BEFORE, 0, 1).comparison.rows else first
    chosen: int = st.selectbox(
        "Compare with",
        [BEFORE, *others],
        format_func=lambda version_id: others.get(version_id, "the verdict before"),
        key=key,
        width=260,
    )
    return chosen


def _found(compare: Compare, beside: int, offset: int, limit: int = PAGE_SIZE) -> ComparisonPage:
    with reading() as connection:
        if beside == BEFORE:
            return run_comparison(connection, compare.run_id, offset=offset, limit=limit)
        return version_comparison(connection, beside, compare.version_id, offset=offset, limit=limit)


def _table(found: ComparisonPage, compare: Compare, beside: int, offset: int) -> Compared:
    table = _frame(found)
    event = st.dataframe(
        table,
        key=f"changes_{compare.run_id}_{beside}_{offset}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=8),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            "Question": st.column_config.TextColumn(width=250),
            "Old": st.column_config.NumberColumn(format="%.2f", width=60, help="Groundedness before"),
            "New": st.column_config.NumberColumn(format="%.2f", width=60, help="Groundedness now"),
            "Change": st.column_config.NumberColumn(format="%+.2f", width=75),
            "Old quality": st.column_config.NumberColumn(width=90),
            "New quality": st.column_config.NumberColumn(width=95),
            "Flip": st.column_config.TextColumn(width=85, help="The side that the verdict changed to"),
            "People": st.column_config.TextColumn(width=100),
            "Id": st.column_config.TextColumn(width=125),
        },
    )
    rows = event.selection.rows
    return found.shown[rows[0] if rows and rows[0] < len(found.shown) else 0]


def _frame(found: ComparisonPage) -> pd.DataFrame:
    return frame(COLUMNS, (_cells(row, found.texts.get(row.pair.response_id)) for row in found.shown))


def _cells(row: Compared, texts: PairTexts | None) -> tuple[object, ...]:
    return (
        None if texts is None or texts.question is None else " ".join(texts.question.split()),
        row.pair.old.groundedness,
        row.pair.new.groundedness,
        row.change,
        f"now {row.flip}" if row.flip else None,
        row.pair.old.quality,
        row.pair.new.quality,
        PEOPLE[row.people] if row.people else None,
        None if texts is None else texts.external_id,
    )


def _foot(found: ComparisonPage, compare: Compare, beside: int, offset: int) -> None:
    total = len(found.comparison.rows)
    with st.container(key="changes_foot", horizontal=True, vertical_alignment="center", gap="small"):
        last = offset + len(found.shown)
        show(tag("div", f"{offset + 1:,}–{last:,} of {total:,} · changed side first", cls="jb-cap jb-line"))
        csv_button(
            lambda: _frame(_found(compare, beside, 0, total)), f"run-{compare.run_id}-changes", key="changes_csv"
        )
        for label, goal in (("Previous 50", offset - PAGE_SIZE), ("Next 50", offset + PAGE_SIZE)):
            if total > PAGE_SIZE:
                st.button(
                    label,
                    key=f"changes_{label}",
                    type="tertiary",
                    disabled=not 0 <= goal < total,
                    on_click=_turn,
                    args=(compare, beside, goal),
                    wrap=False,
                )


def _row(row: Compared, texts: PairTexts | None, compare: Compare) -> None:
    if texts is None:
        return
    with st.container(border=True, key="changes_row"):
        show(
            tag(
                "div",
                _side("Old", row.pair.old, texts.old_reasoning, compare),
                _side("New", row.pair.new, texts.new_reasoning, compare),
                cls="jb-beside",
            )
        )
        st.button(
            "Open item",
            key="changes_open",
            type="tertiary",
            icon=":material/open_in_new:",
            on_click=pick_rows,
            args=(item(row.pair.response_id),),
        )


def _side(name: str, verdict: OneVerdict, reasoning: str | None, compare: Compare) -> Html:
    said = [f"groundedness {score(verdict.groundedness)}", f"quality {verdict.quality or UNKNOWN}"]
    if verdict.label:
        said.append(str(verdict.label))
    return tag(
        "div",
        tag("div", f"{name} · {compare.title(verdict.version_id)}", tag("span", " · ".join(said)), cls="jb-label"),
        tag("div", reasoning or "No reasoning was given.", cls="jb-reason" if reasoning else "jb-mut"),
        cls="jb-side",
    )


def _offset(compare: Compare, beside: int) -> int:
    return int(st.session_state.get(_place(compare, beside), 0))


def _turn(compare: Compare, beside: int, goal: int) -> None:
    st.session_state[_place(compare, beside)] = goal


def _place(compare: Compare, beside: int) -> str:
    return f"changes_place_{compare.run_id}_{beside}"
