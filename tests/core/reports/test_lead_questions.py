"""Sentences for leads: which query types differ, what the judge misses, and how long reading takes."""

from dataclasses import replace

import pytest

from graded_log import GOOD, GradedLog, labels_in
from judgeboard.domain import Estimate
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.notes import note
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.reports.lead_questions import (
    beside_people,
    differing,
    labels_note,
    misses_note,
    now_note,
    overlap_note,
    reading_note,
    trust_note,
)


@pytest.fixture
def log(sqlite_store):
    return GradedLog(sqlite_store)


def rate_with(log, bad_by_type, n=60):
    """The rate of a log with so many bad answers among ``n`` of each query type, all of them labelled."""
    for query_type, bad in bad_by_type.items():
        ids = log.answers(n, query_type=query_type)
        log.say_all(log.version(), ids, label=GOOD)
        log.reviews(labels_in(ids, ids[:bad]))
    return measure_rate(log.store, by="query_type")


def test_types_differ_if_their_interval_and_that_of_all_have_no_value_in_common(log):
    rate = rate_with(log, {"low": 2, "middle": 18, "high": 40})
    assert differing(rate, "bad_answers") == ["high", "low"]


def test_types_that_are_alike_do_not_differ(log):
    rate = rate_with(log, {"one": 15, "two": 18})
    assert differing(rate, "bad_answers") == []


def test_the_share_since_its_latest_change_comes_before_that_of_all_time(log):
    rate, now = rate_with(log, {"one": 15}), Estimate(0.5, 0.4, 0.6, 20)
    steady = Result(about=About(), headline=note("no_answers"), rows=())
    assert now_note(rate, steady) == rate.headline
    changed = replace(
        steady, rows=(Row.of("changed", ALL, Estimate(20_000, n=20)), Row.of("bad_since", ALL, now))
    )
    assert now_note(rate, changed).values == {"now": now, "day": 20_000, "all": rate.share}


def test_judge_and_people_stand_beside_two_people(log):
    ids = log.answers(100)
    log.say(log.version(), labels_in(ids, ids[:50]))
    for reviewer in ("mara", "jon"):
        log.reviews(labels_in(ids, ids[1::2]), reviewer)
    judge = measure_agreement(log.store, grade="label")
    people = measure_agreement(log.store, of="people")
    trust = dict(trust_note(judge).values)
    assert "all 100" in trust.pop("on")
    assert trust == {"judge": "rag v1", "agreement": judge.statistics["agreement"]}
    assert beside_people(judge, people) == note("less_than_people")
    assert beside_people(people, people) == note("like_people")
    unknown = replace(people, rows=(Row.of("agreement", ALL, Estimate(None)),))
    assert beside_people(judge, unknown) is None
    assert misses_note(judge).code == "misses_and_alarms"
    assert overlap_note(people, Estimate(None)) is None


def test_of_chosen_answers_it_says_that_they_are_no_random_sample(log):
    ids = log.answers(200)
    log.say(log.version(), labels_in(ids, ids[:30]))
    log.reviews(labels_in(ids[:25], ids[:20]))
    judge = measure_agreement(log.store, grade="label")
    counted = [each(judge).values["on"] for each in (trust_note, misses_note)]
    assert counted == ["25 graded answers"] * 2


def test_missing_labels_and_reading_take_time():
    time = Estimate(50.0, n=12)
    assert labels_note(14, time).values == {"labels": 14, "time": "12 minutes"}
    assert labels_note(1, Estimate(None)).values == {"labels": 1}
    reading = reading_note(187, Estimate(61.4, n=1)).values
    assert reading == {"time": "3.2 hours", "reviews": 1, "seconds": 61.4}
    assert reading_note(3, Estimate(None)).code == "reading_unknown"
