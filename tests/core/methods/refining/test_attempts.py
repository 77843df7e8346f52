"""Attempts at a better answer: when they end, which is kept, how they are read again, which a person selects."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import JudgeInput, Status, StepRecord
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.judges.rating import Rating
from judgeboard.llm.asking import Replied
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from judgeboard.methods.refining.attempts import attempt_sequences, select_attempt
from judgeboard.methods.refining.queries import selected_attempts
from judgeboard.methods.refining.refine import (
    Prompt,
    Refinement,
    RefineRule,
    _RefineLogged,
    attempt_until_good,
    refine_pending,
)
from judgeboard.methods.refining.reflect import Outcome, ReflectRule, outcome_of, reflect_pending
from judgeboard.people.roster import ensure_reviewer
from judgeboard.runs.generation import read_prompts
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import Answered
from judgeboard.store.filters import RowFilter
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.responses import Origin
from judgeboard.store.reviewers import reviewer_names
from judgeboard.store.runs import start_or_continue_method_run
from judgeboard.store.tables import EVENT
from judging_log import judgments
from refining_log import (
    both,
    generator,
    judge,
    made,
    ratings,
    refinements,
    scored,
    standing,
    store_bad,
)
from result_fields import check_fields
from stored_rows import read, rows_of, write_to
from tool_files import written

OK, BAD = StepRecord(Status.OK), StepRecord(Status.UNPARSABLE)
RATINGS = st.lists(st.sampled_from([None, 1, 2, 3, 4]), min_size=6, max_size=6)
RULES = st.builds(
    RefineRule, st.integers(1, 4), st.integers(0, 5), st.sampled_from(["last", "best"])
)


def play(ratings, rule, done=(), stop_after=None):
    calls = 0

    async def answer(_messages, number):
        nonlocal calls
        calls += 1
        return Replied(f"try {number}", OK)

    async def rate(_answer, number):
        nonlocal calls
        calls += 1
        rating = ratings[number - 1]
        if rating is None:
            return Replied(None, BAD)
        return Replied(Rating(rating, "", f"after {number}"), OK)

    async def keep(_attempt):
        return stop_after is None or calls < stop_after

    messages = ({"role": "user", "content": "q"},)
    attempts = attempt_until_good(answer, rate, messages, rule, earlier=done, keep=keep)
    return asyncio.run(attempts), calls


@given(RATINGS, RULES)
@settings(max_examples=60, deadline=None)
def test_attempts_end_at_the_first_success_or_at_the_limit(ratings, rule):
    attempts, calls = play(ratings, rule)
    good = [place for place, rating in enumerate(ratings, start=1) if rule.succeeds(rating)]
    expected = min([*good[:1], rule.max_repeats + 1])
    assert (len(attempts), calls) == (expected, 2 * expected)
    assert rule.passed(attempts) == rule.succeeds(ratings[expected - 1])
    kept = rule.selected(attempts)
    if rule.passed(attempts) or rule.keep == "last":
        assert kept.number == expected
    else:
        assert (ratings[kept.number - 1] or 0) == max(rating or 0 for rating in ratings[:expected])


@given(RATINGS, RULES, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_call_that_goes_on_repeats_nothing_and_ends_the_same(ratings, rule, stop_after):
    whole, calls = play(ratings, rule)
    first, before = play(ratings, rule, stop_after=stop_after)
    second, after = play(ratings, rule, done=first)
    assert second == whole
    assert before + after == calls


def test_the_new_answer_is_kept_only_where_it_is_strictly_better_grounded():
    assert outcome_of(0.5, 0.50001) is Outcome.KEPT_NEW
    assert outcome_of(0.5, 0.5) is Outcome.KEPT_ORIGINAL
    assert outcome_of(0.0, 0.0) is Outcome.KEPT_ORIGINAL
    assert outcome_of(0.5, None) is Outcome.SECOND_FAILED


@pytest.fixture
def refined(store):
    """A log of one answer that was refined in two attempts, by run 1."""
    store_bad(store)
    refine(store, ratings(2, 4))
    return store


def refine(store, script, **options):
    with RecordingEndpoint(script) as endpoint:
        asking = judge("rating", endpoint), generator(endpoint)
        refine_pending(store, *asking, **options)


@pytest.fixture
def question(tmp_path):
    """A file of prompts with one question."""
    return read_prompts(written(tmp_path, {"prompt": "How warm is it?"}))


def say(store, name, number, key, subject="1"):
    """Select an attempt at a prompt as a person."""
    reviewer = ensure_reviewer(store, "page", name)
    choice = {"number": number, "reviewer": reviewer, "request_key": key}
    return select_attempt(store, run_id=1, subject=subject, **choice)


def selected(store):
    names = read(store, reviewer_names)
    return [(names[one.reviewer_id], one.number) for one in read(store, selected_attempts, [1])]


@on_sqlite
def test_a_person_says_changes_and_takes_back_and_every_word_stays(refined):
    for name, number, selections in (
        ("Mara", 1, [("Mara", 1)]),
        ("Mara", 0, [("Mara", 0)]),
        ("Jon", 2, [("Jon", 2), ("Mara", 0)]),
        ("Mara", None, [("Jon", 2)]),
        ("Mara", 2, [("Mara", 2), ("Jon", 2)]),
    ):
        say(refined, name, number, f"{name} {number}")
        assert selected(refined) == selections
    assert [(row["number"], row["withdrawn"], row["replaces"]) for row in standing(refined)] == [
        (1, False, None),
        (0, False, 1),
        (2, False, None),
        (0, True, 2),
        (2, False, None),
    ]
    kinds = Counter(row["kind"] for row in rows_of(refined, EVENT))
    assert (kinds["select_attempt"], kinds["deselect_attempt"]) == (4, 1)


def test_a_press_is_stored_once(refined):
    assert say(refined, "Mara", 1, "a") == say(refined, "Mara", 1, "a")
    assert say(refined, "Mara", None, "b") == say(refined, "Mara", None, "b")
    assert len(standing(refined)) == 2
    with pytest.raises(BadInput, match="another request"):
        say(refined, "Jon", 1, "a")


@on_sqlite
def test_what_cannot_be_selected_is_refused(refined):
    with pytest.raises(NotFound):
        say(refined, "Mara", 3, "a")
    with pytest.raises(DecisionRefused, match="nothing to undo"):
        say(refined, "Mara", None, "b")
    with pytest.raises(NotFound):
        say(refined, "Mara", 1, "c", subject="7")
    assert standing(refined) == []


@on_sqlite
def test_forgetting_an_answer_blanks_its_attempts_and_keeps_their_ratings(refined):
    assert len(write_to(refined, forget_response, "0", actor="Mara")) == 3
    assert {(row["answer"], row["messages"]) for row in made(refined)} == {(None, None)}
    assert [(row["rating"], row["feedback"]) for row in refinements(refined)] == [
        (2, None),
        (4, None),
    ]


def test_only_line_feeds_end_a_line_and_a_byte_order_mark_is_no_part_of_the_first(tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        '\ufeff{"id": "a", "prompt": "one\u2028two\u0085three"}\r\nfive\u2028six\r\n',
        encoding="utf-8",
    )
    assert [(one.item.external_id, one.item.query) for one in read_prompts(file)] == [
        ("a", "one\u2028two\u0085three"),
        ("2", "five\u2028six"),
    ]


def test_a_line_that_is_nested_too_deeply_is_named(tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "one"}\n' + '{"a":' * 100_000, encoding="utf-8")
    with pytest.raises(BadInput, match="line 2: "):
        read_prompts(file)


PAID_OK = StepRecord(Status.OK, raw="raw", cost_micro=100)


def sequences(store, response_id):
    return read(store, attempt_sequences, response_id)


@on_sqlite
def test_attempts_at_a_prompt_of_a_file_begin_with_no_answer(store, question):
    rule = RefineRule(max_repeats=2, keep="best")
    refine(store, ratings(3, 2, 1), prompts=question, rule=rule)
    [sequence] = sequences(store, made(store)[1]["id"])
    assert [(one.number, one.rating, one.kept) for one in sequence.attempts] == [
        (1, 3, True),
        (2, 2, False),
        (3, 1, False),
    ]
    check_fields(sequence, method="refine", made=3, cost_micro=0, passed=False)


@pytest.mark.parametrize(
    ("success_rating", "made_attempts", "passed"), [(3, 2, True), (4, 3, False)]
)
def test_whether_it_passed_is_by_the_rating_that_its_run_asked_for(
    sqlite_store, question, success_rating, made_attempts, passed
):
    rule = RefineRule(success_rating=success_rating, max_repeats=2)
    refine(sqlite_store, ratings(2, 3, 1), prompts=question, rule=rule)
    [sequence] = sequences(sqlite_store, made(sqlite_store)[0]["id"])
    check_fields(sequence, made=made_attempts, passed=passed)


def test_every_run_is_a_sequence_of_its_own_the_newest_first(sqlite_store):
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
    assert [(one.name, one.groundedness) for one in first.attempts] == [
        ("the original", 0.2),
        ("attempt 1", 0.9),
    ]
    assert sequences(sqlite_store, made(sqlite_store)[0]["id"]) == (first,)


def test_what_another_process_said_of_another_text_is_not_stored(store):
    with RecordingEndpoint() as endpoint, store.writing() as connection:
        method = _RefineLogged(
            judge("rating", endpoint), generator(endpoint), RefineRule(), RowFilter()
        )
        version = ensure_version(connection, method.judge.version)
        run = start_or_continue_method_run(
            connection, "refine", version, {"x": 1}, selected=1, actor="test"
        )
    origin = Origin(JudgeInput(0, "q", "", None, external_id="a"), "prompts")
    prompt = Prompt("a", origin, run.id, "writer")
    mine, theirs = (Refinement(1, text, PAID_OK) for text in ("mine", "theirs"))
    rated = {"rating": Rating(4, "good", ""), "judging": PAID_OK}
    begun = Begun(store, version, run)

    def save(attempt):
        write_to(store, method.save, begun, [Answered(prompt, attempt, attempt.latest)])

    save(mine)
    save(theirs)
    save(replace(theirs, **rated))
    assert [row["answer"] for row in made(store)] == ["mine"]
    assert (refinements(store), judgments(store)) == ([], [])
    save(replace(mine, **rated))
    assert [row["outcome"] for row in refinements(store)] == ["passed"]
    assert [row["quality"] for row in judgments(store)] == [4]
