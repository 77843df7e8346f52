"""Queue and Responses have, under every filter, the rows of a plain loop."""

from dataclasses import replace
from functools import cache, cached_property
from math import inf

import pytest

from engines import on_sqlite
from judgeboard.domain import JudgeVersion, Response, ResponseKind
from judgeboard.store.filters import Facets, RowFilter, describe
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.open_flags import queue_page
from judgeboard.store.response_pages import response_facets, response_page
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FLAG, JUDGMENT, VERSION
from reviewed_log import START, ReviewedLog, made_log
from stored_rows import read, write_to

DAY = (START - START.replace(year=1970, month=1, day=1, hour=0)).days

FILTERS = [
    RowFilter(),
    RowFilter(rules=("low_groundedness", "judge_failed")),
    RowFilter(query_types=("QA",)),
    RowFilter(query_types=("QA", "Summary"), sources=("app",)),
    RowFilter(models=("small",)),
    RowFilter(judge="rag"),
    RowFilter(judge="nli"),
    RowFilter(judge="nli", min_score=0.4),
    RowFilter(min_score=0.2, max_score=0.49),
    RowFilter(min_quality=2, max_quality=3),
    RowFilter(judge_version=1, max_score=0.5),
    RowFilter(judge_version=2, query_types=("QA",)),
    RowFilter(day_from=DAY + 2, day_to=DAY + 4),
    RowFilter(day_to=DAY + 4, query_types=("Summary",), judge="rag", min_score=0),
    RowFilter(day_from=DAY + 6),
    RowFilter(no_time=True),
    RowFilter(ids=("answer-001", "answer-002", "answer-003", "answer-010", "nobody")),
    RowFilter(response_ids=tuple(range(1, 40, 2))),
    RowFilter(response_ids=()),
    RowFilter(graded=True),
    RowFilter(graded=False, query_types=("QA",)),
    *(RowFilter(user=user) for user in ("down", "middle", "up", "none")),
    *(RowFilter(judge_side=side) for side in ("low", "high", "none")),
    RowFilter(judge_side="low", user="down"),
    RowFilter(judge_side="high", user="none"),
    RowFilter(judge_side="none", user="up"),
    RowFilter(judge_side="none", min_score=0),
    RowFilter(unscored="groundedness"),
    RowFilter(unscored="groundedness", judge="nli", judge_side="low"),
    RowFilter(unscored="quality", judge="nli", user="down"),
    RowFilter(unscored="quality", judge_version=1),
    RowFilter(unscored="quality", statuses=("error",)),
    RowFilter(statuses=("error", "unparsable")),
    RowFilter(statuses=("ok",), judge="nli"),
    RowFilter(statuses=("refused",), judge_version=2),
    RowFilter(states=("confirmed",)),
    RowFilter(states=("open", "superseded"), rules=("low_quality",)),
    RowFilter(text="anchor"),
    RowFilter(text="answer-01"),
    RowFilter(text="100 %"),
    RowFilter(text="under_score"),
    RowFilter(text="underXscore"),
    RowFilter(text='"quoted"'),
    RowFilter(text="\\slash"),
    RowFilter(text="dyno", graded=False, judge_side="low"),
    RowFilter(text="an"),  # under three characters: only ids that start so
    RowFilter(text="is"),
]


class FinishedLog(ReviewedLog):
    """A log that nobody changes any more: each table is read once."""

    def all(self, table):
        return self._rows(table)

    @cached_property
    def _rows(self):
        return cache(super().all)


def finished_log(store):
    return FinishedLog(store, made_log(store, answers=60).reviewers)


@pytest.fixture(scope="module")
def filled(new_store):
    return finished_log(new_store())


def expected(case, where):
    """The filter as a plain predicate on a row of response."""
    current = _judged(case, where)
    feedback = case.latest_feedback()
    graded = {
        row["response_id"]
        for row in case.standing()
        if any(row[name] is not None for name in ("label", "groundedness", "quality"))
    }
    flags = case.all(FLAG)
    last = {
        (row["response_id"], row["judge_version_id"]): row["status"] for row in case.all(JUDGMENT)
    }
    versions = {row["id"]: row["name"] for row in case.all(VERSION)}

    def wants(row):
        verdict, said = current.get(row["id"], {}), feedback.get(row["id"])
        checks = [
            not where.query_types or row["query_type"] in where.query_types,
            not where.sources or row["source"] in where.sources,
            not where.models or row["generator_model"] in where.models,
            not where.ids or row["external_id"] in where.ids,
            where.response_ids is None or row["id"] in where.response_ids,
            _within(row["asked_day"], where.day_from, where.day_to),
            not where.no_time or row["asked_day"] is None,
            where.graded is None or (row["id"] in graded) is where.graded,
            where.user is None or _side(said) == where.user,
            where.judge_side is None or _judge_side(verdict) == where.judge_side,
            where.unscored is None or (verdict and verdict[where.unscored] is None),
            where.text is None or _contains(row, where.text),
            _within(verdict.get("groundedness"), where.min_score, where.max_score),
            _within(verdict.get("quality"), where.min_quality, where.max_quality),
        ]
        if where.statuses:
            checks.append(
                any(
                    last.get((row["id"], version)) in where.statuses
                    for version, name in versions.items()
                    if where.judge_version in {None, version} and where.judge in {None, name}
                )
            )
        elif where.judge is not None or where.judge_version is not None:
            checks.append(verdict)
        if where.rules or where.states:
            states = where.states or ("open", "confirmed", "dismissed")
            checks.append(
                any(
                    flag["response_id"] == row["id"]
                    and flag["state"] in states
                    and (not where.rules or flag["rule"] in where.rules)
                    for flag in flags
                )
            )
        return all(checks)

    return wants


def _judged(case, where):
    """The verdicts that a filter reads, by answer."""
    if where.judge_version is None:
        return case.current(where.judge or "rag")
    return {
        row["response_id"]: row
        for row in case.all(JUDGMENT)
        if row["judge_version_id"] == where.judge_version and row["status"] == "ok"
    }


def _side(said):
    if said is None:
        return "none"
    return "down" if said < 2.5 else "up" if said > 2.5 else "middle"


def _judge_side(verdict):
    if not verdict:
        return "none"
    groundedness, quality = verdict["groundedness"], verdict["quality"]
    low = (
        (groundedness is not None and groundedness < 0.5)
        or (quality is not None and quality <= 2)
        or (groundedness is None and verdict["label"] == "hallucinated")
    )
    return "low" if low else "high"


def _contains(row, text):
    if len(text) < 3:
        return row["external_id"].startswith(text)
    return any(text.lower() in row[name].lower() for name in ("query", "answer", "external_id"))


def check_responses(case, where):
    wants = expected(case, where)
    found = [row for row in case.responses() if wants(row)]
    newest = sorted(
        found, key=lambda row: (-1 if row["asked_day"] is None else row["asked_day"], row["id"])
    )[::-1]
    page = read(case.store, response_page, where, limit=1000)
    assert [line.response_id for line in page.lines] == [row["id"] for row in newest]
    assert page.total == len(found)
    lowest = read(case.store, response_page, where, "lowest", limit=1000)
    if where.judge_side == "none" or where.unscored == "groundedness":
        assert lowest.lines == page.lines
        return
    judged = _judged(case, where)
    scored = [
        (judged[row["id"]]["groundedness"], row["id"])
        for row in found
        if row["id"] in judged and judged[row["id"]]["groundedness"] is not None
    ]
    assert [line.response_id for line in lowest.lines] == [id_ for _, id_ in sorted(scored)]
    assert lowest.total == len(scored)


def check_queue(case, where):
    """The queue reads judge and scores from the flag's own copies, everything else from the response."""
    of_answer = replace(
        where,
        rules=(),
        states=(),
        min_score=None,
        max_score=None,
        min_quality=None,
        max_quality=None,
        judge=where.judge if where.unscored else None,
    )
    wants = expected(case, of_answer)
    answers = {row["id"]: row for row in case.responses() if wants(row)}
    found = [
        flag
        for flag in case.open_flags()
        if flag["response_id"] in answers
        and (not where.rules or flag["rule"] in where.rules)
        and (not where.states or flag["state"] in where.states)
        and (where.judge is None or flag["judge_name"] == where.judge)
        and _within(flag["groundedness"], where.min_score, where.max_score)
        and _within(flag["quality"], where.min_quality, where.max_quality)
    ]
    by_severity = sorted(
        found, key=lambda flag: (-flag["severity"], flag["asked_day"] or 9_999_999, flag["id"])
    )
    worst = {flag["response_id"]: flag for flag in reversed(by_severity)}
    page = read(case.store, queue_page, where, "worst", limit=1000)
    assert [line.flag_id for line in page.lines] == [
        flag["id"] for flag in by_severity if flag in worst.values()
    ]
    assert page.total == len(worst)


def _within(value, low, high):
    if low is None and high is None:
        return True
    return value is not None and (low or 0) <= value <= (inf if high is None else high)


@pytest.mark.parametrize("where", FILTERS, ids=describe)
def test_lists_hold_what_the_filter_says(filled, where):
    check_responses(filled, where)
    check_queue(filled, where)


@pytest.mark.postgres
def test_lists_hold_what_the_filter_says_on_postgresql(postgres_store):
    case = finished_log(postgres_store)
    for where in FILTERS:
        check_responses(case, where)
        check_queue(case, where)


def test_the_filters_of_this_test_find_something(filled):
    empty = [
        describe(where)
        for where in FILTERS
        if not any(map(expected(filled, where), filled.responses()))
    ]
    assert sorted(empty) == [
        "0 chosen answers",
        describe(RowFilter(judge_side="none", min_score=0)),
        "“is”",
        "“underXscore”",
    ]


def test_letters_beyond_ascii_are_found_in_either_case_on_sqlite(filled):
    title, lower, upper = (
        read(filled.store, response_page, RowFilter(text=text)).total
        for text in ("Öse", "öse", "ÖSE")
    )
    assert title == lower == upper > 0


@on_sqlite
def test_a_log_is_filtered_by_what_occurs_in_it(store):
    given = [
        Response("shop", "1", "q", "a", query_type="QA", generator_model="m2"),
        Response("shop", "2", "q", "a", query_type="Äpfel", generator_model="m1"),
        Response("app", "3", "q", "a", query_type="QA"),
        Response("app", "4", "q", "a", query_type="made", kind=ResponseKind.CONTROL),
        Response("suite:gate", "5", "q", "a", generator_model="m3", kind=ResponseKind.CANDIDATE),
    ]
    write_to(store, store_responses, given)
    for name, params in (("rag", {}), ("lexical", {}), ("rag", {"temperature": 1})):
        write_to(store, ensure_version, JudgeVersion(name, name, params=params))
    assert read(store, response_facets) == Facets(
        {"query_type": ("QA", "Äpfel"), "source": ("app", "shop"), "model": ("m1", "m2")},
        ("lexical", "rag"),
    )


@on_sqlite
def test_an_empty_log_offers_nothing(store):
    assert read(store, response_facets) == Facets({"query_type": (), "source": (), "model": ()}, ())
