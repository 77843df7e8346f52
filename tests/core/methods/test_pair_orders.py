"""Going through a list of pairs: positions stay, and the next pair is the next one without a preference."""

from judgeboard.methods.pair_report import PairLine
from judgeboard.methods.pair_screen import ListedPairs


def listed(*pair_ids: int, mine: tuple[int, ...] = ()) -> ListedPairs:
    lines = [PairLine(each, "QA", None, None, None, False, None, None, None, each in mine) for each in sorted(pair_ids)]
    return ListedPairs("overall", lines)


def test_the_next_pair_is_the_next_without_a_preference_and_after_the_last_the_first() -> None:
    pairs = listed(3, 5, 8, 9, mine=(8,))
    assert [pairs.following(each) for each in (3, 5, 8, 9, 1, 99)] == [5, 9, 9, 3, 3, 3]
    pairs.judged(5)
    assert pairs.following(3) == 9
    for each in (3, 9, 9):
        pairs.judged(each)
    assert pairs.following(5) is None


def test_the_only_pair_without_a_preference_is_not_its_own_next() -> None:
    assert listed(3, 5, mine=(3,)).following(5) is None


def test_positions_stay_when_pairs_are_judged() -> None:
    pairs = listed(3, 5, 8)
    pairs.judged(5)
    assert (len(pairs), [pairs.position(each) for each in (3, 5, 8, 4)]) == (3, [1, 2, 3, None])
