"""Which answers are graded and judged: an even choice from every week, query type and mood."""

import hashlib
from collections.abc import Mapping

from sample_source.dice import Dice
from sample_source.plan import WEEKS, Answer
from sample_source.reviewers import REVIEWERS, Reviewer

GRADED = {"complex": 8, "simple": 4, "sql": 3}  # per week: 150 in all
SHARED = {
    "complex": 2,
    "simple": 1,
    "sql": 1,
}  # of these, graded by two: 40 in all, every fifth by all three
JUDGED = {"complex": 10, "simple": 6, "sql": 4}  # per week: 200 in all


SHARE = 0.5  # of the answers, in the random sample: about 20 a week
SEED = "judgeboard"


def sampled(source: str, external_id: str) -> bool:
    """Return whether the rule `random_sample` selects an answer: the same number as `sampling_number` of the rules."""
    text = f"{len(SEED)}:{SEED}{len(source)}:{source}{external_id}"
    return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11) / 2**53 < SHARE


def even(dice: Dice, answers: list[Answer], counts: Mapping[str, int]) -> list[Answer]:
    """Return ``counts`` answers per week and query type, the moods in proportion."""
    chosen = []
    for week in range(WEEKS):
        for query_type, count in counts.items():
            group = [
                answer
                for answer in answers
                if (answer.week, answer.draft.query_type) == (week, query_type)
            ]
            group = sorted(dice.shuffled(group), key=lambda answer: answer.draft.mood)
            offset = dice.below(1000) / 1000
            chosen += [group[int((place + offset) * len(group) / count)] for place in range(count)]
    return sorted(chosen, key=lambda answer: answer.id)


def assignments(dice: Dice, answers: list[Answer]) -> list[tuple[Answer, Reviewer]]:
    """Return who grades what."""
    graded = even(dice, answers, GRADED)
    shared = even(dice, graded, SHARED)
    given = []
    for answer in graded:
        people = dice.shuffled(REVIEWERS)
        count = 1
        if answer in shared:
            count = 3 if shared.index(answer) % 5 == 0 else 2
        given += [
            (answer, person) for person in sorted(people[:count], key=lambda person: person.name)
        ]
    return given
