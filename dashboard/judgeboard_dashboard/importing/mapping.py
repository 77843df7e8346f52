"""Asks what a column means where its name does not tell, and keeps the answers while the file stays."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from judgeboard.importers import ColumnUse
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.importing.fields import field_words, required
from judgeboard_dashboard.words import capital

SCALES = {"thumbs": "Thumbs", "stars": "Stars 1–5"}
_KEPT = "import_mapping"

Mapping = tuple[tuple[str, str], ...]


def mapping_of(file_id: str, kind: str) -> Mapping:
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
