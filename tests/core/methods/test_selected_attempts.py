"""The attempt that a person selects: selected, changed, withdrawn; and what forgetting leaves of it."""

from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.attempts import deselect_attempt, select_attempt
from judgeboard.methods.refine_run import refine_pending
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.engine import Store
from judgeboard.store.forgetting import forget_response
from judgeboard.store.refinements import selected_attempts
from judgeboard.store.tables import EVENT
from refining_log import generator, judge, made, ratings, refinements, standing, store_bad
from stored_rows import rows_of


@pytest.fixture
def refined(store: Store) -> Store:
    """A log of one answer that was refined in two attempts, by run 1."""
    store_bad(store)
    with RecordingEndpoint(ratings(2, 4)) as endpoint:
        refine_pending(store, judge("rating", endpoint), generator(endpoint))
    return store


def say(store: Store, name: str, number: int | None, key: str) -> int:
    who: dict[str, Any] = {"run_id": 1, "subject": "1", "reviewer": ensure_reviewer(store, "page", name)}
    if number is None:
        return deselect_attempt(store, **who, request_key=key)
    return select_attempt(store, **who, number=number, request_key=key)


def selected(store: Store) -> list[tuple[str, int]]:
    with store.reading() as connection:
        return [(one.reviewer, one.number) for one in selected_attempts(connection, [1])]


def test_a_person_says_changes_and_takes_back_and_every_word_stays(refined: Store) -> None:
    say(refined, "Mara", 1, "a")
    assert selected(refined) == [("Mara", 1)]
    say(refined, "Mara", 0, "b")
    assert selected(refined) == [("Mara", 0)]
    say(refined, "Jon", 2, "c")
    assert selected(refined) == [("Jon", 2), ("Mara", 0)]
    say(refined, "Mara", None, "d")
    assert selected(refined) == [("Jon", 2)]
    say(refined, "Mara", 2, "e")
    assert selected(refined) == [("Mara", 2), ("Jon", 2)]
    assert [(row["number"], row["withdrawn"], row["replaces"]) for row in standing(refined)] == [
        (1, False, None),
        (0, False, 1),
        (2, False, None),
        (0, True, 2),
        (2, False, None),
    ]
    kinds = [row["kind"] for row in rows_of(refined, EVENT)]
    assert kinds.count("select_attempt") == 4
    assert kinds.count("deselect_attempt") == 1


def test_a_press_is_stored_once(refined: Store) -> None:
    assert say(refined, "Mara", 1, "a") == say(refined, "Mara", 1, "a")
    assert say(refined, "Mara", None, "b") == say(refined, "Mara", None, "b")
    assert len(standing(refined)) == 2
    with pytest.raises(BadInput, match="another request"):
        say(refined, "Jon", 1, "a")


@on_sqlite
def test_what_cannot_be_selected_is_refused(refined: Store) -> None:
    with pytest.raises(NotFound):
        say(refined, "Mara", 3, "a")
    with pytest.raises(DecisionRefused, match="nothing to undo"):
        say(refined, "Mara", None, "b")
    reviewer = ensure_reviewer(refined, "page", "Mara")
    with pytest.raises(NotFound):
        select_attempt(refined, run_id=1, subject="7", number=1, reviewer=reviewer, request_key="c")
    assert standing(refined) == []


def test_forgetting_an_answer_blanks_its_attempts_and_keeps_their_ratings(refined: Store) -> None:
    with refined.writing() as connection:
        forgotten = forget_response(connection, "0", actor="Mara")
    assert len(forgotten) == 3
    assert {(row["answer"], row["messages"]) for row in made(refined)} == {(None, None)}
    assert [(row["rating"], row["feedback"]) for row in refinements(refined)] == [(2, None), (4, None)]
