"""A log for the pages of figures: six weeks, a drop in one query type, people who grade, users who vote."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Feedback, FeedbackKind, Response
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import StoredVersion

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
WEEKS = 6
A_WEEK = 6  # answers per query type
FELL, STILL = "complex", "simple"
HOSTILE = "<b>:red[x] $y$"
DROP_FROM = 4  # the week from which on one query type is bad


@dataclass(frozen=True)
class FiguresLog:
    """What was stored: ids by query type, in the order they were asked, and both judge versions."""

    log: GradedLog
    ids: dict[str, list[int]]
    rag: StoredVersion
    second: StoredVersion
    without_time: list[int]


def fill_figures(store):
    """Store the log; every second answer is graded by Mara, every sixth by Jon too."""
    log = GradedLog(store)
    ids = {name: _add(store, name) for name in (FELL, STILL, HOSTILE)}
    without_time = _add(store, STILL, timed=False)
    rag, second = log.version("rag"), log.version("second")
    scores = {
        each: _score(name, place)
        for name, listed in ids.items()
        for place, each in enumerate(listed)
    } | dict.fromkeys(without_time, 0.9)
    log.say(
        rag,
        {
            each: {"groundedness": score, "quality": 1 + round(score * 3)}
            for each, score in scores.items()
        },
    )
    log.say(
        second, {each: {"groundedness": 1 - score, "quality": 4} for each, score in scores.items()}
    )
    for place, (each, score) in enumerate(scores.items()):
        if place % 2 == 0:
            good = (score > 0.5) != (place % 14 == 0)
            log.review(each, "Mara", **_grade(good=good), note=f"Because {HOSTILE}")
        if place % 6 == 0:
            log.review(each, "Jon", **_grade(good=score > 0.5))
    return FiguresLog(log, ids, rag, second, without_time)


def _add(store, query_type, *, timed=True):
    asked = [
        MONDAY + timedelta(weeks=week, days=place % 5)
        for week in range(WEEKS)
        for place in range(A_WEEK)
    ]
    rows = [
        Response(
            "log",
            f"{query_type}-{timed}-{place}",
            f"question {place} of {query_type}?",
            f"answer {place} about {query_type}",
            (f"passage {place}",),
            query_type,
            asked_at=moment if timed else None,
            feedback=_feedback(place),
        )
        for place, moment in enumerate(asked[: None if timed else 5])
    ]
    with store.writing() as connection:
        return store_responses(connection, rows).new


def _score(query_type, place):
    spread = (place % A_WEEK) * 0.02
    return (0.2 if query_type == FELL and place >= DROP_FROM * A_WEEK else 0.8) + spread


def _feedback(place):
    return (Feedback(FeedbackKind.THUMBS, place % 2),) if place % 3 == 0 else ()


def _grade(*, good):
    return {
        "label": GOOD if good else BAD,
        "groundedness": 0.9 if good else 0.1,
        "quality": 4 if good else 1,
    }
