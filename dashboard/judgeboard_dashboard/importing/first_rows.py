"""How a record of each kind stands in the preview of a file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from judgeboard.domain import ImportedGrade, ImportedVerdict, Preference, Response, Shown
from judgeboard.pair_records import (
    OVERALL,
    AspectPreference,
    ImportedComparison,
    ImportedPair,
    ImportedPreference,
    ImportedRepeats,
    ImportedSamples,
)
from judgeboard_dashboard.importing.fields import shown
from judgeboard_dashboard.tables import frame
from judgeboard_dashboard.words import when

_TEXT, _WHOLE, _NUMBER = "str", "Int64", "Float64"


def first_rows(records: Sequence[Any]) -> pd.DataFrame:
    """Return the first records as they will be stored; those of another make than the first are left out."""
    titles, cells = _TABLES[type(records[0])]
    return frame(titles, (cells(record) for record in records if type(record) is type(records[0])))


def _response(record: Response) -> tuple[object, ...]:
    said = record.feedback[0] if record.feedback else None
    return (
        record.external_id,
        shown(record.query),
        shown(record.answer),
        None if record.passages is None else len(record.passages),
        record.query_type,
        None if record.asked_at is None else when(record.asked_at),
        None if said is None else _feedback_words(said.kind, said.value),
    )


def _grade(record: ImportedGrade) -> tuple[object, ...]:
    grade = record.grade
    values = (grade.label, grade.groundedness, grade.quality, shown(grade.note))
    return (record.response_id, record.annotator, *values)


def _preference(record: ImportedPreference) -> tuple[object, ...]:
    said = record.given
    words = ", ".join(_aspect_words(aspect, one) for aspect, one in said.aspects.items())
    return (record.pair_id, said.annotator, _order_words(said.shown), words, shown(said.note))


def _verdict(record: ImportedVerdict) -> tuple[object, ...]:
    verdict = record.verdict
    scores = ", ".join(f"{one.dimension} {'–' if one.value is None else f'{one.value:g}'}" for one in verdict.scores)
    values = (verdict.label, verdict.groundedness, verdict.quality, scores or None, shown(verdict.reasoning))
    return (record.response_id, record.judge, *values)


def _pair(record: ImportedPair) -> tuple[object, ...]:
    pair = record.pair
    said = (_verdict_words(record.verdicts.get(order)) for order in Shown)
    answers = (shown(pair.answer_a), shown(pair.answer_b))
    return (pair.external_id, shown(pair.question), *answers, pair.query_type, record.judge, *said, len(record.people))


def _comparison(record: ImportedComparison) -> tuple[object, ...]:
    said = _verdict_words(record.preferences) or record.record.status.value
    return (record.pair_id, record.judge.name, _order_words(record.shown), said, shown(record.record.raw))


def _samples(record: ImportedSamples) -> tuple[object, ...]:
    pair, answers = record.pair, [one.answer for one in record.tries]
    words = ", ".join("–" if answer is None else str(shown(answer)) for answer in answers)
    return (pair.external_id, shown(pair.question), pair.query_type, record.judge.name, len(answers), words)


def _repeats(record: ImportedRepeats) -> tuple[object, ...]:
    response = record.response
    scores = ", ".join("–" if score is None else f"{score:g}" for score in record.scores)
    texts = (shown(response.query), shown(response.answer))
    return (response.external_id, *texts, record.judge, shown(record.rubric), record.scale, scores)


_TABLES: Mapping[type, tuple[dict[str, str], Callable[[Any], tuple[object, ...]]]] = {
    Response: (
        {
            "Id": _TEXT,
            "Question": _TEXT,
            "Answer": _TEXT,
            "Passages": _WHOLE,
            "Type": _TEXT,
            "Asked": _TEXT,
            "User": _TEXT,
        },
        _response,
    ),
    ImportedGrade: (
        {
            "Id": _TEXT,
            "Reviewer": _TEXT,
            "Label": _TEXT,
            "Groundedness": _NUMBER,
            "Quality": _WHOLE,
            "Note": _TEXT,
        },
        _grade,
    ),
    ImportedPreference: (
        {"Id": _TEXT, "Reviewer": _TEXT, "Shown": _TEXT, "Prefers": _TEXT, "Note": _TEXT},
        _preference,
    ),
    ImportedVerdict: (
        {
            "Id": _TEXT,
            "Judge": _TEXT,
            "Label": _TEXT,
            "Groundedness": _NUMBER,
            "Quality": _WHOLE,
            "Scores": _TEXT,
            "Reasoning": _TEXT,
        },
        _verdict,
    ),
    ImportedPair: (
        {
            "Id": _TEXT,
            "Question": _TEXT,
            "Answer A": _TEXT,
            "Answer B": _TEXT,
            "Type": _TEXT,
            "Judge": _TEXT,
            "A first": _TEXT,
            "B first": _TEXT,
            "People": _WHOLE,
        },
        _pair,
    ),
    ImportedComparison: (
        {"Id": _TEXT, "Judge": _TEXT, "Shown": _TEXT, "Verdict": _TEXT, "Raw": _TEXT},
        _comparison,
    ),
    ImportedSamples: (
        {"Id": _TEXT, "Question": _TEXT, "Type": _TEXT, "Model": _TEXT, "Samples": _WHOLE, "Answers": _TEXT},
        _samples,
    ),
    ImportedRepeats: (
        {
            "Id": _TEXT,
            "Question": _TEXT,
            "Answer": _TEXT,
            "Judge": _TEXT,
            "Rubric": _TEXT,
            "Scale": _TEXT,
            "Scores": _TEXT,
        },
        _repeats,
    ),
}


def _verdict_words(said: Mapping[str, Preference] | None) -> str | None:
    """Return a verdict in words: "A", or by aspect "depth A, style tie"."""
    words = [_aspect_words(aspect, AspectPreference(each)) for aspect, each in (said or {}).items()]
    return ", ".join(words) or None


def _aspect_words(aspect: str, said: AspectPreference) -> str:
    side = {None: "", Preference.TIE: "tie"}.get(said.preference, str(said.preference).upper())
    grade = "" if said.value is None else f"{said.value:+g}"
    words = " ".join(word for word in (side, grade) if word)
    return words if aspect == OVERALL else f"{aspect} {words}"


def _order_words(order: Shown | None) -> str | None:
    return {None: None, Shown.AB: "A first", Shown.BA: "B first"}[order]


def _feedback_words(kind: str, value: float) -> str:
    if kind == "thumbs":
        return "thumbs up" if value == 1 else "thumbs down"
    return f"{value:g} stars"
