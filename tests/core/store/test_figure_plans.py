"""Trends and agreement on 5,000 answers read indexes alone, and of the reviews no more than there are."""

import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, select

from judgeboard.domain import JudgeVersion
from judgeboard.measure.agreement_page import agreement_details, agreement_page
from judgeboard.measure.rates import RateChoice, rate_of
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.trend import trend
from judgeboard.measure.trend_figures import MEASURES
from judgeboard.reviews.failure_modes import failure_mode_counts
from judgeboard.reviews.issues import issue_filter, measure_issue
from judgeboard.store.filters import parse_where
from judgeboard.store.grades import graded_reviews
from judgeboard.store.judge_versions import ensure_version, list_versions
from judgeboard.store.judgments import reported_models
from judgeboard.store.statements import read_columns, read_numbers
from judgeboard.store.tables import (
    CURRENT,
    FLAG,
    JUDGMENT,
    RESPONSE,
    REVIEW,
    REVIEW_FAILURE_MODE,
    REVIEW_FLAG,
    REVIEWER,
    Issue,
)
from judgeboard.store.verdicts import graded_answers, read_verdicts
from query_plans import QUERIES, each_statement, statements_of, steps_of
from stored_rows import made_row, read

ROWS = 5_000
MADE = {table: made_row(table, {}) for table in (RESPONSE, JUDGMENT, CURRENT, FLAG)}
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def large(new_store):
    store = new_store()
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        made = {
            RESPONSE: (_response(number) for number in range(1, ROWS + 1)),
            JUDGMENT: (_judgment(number, version.id) for number in range(1, ROWS + 1)),
            CURRENT: (_current(number, version.id) for number in range(1, ROWS + 1)),
            FLAG: (_flag(number) for number in range(1, ROWS // 5)),
            REVIEWER: [made_row(REVIEWER, {})],
            REVIEW: (_review(number) for number in range(1, ROWS // 20)),
            REVIEW_FAILURE_MODE: (
                {"review_id": number, "mode": "wrong fee"} for number in range(1, 40)
            ),
            REVIEW_FLAG: (
                {"review_id": number, "flag_id": number * 5} for number in range(1, ROWS // 25)
            ),
        }
        for table, rows in made.items():
            connection.execute(insert(table), list(rows))
    return store


def rows_of(store):
    """The number of rows that every query returns while the block runs."""

    def count(cursor, statement, parameters):
        if statement.startswith(QUERIES):
            yield cursor.execute(f"SELECT count(*) FROM ({statement})", parameters).fetchone()[0]

    return each_statement(store, count)


def planned(store, function, *given, **options):
    """What a function reads, and the steps of its queries."""
    with steps_of(store, "SELECT") as explained:
        result = read(store, function, *given, **options)
    # The first judgment of all is the first row of its table.
    first = "ORDER BY judgment.id\n LIMIT"
    return result, [step for statement, step in explained if first not in statement]


@pytest.mark.parametrize("measure", [*MEASURES])
@pytest.mark.parametrize("judge", ["rag", 1])
def test_a_trend_reads_covering_indexes_and_the_newest_answers_only(large, measure, judge):
    drawn, steps = planned(large, trend, measure=measure, judge=judge)
    whole, *types = (panel.n + panel.without_time for panel in drawn.panels)
    assert whole == sum(types) == ROWS
    big = [step for step in steps if re.search("current_judgment|response|flag", step)]
    assert big
    newest = ("(response_id>?", "flag USING INDEX uq_flag_raise (response_id=?")
    rest = [step for step in big if "USING COVERING INDEX" not in step]
    assert all(any(part in step for part in newest) for step in rest), rest


def test_agreement_reads_the_verdicts_of_reviewed_answers_from_one_index(large):
    def verdicts_of_reviewed(connection):
        verdicts = read_verdicts(connection, of_reviewed=True)
        return graded_answers(connection, graded_reviews(connection), verdicts)

    (_, graded), steps = planned(large, verdicts_of_reviewed)
    assert len(set(graded.response_ids.tolist())) == ROWS // 20 - 1
    (verdicts,) = (step for step in steps if "current_judgment" in step)
    assert verdicts.startswith("SEARCH current_judgment")
    assert "COVERING INDEX ix_current_judgment_response" in verdicts
    assert not [step for step in steps if step.startswith(("SCAN response", "SEARCH response"))]


def test_a_rate_reads_the_verdicts_of_a_version_from_one_index(large):
    [version] = read(large, list_versions)
    result, steps = planned(large, rate_of, version, RateChoice(by="query_type"))
    assert result.about.counts["answers"] == ROWS
    verdicts = [step for step in steps if "current_judgment" in step]
    assert verdicts
    assert all("USING COVERING INDEX" in step for step in verdicts), verdicts
    assert _whole_log(steps) == []
    (failed,) = (step for step in steps if step.startswith("SEARCH judgment"))
    assert "ix_judgment_not_ok (judge_version_id=?" in failed


def test_a_rate_reads_no_row_per_answer_and_no_statement_per_slice(large):
    counts, [version] = [], read(large, list_versions)
    for by in (None, "query_type"):
        with rows_of(large) as rows, statements_of(large) as statements:
            read(large, rate_of, version, RateChoice(by=by))
        counts.append(len(statements))
        assert sum(rows) < ROWS / 5, rows
    assert counts[0] == counts[1]


def test_the_agreement_page_scans_nothing_that_grows_with_the_log(large):
    def whole_page(connection):
        source = PairSource(connection)
        page = agreement_page(source, grade="quality")
        agreement_details(source, page)
        return page

    page, steps = planned(large, whole_page)
    assert page.version is not None
    assert _whole_log(steps) == []


@pytest.mark.parametrize("by", ["query_type", "judge_version", "week"])
def test_failure_modes_are_counted_from_the_reviews(large, by):
    counts, steps = planned(large, failure_mode_counts, by)
    assert sum(each.answers for each in counts) == 39
    assert _whole_log(steps) == []


@pytest.mark.parametrize(
    "condition", ["failure_mode=wrong fee", "rule=low_groundedness", "max_score=0.4", "state=open"]
)
def test_an_issue_is_measured_by_few_statements_that_use_indexes(large, condition):
    issue = Issue(title="Fees", filter=issue_filter(parse_where([condition])))
    with statements_of(large) as statements:
        figures, steps = planned(large, measure_issue, issue)
    assert 0 < figures.answers < ROWS
    assert figures.before.n + figures.without_time <= ROWS
    # The thresholds and the primary judge are read too.
    assert len(statements) <= 10
    assert _whole_log(steps) == []


def _whole_log(steps):
    """The steps that read a table that grows with the log from end to end, and not from an index alone."""
    grows = tuple(f"SCAN {table}" for table in ("response", "judgment", "current_judgment", "flag"))
    return [step for step in steps if step.startswith(grows) and "COVERING INDEX" not in step]


def _type(number):
    return ("simple", "complex", "sql")[number % 3]


def _day(number):
    return None if number % 500 == 0 else 20_500 + number % 90


def _response(number):
    return MADE[RESPONSE] | {
        "id": number,
        "external_id": f"a{number}",
        "query_type": _type(number),
        "query": "q",
        "passages": [],
        "answer": "a",
        "asked_day": _day(number),
        "evidence_group": number // 2,
    }


def _judgment(number, version_id):
    scores = {"groundedness": number % 100 / 100, "quality": 1 + number % 4}
    ids = {"id": number, "response_id": number, "judge_version_id": version_id}
    return MADE[JUDGMENT] | ids | scores


def _current(number, version_id):
    return MADE[CURRENT] | {
        "judge_version_id": version_id,
        "response_id": number,
        "judgment_id": number,
        "judge_name": "rag",
        "is_current": True,
        "response_kind": "log",
        "query_type": _type(number),
        "asked_day": _day(number),
        "evidence_group": number // 2,
        "groundedness": number % 100 / 100,
        "quality": 1 + number % 4,
    }


def _flag(number):
    return MADE[FLAG] | {
        "id": number,
        "response_id": number,
        "query_type": _type(number),
        "asked_day": _day(number),
        "rule": ("low_groundedness", "random_sample")[number % 7 == 0],
        "state": ("open", "confirmed")[number % 5 == 0],
    }


def _review(number):
    return {
        "id": number,
        "response_id": number * 5,
        "reviewer_id": 1,
        "decision": "confirm" if number * 5 < ROWS // 5 else None,
        "quality": 1 + number % 4,
        "request_key": f"k{number}",
        "at": NOW,
    }


def test_the_models_that_providers_report_are_read_an_index(large):
    _, steps = planned(large, reported_models)
    assert any("COVERING INDEX ix_judgment_model" in step for step in steps)
    assert "SCAN judgment" not in steps


def test_numbers_read_as_texts_are_those_that_rows_have(log):
    ids = log.answers(30)
    few, others = RESPONSE.c.id.in_(ids[:3]), RESPONSE.c.id.not_in(ids[:3])
    columns = RESPONSE.c.external_id, RESPONSE.c.id, -RESPONSE.c.id
    query = select(*columns)
    names, numbers = read(log.store, read_numbers, query.where(few), query.where(others))
    texts, *rows = read(log.store, read_columns, query.order_by(RESPONSE.c.id))
    nothing = read(log.store, read_numbers, query.where(RESPONSE.c.id < 0))
    order = numbers[0].argsort()
    assert [column[order].tolist() for column in numbers] == [column.tolist() for column in rows]
    assert names.names == texts.names
    assert names.codes[order].tolist() == texts.codes.tolist()
    assert nothing[0].names == ()
    assert [len(column) for column in nothing[1]] == [0, 0]
