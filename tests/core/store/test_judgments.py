"""Judgments entering the store, and which of them are current."""

import pytest
from sqlalchemy import delete, insert, update

from engines import on_sqlite
from judgeboard.domain import (
    Attempt,
    Claim,
    ClaimStatus,
    Label,
    Status,
    Verdict,
)
from judgeboard.errors import NotFound
from judgeboard.store.judgments import NewJudgment, claims_from
from judgeboard.store.storing import rebuild_current, store_judgments
from judgeboard.store.tables import CURRENT, JUDGMENT

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
    assert case.write(store_judgments, version, None, [NewJudgment(response, 0, 0, FULL)]) == 1
    [row] = case.rows(JUDGMENT)
    assert row == row | {
        "groundedness": 0.8,
        "quality": 3,
        "label": "grounded",
        "status": "ok",
        "raw": FULL.raw,
        "reasoning": "because",
        "cost_micro": 12,
        "reply_format": "json_schema",
        "dropped_parameters": ["temperature"],
    }
    assert claims_from(row["claims"]) == FULL.claims
    assert tuple(Attempt(**attempt) for attempt in row["attempts"]) == FULL.attempts


@on_sqlite
def test_one_ask_is_stored_once_and_never_overwritten(case):
    response, version = case.answer(), case.version()
    first = NewJudgment(response, 0, 0, FULL)
    assert case.write(store_judgments, version, None, [first]) == 1
    other = NewJudgment(response, 0, 0, Verdict(Status.OK, groundedness=0.1))
    rejudged = NewJudgment(response, 1, 0, Verdict(Status.OK, groundedness=0.2))
    assert case.write(store_judgments, version, None, [other, rejudged]) == 1
    assert [row["groundedness"] for row in case.rows(JUDGMENT)] == [0.8, 0.2]


@on_sqlite
def test_a_judgment_of_an_unknown_response_is_refused(case):
    with pytest.raises(NotFound, match="no response 77"):
        case.write(store_judgments, case.version(), None, [NewJudgment(77, 0, 0, FULL)])


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
    assert case.write(rebuild_current, [response, other]) == 0
    ghost = right[0] | {"judge_version_id": case.version("ghost").id, "judge_name": "ghost"}
    of = CURRENT.c.response_id
    with case.store.writing() as connection:
        connection.execute(update(CURRENT).where(of == response).values(groundedness=0.9))
        connection.execute(delete(CURRENT).where(of == other))
        connection.execute(insert(CURRENT), ghost)
    assert case.write(rebuild_current, [response, other]) == 3
    assert case.current(response) == right
    assert [row["groundedness"] for row in case.current(other)] == [0.6]
