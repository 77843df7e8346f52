"""Import: upload a log, grades or verdicts, see what would be stored, store it."""

from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.imports.fields import ColumnUse
from judgeboard.imports.importing import DEFAULT_SOURCE, ImportSummary
from judgeboard.imports.kinds import KINDS, kind_class
from judgeboard.people.permissions import Action
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import ask_reviewer, page, problem, store
from judgeboard_dashboard.widgets.imports import (
    Choice,
    Done,
    RejectedRows,
    Trial,
    bring_in,
    button_words,
    columns_frame,
    done_lead,
    dry_details,
    dry_lead,
    field_words,
    first_rows,
    has_news,
    not_read_words,
    required,
    try_file,
)
from judgeboard_dashboard.widgets.navigation import Rows, follow, pick_rows
from judgeboard_dashboard.widgets.tables import csv_button, frame, height
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, heading

_TRIAL = "import_trial"
_DONE = "import_done"
SCALES = {"thumbs": "Thumbs", "stars": "Stars 1–5"}
_KEPT = "import_mapping"
REJECTED = {"Line": "Int64", "Field": "str", "Reason": "str"}
NEXT: dict[str, tuple[str, Rows, str]] = {
    "responses": ("Judge them", Rows("rejudge", {"rows": "plain"}), "Next: judge them."),
    "grades": ("See the agreement", Rows("agreement", {}), "Next: see how far the judges agree with them."),
    "verdicts": ("See the agreement", Rows("agreement", {}), "Next: see how far they agree with people."),
}


def imports() -> None:
    """Show the upload at the left, what was understood of it at the right."""
    demand(Action.IMPORT)
    follow("imports", own=("kind",))
    with st.container(key="stack_import"):
        left, right = st.columns([1, 2.1], gap="medium")
    with left:
        found = _upload()
        if found is None:
            caption("A file larger than this: `judgeboard import FILE`")
            with right:
                _hints()
            return
        choice, stream = found
        trial = _tried(choice, stream)
        if trial is None:
            return
        _card(trial, stream)
    with right:
        _understood(trial)


def _upload() -> tuple[Choice, BinaryIO] | None:
    kind = st.selectbox(
        "What is in the file", list(KINDS), format_func=lambda kind: KINDS[kind].title, key="kind", bind="query-params"
    )
    brings_answers = kind_class(kind).brings_answers
    upload = st.file_uploader("File", key="import_file", help="JSON lines, JSON, CSV or Parquet; gzipped or not.")
    source = st.text_input(
        "Source",
        key=f"import_source_{brings_answers}",
        placeholder=DEFAULT_SOURCE if brings_answers else "any source",
        help="The log that the answers belong to: ids are unique within a source."
        if brings_answers
        else "Where the answers, or pairs, are looked for by their id.",
    )
    if upload is None:
        return None
    choice = Choice(upload.file_id, upload.name, kind, source.strip(), mapping_of(upload.file_id, kind))
    return choice, cast("BinaryIO", upload)


def _tried(choice: Choice, stream: BinaryIO) -> Trial | None:
    """The trial of this choice: a file is read through once, not at every run of the page."""
    kept = st.session_state.get(_TRIAL)
    if isinstance(kept, Trial) and kept.choice == choice:
        return kept
    progress = st.empty()
    try:
        before = kept if isinstance(kept, Trial) else None
        trial = try_file(store(), stream, choice, _telling(progress, "read"), before)
    except BadInput as error:
        problem(str(error))
        return None
    finally:
        progress.empty()
    st.session_state[_TRIAL] = trial
    return trial


def _card(trial: Trial, stream: BinaryIO) -> None:
    done = st.session_state.get(_DONE)
    if isinstance(done, Done) and done.choice == trial.choice:
        done_card(done)
        return
    actor = trial_card(trial)
    if actor is None:
        return
    told = _telling(st.empty(), "brought in")
    summary, rejected = bring_in(store(), stream, trial.choice, told, actor)
    st.session_state[_DONE] = Done(trial.choice, summary, rejected)
    st.rerun()


def _telling(place: DeltaGenerator, done: str) -> Callable[[int], None]:
    def tell(rows: int) -> None:
        place.text(f"{rows:,} rows {done}")

    return tell


def _hints() -> None:
    empty(
        "Choose a file. It is read through first, and nothing is written before you press Import.",
        "An answer needs a question and an answer; passages, id, query type, time and user feedback are taken along. "
        "Common names of columns are recognised.",
        "In a terminal: `judgeboard import FILE`",
    )


def _understood(trial: Trial) -> None:
    heading("Columns")
    table = columns_frame(trial.choice.kind, trial.summary.columns)
    st.dataframe(
        table,
        key=f"import_columns_{trial.choice.file_id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=9),
        column_config={
            "Judgeboard": st.column_config.TextColumn(width=130),
            "In your file": st.column_config.TextColumn(width=150),
            "How": st.column_config.TextColumn(width=370),
            "First row": st.column_config.TextColumn(width=260),
        },
    )
    ask_columns(trial.choice.file_id, trial.choice.kind, trial.unmapped)
    csv_button(table, "columns", key="import_columns_csv")
    _first_rows(trial)
    _first_rejected(trial.summary.first_rejected, trial.summary.rejected)


def _first_rows(trial: Trial) -> None:
    if not trial.summary.first_records:
        return
    heading(f"First {count(len(trial.summary.first_records), 'row')}, as they will be stored")
    table = first_rows(trial.choice.kind, trial.summary.first_records)
    st.dataframe(
        table,
        key=f"import_rows_{trial.choice.file_id}_{trial.choice.kind}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=7),
        column_config={
            "Id": st.column_config.TextColumn(width=110),
            "Question": st.column_config.TextColumn(width=210),
            "Answer": st.column_config.TextColumn(width=250),
            "Answer A": st.column_config.TextColumn(width=170),
            "Answer B": st.column_config.TextColumn(width=170),
            "Rubric": st.column_config.TextColumn(width=150),
            "Passages": st.column_config.NumberColumn(width=75),
            "Type": st.column_config.TextColumn(width=80),
            "Asked": st.column_config.TextColumn(width=105),
            "User": st.column_config.TextColumn(width=95),
            "Groundedness": st.column_config.NumberColumn(format="%.2f", width=105),
        },
    )
    csv_button(table, "first-rows", key="import_rows_csv")


def _first_rejected(rejected: list[Rejected], total: int) -> None:
    if not rejected:
        return
    heading(f"Rejected: {total:,}" if total <= len(rejected) else f"First {len(rejected)} of {total:,} rejected")
    table = frame(REJECTED, ((row.line, field_words(row.field), row.reason) for row in rejected))
    st.dataframe(
        table,
        key="import_rejected_rows",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=6),
        column_config={
            "Line": st.column_config.NumberColumn(width=70),
            "Field": st.column_config.TextColumn(width=120),
            "Reason": st.column_config.TextColumn(width=560),
        },
    )
    csv_button(table, "rejected", key="import_rejected_csv")


def mapping_of(file_id: str, kind: str) -> tuple[tuple[str, str], ...]:
    """Return what was answered for a file so far, as pairs of their column and our field."""
    return tuple(sorted(_answers(file_id, kind).items()))


def ask_columns(file_id: str, kind: str, columns: Sequence[ColumnUse]) -> None:
    """Show a field for each thing that is not sure.

    Args:
        file_id: The upload; another one starts without answers.
        kind: What is in the file.
        columns: As they stand without any answer, so that a field does not go when it is answered.
    """
    unsure = [use for use in columns if not use.sure and use.theirs is not None]
    free = [use.theirs for use in columns if use.ours is None and use.theirs is not None]
    missing = [use.ours for use in columns if use.theirs is None and use.ours is not None]
    wanted = required(kind, columns)
    needed = [field for field in missing if field in wanted]
    others = [field for field in missing if field not in wanted]
    if not unsure and not free:
        return
    with st.container(key="import_columns", horizontal=True, vertical_alignment="bottom", gap="small"):
        for number, use in enumerate(unsure):
            _ask_scale(file_id, kind, number, str(use.theirs))
        for field in needed if free else ():
            _ask_field(file_id, kind, field, free)
        if free and others:
            with st.popover("Other columns", icon=":material/tune:"):
                for field in others:
                    _ask_field(file_id, kind, field, free)


def _ask_scale(file_id: str, kind: str, number: int, theirs: str) -> None:
    key = f"import_scale_{file_id}_{kind}_{number}"
    answers = _answers(file_id, kind)
    st.session_state.setdefault(key, answers.get(theirs))
    st.segmented_control(
        f"User feedback is in {as_label(theirs)} as",
        list(SCALES),
        format_func=SCALES.__getitem__,
        key=key,
        on_change=_answer,
        args=(answers, key, theirs, None),
    )


def _ask_field(file_id: str, kind: str, ours: str, free: Sequence[str | None]) -> None:
    key = f"import_field_{file_id}_{kind}_{ours}"
    answers = _answers(file_id, kind)
    st.session_state.setdefault(key, next((theirs for theirs, field in answers.items() if field == ours), None))
    st.selectbox(
        f"{capital(field_words(ours) or ours)} is in",
        list(free),
        index=None,
        placeholder="no column",
        key=key,
        width=230,
        on_change=_answer,
        args=(answers, key, None, ours),
    )


def _answer(answers: dict[str, str], key: str, theirs: str | None, ours: str | None) -> None:
    """Keep an answer: the field of a known column, or the column of a known field; nothing chosen takes it back."""
    chosen: Any = st.session_state[key]
    if theirs is not None:
        answers.pop(theirs, None)
        if chosen is not None:
            answers[theirs] = chosen
        return
    for column in [column for column, field in answers.items() if field == ours]:
        del answers[column]
    if chosen is not None and ours is not None:
        answers[chosen] = ours


def _answers(file_id: str, kind: str) -> dict[str, str]:
    kept: dict[tuple[str, str], dict[str, str]] = st.session_state.setdefault(_KEPT, {})
    return kept.setdefault((file_id, kind), {})


def trial_card(trial: Trial) -> Reviewer | None:
    """Show what would come in; return who pressed Import, None where nobody did."""
    summary = trial.summary
    with st.container(border=True, key="import_card"):
        show(tag("div", tag("b", dry_lead(summary)), cls="jb-say"))
        _unreadable(summary)
        show(tag("div", dry_details(summary), cls="jb-cap"))
        if not_read_words(summary):
            show(tag("div", not_read_words(summary), cls="jb-cap"))
        reviewer = ask_reviewer("It stands beside the import.") if has_news(summary) else None
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            pressed = has_news(summary) and st.button(
                button_words(summary),
                key="import_start",
                type="primary",
                icon=":material/upload:",
                disabled=reviewer is None,
                wrap=False,
            )
            _rejected_rows(summary, trial.rejected)
    return reviewer if pressed else None


def done_card(done: Done) -> None:
    """Show what came in, and what to do next."""
    summary = done.summary
    label, rows, said = NEXT.get(summary.kind, (None, None, ""))
    with st.container(border=True, key="import_card"):
        show(tag("div", tag("b", done_lead(summary)), f" {said}", cls="jb-say"))
        _unreadable(summary)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            if label is not None:
                st.button(label, key="import_next", type="primary", on_click=pick_rows, args=(rows,), wrap=False)
            _rejected_rows(summary, done.rejected)
        next_step = KINDS[summary.kind].next_step
        if next_step is not None:
            caption(f"Next: `{next_step}`")


def _unreadable(summary: ImportSummary) -> None:
    if summary.unreadable:
        show(tag("div", f"The file is {summary.unreadable}.", cls="jb-note"))


def _rejected_rows(summary: ImportSummary, rejected: RejectedRows) -> None:
    if not rejected.lines:
        return
    st.download_button(
        count(summary.rejected, "rejected row"),
        data=rejected.file,
        file_name=f"{summary.file}.rejected.jsonl",
        mime="application/x-ndjson",
        key="import_rejected",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        help=f"Line, field, reason and the row{_left_out(rejected)}",
    )


def _left_out(rejected: RejectedRows) -> str:
    return f"; the last {rejected.left_out:,} are left out, there are too many" if rejected.left_out else ""


with page("Import", answers=False):
    imports()
