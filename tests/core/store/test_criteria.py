"""The criteria of rubric judges on both engines."""

from graded_log import GradedLog
from judgeboard.domain import EXPECTED, DimensionScore
from judgeboard.store.criteria import Criterion, criteria_by_judge, criteria_of
from stored_rows import read


def test_criteria_are_those_of_the_newest_verdicts_in_the_order_of_the_rubric(store):
    log = GradedLog(store)
    version = log.version("rubric")
    log.say_all(version, log.answers(3), scores=(DimensionScore("dropped", 1, "1-5"),))
    scores = (DimensionScore("tone", 2, "1-5"), DimensionScore("completeness", 3, "0-1"))
    log.say_all(
        version, log.answers(20), scores=(*scores, DimensionScore(f"{EXPECTED}tone", 2.4, "1-5"))
    )
    assert read(store, criteria_of, version) == [
        Criterion("tone", "1-5"),
        Criterion("completeness", "0-1"),
    ]


def test_the_newest_version_of_a_judge_has_the_scale_and_judges_without_criteria_are_left_out(
    store,
):
    log = GradedLog(store)
    ids = log.answers(3)
    log.say_all(log.version("plain"), ids, groundedness=0.5)
    log.say_all(
        log.version("rubric"),
        ids,
        scores=(DimensionScore("tone", 2, "1-5"), DimensionScore("style", 2, "1-5")),
    )
    log.say_all(
        log.version("rubric", rubric="second"),
        log.answers(3),
        scores=(DimensionScore("tone", 2, "1-10"),),
    )
    assert read(store, criteria_by_judge) == {
        "rubric": {"tone": Criterion("tone", "1-10"), "style": Criterion("style", "1-5")}
    }
