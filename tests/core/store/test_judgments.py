"""Judgments entering the store, and which of them are current."""

import pytest
from sqlalchemy import insert

from engines import on_sqlite
from judgeboard.domain import (
    Attempt,
    Claim,
    ClaimStatus,
    JudgeVersion,
    Label,
    Status,
    Verdict,
)
from judgeboard.errors import NotFound
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment, claims_from
from judgeboard.store.storing import rebuild_current, store_judgments
from judgeboard.store.tables import CURRENT, JUDGMENT
from stored_rows import write_to

FULL = Verdict(
    Status.OK,
    groundedness=0.8,
    quality=3,
    label=Label.GROUNDED,
    reasoning="because",
    claims=(
        Claim("said", ClaimStatus.SUPPORTED, "said", 1, None, 0, 4),
        Claim("else", ClaimStatus.UNSUPPORTED),
    ),
    raw='{"groundedness": 0.8}',
    model_reported="m-1",
    prompt_tokens=500,
    completion_tokens=20,
    cost_micro=12,
    latency_ms=230,
    attempts=(Attempt("first", "http_429"), Attempt("retry", "ok", "{}", 500, 20, 230)),
    reply_format="json_schema",
    dropped_parameters=("temperature",),
)


@on_sqlite
def test_a_judgment_comes_back_as_it_was_given(case):
    response, version = case.answer(), case.version()
    assert (
        write_to(case.store, store_judgments, version, None, [NewJudgment(response, 0, 0, FULL)])
        == 1
    )
    [row] = case.rows(JUDGMENT)
    assert (row["groundedness"], row["quality"], row["label"], row["status"]) == (
        0.8,
        3,
        "grounded",
        "ok",
    )
    assert (row["raw"], row["reasoning"], row["cost_micro"]) == (FULL.raw, "because", 12)
    assert claims_from(row["claims"]) == FULL.claims
    assert tuple(Attempt(**attempt) for attempt in row["attempts"]) == FULL.attempts
    assert (row["reply_format"], row["dropped_parameters"]) == ("json_schema", ["temperature"])


@on_sqlite
def test_one_ask_is_stored_once_and_never_overwritten(case):
    response, version = case.answer(), case.version()
    with case.store.writing() as connection:
        first = [NewJudgment(response, 0, 0, FULL)]
        assert store_judgments(connection, version, None, first) == 1
        other = NewJudgment(response, 0, 0, Verdict(Status.OK, groundedness=0.1))
        rejudged = NewJudgment(response, 1, 0, Verdict(Status.OK, groundedness=0.2))
        assert store_judgments(connection, version, None, [other, rejudged]) == 1
    assert [row["groundedness"] for row in case.rows(JUDGMENT)] == [0.8, 0.2]


@on_sqlite
def test_a_judgment_of_an_unknown_response_is_refused(case):
    version = case.version()
    with case.store.writing() as connection, pytest.raises(NotFound, match="no response 77"):
        store_judgments(connection, version, None, [NewJudgment(77, 0, 0, FULL)])


@on_sqlite
def test_what_neither_engine_can_hold_is_replaced(case):
    response, version = case.answer(), case.version()
    bad = "a\x00b\ud800c"
    case.say(
        version,
        response,
        Status.UNPARSABLE,
        raw=bad,
        reasoning=bad,
        error=bad,
        model_reported=bad,
        claims=(Claim(bad, ClaimStatus.SUPPORTED),),
        attempts=(Attempt("first", "ok", bad),),
    )
    [row] = case.rows(JUDGMENT)
    good = "a\ufffdb\ufffdc"
    assert {row[name] for name in ("raw", "reasoning", "error", "model_reported")} == {good}
    assert (row["claims"][0]["text"], row["attempts"][0]["raw"]) == (good, good)


def test_a_rebuild_repairs_what_is_wrong_and_nothing_else(case):
    response, other = case.answer(), case.answer("b")
    version = case.version()
    case.say(version, response, groundedness=0.4)
    case.say(version, other, groundedness=0.6)
    right = case.current(response)
    table = CURRENT
    with case.store.writing() as connection:
        assert rebuild_current(connection, [response, other]) == 0
        connection.execute(
            table.update().where(table.c.response_id == response).values(groundedness=0.9)
        )
        connection.execute(table.delete().where(table.c.response_id == other))
        ghost = ensure_version(connection, JudgeVersion("ghost", "ghost"))
        connection.execute(
            insert(table), {**right[0], "judge_version_id": ghost.id, "judge_name": "ghost"}
        )
        assert rebuild_current(connection, [response, other]) == 3
    assert case.current(response) == right
    assert [row["groundedness"] for row in case.current(other)] == [0.6]
