import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD
from judgeboard.domain import Status
from judgeboard.errors import NotFound
from judgeboard.measure.verdict_changes import Direction, Side, compare, comparison_page, side_of
from judgeboard.settings.model import Cuts
from judgeboard.store.verdict_pairs import OneVerdict, VerdictPair, pairs_of_run, pairs_of_versions


def of_run(log, run_id, **asked):
    with log.store.reading() as connection:
        return comparison_page(connection, pairs_of_run(connection, run_id), **asked)


def of_versions(log, old, new, **asked):
    with log.store.reading() as connection:
        pairs = pairs_of_versions(connection, old.id, new.id)
        return comparison_page(connection, pairs, **asked)


def changes(comparison):
    return comparison.compared, comparison.now_good, comparison.now_bad


def graded(comparison):
    return comparison.graded, comparison.new_right, comparison.old_right


def ids_of(rows):
    return [row.pair.response_id for row in rows]


@on_sqlite
def test_a_run_stands_beside_what_the_same_judge_said_before(log):
    ids = log.answers(4)
    old, new, other = log.version("rag"), log.version("rag", prompt="new"), log.version("nli")
    log.say_all(old, ids[:3], groundedness=0.2, reasoning="old reason")
    log.say_all(other, ids, groundedness=0.99)
    run = log.run(new, {each: {"groundedness": 0.8, "reasoning": "new reason"} for each in ids})
    log.say_all(new, ids, groundedness=0.0)  # a later one is not the run's
    log.review(ids[0], label=GOOD)
    shown = of_run(log, run)
    assert ids_of(shown.shown) == ids[:3]  # the fourth had no verdict of this judge
    row = shown.shown[0]
    assert (row.pair.old.groundedness, row.pair.new.groundedness, row.change) == (0.2, 0.8, 0.6)
    assert row.flip is Side.GOOD
    old_text, new_text = (
        shown.texts[verdict.judgment_id] for verdict in (row.pair.old, row.pair.new)
    )
    assert (old_text.reasoning, new_text.reasoning) == ("old reason", "new reason")
    assert changes(shown.comparison) == (3, 3, 0)
    assert graded(shown.comparison) == (1, 1, 0)


@on_sqlite
def test_a_rejudge_by_the_same_version_is_compared_with_its_last_usable_verdict(log):
    version, ids = log.version(), log.answers(2)
    log.say_all(version, ids, groundedness=0.9)
    log.say_all(version, ids, status=Status.ERROR)
    run = log.run(version, {ids[0]: {"groundedness": 0.3}, ids[1]: {"status": Status.REFUSED}})
    shown = of_run(log, run)
    (row,) = shown.comparison.rows
    assert (row.pair.response_id, row.pair.old.groundedness, row.flip) == (ids[0], 0.9, Side.BAD)


@on_sqlite
def test_an_answer_on_which_people_tie_counts_for_neither_verdict(log):
    version, (tied, clear) = log.version(), log.answers(2)
    log.say_all(version, [tied, clear], groundedness=0.2)
    run = log.run(version, {each: {"groundedness": 0.8} for each in (tied, clear)})
    log.review(tied, label=GOOD, groundedness=0.9)
    log.review(tied, label=BAD, groundedness=0.8, reviewer="jon")
    log.review(clear, label=GOOD)
    assert of_run(log, run).comparison.graded == 1


@on_sqlite
def test_flips_come_first_then_the_largest_change(log):
    version, ids = log.version(), log.answers(4)
    log.say_scores(version, ids, (0.9, 0.4, 0.6, 0.1))
    after = zip(ids, (0.6, 0.55, 0.6, 0.0), strict=True)
    run = log.run(version, {each: {"groundedness": score} for each, score in after})
    shown = of_run(log, run, limit=2)
    assert ids_of(shown.comparison.rows) == [ids[place] for place in (1, 0, 3, 2)]
    assert ids_of(shown.shown) == [ids[1], ids[0]]
    assert {each.response_id for each in shown.texts.values()} == {ids[0], ids[1]}


@on_sqlite
def test_people_say_which_of_both_is_right(log):
    old, new = log.version("rag"), log.version("rag", prompt="new")
    ids = log.answers(10)
    log.say_all(old, ids, groundedness=0.1)
    log.say_scores(new, ids, [0.9] * 8 + [0.1] * 2)
    log.review_all(ids[:7], label=GOOD)
    log.review(ids[7], groundedness=0.1)
    log.review(ids[8], label=BAD)
    comparison = of_versions(log, old, new).comparison
    assert changes(comparison) == (10, 8, 0)
    assert graded(comparison) == (9, 8, 2)


@on_sqlite
def test_a_changed_verdict_moved_towards_people_or_away_from_them(log):
    old, new = log.version("rag"), log.version("rag", prompt="new")
    towards, away, ungraded, same = log.answers(4)
    log.say_all(old, [towards, away, ungraded, same], groundedness=0.1)
    log.say_all(new, [towards, away, ungraded], groundedness=0.9)
    log.say_all(new, [same], groundedness=0.2)
    log.review_all([towards], label=GOOD)
    log.review_all([away, same], label=BAD)
    pages = {
        direction: of_versions(log, old, new, direction=direction, limit=None)
        for direction in (None, *Direction)
    }
    assert {direction: ids_of(page.shown) for direction, page in pages.items()} == {
        None: [towards, away, ungraded, same],
        Direction.TOWARDS: [towards],
        Direction.AWAY: [away],
    }
    # The counts are of all answers.
    assert len({page.comparison.compared for page in pages.values()}) == 1
    [row] = pages[Direction.AWAY].shown
    assert (row.flip, row.direction, row.people) == ("good", "away", "bad")


@on_sqlite
def test_an_unknown_run_is_said(log):
    with pytest.raises(NotFound, match="no run 9"):
        of_run(log, 9)


@pytest.mark.parametrize(
    ("label", "groundedness", "side"),
    [
        (BAD, 0.9, Side.BAD),
        (GOOD, 0.1, Side.GOOD),
        (None, 0.5, Side.GOOD),
        (None, 0.5 - 1e-12, Side.GOOD),
        (None, 0.4, Side.BAD),
        (None, None, None),
    ],
)
def test_a_label_decides_the_side_before_a_score(label, groundedness, side):
    assert side_of(label, groundedness, 0.5) is side


def pair(response_id, old, new):
    said = (OneVerdict(n, "rag v1", score, 3, None) for n, score in ((1, old), (2, new)))
    return VerdictPair(response_id, "QA", *said)


def test_both_ways_and_both_versions_are_counted():
    nothing = compare([pair(1, None, 0.9)], {}, Cuts(0.5))
    assert (nothing.compared, nothing.graded) == (0, 0)
    both = compare([pair(1, 0.8, 0.1), pair(2, 0.1, 0.8)], {1: Side.GOOD}, Cuts(0.5))
    assert changes(both) == (2, 1, 1)
    assert graded(both) == (1, 0, 1)
