"""What happened to one answer: judgments, flags and reviews, newest first."""

from collections.abc import Iterator
from datetime import datetime

from judgeboard.store.judgments.rubric_scores import RUBRIC
from judgeboard.store.responses.items import Item, ItemFlag, ItemJudgment, ItemReview
from judgeboard_dashboard.evidence import Html, join, tag
from judgeboard_dashboard.item.marks import ICONS, ORDER
from judgeboard_dashboard.words import UNKNOWN, WHY_DIFFERS, capital, rule_words, score, shortened, when

MOST = 10
MOST_MARKS = 5
DECIDED = {"confirm": "confirmed", "dismiss": "dismissed", "unsure": "was unsure", "withdrawn": "took it back"}

WHEN_SAID = {"blind": "blind", "revealed": "judge shown", "adjudication": "last word"}
"""When a review was given, by its stage; one that was given at the item page has none."""


def history(item: Item) -> Html | None:
    """Return the foldable list of the last ten events, None where nothing happened."""
    events = sorted(_events(item), key=lambda event: event[0], reverse=True)
    if not events:
        return None
    shown = [tag("div", tag("span", when(at)), said, cls="jb-event") for at, said in events[:MOST]]
    left = tag("div", f"{len(events) - MOST} older", cls="jb-cap") if len(events) > MOST else None
    return tag("details", tag("summary", f"History ({len(events)})"), *shown, left, cls="jb-block")


def verdict_words(judgment: ItemJudgment) -> str:
    """Return a verdict in words: "groundedness 0.42, quality 3", "hallucinated", "no usable verdict"."""
    if judgment.status != "ok":
        return f"no usable verdict: {judgment.error or judgment.status}"
    parts = [
        None if judgment.groundedness is None else f"groundedness {score(judgment.groundedness)}",
        None if judgment.quality is None else f"quality {judgment.quality}",
        None if judgment.label is None else str(judgment.label),
        "scored on a rubric" if judgment.judge_kind == RUBRIC else None,
    ]
    return ", ".join(part for part in parts if part) or "no score"


def score_words(judgment: ItemJudgment) -> str:
    """Return what a second judge gave, said as what people gave: "0.75, 4 / 4", "hallucinated"."""
    parts = [
        None if judgment.groundedness is None else score(judgment.groundedness),
        None if judgment.quality is None else f"{judgment.quality} / 4",
        judgment.label if judgment.groundedness is None else None,
    ]
    return ", ".join(str(part) for part in parts if part is not None) or UNKNOWN


def review_words(review: ItemReview) -> str:
    """Return a review in few words: "confirmed", "0.50, 3 / 4", "hallucinated"."""
    parts = [
        DECIDED.get(review.decision or ""),
        None if review.groundedness is None else score(review.groundedness),
        None if review.quality is None else f"{review.quality} / 4",
        review.label,
        f"{review.scored} on a rubric" if review.scored else None,
        f"{len(review.claim_marks)} marked" if review.claim_marks else None,
    ]
    return ", ".join(part for part in parts if part) or "a note"


def decided_words(item: Item, flag: ItemFlag | None) -> str | None:
    """Return what became of a flag that does not wait: "Confirmed by Mara, 12 Mar 09:41"."""
    if flag is None or flag.state == "open":
        return None
    by = next((one for one in item.reviews if one.flag_id == flag.id and one.stands and one.decision), None)
    if by is None:
        return capital(f"{flag.state}: nothing waits here")
    return capital(f"{DECIDED[by.decision or '']} by {by.reviewer}, {when(by.at)}")


def _events(item: Item) -> Iterator[tuple[datetime, Html]]:
    for judgment in item.judgments:
        yield judgment.created_at, join((tag("b", judgment.version_title), f": {verdict_words(judgment)}"))
    for flag in item.flags:
        state = "" if flag.state == "open" else f" ({flag.state})"
        yield flag.created_at, join((tag("b", f"Flag, {rule_words(flag.rule)}"), f"{state}: {flag.why}"))
    for review in item.reviews:
        yield review.at, _review(review)


def _review(review: ItemReview) -> Html:
    gone = " (replaced)" if not review.stands and review.decision != "withdrawn" else ""
    stage = f" ({WHEN_SAID[review.stage]})" if review.stage else ""
    note = f": “{review.note}”" if review.note else ""
    why = tag("div", f"Why they differ: {WHY_DIFFERS[review.why_differs]}") if review.why_differs else None
    corrected = tag("div", capital("corrected answer: "), review.corrected_answer) if review.corrected_answer else None
    return tag(
        "span", tag("b", review.reviewer), f" {review_words(review)}{stage}{gone}{note}", why, _marks(review), corrected
    )


def _marks(review: ItemReview) -> Html | None:
    """What somebody said of single statements, problems first, as many as fit a glance."""
    if not review.claim_marks:
        return None
    ordered = sorted(review.claim_marks, key=lambda mark: ORDER.index(mark.status.value))
    left = len(ordered) - MOST_MARKS
    lines = [tag("div", f"{ICONS[mark.status.value]} {shortened(mark.text)}") for mark in ordered[:MOST_MARKS]]
    return tag("div", *lines, f"and {left} more" if left > 0 else None)
