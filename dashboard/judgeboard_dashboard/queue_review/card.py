"""One item of a queue as a reviewer has it at hand: held, and read."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from judgeboard.domain import Grade
from judgeboard.queues import Held
from judgeboard.queues.item_texts import PairText, pair_texts
from judgeboard.review import Reviewer
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import read_as
from judgeboard.store.judgments.rubric_scores import RubricScores, load_rubric_scores
from judgeboard.store.responses.items import Item, ItemJudgment, load_item
from judgeboard.store.settings_table import thresholds
from judgeboard_dashboard.item.desk import Draft
from judgeboard_dashboard.item.judge_pane import primary_verdict
from judgeboard_dashboard.words import UNKNOWN, score, short


@dataclass
class Card:
    """An item at hand; ``until`` (UTC) is when others may take it.

    ``shown`` says whether it was on the screen, ``asked`` whether it stood there with its time over.
    """

    held: Held
    until: datetime
    item: Item | None = None
    pair: PairText | None = None
    rubric: RubricScores = field(default_factory=RubricScores)
    threshold: float = 0.5
    shown: bool = False
    asked: bool = False

    @property
    def name(self) -> str:
        """What people call it: the answer's outside id; a pair has none before it is decided."""
        return f"pair {self.held.pair_id}" if self.item is None else self.item.external_id

    @property
    def characters(self) -> int:
        """How much there is to read."""
        if self.pair is not None:
            one = self.pair
            texts = [one.question, one.left, one.right, *(one.passages or ())]
        else:
            texts = [] if self.item is None else [self.item.query, self.item.answer, *(self.item.passages or ())]
        return sum(len(text or "") for text in texts)

    def lapsed(self, now: datetime) -> bool:
        """Whether its time is over."""
        return now >= self.until


@dataclass
class Reveal:
    """A blind review whose author is shown the judge; ``changing`` while they give another grade."""

    card: Card
    review_id: int
    decision: str | None
    given: Draft
    changing: bool = False

    def differs(self, draft: Draft) -> bool:
        """Whether a draft says something else than what was given blind; why one differs from the judge is no grade."""
        return _grades(draft) != _grades(self.given)


def read_card(store: Store, held: Held, reviewer: Reviewer) -> Card:
    """Read what a reviewer may see of an item that they hold."""
    with store.reading() as connection:
        if held.pair_id is not None:
            pair = pair_texts(connection, [held.pair_id], reviewer.id)[held.pair_id]
            return Card(held, held.until, pair=pair)
        read_as(connection, reviewer.id)
        item = load_item(connection, held.response_id or 0)
        return Card(
            held,
            held.until,
            item=item,
            rubric=RubricScores() if item.hidden else load_rubric_scores(connection, item.response_id),
            threshold=thresholds(connection).low_groundedness,
        )


def beside(given: Draft, item: Item) -> list[tuple[str, str, str]]:
    """Return (what, "You: 0.5", "judge: 0.42") for each grade that a person gave or was asked for."""
    judge = primary_verdict(item)
    pairs = (
        ("Groundedness", _number(given.groundedness), _scored(judge)),
        ("Quality", _number(given.quality), judge and _number(judge.quality)),
        ("Label", given.label and given.label.value, judge and judge.label and str(judge.label)),
    )
    return [(name, f"You: {own or UNKNOWN}", f"judge: {said or UNKNOWN}") for name, own, said in pairs if own or said]


def _grades(draft: Draft) -> Grade:
    return replace(draft.grade(), why_differs=None, claim_marks=())


def _scored(judge: ItemJudgment | None) -> str | None:
    return None if judge is None or judge.groundedness is None else score(judge.groundedness)


def _number(value: float | None) -> str | None:
    return None if value is None else short(value)
