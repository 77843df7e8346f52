from graded_log import BAD, GOOD, GradedLog
from judgeboard.agreement.measure import every_judge


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
    assert "The judge misses 0 % [0, 32] of bad answers and raises a false alarm on 17 % [" in label
    said = groundedness
    assert "judge and people differ by 0.05 on average. The judge is 0.05 lower than people." in said
    assert "Rank correlation is 1.00" in said
    said = quality
    assert said.startswith("On all 20 judged answers, judge and people give the same quality on 65 % [")
    assert "and are at most one level apart on 90 %. Weighted kappa is 0.61 [" in said
