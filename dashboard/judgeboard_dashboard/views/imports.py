"""Import: upload a log, or what people and judges said of it, see what would come in, bring it in."""

from collections.abc import Callable
from typing import BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.importers import DEFAULT_SOURCE, NAMES_ANSWERS
from judgeboard.people import Action
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.importing.fields import KINDS, columns_frame, field_words
from judgeboard_dashboard.importing.first_rows import first_rows
from judgeboard_dashboard.importing.mapping import ask_columns, mapping_of
from judgeboard_dashboard.importing.outcome import Done, done_card, trial_card
from judgeboard_dashboard.importing.trial import Choice, Trial, bring_in, try_file
from judgeboard_dashboard.picking import follow
from judgeboard_dashboard.saying import caption, empty, heading
from judgeboard_dashboard.session import page, store
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import count

_TRIAL = "import_trial"
_DONE = "import_done"
REJECTED = {"Line": "Int64", "Field": "str", "Reason": "str"}


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
        "What is in the file", list(KINDS), format_func=KINDS.__getitem__, key="kind", bind="query-params"
    )
    brings_answers = kind in NAMES_ANSWERS
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
        trial = try_file(store(), stream, choice, _telling(progress, "read"))
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
    table = columns_frame(trial.choice.kind, trial.start.columns)
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
    ask_columns(trial.choice.file_id, trial.choice.kind, trial.unmapped.columns)
    csv_button(table, "columns", key="import_columns_csv")
    _first_rows(trial)
    _first_rejected(trial.summary.first_rejected, trial.summary.rejected)


def _first_rows(trial: Trial) -> None:
    if not trial.start.records:
        return
    heading(f"First {count(len(trial.start.records), 'row')}, as they will be stored")
    table = first_rows(trial.start.records)
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


with page("Import", answers=False):
    imports()
