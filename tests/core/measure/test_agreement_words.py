import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Estimate
from judgeboard.measure.agreement import every_judge, measure_agreement
from judgeboard.measure.reliance import Reliance, reliance, stand_in_sentence
from judgeboard.reports.agreement import stand_in_words
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest, PersonTest


def test_a_sentence_per_grade(sqlite_log: GradedLog) -> None:
    version, ids = sqlite_log.version(), sqlite_log.answers(20)
    for index, each in enumerate(ids):
        said = {"label": BAD if index < 10 else GOOD, "quality": 1 + index % 4, "groundedness": index / 20}
        sqlite_log.say_all(version, [each], **said)
        people = said | {"quality": min(1 + index % 4, 3) if index % 5 else 1, "groundedness": 0.05 + index / 20}
        if index < 2:
            people |= {"label": GOOD}
        sqlite_log.review(each, **people)
    with sqlite_log.store.reading() as connection:
        label, groundedness, quality = (each.sentence for each in every_judge(connection))
    assert label.startswith("On all 20 answers with a usable verdict, judge and people agree on 90 % [")
    assert "The judge misses 0 % [0, 32] of bad answers and raises a false alarm on 17 % [" in label
    said = groundedness
    assert "judge and people differ by 0.05 on average. The judge is 0.05 lower than people." in said
    assert "Rank correlation is 1.00" in said
    said = quality
    assert said.startswith("On all 20 answers with a usable verdict, judge and people give the same quality on 65 % [")
    assert "and are at most one level apart on 90 %. Weighted kappa is 0.61 [" in said


def a_test_of(*passed: bool | None) -> AlternativeAnnotatorTest:
    """A test in which the judge passed for these people, not for those, and not at all for None."""
    people = tuple(
        PersonTest(f"person {place}", 40, 0.9, None if each is None else 0.01, None, rejected=bool(each))
        for place, each in enumerate(passed)
    )
    tested = [each for each in passed if each is not None]
    omega = Estimate(sum(tested) / len(tested), n=len(tested))
    return AlternativeAnnotatorTest(0.2, omega, omega, people, 40, (), len(tested), sum(tested) * 2 >= len(tested))


@pytest.mark.parametrize(
    ("passed", "allowed", "said"),
    [
        ((True, True, True), Reliance.CAN, "3 of 3 people (ε = 0.2). It may replace a person here, as far as this"),
        (
            (True, True, True),
            Reliance.HELPS,
            "(ε = 0.2). That alone is not enough to replace a person: judge and people",
        ),
        ((True, True, True), Reliance.NOT_CONCLUSIVE, "a person: how far judge and people agree is not conclusive."),
        ((True, True, True), Reliance.DO_NOT, "a person: judge and people agree too little."),
        (
            (True, True, None, None, None),
            Reliance.CAN,
            "replace a person: only 2 of 5 people could be tested. The judge passed the test for 2 of them (ε = 0.2).",
        ),
        ((False, None, None), Reliance.CAN, "only 1 of 3 people could be tested. The judge did not pass the test for"),
        ((True, True, True), Reliance.UNKNOWN, "to replace a person: there is no figure of all answers yet."),
        ((True, False), Reliance.CAN, "1 of 2 people (ε = 0.2). That is not enough to replace a person."),
        ((False, False), Reliance.CAN, "0 of 2 people (ε = 0.2). It is not shown that it can replace a person."),
        ((True,), Reliance.CAN, "1 of 1 person (ε = 0.2). It may replace a person here"),
    ],
)
def test_a_stand_in_test_says_no_more_than_all_figures_allow(passed, allowed: Reliance, said: str) -> None:
    assert said in stand_in_sentence(a_test_of(*passed), allowed)


def test_the_share_of_people_needs_two_people() -> None:
    one, two = (list(stand_in_words(a_test_of(*passed), Reliance.CAN)) for passed in ((False, None), (False, True)))
    assert not [line for line in one if "winning rate" in line]
    assert "The judge passed for this share of the people (winning rate ω): 0.50." in two


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
def test_people_may_rely_on_a_judge_as_far_as_its_whole_interval_allows(low, high, allowed: Reliance) -> None:
    assert reliance({"kappa": Estimate(0.5, low, high, n=50)}) is allowed
    assert reliance({}) is Reliance.NOT_CONCLUSIVE
    of_chosen_answers = reliance({"kappa": Estimate(0.5, low, high, n=50)}, of_all=False)
    assert of_chosen_answers is Reliance.UNKNOWN


@pytest.mark.parametrize("people", [GOOD, BAD])
def test_where_people_found_one_class_only_kappa_is_not_in_the_sentence(sqlite_log: GradedLog, people) -> None:
    version, ids = sqlite_log.version(), sqlite_log.answers(20)
    sqlite_log.say(version, {each: {"label": BAD if place < 4 else GOOD} for place, each in enumerate(ids)})
    sqlite_log.review_all(ids, label=people)
    result = measure_agreement(sqlite_log.store)
    assert "kappa" not in result.sentence
    assert any("kappa is not meaningful" in note.text for note in result.notes)
