"""What a page says of self-reference: a difference that may be chance is not called a gain."""

from judgeboard.domain import JudgeVersion, Preference
from judgeboard.methods.own_answers import majority
from judgeboard.methods.self_reference import RunEstimate
from judgeboard.methods.self_reference_report import Loaded, report_of, report_sentence
from judgeboard.methods.self_reference_scores import NOT_ASKED, Item, TwoOrders
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version

A, B, _ = Preference
RIGHT, WRONG = TwoOrders(A, A, asked=True), TwoOrders(B, B, asked=True)


def sentence(store: Store, *made: tuple[TwoOrders, TwoOrders], samples: str = "xxxxx") -> str:
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("j", "ssr"))
    items = [
        Item(place, "QA", A, majority(list(samples)), True, plain, reference)
        for place, (plain, reference) in enumerate(made)
    ]
    return report_sentence(report_of(version, Loaded(items), 5, 4))


def test_a_clear_gain_is_said_in_points(sqlite_store: Store) -> None:
    words = sentence(sqlite_store, *[(WRONG, RIGHT)] * 20, *[(RIGHT, RIGHT)] * 20)
    assert (
        "on 100 % [91, 100] of 40 pairs. Without its own answer (A): 50 %. With it on every pair (B): 100 %." in words
    )
    assert "That is 50.0 points [" in words
    assert "more than in A." in words
    worse = sentence(sqlite_store, *[(RIGHT, WRONG)] * 20, *[(RIGHT, RIGHT)] * 20)
    assert "less than in A." in worse


def test_what_may_be_chance_is_said_so_and_no_difference_too(sqlite_store: Store) -> None:
    chance = sentence(sqlite_store, *[(WRONG, RIGHT)] * 11, *[(RIGHT, WRONG)] * 9)
    assert "is not significant" in chance
    assert "no difference on any pair" in sentence(sqlite_store, *[(RIGHT, RIGHT)] * 20)


def test_what_was_not_asked_is_not_measured(sqlite_store: Store) -> None:
    words = sentence(sqlite_store, (NOT_ASKED, NOT_ASKED))
    assert words.startswith("Accuracy with the judge's own answer is not available: the judge was")
    assert words.endswith(
        "The gate is on (enough samples agree) for 100 % of 1 question; "
        "the judge's own answer is then right on 100 % [21, 100]."
    )


def test_a_small_cost_is_estimated_with_its_digits() -> None:
    assert RunEstimate(2, 18, 18, 486).sentence == "2 items, 18 calls; at most about $ 0.00049"
