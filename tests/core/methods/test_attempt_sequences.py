"""Attempts as they are read again: in order, with what was kept; and two processes at one run."""

from dataclasses import replace
from pathlib import Path

import pytest

from engines import on_sqlite
from judgeboard.domain import JudgeInput, Status, StepRecord
from judgeboard.judges.rating import Rating
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.attempts import AttemptSequence, attempt_sequences
from judgeboard.methods.generation import read_prompts
from judgeboard.methods.refine import Refinement, RefineRule
from judgeboard.methods.refine_run import Prompt, _RefineLogged, refine_pending
from judgeboard.methods.reflect import ReflectRule, reflect_pending
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import Answered
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.responses import Origin
from judgeboard.store.runs import start_or_continue_method_run
from judging_log import judgments
from refining_log import both, generator, judge, made, ratings, refinements, scored, store_bad

OK = StepRecord(Status.OK, raw="raw", cost_micro=100)


def sequences(store: Store, response_id: int) -> tuple[AttemptSequence, ...]:
    with store.reading() as connection:
        return attempt_sequences(connection, response_id)


@on_sqlite
def test_attempts_at_a_prompt_of_a_file_begin_with_no_answer(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("How warm is it?")
    with RecordingEndpoint(ratings(3, 2, 1)) as endpoint:
        rule = RefineRule(max_repeats=2, keep="best")
        asked = read_prompts(file)
        refine_pending(store, judge("rating", endpoint), generator(endpoint), prompts=asked, rule=rule)
    [sequence] = sequences(store, made(store)[1]["id"])
    assert [(one.number, one.rating, one.kept) for one in sequence.attempts] == [
        (1, 3, True),
        (2, 2, False),
        (3, 1, False),
    ]
    assert (sequence.method, sequence.made, sequence.cost_micro) == ("refine", 3, None)
    assert sequence.passed is False


@pytest.mark.parametrize(("success_rating", "made_attempts", "passed"), [(3, 2, True), (4, 3, False)])
def test_whether_it_passed_is_by_the_rating_that_its_run_asked_for(
    sqlite_store: Store, tmp_path: Path, success_rating: int, made_attempts: int, passed: bool
) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("How warm is it?")
    with RecordingEndpoint(ratings(2, 3, 1)) as endpoint:
        rule = RefineRule(success_rating=success_rating, max_repeats=2)
        asked = read_prompts(file)
        refine_pending(sqlite_store, judge("rating", endpoint), generator(endpoint), prompts=asked, rule=rule)
    [sequence] = sequences(sqlite_store, made(sqlite_store)[0]["id"])
    assert (sequence.made, sequence.passed) == (made_attempts, passed)


def test_every_run_is_a_sequence_of_its_own_the_newest_first(sqlite_store: Store) -> None:
    store_bad(sqlite_store)
    for text, groundedness in (("granite", 0.9), ("basalt", 0.1)):
        script = both(lambda _request, text=text: text, scored({text: (groundedness, 4)}))
        with RecordingEndpoint(script) as endpoint:
            writer = generator(endpoint, temperature=groundedness)
            reflect_pending(sqlite_store, judge("rag", endpoint), writer, rule=ReflectRule())
    newest, first = sequences(sqlite_store, 1)
    assert (newest.passed, first.passed) == (None, None)
    assert [one.kept for one in newest.attempts] == [True, False]
    assert [one.kept for one in first.attempts] == [False, True]
    assert [(one.name, one.groundedness) for one in first.attempts] == [("the original", 0.2), ("attempt 1", 0.9)]
    assert sequences(sqlite_store, made(sqlite_store)[0]["id"]) == (first,)


def test_what_another_process_said_of_another_text_is_not_stored(store: Store) -> None:
    with RecordingEndpoint() as endpoint, store.writing() as connection:
        method = _RefineLogged(judge("rating", endpoint), generator(endpoint), RefineRule(), RowFilter())
        version = ensure_version(connection, method.judge.version)
        run = start_or_continue_method_run(connection, "refine", version, {"x": 1}, selected=1, actor="test")
    prompt = Prompt("a", Origin(JudgeInput(0, "q", "", None, external_id="a"), "prompts"), run.id, "writer")
    mine = Refinement(1, "mine", OK)
    theirs = Refinement(1, "theirs", OK)
    rating = Rating(4, "good", "")
    begun = Begun(store, version, run)

    def save(attempt: Refinement) -> None:
        with store.writing() as connection:
            method.save(connection, begun, [Answered(prompt, attempt, attempt.latest)])

    save(mine)
    save(theirs)
    save(replace(theirs, rating=rating, judging=OK))
    assert [row["answer"] for row in made(store)] == ["mine"]
    assert (refinements(store), judgments(store)) == ([], [])
    save(replace(mine, rating=rating, judging=OK))
    assert [row["outcome"] for row in refinements(store)] == ["passed"]
    assert [row["quality"] for row in judgments(store)] == [4]
