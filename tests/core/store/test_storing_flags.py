"""Flags follow judgments and feedback in the same transaction."""

from datetime import UTC, datetime

import pytest

from judgeboard.domain import Attempt, FlagState, JudgeVersion, Label, Response, ResponseKind, Status, Verdict
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import reapply_flags, store_judgments

TRUNCATED = (Attempt("first", "http_500"), Attempt("retry", "truncated", '{"groun', 900, 512))


def test_a_low_score_is_flagged_with_what_the_queue_filters_by(desk) -> None:
    asked_at = datetime(2026, 3, 1, tzinfo=UTC)
    response = desk.answer(query_type="sql", asked_at=asked_at)
    version = desk.version()
    desk.say(version, response, groundedness=0.31, quality=3)
    [flag] = desk.flag_rows(response)
    assert (flag["rule"], flag["auto_score"], flag["state"]) == ("low_groundedness", 0.31, "open")
    assert (flag["query_type"], flag["source"], flag["asked_day"]) == ("sql", "log", 20_513)
    assert (flag["judge_name"], flag["groundedness"], flag["quality"]) == ("rag", 0.31, 3)
    assert flag["judgment_id"] == desk.current(response)[0]["judgment_id"]
    assert flag["raise_key"] == f"low_groundedness:{version.fingerprint}"
    assert flag["params"] == {"threshold": 0.5}
    assert flag["severity"] == pytest.approx(0.38)


def test_the_same_reason_from_the_same_version_leaves_the_flag(desk) -> None:
    response, version = desk.answer(), desk.version()
    desk.say(version, response, groundedness=0.31)
    before = desk.flag_rows(response)
    desk.say(version, response, groundedness=0.2)
    assert desk.flag_rows(response) == before


def test_an_open_flag_goes_when_its_reason_is_gone_and_may_come_again(desk) -> None:
    response, version = desk.answer(), desk.version()
    for groundedness in (0.3, 0.9, 0.2):
        desk.say(version, response, groundedness=groundedness)
    assert desk.flags(response) == [("low_groundedness", "superseded"), ("low_groundedness", "open")]


def test_a_new_version_supersedes_the_open_flag_with_its_own(desk) -> None:
    response = desk.answer()
    desk.say(desk.version(), response, quality=1)
    desk.say(desk.version(t=1), response, quality=2)
    assert desk.flags(response) == [("low_quality", "superseded"), ("low_quality", "open")]


@pytest.mark.parametrize("decided", [FlagState.CONFIRMED, FlagState.DISMISSED])
def test_a_decided_flag_stays_and_a_new_version_names_it(desk, decided: FlagState) -> None:
    response, one = desk.answer(), desk.version()
    desk.say(one, response, quality=1)
    desk.decide(response, "low_quality", decided)
    desk.say(one, response, quality=2)
    desk.say(one, response, quality=4)
    desk.say(one, response, quality=1)
    assert desk.flags(response) == [("low_quality", decided)]
    desk.say(desk.version(t=1), response, quality=1)
    first, second = desk.flag_rows(response)
    assert (second["state"], second["decided_before_id"], first["state"]) == ("open", first["id"], decided)


def test_feedback_raises_and_supersedes_its_gap(desk) -> None:
    response, version = desk.answer(), desk.version()
    desk.say(version, response, quality=4)
    desk.thumbs("a", 0)
    assert desk.flags(response) == [("feedback_gap", "open")]
    desk.thumbs("a", 1)
    assert desk.flags(response) == [("feedback_gap", "superseded")]


def test_the_gap_is_seen_when_the_judgment_comes_after_the_feedback(desk) -> None:
    response = desk.answer()
    desk.thumbs("a", 0)
    desk.say(desk.version(), response, quality=4)
    assert desk.flags(response) == [("feedback_gap", "open")]


def test_a_failed_primary_judge_is_flagged_until_it_succeeds(desk) -> None:
    response, version = desk.answer(), desk.version()
    desk.say(version, response, Status.UNPARSABLE, attempts=TRUNCATED)
    [flag] = desk.flag_rows(response)
    assert (flag["rule"], flag["severity"], flag["judge_name"]) == ("judge_failed", 0.5, "rag")
    assert flag["details"] == {"judge": "rag v1", "status": "unparsable", "cause": "truncated", "tokens": 512}
    desk.say(version, response, quality=4)
    assert desk.flags(response) == [("judge_failed", "superseded")]
    desk.say(version, response, Status.ERROR)  # what it said before still counts
    assert desk.flags(response) == [("judge_failed", "superseded")]


def test_a_second_judge_that_fails_is_no_reason(desk) -> None:
    response = desk.answer()
    desk.say(desk.version(), response, quality=4)
    desk.say(desk.version("nli"), response, Status.REFUSED)
    assert desk.flags(response) == []


def test_only_the_primary_judge_is_low_and_every_judge_disagrees(desk) -> None:
    response = desk.answer()
    desk.say(desk.version(), response, groundedness=0.9)
    desk.say(desk.version("nli"), response, groundedness=0.1)
    [flag] = desk.flag_rows(response)
    assert (flag["rule"], flag["judge_name"], flag["groundedness"]) == ("judges_disagree", "rag", 0.9)
    assert flag["details"]["pairs"] == [
        {"judges": ["rag v1", "nli v1"], "measure": "groundedness", "values": [0.9, 0.1], "delta": 0.8}
    ]


def test_one_disagreement_per_primary_version_whoever_joins(desk) -> None:
    response = desk.answer()
    desk.say(desk.version(), response, label=Label.GROUNDED)
    for name in ("nli", "zen", "lex"):
        desk.say(desk.version(name), response, label=Label.HALLUCINATED)
    assert desk.flags(response) == [("judges_disagree", "open")]


def test_the_first_that_judged_is_primary_until_a_setting_says_otherwise(desk) -> None:
    first, second = desk.answer(), desk.answer("b")
    rag, nli = desk.version(), desk.version("nli")
    desk.say(nli, first, groundedness=0.1)
    desk.say(rag, second, groundedness=0.1)
    assert (desk.flags(first), desk.flags(second)) == ([("low_groundedness", "open")], [])
    desk.set("primary_judge", "rag")
    with desk.store.writing() as connection:
        reapply_flags(connection, [first, second])
    assert desk.flags(first) == [("low_groundedness", "superseded")]
    assert desk.flags(second) == [("low_groundedness", "open")]


def test_only_logged_answers_are_flagged(desk) -> None:
    control = desk.answer(kind=ResponseKind.CONTROL)
    desk.say(desk.version(), control, groundedness=0.0, quality=1)
    assert desk.flags(control) == []
    assert len(desk.current(control)) == 1


def test_rules_that_are_drawn_wait_for_storing_or_the_command(desk) -> None:
    response = desk.answer()
    desk.set("random_share", 1)
    desk.say(desk.version(), response, quality=4)
    assert desk.flags(response) == []
    with desk.store.writing() as connection:
        reapply_flags(connection, [response])
    assert desk.flags(response) == [("random_sample", "open")]


def test_nothing_is_left_of_a_transaction_that_fails(desk) -> None:
    response, version = desk.answer(), desk.version()

    def fails_half_way() -> None:
        with desk.store.writing() as connection:
            item = NewJudgment(response, 0, 0, Verdict(Status.OK, groundedness=0.1))
            store_judgments(connection, version, None, [item])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_half_way()
    assert (desk.flags(response), desk.current(response)) == ([], [])


def test_two_kinds_under_one_name_are_two_judges_and_the_last_to_speak_is_primary(desk) -> None:
    response = desk.answer()
    desk.say(desk.version(), response, groundedness=0.9)
    with desk.store.writing() as connection:
        replayed = ensure_version(connection, JudgeVersion("rag", "replay"))
    assert replayed.title == "rag v2"
    desk.say(replayed, response, groundedness=0.1)
    assert desk.flags(response) == [("low_groundedness", "open"), ("judges_disagree", "open")]


def test_a_flag_survives_hostile_names(desk) -> None:
    desk.set("always_review", ["<script>alert(1)</script>"])
    [response] = desk.add(Response("log", "a", "q", "a", query_type="<script>alert(1)</script>")).new
    assert desk.flags(response) == [("always_review", "open")]
