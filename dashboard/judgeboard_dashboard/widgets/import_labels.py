"""Boxes of an import: what the words of a file for labels mean."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.domain import Label
from judgeboard.imports.labels import RATINGS, LabelWord
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import in_row
from judgeboard_dashboard.widgets.texts import capital

_MOST_WORDS = 12  # words for labels that can be mapped on the page


def ask_labels(file_id: str, kind: str | None, words: Sequence[LabelWord]) -> None:
    """Show the label of each word that is not the name of a label, so that a person can change the label."""
    others = list({each.word: each for each in words if each.word not in set(Label)}.values())
    if not others:
        return
    with in_row("import_label_words", align="bottom"):
        for each in others[:_MOST_WORDS]:
            _ask_label(file_id, kind, each)


def _ask_label(file_id: str, kind: str | None, each: LabelWord) -> None:
    key = f"import_label_{file_id}_{kind}_{each.word}"
    labels = chosen_for("labels", file_id, kind)

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


def chosen_for(part: str, file_id: str, kind: str | None = None) -> dict[str, str]:
    """Return a person's choices for a part of the import of a file: labels, mapping, constants or dates."""
    choices: dict[str, str] = st.session_state.setdefault(f"import_{part}_of_{file_id}_{kind}", {})
    return choices
