"""`judgeboard flag`: the rules applied anew by the settings in force."""

import pytest
from sqlalchemy import delete, select, update

from engines import on_sqlite
from judgeboard.cli.app import run
from judgeboard.domain import JudgeVersion, Response, ResponseKind, Status, Verdict
from judgeboard.people.roster import raise_flags
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import CURRENT, FLAG
from judging_log import address

ANSWERS = 2_300


@pytest.fixture
def judged(store, fill_once):
    """More answers than one batch, groundedness 0.00 to 0.99 in turn."""
    fill_once("judged", store, judge_answers)
    return store


def judge_answers(store) -> None:
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        ids = store_responses(connection, [Response("log", f"a{number}", "q", "a") for number in range(ANSWERS)]).new
        items = [
            NewJudgment(id_, 0, 0, Verdict(Status.OK, groundedness=number % 100 / 100))
            for number, id_ in enumerate(ids)
        ]
        store_judgments(connection, version, None, items)


def put(store, key: str, value) -> None:
    with store.writing() as connection:
        set_setting(connection, key, value, "test")


def states(store) -> dict[str, int]:
    with store.reading() as connection:
        states = list(connection.execute(select(FLAG.c.state)).scalars())
    return {state: states.count(state) for state in sorted(set(states))}


def test_raising_again_adds_nothing(judged) -> None:
    before = states(judged)
    told: list[tuple[int, int]] = []
    summary = raise_flags(judged, progress=lambda done, total: told.append((done, total)))
    assert (summary.responses, summary.raised, summary.superseded, summary.repaired) == (ANSWERS, 0, 0, 0)
    assert told == [(1_000, ANSWERS), (2_000, ANSWERS), (ANSWERS, ANSWERS)]
    assert states(judged) == before == {"open": 1_150}


def test_a_threshold_is_applied_to_what_is_stored_and_decisions_stay(judged) -> None:
    with judged.writing() as connection:
        decided = FLAG.c.id.in_(select(FLAG.c.id).where(FLAG.c.groundedness == 0.45))
        assert connection.execute(update(FLAG).where(decided).values(state="dismissed")).rowcount == 23
    put(judged, "low_groundedness", 0.4)
    summary = raise_flags(judged)
    assert summary.superseded_by_rule == {"low_groundedness": 9 * 23}
    assert states(judged) == {"dismissed": 23, "open": 40 * 23, "superseded": 9 * 23}
    put(judged, "low_groundedness", 0.5)
    assert raise_flags(judged).raised_by_rule == {"low_groundedness": 9 * 23}
    assert states(judged) == {"dismissed": 23, "open": 49 * 23, "superseded": 9 * 23}


def test_a_larger_share_draws_more_and_keeps_what_was_drawn(judged) -> None:
    put(judged, "random_share", 0.02)
    first = raise_flags(judged).raised
    put(judged, "random_share", 0.1)
    summary = raise_flags(judged)
    assert (summary.raised > 0, summary.superseded) == (True, 0)
    with judged.reading() as connection:
        drawn = connection.execute(select(FLAG).where(FLAG.c.rule == "random_sample", FLAG.c.state == "open")).all()
    assert len(drawn) == first + summary.raised
    assert {flag.inclusion_probability for flag in drawn} == {0.02, 0.1}


def test_current_judgments_are_repaired(judged) -> None:
    table = CURRENT
    with judged.writing() as connection:
        connection.execute(delete(table).where(table.c.response_id < 11))
        connection.execute(update(table).where(table.c.response_id == 2_000).values(groundedness=1.0))
    assert raise_flags(judged).repaired == 11
    assert raise_flags(judged).repaired == 0


@on_sqlite
def test_answers_that_were_made_are_not_counted_as_the_logs(judged, capsys) -> None:
    made = [Response("log", f"a{n}~new", "q", "b", kind=ResponseKind.REGENERATED) for n in range(3)]
    with judged.writing() as connection:
        store_responses(connection, made)
    summary = raise_flags(judged)
    assert (summary.responses, summary.logged) == (ANSWERS + 3, ANSWERS)
    assert run(["flag", "--db", address(judged)]) == 0
    assert capsys.readouterr().out.startswith(
        "2,300 answers of the log and 3 of pairs, suites, control answers or attempts: "
    )
