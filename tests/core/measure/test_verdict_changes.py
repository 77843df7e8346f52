import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD
from judgeboard.domain import Status
from judgeboard.errors import NotFound
from judgeboard.measure.verdict_changes import (
    Direction,
    Side,
    compare,
    comparison_page,
    side_of,
)
from judgeboard.reports.verdict_changes import change_table
from judgeboard.settings.model import Cuts
from judgeboard.store.verdict_pairs import OneVerdict, VerdictPair, pairs_of_run, pairs_of_versions


def of_run(log, run_id, **asked):
    with log.store.reading() as connection:
        return comparison_page(connection, pairs_of_run(connection, run_id), **asked)


@on_sqlite
def test_a_run_stands_beside_what_the_same_judge_said_before(log):
    ids = log.answers(4)
    old, new, other = log.version("rag"), log.version("rag", prompt="new"), log.version("nli")
    log.say(old, {each: {"groundedness": 0.2, "reasoning": "old reason"} for each in ids[:3]})
    log.say_all(other, ids, groundedness=0.99)
    run = log.run(new, {each: {"groundedness": 0.8, "reasoning": "new reason"} for each in ids})
    log.say_all(new, ids, groundedness=0.0)  # a later one is not the run's
    log.review(ids[0], label=GOOD)
    shown = of_run(log, run)
    assert [row.pair.response_id for row in shown.shown] == ids[
        :3
    ]  # the fourth had no verdict of this judge
    row = shown.shown[0]
    assert (row.pair.old.groundedness, row.pair.new.groundedness, row.change) == (0.2, 0.8, 0.6)
    assert row.flip is Side.GOOD
    texts = shown.texts[ids[0]]
    assert (texts.old_reasoning, texts.new_reasoning) == ("old reason", "new reason")
    compared = shown.comparison
    assert (compared.compared, compared.now_good, compared.now_bad) == (3, 3, 0)
    assert (compared.graded, compared.new_right, compared.old_right) == (1, 1, 0)


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
    before, after = (0.9, 0.4, 0.6, 0.1), (0.6, 0.55, 0.6, 0.0)
    log.say(
        version, {each: {"groundedness": score} for each, score in zip(ids, before, strict=True)}
    )
    run = log.run(
        version, {each: {"groundedness": score} for each, score in zip(ids, after, strict=True)}
    )
    shown = of_run(log, run, limit=2)
    assert [row.pair.response_id for row in shown.comparison.rows] == [
        ids[1],
        ids[0],
        ids[3],
        ids[2],
    ]
    assert [row.pair.response_id for row in shown.shown] == [ids[1], ids[0]]
    assert shown.texts.keys() == {ids[0], ids[1]}


@on_sqlite
def test_people_say_which_of_both_is_right(log):
    old, new = log.version("rag"), log.version("rag", prompt="new")
    ids = log.answers(10)
    log.say_all(old, ids, groundedness=0.1)
    log.say(
        new, {each: {"groundedness": 0.9 if index < 8 else 0.1} for index, each in enumerate(ids)}
    )
    log.review_all(ids[:7], label=GOOD)
    log.review(ids[7], groundedness=0.1)
    log.review(ids[8], label=BAD)
    with log.store.reading() as connection:
        comparison = comparison_page(
            connection, pairs_of_versions(connection, old.id, new.id)
        ).comparison
    assert (comparison.compared, comparison.now_good, comparison.now_bad) == (10, 8, 0)
    assert (comparison.graded, comparison.old_right, comparison.new_right) == (9, 2, 8)


@on_sqlite
def test_a_changed_verdict_moved_towards_people_or_away_from_them(log):
    old, new = log.version("rag"), log.version("rag", prompt="new")
    towards, away, ungraded, same = log.answers(4)
    log.say_all(old, [towards, away, ungraded, same], groundedness=0.1)
    log.say_all(new, [towards, away, ungraded], groundedness=0.9)
    log.say_all(new, [same], groundedness=0.2)
    log.review_all([towards], label=GOOD)
    log.review_all([away, same], label=BAD)
    with log.store.reading() as connection:
        pages = {
            direction: comparison_page(
                connection,
                pairs_of_versions(connection, old.id, new.id),
                direction=direction,
                limit=None,
            )
            for direction in (None, *Direction)
        }
    assert {
        direction: [row.pair.response_id for row in page.shown] for direction, page in pages.items()
    } == {
        None: [towards, away, ungraded, same],
        Direction.TOWARDS: [towards],
        Direction.AWAY: [away],
    }
    # The counts are of all answers.
    assert len({page.comparison.compared for page in pages.values()}) == 1
    listed = change_table(pages[Direction.AWAY])
    [row] = [
        dict(zip((each.title for each in listed.columns), cells, strict=True))
        for cells in listed.rows
    ]
    assert (row["Flip"], row["Direction"], row["People"]) == (
        "now good",
        "away from people",
        "hallucinated",
    )


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
    said = (OneVerdict(n, n, score, 3, None) for n, score in ((1, old), (2, new)))
    return VerdictPair(response_id, "QA", *said)


def test_both_ways_and_both_versions_are_counted():
    nothing = compare([pair(1, None, 0.9)], {}, Cuts(0.5))
    assert (nothing.compared, nothing.graded) == (0, 0)
    both = compare([pair(1, 0.8, 0.1), pair(2, 0.1, 0.8)], {1: Side.GOOD}, Cuts(0.5))
    assert (both.compared, both.now_good, both.now_bad) == (2, 1, 1)
    assert (both.graded, both.new_right, both.old_right) == (1, 0, 1)
