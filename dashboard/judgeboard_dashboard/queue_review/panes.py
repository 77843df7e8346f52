"""The third pane while a queue is reviewed: how to grade, and after a blind grade what the judge says."""

from collections.abc import Sequence

from judgeboard.queues import Queue
from judgeboard.store.responses.items import Item
from judgeboard_dashboard.evidence import Html, tag
from judgeboard_dashboard.item.judge_pane import judge_pane
from judgeboard_dashboard.item.marks import NumberedClaim
from judgeboard_dashboard.item.scales import ANCHORS, QUALITIES
from judgeboard_dashboard.queue_review.card import Card, Reveal, beside
from judgeboard_dashboard.queue_review.keys import QUEUE_KEYS

GROUNDEDNESS, QUALITY, LABEL = "groundedness", "quality", "label"


def guide_pane(queue: Queue, *, keys_shown: bool) -> Html:
    """Return how to grade: what is hidden, the scales with their keys, the queue's own guidelines."""
    return tag(
        "div",
        keys_block() if keys_shown else None,
        _blind(queue),
        tag("div", *_scales(queue), cls="jb-block"),
        _guidelines(queue),
        cls="jb-pane jb-signals",
    )


def seen_pane(queue: Queue, card: Card, item: Item, claims: Sequence[NumberedClaim], *, keys_shown: bool) -> Html:
    """Return the judge's side of an item that is not blind, how to grade folded under it."""
    return tag("div", keys_block() if keys_shown else None, _signals(card, item, claims), _folded(queue), cls="jb-both")


def revealed_pane(reveal: Reveal, item: Item, claims: Sequence[NumberedClaim]) -> Html:
    """Return the judge's side after a blind grade, both grades beside each other above it."""
    lines = [tag("div", *(tag("span", part) for part in line), cls="jb-against") for line in beside(reveal.given, item)]
    return tag(
        "div",
        tag("div", tag("div", "You and the judge", cls="jb-label"), *lines, cls="jb-pane jb-block"),
        _signals(reveal.card, item, claims),
        cls="jb-both",
    )


def _signals(card: Card, item: Item, claims: Sequence[NumberedClaim]) -> Html:
    return judge_pane(item, claims, card.threshold, None, card.rubric, keys_shown=False)


def _blind(queue: Queue) -> Html | None:
    if not queue.blind:
        return None
    hidden = [
        *(["The judge’s verdict", "the reason for this item"] if queue.blind_judge else []),
        *(["other people’s grades"] if queue.blind_people else []),
    ]
    after = " come after yours." if queue.reveal and queue.blind_judge else " are hidden."
    said = ", ".join(hidden[:-1]) + (" and " if hidden[:-1] else "") + hidden[-1] + after
    return tag(
        "div",
        tag("div", "Blind until you grade", cls="jb-label"),
        tag("div", said[0].upper() + said[1:], cls="jb-why"),
        cls="jb-block",
    )


def _scales(queue: Queue) -> list[Html]:
    parts = [tag("div", "How to grade", tag("span", f"queue “{queue.name}”"), cls="jb-label")]
    if GROUNDEDNESS in queue.grades:
        rows = [(one.key, one.name, one.meaning) for one in reversed(ANCHORS)]
        parts += [tag("div", "Groundedness: how much of the answer is in the passages?"), _scale(rows)]
    if QUALITY in queue.grades:
        rows = [(one.key, one.name, one.meaning) for one in reversed(QUALITIES)]
        parts += [tag("div", "Quality: does it answer the question?"), _scale(rows)]
    if LABEL in queue.grades:
        rows = [
            ("Q", "Grounded", "everything it says is in the passages"),
            ("W", "Hallucinated", "something it says is not"),
        ]
        parts += [tag("div", "Label: is anything made up?"), _scale(rows)]
    return parts


def _scale(rows: list[tuple[str, str, str]]) -> Html:
    cells = [
        part
        for key, name, meaning in rows
        for part in (tag("kbd", key), tag("span", name, cls="jb-step"), tag("span", meaning))
    ]
    return tag("div", *cells, cls="jb-scale")


def _guidelines(queue: Queue) -> Html | None:
    if not queue.guidelines:
        return None
    return tag(
        "div",
        tag("div", "This queue", cls="jb-label"),
        tag("div", queue.guidelines, cls="jb-reason"),
        cls="jb-block",
    )


def _folded(queue: Queue) -> Html:
    body = tag("div", *_scales(queue), _guidelines(queue), cls="jb-block")
    return tag("div", tag("details", tag("summary", "How to grade"), body), cls="jb-pane jb-block")


def keys_block() -> Html:
    """Return the list of keys."""
    lines = [part for key, meaning in QUEUE_KEYS for part in (tag("kbd", key), tag("span", meaning))]
    return tag("div", tag("div", "Keys", cls="jb-label"), tag("div", *lines, cls="jb-keys"), cls="jb-pane jb-block")
