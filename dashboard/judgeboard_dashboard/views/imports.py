"""The page Import: upload a file, see what would be stored, store it; undo an import."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.domain import Action, Rejected
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.formats.files import format_titles
from judgeboard.imports.dates import DateOrder
from judgeboard.imports.exports.entry import IN_MESSAGES
from judgeboard.imports.fields import EXTRA, nested_names
from judgeboard.imports.importing import ImportSummary, OnProgress, undo_import
from judgeboard.imports.kinds import DEFAULT_SOURCE, KINDS, kind_class
from judgeboard.imports.labels import in_other_words, labels_sentence
from judgeboard.imports.mapping import FileMapping
from judgeboard.imports.reading import ImportRequest, UnclearFile
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.store.label_schemas import schema_named
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.storing import ImportBatch, list_batches
from judgeboard.store.withdrawals import plan_undo
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.session import ask_reviewer, named_reviewer, page, problem, reading, stacking_columns, store
from judgeboard_dashboard.uploads import expect_upload
from judgeboard_dashboard.widgets.confirmations import confirm, confirmation
from judgeboard_dashboard.widgets.import_labels import ask_label_set, ask_labels, chosen_labels, label_set_key
from judgeboard_dashboard.widgets.imports import (
    Choice,
    Imported,
    RejectedRows,
    chosen_twice,
    column_boxes,
    columns_table,
    done_lead,
    dry_details,
    dry_lead,
    field_words,
    first_rows,
    import_all,
    likely_keys,
    mapping_lead,
    mapping_table,
    not_read_words,
    recognised_words,
    required,
    try_file,
    unread_keys,
)
from judgeboard_dashboard.widgets.navigation import Rows, follow, open_button
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, heading, when

_TRIAL = "import_trial"
_DONE = "import_done"
ORDERS = {DateOrder.DAY_FIRST: "day first", DateOrder.MONTH_FIRST: "month first"}
SCALES = {"thumbs": "Thumbs", "stars": "Stars 1–5"}
_KEPT = "import_mapping"
_FILLED = "import_filled"
_KEPT_DATES = "import_dates"
_QUESTION = "import_question"
_KEPT_CONSTANTS = "import_constants"
_MOST_KEPT = 10  # ids of answers in a sentence
TEXTS = ("query", "answer", "reference")
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
    Column("By", width=110): lambda batch: batch.actor,
    Column("Undone", width=105): lambda batch: when(batch.undone_at) if batch.undone_at else None,
}
HINTS = (
    "Choose a file. Judgeboard checks it first. Nothing is stored until you press Import.",
    (
        "Each row needs a question and an answer. Passages, id, query type, time and user feedback are read if "
        "present. Common column names are recognised."
    ),
)
NEXT: dict[str, tuple[str, Rows, str]] = {
    "responses": ("Judge these answers", Rows("rejudge", {"rows": "plain"}), "Next: judge these answers."),
    "grades": ("Show agreement", Rows("agreement", {}), "Next: see how far the judges agree with these grades."),
    "verdicts": ("Show agreement", Rows("agreement", {}), "Next: see how far these verdicts agree with people."),
}


def imports() -> None:
    """Show the upload at the left. At the right, show how its columns were read."""
    demand(Action.SEE_MANAGED)
    follow("imports", own=("kind",))
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
        if isinstance(trial, Imported) and (filled := _likely_chosen(choice, trial)) != choice:
            choice, trial = filled, _tried(filled, stream)
        if isinstance(trial, FileMapping):
            with st.container(border=True, key="import_card"):
                show(tag("div", tag("b", mapping_lead(trial)), cls="jb-say"))
                show(tag("div", "Nothing is stored yet.", cls="jb-cap"))
        elif trial is not None:
            _card(trial, stream)
    with right:
        if isinstance(trial, FileMapping):
            _ask_file(choice, trial)
        elif trial is not None:
            _understood(trial)


def _latest() -> None:
    """Show the latest imports, also those that were undone."""
    with reading() as connection:
        batches = list_batches(connection)
    if batches:
        heading("Latest imports")
        key = f"imports_{batches[0].id}_{len(batches)}"
        table(Table.of(batches, BATCH_COLUMNS), key=key, name="imports", most=8)


def _undo() -> None:
    """Show what the last undo withdrew, and the imports that can be undone."""
    confirmation("imports")
    with store().reading() as connection:
        batches = {batch.id: batch for batch in list_batches(connection) if batch.undone_at is None}
    if not batches:
        return
    with st.popover("Undo an import", icon=":material/undo:"):
        number = st.selectbox(
            "Import",
            list(batches),
            index=None,
            format_func=lambda id_: f"{id_}: {batches[id_].file}, {batches[id_].kind}, {when(batches[id_].at)}",
            key="import_undo_number",
            width=420,
        )
        if number is not None:
            _ask_undo(number)


def _ask_undo(number: int) -> None:
    """Show what undoing an import withdraws, and the button that does it."""
    try:
        with store().reading() as connection:
            plan = plan_undo(connection, number)
            if plan.kept and st.checkbox("Also withdraw what people reviewed", key=f"import_undo_reviews_{number}"):
                plan = plan_undo(connection, number, with_reviews=True)
                with_reviews = True
            else:
                with_reviews = False
    except JudgeboardError as error:
        problem(str(error))
        return
    caption(f"This withdraws {plan.words or 'nothing'}. Copies are kept, but nothing shows them any more.")
    if plan.kept:
        ids = ", ".join(plan.kept[:_MOST_KEPT])
        more = f" and {len(plan.kept) - _MOST_KEPT:,} more" if plan.kept[_MOST_KEPT:] else ""
        caption(f"Because people decided on them, these stay: {ids}{more}.")
    reviewer = ask_reviewer("Your name is stored with the undo.", to=Action.IMPORT)
    pressed = st.button("Undo import", key="import_undo", type="primary", disabled=not plan.rows, wrap=False)
    actor = (reviewer or named_reviewer()) if pressed else None
    if actor is not None:
        try:
            undone = undo_import(store(), number, with_reviews=with_reviews, actor=actor)
            confirm("imports", f"{undone.batch.file}: withdrawn: {undone.words or 'nothing'}.")
        except JudgeboardError as error:
            problem(str(error))
            return
        for key in (_TRIAL, _DONE, "import_undo_number"):
            st.session_state.pop(key, None)
        st.rerun()


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
    upload = st.file_uploader("File", key="import_file", help=f"{format_titles()}. Files may be gzipped.")
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
    _drop_columns_alone(upload.file_id, kind)
    labels = dict(chosen_labels(upload.file_id, kind))
    request: ImportRequest = {
        "name": upload.name,
        "kind": kind,
        "source": source.strip() or None,
        "mapping": dict(_answers(upload.file_id, kind)),
        "constants": _constants(upload.file_id),
        "values": {"label": labels} if labels else {},
        "label_set": st.session_state.get(label_set_key(upload.file_id, kind)),
        "dates": st.session_state.get(_dates_key(upload.file_id)),
    }
    return Choice(upload.file_id, request), cast("BinaryIO", upload)


def _constants(file_id: str) -> dict[str, str]:
    """Return the values of fields that are the same in all rows of a file, as a person took them."""
    kept: dict[str, dict[str, str]] = st.session_state.setdefault(_KEPT_CONSTANTS, {})
    return kept.setdefault(file_id, {})


def _tried(choice: Choice, stream: BinaryIO) -> Imported | FileMapping | None:
    """Return the trial import of this choice, or what is open. The file is read once; both are kept for the session."""
    kept: Imported | None = st.session_state.get(_TRIAL)
    if kept is not None and kept.choice == choice:
        return kept
    asked: tuple[Choice, FileMapping] | None = st.session_state.get(_QUESTION)
    if asked is not None and asked[0] == choice:
        return asked[1]
    progress = st.empty()
    try:
        trial = try_file(stream, choice, _progress(progress, "read"), kept)
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
    """Show a mapping that must be looked at: each field with its column and values, boxes to change it, one button."""
    heading("Columns")
    table(mapping_table(mapping), key=f"import_mapping_{choice.file_id}_{choice.kind}", name="mapping", most=12)
    with st.form("import_ask"):
        columns = column_boxes(
            f"import_ask_{choice.file_id}_{choice.kind}",
            {
                **dict.fromkeys(mapping.missing),
                **{each.ours: each.theirs for each in mapping.fields if each.theirs is not None},
            },
            [*(each.theirs for each in mapping.fields if each.theirs is not None), *mapping.left_over],
            "no column",
        )
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
        pressed = st.form_submit_button("Use these columns", type="primary")
    if not pressed:
        return
    reason = _why_open(mapping, columns, order)
    if reason is not None:
        problem(reason)
        return
    chosen = {theirs: ours for ours, theirs in columns.items() if theirs}
    dropped = {each.theirs: EXTRA for each in mapping.fields if each.theirs is not None and each.theirs not in chosen}
    _answers(choice.file_id, choice.kind).update({**dropped, **chosen})
    _constants(choice.file_id).update(mapping.constants)
    if order is not None:
        st.session_state[_dates_key(choice.file_id)] = order.value
    st.rerun()


def _ask_keys(trial: Imported) -> None:
    """Show a box for each field that a key of the messages can be."""
    names = [use.theirs for use in unread_keys(trial.unmapped)]
    caption("Keys that are not read can be fields. Choose a key of the messages first, then columns beside them.")
    with st.container(key="import_keys", horizontal=True, vertical_alignment="bottom", gap="small"):
        for ours in likely_keys(trial.choice.kind, trial.unmapped):
            _ask_field(trial.choice.file_id, trial.choice.kind, ours, names, "no key")


def _likely_chosen(choice: Choice, trial: Imported) -> Choice:
    """Return the choice with the likely key of each field, once for a file. Later, what a person chose counts."""
    chosen = _answers(choice.file_id, choice.kind)
    filled = _filled()
    if (choice.file_id, choice.kind) in filled or not unread_keys(trial.unmapped):
        return choice
    filled.add((choice.file_id, choice.kind))
    chosen.update({theirs: ours for ours, theirs in likely_keys(choice.kind, trial.unmapped).items() if theirs})
    return choice.changed(mapping=dict(chosen))


def _filled() -> set[tuple[str, str | None]]:
    """Return the files with keys of messages, by id and kind, whose boxes got the likely keys."""
    filled: set[tuple[str, str | None]] = st.session_state.setdefault(_FILLED, set())
    return filled


def _drop_columns_alone(file_id: str, kind: str | None) -> None:
    """Drop a mapping without a key of messages: with it, a conversation would be read by its columns."""
    chosen = _answers(file_id, kind)
    if (file_id, kind) in _filled() and not any(theirs.startswith(IN_MESSAGES) for theirs in chosen):
        for ours in chosen.values():
            st.session_state[_field_key(file_id, kind, ours)] = None
        chosen.clear()


def _why_open(mapping: FileMapping, columns: Mapping[str, str | None], order: DateOrder | None) -> str | None:
    """Return what is still to be chosen, or chosen twice; None if the question is answered."""
    if (twice := chosen_twice(columns)) is not None:
        return twice
    if absent := next((ours for ours in mapping.missing if columns.get(ours) is None), None):
        return f"Choose the column of the {field_words(absent)}."
    if mapping.asks_dates is not None and order is None:
        return "Choose whether the day or the month is first."
    return None


def _dates_key(file_id: str) -> str:
    return f"{_KEPT_DATES}_{file_id}"


def _card(trial: Imported, stream: BinaryIO) -> None:
    done: Imported | None = st.session_state.get(_DONE)
    if done is not None and done.choice == trial.choice:
        _done_card(done)
        return
    actor = _trial_card(trial)
    if actor is None:
        return
    report = _progress(st.empty(), "imported")
    st.session_state[_DONE] = import_all(stream, trial.choice, report, actor=actor)
    st.rerun()


def _progress(place: DeltaGenerator, done: str) -> OnProgress:
    """Return what shows the progress. If the page was closed, Streamlit ends the script there, and so the reading."""

    def report(rows: int, share: float | None) -> None:
        place.text(f"{rows:,} rows {done}{'' if share is None else f', {share:.0%} of the file'}")

    return report


def _understood(trial: Imported) -> None:
    heading("Columns")
    if trial.summary.export is not None:
        caption(recognised_words(trial.summary))
    columns = columns_table(trial.summary.kind, trial.summary.columns)
    table(columns, key=f"import_columns_{trial.choice.file_id}", name="columns", most=9)
    dates = trial.summary.dates
    if dates is not None and dates.order is not None:
        caption(f"Dates have the {ORDERS[dates.order]}, as {dates.example} in {dates.column} shows.")
    if trial.summary.export is None:  # the columns of an export have their meaning
        _ask_columns(trial)
    elif unread_keys(trial.unmapped):
        _ask_keys(trial)
    ask_label_set(trial)
    ask_labels(trial.choice.file_id, trial.choice.kind, trial.summary.labels)
    _first_rows(trial)
    _first_rejected(trial.summary.first_rejected, trial.summary.rejected)


def _first_rows(trial: Imported) -> None:
    if not trial.summary.first_records:
        return
    heading(f"First {count(len(trial.summary.first_records), 'row')}, as stored by the import")
    rows = first_rows(trial.summary.first_records)
    table(rows, key=f"import_rows_{trial.choice.file_id}_{trial.choice.kind}", name="first_rows", most=7)


def _first_rejected(rejected: list[Rejected], total: int) -> None:
    if not rejected:
        return
    heading(f"Rejected: {total:,}" if total <= len(rejected) else f"First {len(rejected)} of {total:,} rejected")
    table(Table.of(rejected, REJECTED_COLUMNS), key="import_rejected_rows", name="rejected", most=6)


def _ask_columns(trial: Imported) -> None:
    """Show a field for each column or field that is not clear.

    The columns do not contain the chosen mapping, so that a field stays on the page after it was used.
    """
    file_id, kind, columns = trial.choice.file_id, trial.choice.kind, trial.unmapped
    unsure = [use for use in columns if not use.sure and use.theirs is not None]
    free = [use.theirs for use in columns if use.ours is None and use.theirs is not None]
    free += nested_names({use.theirs: use.example for use in columns if use.theirs is not None})
    missing = [use.ours for use in columns if use.theirs is None and use.ours is not None]
    wanted = required(trial.summary.kind, columns)
    # If a text field contains an object, the text is inside the object.
    objects = [use.ours for use in columns if use.ours in TEXTS and isinstance(use.example, dict)]
    needed = [*(field for field in missing if field in wanted), *(field for field in objects if field is not None)]
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


def _ask_scale(file_id: str, kind: str | None, number: int, theirs: str) -> None:
    key = f"import_scale_{file_id}_{kind}_{number}"
    answers = _answers(file_id, kind)

    def answer() -> None:
        _replace(answers, [theirs], theirs, st.session_state[key])

    st.session_state.setdefault(key, answers.get(theirs))
    st.segmented_control(
        f"User feedback is in {as_label(theirs)} as",
        list(SCALES),
        format_func=SCALES.__getitem__,
        key=key,
        on_change=answer,
    )


def _ask_field(
    file_id: str, kind: str | None, ours: str, free: Sequence[str | None], placeholder: str = "no column"
) -> None:
    """Show the box with the column of a field. A column that another field had is taken from it."""
    answers = _answers(file_id, kind)
    before = [theirs for theirs, field in answers.items() if field == ours]

    def answer() -> None:
        theirs = st.session_state[_field_key(file_id, kind, ours)]
        if (other := answers.get(theirs)) is not None:
            st.session_state[_field_key(file_id, kind, other)] = None
        _replace(answers, before, theirs, ours)

    st.session_state.setdefault(_field_key(file_id, kind, ours), next(iter(before), None))
    st.selectbox(
        f"{capital(field_words(ours) or ours)} is in",
        list(dict.fromkeys((*free, *before))),
        index=None,
        placeholder=placeholder,
        key=_field_key(file_id, kind, ours),
        width=230,
        on_change=answer,
    )


def _field_key(file_id: str, kind: str | None, ours: str) -> str:
    return f"import_field_{file_id}_{kind}_{ours}"


def _replace(answers: dict[str, str], before: Sequence[str], theirs: str | None, ours: str | None) -> None:
    """Remove the columns ``before`` from the mapping. Then map ``theirs`` to ``ours``, unless one of them is None."""
    for column in before:
        answers.pop(column, None)
    if theirs is not None and ours is not None:
        answers[theirs] = ours


def _answers(file_id: str, kind: str | None) -> dict[str, str]:
    """Return the chosen mapping of a file: our fields by its columns. A new upload starts without a mapping."""
    kept: dict[tuple[str, str | None], dict[str, str]] = st.session_state.setdefault(_KEPT, {})
    return kept.setdefault((file_id, kind), {})


def _trial_card(trial: Imported) -> Reviewer | None:
    """Show the trial. If Import was pressed, return the person who pressed it."""
    summary = trial.summary
    with st.container(border=True, key="import_card"):
        show(tag("div", tag("b", dry_lead(trial)), cls="jb-say"))
        _unreadable(summary)
        show(tag("div", dry_details(trial), cls="jb-cap"))
        if in_other_words(summary.labels):
            show(tag("div", f"Labels: {labels_sentence(summary.labels)}.", cls="jb-cap"))
        for message in summary.messages:
            show(tag("div", f"{capital(message)}.", cls="jb-cap"))
        if not_read_words(summary):
            show(tag("div", not_read_words(summary), cls="jb-cap"))
        buttons = st.container(horizontal=True, gap="small", vertical_alignment="center")  # above the name field
        reviewer = ask_reviewer("Your name is stored with the import.") if trial.has_news else None
        with buttons:
            pressed = trial.has_news and st.button(
                _import_label(trial),
                key="import_start",
                type="primary",
                icon=":material/upload:",
                wrap=False,
            )
            _rejected_rows(summary, trial.rejected)
    return (reviewer or named_reviewer()) if pressed else None


def _import_label(trial: Imported) -> str:
    if trial.summary.new or trial.summary.feedback_added:
        return f"Import {count(trial.summary.new, 'row')}" if trial.summary.new else "Add feedback"
    return f"Import {trial.new_others}"


def _done_card(done: Imported) -> None:
    summary = done.summary
    latest = next((each.summary.kind for each in done.others if each.summary.new), summary.kind)
    label, rows, hint = NEXT.get(latest, (None, None, ""))
    if done.choice.request["label_set"] is not None:
        with reading() as connection:
            schema = schema_named(connection, done.choice.request["label_set"]).title
        label, rows = "Show label schema", Rows("schemas", {"version": schema})
    with st.container(border=True, key="import_card"):
        leads = " ".join(done_lead(each.summary) for each in (done, *done.others))
        show(tag("div", tag("b", leads), f" {hint}", cls="jb-say"))
        _unreadable(summary)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            if label is not None:
                open_button(label, rows, key="import_next", type="primary")
            _rejected_rows(summary, done.rejected)
            for each in done.others:
                _rejected_rows(each.summary, each.rejected, each.summary.kind)
        next_step = KINDS[summary.kind].next_step
        if next_step is not None:
            caption(f"Next: `{next_step}`")


def _unreadable(summary: ImportSummary) -> None:
    if summary.unreadable:
        show(tag("div", f"The file is {summary.unreadable}.", cls="jb-note"))


def _rejected_rows(summary: ImportSummary, rejected: RejectedRows, part: str | None = None) -> None:
    """Show the button that downloads rejected rows; ``part`` is their kind if they were beside the answers."""
    if not rejected.lines:
        return
    left_out = f"; the last {rejected.left_out:,} rows are not included" if rejected.left_out else ""
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


with page(answers=False):
    imports()
