"""The answer that most samples of a question agree on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from judgeboard.self_reference.answers import answer_key


@dataclass(frozen=True, slots=True)
class Majority:
    """What ``of`` samples agree on: ``agree`` of them gave ``answer``, in the words of the first that did.

    ``answer`` and ``key`` are None where no sample has an answer; ``tie`` tells that another answer is as common, and
    the one seen first was taken.
    """

    answer: str | None
    key: str | None
    agree: int
    of: int
    tie: bool = False


def majority(answers: Sequence[str | None], options: Sequence[str] | None = None) -> Majority:
    """Return the most common of ``answers``, in the order in which they were sampled.

    A sample without an answer counts as one of its own: it lowers the agreement and never joins another.
    """
    keys = [answer_key(answer, options) for answer in answers]
    counted = Counter(key for key in keys if key is not None)
    if not counted:
        return Majority(None, None, 0, len(answers))
    (key, agree), *others = counted.most_common()  # equal counts stand in the order of their first sample
    tie = bool(others) and others[0][1] == agree
    return Majority(answers[keys.index(key)], key, agree, len(answers), tie)
