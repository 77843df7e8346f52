import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.agreement.measure import every_judge
from judgeboard.agreement.notes import shares_of


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "no bad answer"),
        (1, "every bad answer"),
        (0.25, "1 in 4 bad answers"),
        (0.79, "79 % of bad answers"),
        (0.02, "2 % of bad answers"),
    ],
)
def test_shares_are_said_in_plain_words(share: float, said: str) -> None:
    assert shares_of(share, "bad") == said


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
    assert label.startswith("On all 20 judged answers, judge and people agree on 90 % [")
    assert label.endswith("The judge misses no bad answer and raises a false alarm on 1 in 6 good ones.")
    said = groundedness
    assert "judge and people differ by 0.05 on average. The judge is 0.05 lower than people." in said
    assert "Rank correlation is 1.00" in said
    said = quality
    assert said.startswith("On 20 answers that people graded, judge and people give the same quality on 65 % [")
    assert "and are at most one level apart on 90 %. Weighted kappa is 0.61 [" in said
