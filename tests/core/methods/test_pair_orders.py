"""Going through a list of pairs: places stay, and the next pair is the next that waits."""

from judgeboard.methods.pair_report import PairLine, PairWalk


def walk(*pair_ids: int, mine: tuple[int, ...] = ()) -> PairWalk:
    lines = [PairLine(each, "QA", None, None, None, False, None, None, None, each in mine) for each in sorted(pair_ids)]
    return PairWalk("overall", lines)


def test_the_next_pair_is_the_next_that_waits_and_after_the_last_the_first() -> None:
    through = walk(3, 5, 8, 9, mine=(8,))
    assert [through.following(each) for each in (3, 5, 8, 9, 1, 99)] == [5, 9, 9, 3, 3, 3]
    through.judged(5)
    assert through.following(3) == 9
    for each in (3, 9, 9):
        through.judged(each)
    assert through.following(5) is None


def test_a_pair_that_waits_alone_is_not_its_own_next() -> None:
    assert walk(3, 5, mine=(3,)).following(5) is None


def test_places_stay_where_pairs_are_judged() -> None:
    through = walk(3, 5, 8)
    through.judged(5)
    assert (len(through), [through.place(each) for each in (3, 5, 8, 4)]) == (3, [1, 2, 3, None])
