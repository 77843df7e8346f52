"""Where the chosen grade has no rating pairs, it is said which grades have some."""

import pytest

from engines import on_sqlite
from graded_log import GOOD
from judgeboard.cli.app import run
from judgeboard.domain import DimensionScore
from judgeboard.errors import NotFound
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_page import agreement_page
from judgeboard.measure.notes import note
from judgeboard.measure.ratings import PairSource
from judging_log import address
from result_parts import values_of_note


def scored(log, name, ids, dimension):
    log.say_all(log.version(name), ids, scores=(DimensionScore(dimension, 4, "1-5"),))


@pytest.fixture
def scored_by_people(log, bring_grades):
    """Twelve answers that a person scored from 1 to 5, without a label."""
    ids = log.answers(12)
    bring_grades(
        [
            {"response_id": f"a{n}", "annotator": "ann", "quality": 1 + n % 5, "scale": "1-5"}
            for n in range(1, 13)
        ]
    )
    return ids


@pytest.fixture
def own_scale(log, scored_by_people):
    """The same of a judge too."""
    scored(log, "prometheus", scored_by_people, "score")
    return log


@on_sqlite
def test_scores_of_both_on_a_scale_of_their_own_are_named_with_the_command(own_scale):
    headline = measure_agreement(own_scale.store, judge_versions=["prometheus"]).headline
    command = "judgeboard agreement --judge-version 'prometheus v1' --grade score"
    assert headline.values == {"grade": "label", "others": ["score"], "command": command}
    with pytest.raises(NotFound, match="agreement --grade score") as refused:
        measure_agreement(own_scale.store)
    with own_scale.store.reading() as connection:
        assert agreement_page(PairSource(connection)).result.sentence == str(refused.value)
    assert run(["agreement", "--grade", "score", "--db", address(own_scale.store)]) == 0


@on_sqlite
def test_scores_under_different_names_are_named_too(own_scale):
    scored(own_scale, "other", [1, 2, 3], "depth")
    headline = measure_agreement(own_scale.store, judge_versions=["other"]).headline
    assert headline == note("other_names", people=["score"], judge=["depth"])


@on_sqlite
def test_grades_that_are_never_under_one_name_are_named(log, scored_by_people):
    log.say_all(log.version("lexical"), scored_by_people, groundedness=0.5)
    with pytest.raises(NotFound, match=r"score, .*groundedness"):
        measure_agreement(log.store)


@on_sqlite
def test_another_of_the_three_grades_is_named(log):
    ids = log.answers(3)
    log.say_all(log.version(), ids, quality=3, label=GOOD)
    log.review_all(ids, quality=2)
    for grade in ("label", "groundedness"):
        headline = measure_agreement(log.store, judge_versions=["rag"], grade=grade).headline
        assert (headline.values["grade"], headline.values["others"]) == (grade, ["quality"])


@on_sqlite
def test_people_who_have_another_grade_in_common_hear_which(log):
    ids = log.answers(12)
    for reviewer in ("mara", "jon"):
        log.review_all(ids, reviewer, label=GOOD)
    result = measure_agreement(log.store, of="people", grade="quality")
    assert result.headline.code == "few_rated"
    assert values_of_note(result.next, "choose_grade") == {"grades": ["label"]}
