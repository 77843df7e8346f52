"""The import of a file: upload the file, see what would be stored, store the rows; undo an import."""

from collections.abc import Sequence
from typing import BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.domain import Action, Label, Rejected
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.formats.files import format_titles
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.imports.dates import DateOrder
from judgeboard.imports.fields import EXTRA
from judgeboard.imports.importing import ImportSummary, OnProgress, undo_import
from judgeboard.imports.kinds import DEFAULT_SOURCE, KINDS, kind_class
from judgeboard.imports.labels import RATINGS, LabelWord
from judgeboard.imports.mapping import FileMapping, fields_of
from judgeboard.imports.reading import ImportRequest, UnclearFile
from judgeboard.measure import notes
from judgeboard.store.storing import list_batches
from judgeboard.store.tables import ImportBatch
from judgeboard.store.withdrawals import plan_undo
from judgeboard_dashboard.evidence import as_label, show_div, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    named_reviewer,
    problem,
    read,
    read_all,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.uploads import expect_upload
from judgeboard_dashboard.widgets.imports import (
    Choice,
    Imported,
    RejectedRows,
    columns_table,
    done_lead,
    dry_lead,
    field_words,
    import_all,
    mapping_table,
    other_rows,
    try_file,
)
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import (
    capital,
    caption,
    confirm,
    confirmation,
    count,
    empty,
    heading,
    when,
    when_known,
)

_TRIAL = "import_trial"
_DONE = "import_done"
ORDERS = {DateOrder.DAY_FIRST: "day first", DateOrder.MONTH_FIRST: "month first"}
_QUESTION = "import_question"
_MOST_WORDS = 12  # words for labels that can be mapped on the page
REJECTED_COLUMNS: Columns[Rejected] = {
    Column("Line", "integer", width=70): lambda row: row.line,
    Column("Field", width=120): lambda row: field_words(row.field),
    Column("Reason", width=560): lambda row: row.reason,
}
BATCH_COLUMNS: Columns[ImportBatch] = {
    Column("Number", "integer", width=70): lambda batch: batch.id,
    Column("Time", width=105): lambda batch: when(batch.at),
    Column("File", width=230): lambda batch: batch.file,
    Column("Kind", width=95): lambda batch: batch.kind,
    Column("New rows", "count", width=80): lambda batch: (batch.counts or {}).get("new"),
    Column("Finished", width=105): lambda batch: when_known(batch.finished_at) or "not finished",
    Column("By", width=110): lambda batch: batch.actor,
    Column("Undone", width=105): lambda batch: when_known(batch.undone_at),
}
HINTS = (
    "Choose a file. Judgeboard checks it first. Nothing is stored until you press Import.",
    (
        "Each row needs a question and an answer. Passages, id, query type, time and user feedback are read if "
        "present. Common column names are recognised."
    ),
)
NEXT: dict[str, tuple[str, Rows, str]] = {
    "responses": (
        "Judge these answers",
        Rows("rejudge", {"rows": "plain"}),
        "Next: judge these answers.",
    ),
    "grades": (
        "Show agreement",
        Rows("agreement", {}),
        "Next: see how far the judges agree with these grades.",
    ),
    "verdicts": (
        "Show agreement",
        Rows("agreement", {}),
        "Next: see how far these verdicts agree with people.",
    ),
}


def import_form() -> None:
    """Show the upload at the left. At the right, show how the columns of the file were read."""
    if not permitted(Action.IMPORT):
        ask_reviewer(to=Action.IMPORT)
        _latest()
        return
    left, right = stacking_columns("import", [1, 2.1])
    with left:
        uploaded = _upload()
        if uploaded is None:
            caption("For larger files, use a terminal: `judgeboard import FILE`")
            _undo()
            with right:
                empty(*HINTS)
                _latest()
            return
        choice, stream = uploaded
        trial = _tried(choice, stream)
        if isinstance(trial, FileMapping):
            with st.container(border=True, key="import_card"):
                show_div("jb-say", tag("b", f"{capital(trial.unclear)}."))
                show_div("jb-cap", "Nothing is stored yet.")
        elif trial is not None:
            _card(trial, stream)
    with right:
        if isinstance(trial, FileMapping):
            _ask_file(choice, trial)
        elif trial is not None:
            summary = trial.summary
            heading("Columns")
            columns = columns_table(summary.kind, summary.columns)
            table(columns, key=f"import_columns_{choice.file_id}", name="columns", most=9)
            # Without a mapping, the columns of an export have a fixed meaning.
            if summary.mapping is not None and summary.names:
                _ask_columns(choice, summary.kind, list(dict.fromkeys(summary.names)))
            # A person can change the label of each word that is not the name of a label.
            words = {each.word: each for each in summary.labels if each.word not in set(Label)}
            if words:
                with in_row("import_label_words", align="bottom"):
                    for each in list(words.values())[:_MOST_WORDS]:
                        _ask_label(choice, each)
            if rejected := summary.first_rejected:
                total = summary.rejected
                first = f"First {len(rejected)} of {total:,} rejected"
                heading(f"Rejected: {total:,}" if total <= len(rejected) else first)
                rows = Table.of(rejected, REJECTED_COLUMNS)
                table(rows, key="import_rejected_rows", name="rejected", most=6)


def _latest() -> None:
    """Show the latest imports, also undone imports."""
    batches = read(list_batches)
    if batches:
        heading("Latest imports")
        key = f"imports_{batches[0].id}_{len(batches)}"
        table(Table.of(batches, BATCH_COLUMNS), key=key, name="imports", most=8)


def _undo() -> None:
    """Show what the last undo withdrew, and the imports that can be undone."""
    confirmation("imports")
    batches = {batch.id: batch for batch in read(list_batches) if batch.undone_at is None}
    if not batches:
        return
    with st.popover("Undo an import", icon=":material/undo:"):
        number = st.selectbox(
            "Import",
            list(batches),
            index=None,
            format_func=lambda id_: (
                f"{id_}: {batches[id_].file}, {batches[id_].kind}, {when(batches[id_].at)}"
            ),
            key="import_undo_number",
            width=420,
        )
        if number is None:
            return
        # What undoing the import withdraws, and the button that undoes the import.
        try:
            plan = read_all(plan_undo, number)
        except JudgeboardError as error:
            problem(str(error))
            return
        caption(
            f"This withdraws {plan.words or 'nothing'}. Copies are kept, but nothing shows them any more."
        )
        if plan.kept:
            caption(
                f"People decided on {len(plan.kept):,} others, which stay. `judgeboard import undo --help`"
            )
        reviewer = ask_reviewer("Your name is stored with the undo.", to=Action.IMPORT)
        is_pressed = button(
            "Undo import", key="import_undo", type="primary", disabled=not plan.rows
        )
        actor = (reviewer or named_reviewer()) if is_pressed else None
        if actor is not None:
            with saving("Not undone"):
                withdrawn = undo_import(store(), number, actor=actor)
                confirm(
                    "imports", f"{withdrawn.batch.file}: withdrawn: {withdrawn.words or 'nothing'}."
                )
                for key in (_TRIAL, _DONE, "import_undo_number"):
                    st.session_state.pop(key, None)


def _upload() -> tuple[Choice, BinaryIO] | None:
    kind = st.selectbox(
        "Kind of file",
        list(KINDS),
        index=None,
        placeholder="as its columns show",
        format_func=lambda kind: KINDS[kind].title,
        key="kind",
        bind="query-params",
    )
    brings_answers = kind is None or kind_class(kind).brings_answers
    expect_upload()
    upload = st.file_uploader(
        "File", key="import_file", help=f"{format_titles()}. Files may be gzipped."
    )
    source = st.text_input(
        "Source",
        key=f"import_source_{brings_answers}",
        placeholder=DEFAULT_SOURCE if brings_answers else "any source",
        help="Name of the log. Ids are unique within a source."
        if brings_answers
        else "Log with the answers or pairs that the file refers to.",
    )
    if upload is None:
        return None
    labels = dict(_chosen_for("labels", upload.file_id, kind))
    request: ImportRequest = {
        "name": upload.name,
        "kind": kind,
        "source": source.strip() or None,
        "mapping": dict(_chosen_for("mapping", upload.file_id, kind)),
        "constants": _chosen_for("constants", upload.file_id),
        "values": {"label": labels} if labels else {},
        "dates": _chosen_for("dates", upload.file_id).get("order"),
    }
    return Choice(upload.file_id, request), cast("BinaryIO", upload)


def _tried(choice: Choice, stream: BinaryIO) -> Imported | FileMapping | None:
    """Return the trial import of this choice, or the open questions. The session keeps both: a file is read once."""
    stored_trial: Imported | None = st.session_state.get(_TRIAL)
    if stored_trial is not None and stored_trial.choice == choice:
        return stored_trial
    question: tuple[Choice, FileMapping] | None = st.session_state.get(_QUESTION)
    if question is not None and question[0] == choice:
        return question[1]
    progress = st.empty()
    try:
        trial = try_file(stream, choice, _progress(progress, "read"))
    except UnclearFile as unclear:
        st.session_state[_QUESTION] = (choice, unclear.mapping)
        return unclear.mapping
    except BadInput as error:
        problem(str(error))
        return None
    finally:
        progress.empty()
    st.session_state[_TRIAL] = trial
    return trial


def _ask_file(choice: Choice, mapping: FileMapping) -> None:
    """Show a mapping to check: each field with column and values, and one button that accepts the mapping."""
    heading("Columns")
    table(
        mapping_table(mapping),
        key=f"import_mapping_{choice.file_id}_{choice.kind}",
        name="mapping",
        most=12,
    )
    mapped = [each.theirs for each in mapping.fields if each.theirs is not None]
    _ask_columns(choice, mapping.kind, [*mapped, *mapping.left_over])
    order = None
    if mapping.asks_dates is not None:
        order = st.radio(
            f"The date {as_label(mapping.asks_dates.example)} has the",
            list(ORDERS),
            index=None,
            format_func=ORDERS.__getitem__,
            key=f"import_ask_{choice.file_id}_dates",
            horizontal=True,
        )

    def take() -> None:
        _chosen_for("mapping", choice.file_id, choice.kind).update(mapping.columns)
        _chosen_for("constants", choice.file_id).update(mapping.constants)
        if order is not None:
            _chosen_for("dates", choice.file_id)["order"] = order.value

    is_open = not mapping.reads_some or (mapping.asks_dates is not None and order is None)
    button("Use these columns", key="import_use", type="primary", disabled=is_open, on_click=take)


def _ask_columns(choice: Choice, kind: str, names: Sequence[str]) -> None:
    """Show the boxes with which a column becomes another field."""
    key = f"{choice.file_id}_{choice.kind}"
    answers = _chosen_for("mapping", choice.file_id, choice.kind)

    def change() -> None:
        for column in [theirs for theirs, field in answers.items() if field == ours]:
            del answers[column]
        answers[str(theirs)] = str(ours)

    with in_row("import_columns", align="bottom"):
        theirs = st.selectbox(
            "Column",
            names,
            index=None,
            placeholder="a column",
            key=f"import_theirs_{key}",
            width=230,
        )
        ours = st.selectbox(
            "Is read as",
            [*(field for field, called in fields_of(kind_class(kind)).items() if called), EXTRA],
            index=None,
            placeholder="a field",
            format_func=lambda field: "no field" if field == EXTRA else str(field_words(field)),
            key=f"import_ours_{key}",
            width=230,
        )
        button(
            "Change", key=f"import_change_{key}", disabled=None in (theirs, ours), on_click=change
        )


def _ask_label(choice: Choice, each: LabelWord) -> None:
    key = f"import_label_{choice.file_id}_{choice.kind}_{each.word}"
    labels = _chosen_for("labels", choice.file_id, choice.kind)

    def choose() -> None:
        label = st.session_state[key]
        if label is None:
            labels.pop(each.word, None)
        else:
            labels[each.word] = label

    st.session_state.setdefault(key, each.label)
    st.segmented_control(
        f"The label {as_label(each.word)} means",
        list(RATINGS),
        format_func=lambda label: f"{capital(label)} ({RATINGS[label]})",
        key=key,
        on_change=choose,
    )


def _chosen_for(part: str, file_id: str, kind: str | None = None) -> dict[str, str]:
    """Return a person's choices for a part of the import of a file: labels, mapping, constants or dates."""
    choices: dict[str, str] = st.session_state.setdefault(f"import_{part}_of_{file_id}_{kind}", {})
    return choices


def _card(trial: Imported, stream: BinaryIO) -> None:
    stored_import: Imported | None = st.session_state.get(_DONE)
    if stored_import is not None and stored_import.choice == trial.choice:
        summary = stored_import.summary
        latest = next(
            (each.summary.kind for each in stored_import.others if each.summary.new), summary.kind
        )
        label, rows, hint = NEXT.get(latest, (None, None, ""))
        with st.container(border=True, key="import_card"):
            leads = " ".join(
                done_lead(each.summary) for each in (stored_import, *stored_import.others)
            )
            show_div("jb-say", tag("b", leads), f" {hint}")
            _unreadable(summary)
            with in_row():
                if label is not None:
                    open_button(label, rows, key="import_next", type="primary")
                _rejected_rows(summary, stored_import.rejected)
                for each in stored_import.others:
                    _rejected_rows(each.summary, each.rejected, each.summary.kind)
            next_step = KINDS[summary.kind].next_step
            if next_step is not None:
                caption(f"Next: `{next_step}`")
        return
    # The trial, and the button that imports the file.
    summary = trial.summary
    with st.container(border=True, key="import_card"):
        show_div("jb-say", tag("b", dry_lead(trial)))
        _unreadable(summary)
        if others := other_rows(summary):
            show_div("jb-cap", f"{others}.")
        if len(summary.earlier) == 1:
            show_div("jb-cap", notes.note("import_replace", number=min(summary.earlier)).text)
        if unclear := [str(use.theirs) for use in summary.columns if not use.sure]:
            show_div("jb-cap", f"Not clear, so choose what it contains: {', '.join(unclear)}")
        for name, value in summary.facts.items():
            show_div("jb-cap", f"{capital(name)}: {value}")
        for message in summary.messages:
            show_div("jb-cap", f"{capital(message)}.")
        buttons = in_row()  # above the name field
        reviewer = ask_reviewer("Your name is stored with the import.") if trial.has_news else None
        with buttons:
            is_pressed = button(
                "Import",
                key="import_start",
                type="primary",
                icon=":material/upload:",
                disabled=not trial.has_news,
            )
            _rejected_rows(summary, trial.rejected)
    actor = (reviewer or named_reviewer()) if is_pressed else None
    if actor is None:
        return
    report = _progress(st.empty(), "imported")
    st.session_state[_DONE] = import_all(stream, trial.choice, report, actor=actor)
    st.rerun()


def _progress(place: DeltaGenerator, verb: str) -> OnProgress:
    """Return what shows the progress. After the page was closed, Streamlit ends the script and the reading there."""

    def report(rows: int, share: float | None) -> None:
        place.text(f"{rows:,} rows {verb}{'' if share is None else f', {share:.0%} of the file'}")

    return report


def _unreadable(summary: ImportSummary) -> None:
    if summary.unreadable:
        show_div("jb-note", f"The file is {summary.unreadable}.")


def _rejected_rows(summary: ImportSummary, rejected: RejectedRows, part: str | None = None) -> None:
    """Show the button that downloads rejected rows; ``part`` is the kind of rows that came beside the answers."""
    if not rejected.lines:
        return
    left_out = (
        f"; the last {rejected.left_out:,} rows are not included" if rejected.left_out else ""
    )
    st.download_button(
        count(summary.rejected, "rejected row" if part is None else f"rejected {KINDS[part].noun}"),
        data=rejected.file,
        file_name=f"{summary.file}{'' if part is None else f'.{part}'}.rejected.jsonl",
        mime="application/x-ndjson",
        key="import_rejected" if part is None else f"import_rejected_{part}",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        help=f"Each line has the row, its line number, the field and the reason{left_out}",
    )
