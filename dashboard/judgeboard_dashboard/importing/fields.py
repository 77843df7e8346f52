"""How the kinds of imports and their fields are called."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgeboard.importers import ColumnUse
from judgeboard_dashboard.tables import frame

KINDS = {
    "responses": "Answers",
    "grades": "People's grades",
    "verdicts": "Verdicts",
    "pairs": "Pairs of answers",
    "comparisons": "Verdicts on pairs",
    "samples": "Samples of answers",
    "repeats": "Repeated scores",
}
NOUNS = {
    "responses": "answer",
    "grades": "grade",
    "verdicts": "verdict",
    "pairs": "row",
    "comparisons": "verdict",
    "samples": "question",
    "repeats": "answer",
}
_REQUIRED = {
    "responses": ("query", "answer"),
    "grades": ("external_id", "annotator"),
    "verdicts": ("external_id", "judge"),
    "pairs": ("external_id", "question", "answer_a", "answer_b"),
    "comparisons": ("external_id", "judge", "order"),
    "samples": ("external_id", "question", "samples"),
    "repeats": ("external_id", "question", "answer", "judge", "rubric", "scale", "samples"),
}
WORDS = {
    "external_id": "id",
    "query": "question",
    "context": "passages",
    "query_type": "query type",
    "generator_model": "written by",
    "generator_cost": "cost of the answer",
    "asked_at": "asked at",
    "feedback": "user feedback",
    "corrected_answer": "corrected answer",
    "pair_id": "id of the pair",
    "answer_a": "answer A",
    "answer_b": "answer B",
    "response_a": "id of answer A",
    "response_b": "id of answer B",
    "model_a": "A written by",
    "model_b": "B written by",
    "verdict_order_ab": "verdict, A first",
    "verdict_order_ba": "verdict, B first",
    "raw_ab": "raw, A first",
    "raw_ba": "raw, B first",
    "judge_version": "judge version",
}
# What a file without it goes without, where that shows on a page.
MISSED = {
    "external_id": "a hash of the row takes its place",
    "query_type": "all are of one type, unspecified",
    "asked_at": "these rows will not show in Trends",
    "context": "groundedness cannot be judged",
}
_LONGEST = 160


def required(kind: str, columns: Sequence[ColumnUse]) -> tuple[str, ...]:
    """Return the fields that no row goes without; a grade that names a pair names no answer."""
    of_pairs = any(use.ours == "pair_id" and use.theirs is not None for use in columns)
    return tuple(field for field in _REQUIRED[kind] if not (kind == "grades" and of_pairs and field == "external_id"))


def field_words(field: str | None) -> str | None:
    """Return a field as people call it."""
    return None if field is None else WORDS.get(field, field)


def columns_frame(kind: str, columns: Sequence[ColumnUse]) -> pd.DataFrame:
    """Return what was recognised as what: the fields that were found, the columns that are none, what is missed."""
    needed = required(kind, columns)
    titles = {"Judgeboard": "str", "In your file": "str", "How": "str", "First row": "str"}
    return frame(
        titles,
        (
            (field_words(use.ours) or "–", use.theirs or "–", how_words(use, needed), shown(use.example))
            for use in _worth_a_line(needed, columns)
        ),
    )


def _worth_a_line(required: Sequence[str], columns: Sequence[ColumnUse]) -> list[ColumnUse]:
    """The columns in the order of interest; a field that no column holds stands there only if somebody misses it."""
    missed = [use for use in columns if use.theirs is None and (use.ours in MISSED or use.ours in required)]
    held = [use for use in columns if use.theirs is not None]
    needed = [use for use in missed if use.ours in required]
    fields = [use for use in held if use.ours is not None]
    return [*needed, *fields, *(use for use in held if use.ours is None), *(use for use in missed if use not in needed)]


def how_words(use: ColumnUse, needed: Sequence[str] = ()) -> str:
    """Return how it was decided, and what goes without a field that matters but is not required."""
    missed = MISSED.get(use.ours or "") if use.theirs is None and use.ours not in needed else None
    passages = f", a list of {len(use.example)}" if use.ours == "context" and isinstance(use.example, list) else ""
    return f"{use.how}{passages}{f': {missed}' if missed else ''}"


def shown(value: Any) -> str | None:
    """Return a value in one line, shortened."""
    if value is None:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
