"""When attempts end and which answer is kept, whatever the ratings are."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import Status, StepRecord
from judgeboard.judges.rating import Rating
from judgeboard.llm.asking import Replied
from judgeboard.methods.generation import Messages
from judgeboard.methods.refine import Refinement, RefineRule, attempt_until_good
from judgeboard.methods.reflect import Outcome, outcome_of

OK, BAD = StepRecord(Status.OK), StepRecord(Status.UNPARSABLE)
RATINGS = st.lists(st.sampled_from([None, 1, 2, 3, 4]), min_size=6, max_size=6)
RULES = st.builds(RefineRule, st.integers(1, 4), st.integers(0, 5), st.sampled_from(["last", "best"]))


def play(
    ratings: list[int | None], rule: RefineRule, done: list[Refinement] | None = None, stop_after: int | None = None
) -> tuple[list[Refinement], int]:
    calls = 0

    async def answer(_messages: Messages, number: int) -> Replied[str]:
        nonlocal calls
        calls += 1
        return Replied(f"try {number}", OK)

    async def rate(_answer: str, number: int) -> Replied[Rating]:
        nonlocal calls
        calls += 1
        given_rating = ratings[number - 1]
        return Replied(None, BAD) if given_rating is None else Replied(Rating(given_rating, "", f"after {number}"), OK)

    async def keep(_attempt: Refinement) -> bool:
        return stop_after is None or calls < stop_after

    messages = ({"role": "user", "content": "q"},)
    attempts = asyncio.run(attempt_until_good(answer, rate, messages, rule, done=done or (), keep=keep))
    return attempts, calls


@given(RATINGS, RULES)
@settings(max_examples=60, deadline=None)
def test_attempts_end_at_the_first_success_or_at_the_limit(ratings: list[int | None], rule: RefineRule) -> None:
    attempts, calls = play(ratings, rule)
    good = [place for place, rating in enumerate(ratings, start=1) if rule.succeeds(rating)]
    expected = min([*good[:1], rule.max_repeats + 1])
    assert (len(attempts), calls) == (expected, 2 * expected)
    assert rule.passed(attempts) == rule.succeeds(ratings[expected - 1])
    kept = rule.selected(attempts)
    assert kept is not None
    if rule.passed(attempts) or rule.keep == "last":
        assert kept.number == expected
    else:
        assert (ratings[kept.number - 1] or 0) == max(rating or 0 for rating in ratings[:expected])


@given(RATINGS, RULES, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_call_that_goes_on_repeats_nothing_and_ends_the_same(
    ratings: list[int | None], rule: RefineRule, stop_after: int
) -> None:
    whole, calls = play(ratings, rule)
    first, before = play(ratings, rule, stop_after=stop_after)
    second, after = play(ratings, rule, done=first)
    assert second == whole
    assert before + after == calls


def test_the_new_answer_is_kept_only_where_it_is_strictly_better_grounded() -> None:
    assert outcome_of(0.5, 0.50001) is Outcome.KEPT_NEW
    assert outcome_of(0.5, 0.5) is Outcome.KEPT_ORIGINAL
    assert outcome_of(0.0, 0.0) is Outcome.KEPT_ORIGINAL
    assert outcome_of(0.5, None) is Outcome.SECOND_FAILED
