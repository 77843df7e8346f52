"""What a queue holds and how it is reviewed, in words."""

from judgeboard.domain import QueueOrder
from judgeboard.filter_words import describe
from judgeboard.filters import RowFilter
from judgeboard.stats.words import percent
from judgeboard.store.queues.queue_rows import PAIRS, Queue

ORDER_WORDS: dict[QueueOrder, str] = {
    QueueOrder.SEVERITY: "worst first",
    QueueOrder.OLDEST: "oldest first",
    QueueOrder.DISAGREEMENT: "where judges differ most first",
    QueueOrder.INSTABILITY: "where a judge differs most from itself first",
    QueueOrder.RANDOM: "in random order",
}
ALL = 1.0


def rule_words(queue: Queue, *, for_lead: bool = False) -> tuple[str, ...]:
    """Return the rules of a queue, a phrase each; what is served again is told to leads alone."""
    noun = "pairs" if queue.subject == PAIRS else "flagged answers"
    said = [
        f"{noun}: {describe(queue.filter)}" if queue.filter != RowFilter() else f"all {noun}",
        ORDER_WORDS[queue.sort],
        _needed(queue, "pair" if queue.subject == PAIRS else "answer"),
        _blind(queue),
    ]
    if queue.subject != PAIRS and queue.grades:
        said.append(f"asks for {', '.join(queue.grades)}")
    if queue.sampling_rate:
        said.append(f"{percent(queue.sampling_rate)} randomly sampled")
    if queue.again_share and for_lead:
        said.append(f"{percent(queue.again_share)} served again to who reviewed it a week before")
    return (*said, f"held for {_minutes(queue.lease_seconds)}")


def _needed(queue: Queue, noun: str) -> str:
    if queue.reviews_needed == 1:
        return f"1 review of each {noun}"
    if queue.overlap == ALL:
        return f"{queue.reviews_needed} reviews of each {noun}"
    return f"{queue.reviews_needed} reviews of {percent(queue.overlap)} of the {noun}s, 1 of the others"


def _blind(queue: Queue) -> str:
    hidden = [word for word, away in (("the judge", queue.blind_judge), ("other people", queue.blind_people)) if away]
    if not hidden:
        return "not blind"
    reveals = queue.blind_judge and queue.reveal and queue.subject != PAIRS  # after a pair the next one comes
    after = ", who is shown after the review" if reveals else ""
    return f"blind to {' and '.join(reversed(hidden))}{after}"


def _minutes(seconds: int) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds} seconds"
