import pytest

from graded_log import BAD, GOOD, labels_in
from judgeboard.domain import Estimate
from judgeboard.measure.agreement import every_judge, measure_agreement
from judgeboard.measure.reliance import Reliance, reliance, stand_in_note
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest, PersonTest
from result_parts import values_of_note


def test_a_headline_per_grade(sqlite_log):
    version, ids = sqlite_log.version(), sqlite_log.answers(20)
    for index, each in enumerate(ids):
        score, level = index / 20, 1 + index % 4
        label = BAD if index < 10 else GOOD
        sqlite_log.say_all(version, [each], label=label, quality=level, groundedness=score)
        sqlite_log.review(
            each,
            label=GOOD if index < 2 else label,
            quality=min(level, 3) if index % 5 else 1,
            groundedness=0.05 + score,
        )
    results = label, groundedness, quality = sqlite_log.read(every_judge)
    assert [each.headline.code for each in results] == ["labels", "scores", "levels"]
    assert {each.answers for each in results} == {20}
    assert label.headline.values["missed"].value == 0
    assert groundedness.headline.values["rank"].value == 1
    assert round(quality.headline.values["kappa"].value, 2) == 0.61


def a_test_of(*passed):
    """A test in which the judge passed for these people, not for those, and not at all for None."""
    people = tuple(
        PersonTest(
            f"person {place}", 40, 0.9, None if each is None else 0.01, None, rejected=bool(each)
        )
        for place, each in enumerate(passed)
    )
    tested = [each for each in passed if each is not None]
    omega = Estimate(sum(tested) / len(tested), n=len(tested))
    return AlternativeAnnotatorTest(
        0.2, omega, omega, people, 40, (), len(tested), sum(tested) * 2 >= len(tested)
    )


@pytest.mark.parametrize(
    ("passed", "allowed", "code"),
    [
        ((True, True, True), Reliance.CAN, "stand_in_passed"),
        ((True,), Reliance.CAN, "stand_in_passed"),
        ((True, True, True), Reliance.HELPS, "stand_in_not_alone"),
        ((True, True, True), Reliance.NOT_CONCLUSIVE, "stand_in_not_alone"),
        ((True, True, True), Reliance.DO_NOT, "stand_in_not_alone"),
        ((True, True, True), Reliance.UNKNOWN, "stand_in_not_alone"),
        ((True, True, None, None, None), Reliance.CAN, "stand_in_untested"),
        ((False, None, None), Reliance.CAN, "stand_in_untested"),
        ((True, False), Reliance.CAN, "stand_in_failed"),
        ((False, False), Reliance.CAN, "stand_in_failed"),
    ],
)
def test_a_stand_in_test_says_no_more_than_all_figures_allow(passed, allowed, code):
    assert stand_in_note(a_test_of(*passed), allowed).code == code


@pytest.mark.parametrize(
    ("low", "high", "allowed"),
    [
        (0.6, 0.9, Reliance.CAN),
        (0.4, 0.9, Reliance.HELPS),
        (0.39, 0.9, Reliance.NOT_CONCLUSIVE),
        (0.1, 0.39, Reliance.DO_NOT),
        (None, None, Reliance.NOT_CONCLUSIVE),
    ],
)
def test_people_may_rely_on_a_judge_as_far_as_its_whole_interval_allows(low, high, allowed):
    assert reliance({"kappa": Estimate(0.5, low, high, n=50)}) is allowed
    assert reliance({}) is Reliance.NOT_CONCLUSIVE
    of_chosen_answers = reliance({"kappa": Estimate(0.5, low, high, n=50)}, of_all=False)
    assert of_chosen_answers is Reliance.UNKNOWN


@pytest.mark.parametrize("people", [GOOD, BAD])
def test_where_people_found_one_class_only_kappa_is_not_in_the_sentence(sqlite_log, people):
    version, ids = sqlite_log.version(), sqlite_log.answers(20)
    sqlite_log.say(version, labels_in(ids, ids[:4]))
    sqlite_log.review_all(ids, label=people)
    result = measure_agreement(sqlite_log.store)
    assert result.headline.code == "one_label"
    missing = values_of_note(result.caveats, "one_class")
    assert missing == {"missing": "bad" if people == GOOD else "good"}
