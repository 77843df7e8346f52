"""The rules of a queue: which items it has, and how they are reviewed."""

from dataclasses import dataclass, field, fields
from typing import Any, Self, TypedDict

from sqlalchemy import Row

from judgeboard.domain import LONGEST_KEY, QueueOrder
from judgeboard.errors import BadInput, MissingOption
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.text import number_words, unstorable

ORDER_LABELS: dict[QueueOrder, str] = {
    QueueOrder.SEVERITY: "most doubtful first",
    QueueOrder.OLDEST: "oldest first",
    QueueOrder.DISAGREEMENT: "largest difference between judges first",
    QueueOrder.INSTABILITY: "largest difference between repeats of a judge first",
    QueueOrder.RANDOM: "in random order",
}
FROM_SCORES = (QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
MOST_REVIEWS = 20
MOST_ITEMS = 100_000  # largest ``max_items``
LONGEST_NAME = 60  # characters
LONGEST_GUIDELINES = 20_000  # characters


class PlainRuleKeywords(TypedDict, total=False):
    """The rules of a queue that a command hands on as they were typed: fields of `QueueRules`."""

    needed: int
    overlap: float
    blind_people: bool
    blind_judge: bool
    sampling_rate: float
    repeat_rate: float
    test_rate: float
    training: bool
    implied_labels: bool | None
    seed: str
    subject: str
    flagged_only: bool
    max_items: int | None


class RuleKeywords(PlainRuleKeywords, total=False):
    """The rules that a preset or a command chooses for a queue."""

    order: QueueOrder
    reveal: bool
    grades: tuple[str, ...]
    optional_grades: tuple[str, ...]
    guidelines: str | None


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Which items a queue has, and how they are reviewed.

    ``subject`` is ``answers`` (flagged ones that ``where`` matches) or ``pairs``. ``overlap`` (0 to 1) is the share of
    items that need ``needed`` reviews; the others need one. ``sampling_rate`` (0 to below 1) is the share of randomly
    sampled answers. ``repeat_rate`` (0 to below 1) is the probability that reviewers get one of their own items again
    after a week. ``test_rate`` is the probability of a test item: an unannounced answer with a gold label. In a
    ``training`` queue each person gets all answers with gold labels (up to ``max_items``) in random order, and sees the
    gold label after each review. A review that is not unsure must have the ``grades``, and may have the
    ``optional_grades``: label, groundedness, quality, or the name of a rubric's dimension. With ``implied_labels``, a
    review without a label gets one, whatever the rule: hallucinated if it confirms, grounded if it dismisses. None
    means that the settings decide (`implying_rules`). ``reveal`` shows the judge after a blind review. A queue of pairs
    is always blind. A queue with ``max_items`` (1 to 100,000) gets the first items of its order when it is created, and
    no items later. Without ``flagged_only``, answers without a flag are included. In random order the items are then a
    simple random sample. Raises BadInput if a value is outside its range, or the order of a queue that hides the judge
    uses scores.
    """

    name: str
    where: RowFilter = field(default_factory=RowFilter)
    order: QueueOrder = QueueOrder.SEVERITY
    needed: int = 1
    overlap: float = 1.0
    blind_people: bool = False
    blind_judge: bool = False
    reveal: bool = True
    grades: tuple[str, ...] = ("label", "groundedness")
    optional_grades: tuple[str, ...] = ("quality",)
    sampling_rate: float = 0.0
    repeat_rate: float = 0.0
    test_rate: float = 0.0
    training: bool = False
    implied_labels: bool | None = None
    guidelines: str | None = None
    seed: str = "judgeboard"
    lease_seconds: int = 600
    subject: str = "answers"
    flagged_only: bool = True
    max_items: int | None = None

    def __post_init__(self) -> None:
        name = " ".join(self.name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadInput(f"a queue has a name of 1 to {LONGEST_NAME} printable characters")
        object.__setattr__(self, "name", name)
        try:
            object.__setattr__(self, "order", QueueOrder(self.order))
        except ValueError:
            raise BadInput(f"the order must be one of {', '.join(QueueOrder)}, not {self.order!r}") from None
        if self.subject not in {"answers", "pairs"}:
            raise BadInput(f"the items of a queue must be answers or pairs, not {self.subject!r}")
        if self.subject == "pairs":
            object.__setattr__(self, "blind_judge", True)
            object.__setattr__(self, "blind_people", True)
        if self.training:
            for name, value in (("flagged_only", False), ("blind_people", True), ("order", QueueOrder.RANDOM)):
                object.__setattr__(self, name, value)
        if not 1 <= self.needed <= MOST_REVIEWS:
            raise BadInput(f"the number of reviews per item must be 1 to {MOST_REVIEWS}, not {self.needed}")
        _check_share("overlap", self.overlap, whole=True)
        _check_share("sampling rate", self.sampling_rate)
        _check_share("repeat rate", self.repeat_rate)
        _check_share("test rate", self.test_rate)
        if not 10 <= self.lease_seconds <= 86_400:
            raise BadInput(f"a lease lasts from 10 seconds to a day, not {self.lease_seconds} seconds")
        if self.blind_judge and self.order in FROM_SCORES:
            raise BadInput(
                f"the order {self.order.value} ({ORDER_LABELS[self.order]}) uses judges' scores, which this "
                "queue hides: order by oldest or random"
            )
        optional = tuple(grade for grade in dict.fromkeys(self.optional_grades) if grade not in self.grades)
        object.__setattr__(self, "optional_grades", optional)
        self._check_size()
        self._check_texts()

    def _check_size(self) -> None:
        if self.subject == "pairs" and (self.training or self.test_rate):
            raise BadInput("test items and training are for answers, not for pairs")
        if self.training and (self.test_rate or self.repeat_rate):
            raise BadInput("a training queue has no test items and no repeats: set both rates to 0")
        if self.max_items is not None and not 1 <= self.max_items <= MOST_ITEMS:
            raise BadInput(f"the number of items must be 1 to {MOST_ITEMS:,}, not {self.max_items:,}")
        if self.flagged_only:
            return
        if self.subject == "pairs":
            raise BadInput("pairs have no flags: leave out the choice of flagged answers")
        if self.max_items is None and not self.training:
            raise MissingOption("a queue of all answers needs a number of items: give --limit", "--limit", "200")
        if self.sampling_rate:
            raise BadInput("only a queue of flagged answers can have a share of randomly sampled answers")
        if self.order is QueueOrder.SEVERITY:
            raise BadInput("answers without a flag have no severity: choose another order, for example random")

    def _check_texts(self) -> None:
        for grade in (*self.grades, *self.optional_grades):
            if not grade.strip() or len(grade) > LONGEST_KEY or not grade.isprintable():
                raise BadInput("a grade must be label, groundedness, quality or the name of a rubric's dimension")
        if self.guidelines is not None and len(self.guidelines) > LONGEST_GUIDELINES:
            raise BadInput(f"guidelines have at most {LONGEST_GUIDELINES:,} characters")
        for what, text in (("the guidelines", self.guidelines), ("the seed", self.seed)):
            if text is not None and (reason := unstorable(text)):
                raise BadInput(f"{what} cannot be stored: {reason}")

    @property
    def blind(self) -> bool:
        """Whether the queue hides anything from the reviewer of an item."""
        return self.blind_people or self.blind_judge

    @property
    def asked(self) -> tuple[str, ...]:
        """The grades that a review can give, the required ones first."""
        return (*self.grades, *self.optional_grades)

    def as_row(self) -> dict[str, Any]:
        """Return the rules as columns of the table of queues."""
        row = {column: getattr(self, name) for name, column in _COLUMNS.items()}
        return row | {"filter": self.where.as_dict()}

    @classmethod
    def of_row(cls, row: Row[Any]) -> Self:
        """Return the rules of a stored queue without checks: those of today must not make an older queue unreadable."""
        rules = cls.__new__(cls)
        for name, column in _COLUMNS.items():
            object.__setattr__(rules, name, getattr(row, column))
        object.__setattr__(rules, "where", from_dict(row.filter))
        return rules


# The column of each field. Three columns, which exports and JSON show too, have older names.
_COLUMNS = {each.name: each.name for each in fields(QueueRules)}
_COLUMNS |= {"where": "filter", "order": "sort", "needed": "reviews_needed"}


def orders_of(*, blind: bool, flagged_only: bool = True) -> tuple[QueueOrder, ...]:
    """Return the orders that a queue can have, the default first. A queue ``blind`` to the judge uses no scores."""
    if not blind and not flagged_only:
        return (QueueOrder.RANDOM, QueueOrder.OLDEST, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
    if not blind:
        return tuple(QueueOrder)
    return (QueueOrder.RANDOM, *(order for order in QueueOrder if order not in (*FROM_SCORES, QueueOrder.RANDOM)))


def _check_share(name: str, value: float, *, whole: bool = False) -> None:
    most = "1" if whole else "below 1"
    inside = 0 <= value <= 1 and (whole or value < 1)
    if isinstance(value, bool) or not inside:
        raise BadInput(f"the {name} is a share from 0 to {most}, not {number_words(value)}")
