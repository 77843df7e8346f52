"""What a lead asks of a queue: checked before anything is stored."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.queues.rule_words import ORDER_WORDS
from judgeboard.review.checks import LONGEST_KEY
from judgeboard.storable_text import unstorable

ASKED = ("label", "groundedness", "quality")
FROM_SCORES = (QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
MOST_REVIEWS = 20
LONGEST_NAME = 60
LONGEST_GUIDELINES = 20_000


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How a queue is to be reviewed.

    ``subject`` is ``answers`` (flagged ones that ``where`` matches) or ``pairs``. ``overlap`` (0 to 1) is the share of
    items that need ``needed`` reviews, the others need one. ``sampling_rate`` (0 to below 1) is the share of items from
    the random sample, ``again_share`` (0 to below 1) the chance that somebody is silently served an item of theirs
    that is a week old. ``grades`` are what reviewers are asked for: label, groundedness, quality, a rubric's name.
    ``reveal`` shows the judge after a blind review. A queue of pairs is always blind.

    Raises:
        BadInput: A value is outside its range, or an order made from scores would tell what is to be blind.
    """

    name: str
    where: RowFilter = field(default_factory=RowFilter)
    order: QueueOrder = QueueOrder.SEVERITY
    needed: int = 1
    overlap: float = 1.0
    blind_people: bool = False
    blind_judge: bool = False
    reveal: bool = True
    grades: tuple[str, ...] = ("groundedness", "quality")
    sampling_rate: float = 0.0
    again_share: float = 0.0
    guidelines: str | None = None
    seed: str = "judgeboard"
    lease_seconds: int = 600
    subject: str = "answers"

    def __post_init__(self) -> None:
        name = " ".join(self.name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadInput(f"a queue has a name of 1 to {LONGEST_NAME} characters that can be shown")
        object.__setattr__(self, "name", name)
        try:
            object.__setattr__(self, "order", QueueOrder(self.order))
        except ValueError:
            raise BadInput(f"an order is one of {', '.join(QueueOrder)}, not {self.order!r}") from None
        if self.subject not in {"answers", "pairs"}:
            raise BadInput(f"a queue holds answers or pairs, not {self.subject!r}")
        if self.subject == "pairs":  # which answer is better is always said before anything else is seen
            object.__setattr__(self, "blind_judge", True)
            object.__setattr__(self, "blind_people", True)
        if not 1 <= self.needed <= MOST_REVIEWS:
            raise BadInput(f"an item needs 1 to {MOST_REVIEWS} reviews, not {self.needed}")
        _check_share("overlap", self.overlap, whole=True)
        _check_share("sampling rate", self.sampling_rate)
        _check_share("share served again", self.again_share)
        if not 10 <= self.lease_seconds <= 86_400:
            raise BadInput(f"an item is held for 10 seconds to a day, not {self.lease_seconds} seconds")
        if self.blind_judge and self.order in FROM_SCORES:
            raise BadInput(
                f"the order {self.order.value} ({ORDER_WORDS[self.order]}) is made from judges' scores and would tell "
                "what is to be blind: "
                "order by oldest or random"
            )
        self._check_texts()

    def _check_texts(self) -> None:
        for grade in self.grades:
            if not grade.strip() or len(grade) > LONGEST_KEY or not grade.isprintable():
                raise BadInput("a grade is label, groundedness, quality or the name of a rubric's dimension")
        if self.guidelines is not None and len(self.guidelines) > LONGEST_GUIDELINES:
            raise BadInput(f"guidelines have at most {LONGEST_GUIDELINES:,} characters")
        for words, text in (("the guidelines", self.guidelines), ("the seed", self.seed)):
            if text is not None and (reason := unstorable(text)):
                raise BadInput(f"{words} cannot be stored: {reason}")

    def as_row(self) -> dict[str, Any]:
        """Return the columns that they fill."""
        row = asdict(self)
        where, order, needed = (row.pop(name) for name in ("where", "order", "needed"))
        del where
        return row | {
            "filter": self.where.as_dict(),
            "sort": QueueOrder(order).value,
            "reviews_needed": needed,
            "grades": list(self.grades),
        }


def orders_of(*, blind: bool) -> tuple[QueueOrder, ...]:
    """Return the orders that a queue can have, the usual one first; ``blind`` to the judge: none made from scores."""
    if not blind:
        return tuple(QueueOrder)
    return (QueueOrder.RANDOM, *(one for one in QueueOrder if one not in (*FROM_SCORES, QueueOrder.RANDOM)))


def _check_share(name: str, value: float, *, whole: bool = False) -> None:
    most = "1" if whole else "below 1"
    inside = math.isfinite(value) and 0 <= value <= 1 and (whole or value < 1)
    if isinstance(value, bool) or not inside:
        raise BadInput(f"the {name} is a share from 0 to {most}, not {value:g}")
