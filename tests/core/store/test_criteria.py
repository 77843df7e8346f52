"""The criteria of rubric judges on both engines."""

from judgeboard.domain import EXPECTED, DimensionScore
from judgeboard.store.criteria import Criterion, criteria_by_judge, criteria_of
from stored_rows import read

TONE = DimensionScore("tone", 2, "1-5")


def test_criteria_are_those_of_the_newest_verdicts_in_the_order_of_the_rubric(store, log):
    version = log.version("rubric")
    log.say_all(version, log.answers(3), scores=(DimensionScore("dropped", 1, "1-5"),))
    expected = DimensionScore(f"{EXPECTED}tone", 2.4, "1-5")
    log.say_all(
        version, log.answers(20), scores=(TONE, DimensionScore("completeness", 3, "0-1"), expected)
    )
    assert read(store, criteria_of, version) == [
        Criterion("tone", "1-5"),
        Criterion("completeness", "0-1"),
    ]


def test_the_newest_version_of_a_judge_has_the_scale_and_judges_without_criteria_are_left_out(
    store, log
):
    ids = log.answers(3)
    log.say_all(log.version("plain"), ids, groundedness=0.5)
    log.say_all(log.version("rubric"), ids, scores=(TONE, DimensionScore("style", 2, "1-5")))
    newest = log.version("rubric", rubric="second")
    log.say_all(newest, log.answers(3), scores=(DimensionScore("tone", 2, "1-10"),))
    assert read(store, criteria_by_judge) == {
        "rubric": {"tone": Criterion("tone", "1-10"), "style": Criterion("style", "1-5")}
    }
