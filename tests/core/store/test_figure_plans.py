"""Trends and agreement on 20,000 answers read indexes alone, and of the reviews no more than there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, insert

from judgeboard.agreement.page import agreement_page
from judgeboard.domain import JudgeVersion
from judgeboard.store.engine import Store, open_store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.tables import CURRENT, FLAG, JUDGMENT, RESPONSE, REVIEW, REVIEW_FLAG, REVIEWER
from judgeboard.store.verdicts import load_graded
from judgeboard.trends import trend

ROWS = 20_000
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def large(sqlite_template, tmp_path_factory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("large") / "large.db"
    path.write_bytes(sqlite_template.read_bytes())
    store = open_store(path)
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        made = {
            RESPONSE: (_response(number) for number in range(1, ROWS + 1)),
            JUDGMENT: (_judgment(number, version.id) for number in range(1, ROWS + 1)),
            CURRENT: (_current(number, version.id) for number in range(1, ROWS + 1)),
            FLAG: (_flag(number) for number in range(1, ROWS // 5)),
            REVIEWER: [{"id": 1, "origin": "page", "name": "mara", "role": "reviewer", "created_at": NOW}],
            REVIEW: (_review(number) for number in range(1, ROWS // 20)),
            REVIEW_FLAG: ({"review_id": number, "flag_id": number * 5} for number in range(1, ROWS // 25)),
        }
        for table, rows in made.items():
            connection.execute(insert(table), list(rows))
    yield store
    store.close()


@contextmanager
def plans_of(store: Store) -> Iterator[list[str]]:
    """The steps of every statement while the block runs."""
    steps: list[str] = []

    def explain(_connection, cursor, statement, parameters, _context, _many) -> None:
        # The first judgment of all is the first row of its table.
        if statement.startswith("SELECT") and "ORDER BY judgment.id\n LIMIT" not in statement:
            steps.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(store.engine, "before_cursor_execute", explain)
    yield steps
    event.remove(store.engine, "before_cursor_execute", explain)


@pytest.mark.parametrize("measure", ["groundedness", "quality", "low_share", "flagged_share"])
@pytest.mark.parametrize("judge", ["rag", 1])
def test_a_trend_reads_covering_indexes_only(large: Store, measure, judge) -> None:
    with large.reading() as connection, plans_of(large) as steps:
        drawn = trend(connection, measure=measure, judge=judge)
    assert sum(panel.n + panel.without_time for panel in drawn.panels) == ROWS
    big = [step for step in steps if any(table in step for table in ("current_judgment", "response", "flag"))]
    assert big
    assert all("USING COVERING INDEX" in step for step in big), big


def test_agreement_reads_the_verdicts_of_reviewed_answers_from_one_index(large: Store) -> None:
    with large.reading() as connection, plans_of(large) as steps:
        graded = load_graded(connection)
    assert len(graded.response_ids) == ROWS // 20 - 1
    verdicts = [step for step in steps if "current_judgment" in step]
    assert verdicts == [
        "SEARCH current_judgment USING COVERING INDEX ix_current_judgment_response (response_id=?)",
    ]
    assert not [step for step in steps if step.startswith(("SCAN response", "SEARCH response"))]


def test_the_agreement_page_scans_nothing_that_grows_with_the_log(large: Store) -> None:
    with large.reading() as connection, plans_of(large) as steps:
        page = agreement_page(connection, grade="quality")
    assert page.result is not None
    grows = ("response", "judgment", "current_judgment", "flag")
    scans = [step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in grows))]
    assert all("USING COVERING INDEX ix_flag_rule_state" in step for step in scans), scans


def _type(number: int) -> str:
    return ("simple", "complex", "sql")[number % 3]


def _day(number: int) -> int | None:
    return None if number % 500 == 0 else 20_500 + number % 90


def _response(number: int) -> dict[str, object]:
    return {
        "id": number,
        "kind": "log",
        "source": "log",
        "external_id": f"a{number}",
        "query_type": _type(number),
        "query": "q",
        "passages": [],
        "answer": "a",
        "asked_day": _day(number),
        "extra": {},
        "content_hash": "",
        "evidence_group": number // 2,
        "imported_at": NOW,
    }


def _judgment(number: int, version_id: int) -> dict[str, object]:
    scores = {"groundedness": number % 100 / 100, "quality": 1 + number % 4}
    return {
        "id": number,
        "response_id": number,
        "judge_version_id": version_id,
        "ask": 0,
        "repeat": 0,
        "status": "ok",
        "created_at": NOW,
    } | scores


def _current(number: int, version_id: int) -> dict[str, object]:
    return {
        "judge_version_id": version_id,
        "response_id": number,
        "judgment_id": number,
        "judge_kind": "rag",
        "judge_name": "rag",
        "is_current": True,
        "response_kind": "log",
        "query_type": _type(number),
        "source": "log",
        "asked_day": _day(number),
        "evidence_group": number // 2,
        "groundedness": number % 100 / 100,
        "quality": 1 + number % 4,
    }


def _flag(number: int) -> dict[str, object]:
    return {
        "id": number,
        "response_id": number,
        "query_type": _type(number),
        "source": "log",
        "asked_day": _day(number),
        "rule": ("low_groundedness", "random_sample")[number % 7 == 0],
        "raise_key": "x",
        "params": {},
        "details": {},
        "severity": 0.5,
        "inclusion_probability": 1.0,
        "state": ("open", "confirmed")[number % 5 == 0],
        "created_at": NOW,
    }


def _review(number: int) -> dict[str, object]:
    return {
        "id": number,
        "response_id": number * 5,
        "reviewer_id": 1,
        "decision": "confirm" if number * 5 < ROWS // 5 else None,
        "quality": 1 + number % 4,
        "seconds": 20.0,
        "request_key": f"k{number}",
        "at": NOW,
    }
