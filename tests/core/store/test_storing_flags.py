"""Flags follow judgments and feedback in the same transaction."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    Attempt,
    Feedback,
    FeedbackKind,
    FlagState,
    JudgeVersion,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.errors import BadInput
from judgeboard.judges.injections import Asks, injected
from judgeboard.people.roster import raise_flags
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import reapply_flags, store_judgments
from judgeboard.store.tables import FLAG

TRUNCATED = (Attempt("first", "http_500"), Attempt("retry", "truncated", '{"groun', 900, 512))


def test_a_low_score_is_flagged_with_what_the_queue_filters_by(case):
    asked_at = datetime(2026, 3, 1, tzinfo=UTC)
    response = case.answer(query_type="sql", asked_at=asked_at)
    version = case.version()
    case.say(version, response, groundedness=0.31, quality=3)
    [flag] = case.flag_rows(response)
    assert flag == flag | {
        "rule": "low_groundedness",
        "auto_score": 0.31,
        "state": "open",
        "query_type": "sql",
        "source": "log",
        "asked_day": 20_513,
        "judge_name": "rag",
        "groundedness": 0.31,
        "quality": 3,
        "judgment_id": case.current(response)[0]["judgment_id"],
        "raise_key": f"low_groundedness:{version.fingerprint}",
        "params": {"threshold": 0.5},
        "severity": pytest.approx(0.38),
    }


@on_sqlite
def test_a_refusal_where_nothing_was_retrieved_is_flagged_only_on_request(case):
    version, low = case.version(), [("low_groundedness", "open")]
    for answer, passages, flags in (
        ("I could not find that.", (), []),
        ("It costs 5 euros.", (), low),
        ("I could not find that.", ("A query costs 5 euros.",), low),
    ):
        response = case.answer(f"{answer} {passages}", answer=answer, passages=passages)
        case.say(version, response, groundedness=0.0)
        assert case.flags(response) == flags
    refusal = 1  # the first answer
    case.set("excuse_refusals", False)
    raise_flags(case.store)
    assert case.flags(refusal) == low
    case.set("excuse_refusals", True)
    raise_flags(case.store)
    assert case.flags(refusal) == [("low_groundedness", "superseded")]
    with pytest.raises(BadInput, match=r"excuse_refusals .*'perhaps'"):
        case.set("excuse_refusals", "perhaps")


@pytest.mark.parametrize("decided", [FlagState.CONFIRMED, FlagState.DISMISSED])
def test_a_decided_flag_stays_and_a_new_version_names_it(case, decided):
    response, one = case.answer(), case.version()
    case.say(one, response, quality=1)
    case.decide(response, "low_quality", decided)
    case.say(one, response, quality=2)
    case.say(one, response, quality=4)
    case.say(one, response, quality=1)
    assert case.flags(response) == [("low_quality", decided)]
    case.say(case.version(t=1), response, quality=1)
    first, second = case.flag_rows(response)
    assert first["state"] == decided
    assert (second["state"], second["decided_before_id"]) == ("open", first["id"])


def test_a_rating_of_a_known_answer_raises_and_supersedes_its_flag_at_once(case):
    response = case.answer()
    case.thumbs("a", 0)
    assert case.flags(response) == [("poor_rating", "open")]
    case.thumbs("a", 1)
    assert case.flags(response) == [("poor_rating", "superseded")]
    case.thumbs("a", 0)
    case.decide(response, "poor_rating", FlagState.DISMISSED)
    case.thumbs("a", 0)
    assert case.flags(response)[1:] == [("poor_rating", "dismissed")]


@on_sqlite
def test_a_poor_rating_that_changes_is_named_as_it_is_now(case):
    stars = tuple(
        Feedback(FeedbackKind.STARS, each, at=datetime(2026, 1, each, tzinfo=UTC))
        for each in (1, 2)
    )
    response = case.answer(feedback=stars[:1])
    case.add(replace(case.answers["a"], feedback=stars))
    raise_flags(case.store)
    values = [(row["state"], row["details"]["value"]) for row in case.flag_rows(response)]
    assert values == [("superseded", 1), ("open", 2)]


@on_sqlite
def test_a_failed_primary_judge_is_flagged_until_it_succeeds(case):
    response, version = case.answer(), case.version()
    case.say(version, response, Status.UNPARSABLE, attempts=TRUNCATED)
    [flag] = case.flag_rows(response)
    details = {"judge": "rag v1", "status": "unparsable", "cause": "truncated", "tokens": 512}
    shown = {"rule": "judge_failed", "severity": 0.5, "judge_name": "rag", "details": details}
    assert flag == flag | shown
    case.say(version, response, quality=4)
    assert case.flags(response) == [("judge_failed", "superseded")]
    case.say(version, response, Status.ERROR)  # what it said before still counts
    assert case.flags(response) == [("judge_failed", "superseded")]


@on_sqlite
def test_a_second_judge_that_fails_is_no_reason(case):
    response = case.answer()
    case.say(case.version(), response, quality=4)
    case.say(case.version("nli"), response, Status.REFUSED)
    assert case.flags(response) == []


@on_sqlite
def test_only_the_primary_judge_is_low_and_every_judge_disagrees(case):
    response = case.answer()
    case.say(case.version(), response, groundedness=0.9)
    case.say(case.version("nli"), response, groundedness=0.1)
    [flag] = case.flag_rows(response)
    assert flag == flag | {"rule": "judges_disagree", "judge_name": "rag", "groundedness": 0.9}
    pair = {"judges": ["rag v1", "nli v1"], "measure": "groundedness", "values": [0.9, 0.1]}
    assert flag["details"]["pairs"] == [pair | {"delta": 0.8}]


@on_sqlite
def test_the_first_that_judged_is_primary_until_a_setting_says_otherwise(case):
    first, second = case.answer(), case.answer("b")
    rag, nli = case.version(), case.version("nli")
    case.say(nli, first, groundedness=0.1)
    case.say(rag, second, groundedness=0.1)
    assert (case.flags(first), case.flags(second)) == ([("low_groundedness", "open")], [])
    case.set("primary_judge", "rag")
    case.write(reapply_flags, [first, second])
    assert case.flags(first) == [("low_groundedness", "superseded")]
    assert case.flags(second) == [("low_groundedness", "open")]


@on_sqlite
def test_only_logged_answers_are_flagged(case):
    control = case.answer(kind=ResponseKind.CONTROL)
    case.say(case.version(), control, groundedness=0.0, quality=1)
    assert case.flags(control) == []
    assert len(case.current(control)) == 1


def test_a_new_answer_gets_at_once_the_flags_that_all_rules_give_a_stored_one(case):
    """The rules read a new answer as it is in hand, and a stored one as the database has it."""
    up, down = (Feedback(FeedbackKind.THUMBS, value, "ann") for value in (1, 0))
    asked_at = datetime(2026, 3, 1, 23, tzinfo=timezone(timedelta(hours=-2)))

    answers = [
        Response("at once", "down again is newer", "q", "a", feedback=(down, up, down)),
        Response("at once", "asked", "q", "It is warm.", ("p",), "sql", asked_at=asked_at),
        Response("at once", "checked", "q", "It is 145 °C [2].", ("p", "q"), feedback=(down, up)),
        Response("at once", "control", "q", "a", kind=ResponseKind.CONTROL, feedback=(down,)),
    ]

    def flags(ids):
        own = {"id", "response_id", "source", "created_at"}
        return [
            {name: row[name] for name in row.keys() - own}
            for id_ in ids
            for row in case.flag_rows(id_)
        ]

    case.set("poor_rating", 0.5)
    later = case.add(*(replace(each, source="later") for each in answers)).new
    assert flags(later) == []
    case.set("poor_rating", 2)
    case.set("always_review", ["sql"])
    case.set("random_share", 1)
    checks = "[{name: cites, cites_passage: true}, {name: warm, regex: '\\d+ °C'}]"
    case.set("checks", f"checks: {checks}")
    at_once = case.add(*answers).new
    case.write(reapply_flags, later)
    assert flags(at_once) == flags(later)
    rules = [[rule for rule, _ in case.flags(id_)] for id_ in at_once]
    assert rules == [
        ["poor_rating", "failed_check", "failed_check", "random_sample"],
        ["failed_check", "failed_check", "always_review", "random_sample"],
        ["random_sample"],
        [],
    ]


def test_rules_that_are_drawn_wait_for_storing_or_the_command(case):
    response = case.answer()
    case.set("random_share", 1)
    case.say(case.version(), response, quality=4)
    assert case.flags(response) == []
    case.write(reapply_flags, [response])
    assert case.flags(response) == [("random_sample", "open")]


@on_sqlite
def test_nothing_is_left_of_a_transaction_that_fails(case):
    response, version = case.answer(), case.version()
    item = NewJudgment(response, 0, 0, Verdict(Status.OK, groundedness=0.1))

    def fails_half_way(connection):
        store_judgments(connection, version, None, [item])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        case.write(fails_half_way)
    assert (case.flags(response), case.current(response)) == ([], [])


@on_sqlite
def test_two_kinds_under_one_name_are_two_judges_and_the_last_to_speak_is_primary(case):
    response = case.answer()
    case.say(case.version(), response, groundedness=0.9)
    replayed = case.write(ensure_version, JudgeVersion("rag", "replay"))
    assert replayed.title == "rag v2"
    case.say(replayed, response, groundedness=0.1)
    assert case.flags(response) == [("low_groundedness", "open"), ("judges_disagree", "open")]


@on_sqlite
def test_a_flag_survives_hostile_names(case):
    hostile = "<script>alert(1)</script>"
    case.answer("first", query_type=hostile)
    case.set("always_review", [hostile])
    response = case.answer(query_type=hostile)
    assert case.flags(response) == [("always_review", "open")]


def test_texts_that_order_a_verdict_are_flagged_once_the_setting_is_on(case):
    case.answer()
    order = case.answer("b", answer=injected("It is long.", "ignore", Asks.HIGH))
    raise_flags(case.store)
    assert case.rows(FLAG) == []
    case.set("suspect_injections", True)
    raise_flags(case.store)
    (flag,) = case.rows(FLAG)
    assert flag == flag | {"response_id": order, "rule": "injection_suspected", "severity": 1}
