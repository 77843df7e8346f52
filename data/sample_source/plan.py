"""Which kinds of answers fall into which week, with the drop that is planted in the last three."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sample_source.dice import Dice
from sample_source.draft import Draft

FIRST_MONDAY = datetime(2026, 8, 24, tzinfo=UTC)
WEEKS = 10
DROP_WEEK = 7  # weeks count from 0: on Monday 2026-10-12 complex questions went to another model

SIMPLE = Counter(grounded=7, terse=2, wrong=2, padded=1, beside=1, refusal=1)
SQL = Counter(grounded=5, beside=1, terse=1, wrong=1, padded=1)
COMPLEX_BEFORE = Counter(grounded=8, gap=4, slip=2, beside=1)
COMPLEX_AFTER = Counter(slip=1, mixed=5, made_up=9)

MODELS = {"simple": "tarn-small-3", "sql": "tarn-sql-1", "complex": "tarn-large-2"}
MODEL_AFTER_DROP = "tarn-large-3-preview"


@dataclass(frozen=True)
class Answer:
    """A finished answer of the log: its draft, when it was asked (UTC), and its place in the plan."""

    id: str
    draft: Draft
    week: int
    asked_at: datetime
    model: str


def moods(query_type: str, week: int) -> list[str]:
    """Return the moods of all answers of one query type in one week, 14 simple, 10 sql or 16 complex."""
    if query_type == "simple":
        return sorted(SIMPLE.elements())
    if query_type == "sql":
        return [*sorted(SQL.elements()), "wrong" if week % 2 else "refusal"]
    if week < DROP_WEEK:
        return [
            *sorted(COMPLEX_BEFORE.elements()),
            ("refusal", "slip", "grounded", "gap")[week % 4],
        ]
    return [*sorted(COMPLEX_AFTER.elements()), "made_up" if week % 2 else "gap"]


def model_of(query_type: str, week: int) -> str:
    """Return the name of the model that answered."""
    return MODEL_AFTER_DROP if query_type == "complex" and week >= DROP_WEEK else MODELS[query_type]


def moment(dice: Dice, week: int) -> datetime:
    """Return a time in a week: more on weekends, between six in the morning and eleven at night."""
    day = dice.pick((0, 1, 2, 3, 4, 5, 5, 6, 6))
    seconds = dice.between(6 * 3600, 23 * 3600 - 1)
    return FIRST_MONDAY + timedelta(weeks=week, days=day, seconds=seconds)
