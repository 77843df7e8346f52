"""The pane of signals: flags, judges, user and reviews of one answer, and its history."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from judgeboard.store.items import Item, ItemFlag, ItemJudgment, ItemReview
from judgeboard.store.verdicts import RUBRIC, RubricScores
from judgeboard_dashboard.evidence import Html, join, tag
from judgeboard_dashboard.review.claims import ICONS, ORDER, NumberedClaim, problems_first
from judgeboard_dashboard.review.fields import KEYS, rubric_block
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    WHY_DIFFERS,
    capital,
    count,
    day,
    rule_words,
    score,
    short,
    shortened,
    when,
)

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


MOST_REASONING = 20_000


def primary_verdict(item: Item) -> ItemJudgment | None:
    """Return the current verdict of the primary judge, None where it has no usable one."""
    return next((one for one in item.currents if one.judge_name == item.primary_judge), None)


def judge_pane(
    item: Item,
    claims: Sequence[NumberedClaim],
    threshold: float,
    flag_id: int | None,
    rubric: RubricScores,
    *,
    keys_shown: bool,
    remarks: Html | None = None,
) -> Html:
    """Return the pane.

    Args:
        item: The answer with all that was said of it.
        claims: The primary judge's claims.
        threshold: Below this groundedness the rule flags; drawn as a tick on the bar.
        flag_id: The flag to decide; its reason comes first.
        rubric: What rubric judges and people gave it by dimension.
        keys_shown: Whether the list of keys stands at the top.
        remarks: What people remarked for each other.
    """
    return tag(
        "div",
        _keys() if keys_shown else None,
        _blind(item),
        _why(item, flag_id),
        None if item.hidden.judge else _signals(item, threshold),
        rubric_block(rubric),
        _reasoning(item),
        _claims(claims),
        remarks,
        history(item),
        cls="jb-pane jb-signals",
    )


def _keys() -> Html:
    lines = [part for key, meaning in KEYS for part in (tag("kbd", key), tag("span", meaning))]
    return tag("div", tag("div", "Keys", cls="jb-label"), tag("div", *lines, cls="jb-keys"), cls="jb-block")


def _blind(item: Item) -> Html | None:
    if not item.hidden:
        return None
    what = [*(["the judge"] if item.hidden.judge else []), *(["other people"] if item.hidden.people else [])]
    said = f"You are to review this answer without seeing {' and '.join(what)}."
    queues = " and ".join(f"“{name}”" for name in item.hidden.queues)
    return tag(
        "div",
        tag("div", "Blind until you grade", cls="jb-label"),
        tag("div", f"{said} It waits for you in {queues}." if queues else said, cls="jb-why"),
        cls="jb-block",
    )


def _why(item: Item, flag_id: int | None) -> Html | None:
    waiting = sorted(
        (flag for flag in item.flags if flag.state == "open"), key=lambda flag: (flag.id != flag_id, -flag.severity)
    )
    if not waiting:
        return None
    reasons = [tag("div", flag.why, cls="jb-why") for flag in waiting]
    return tag("div", tag("div", "Why you see this", cls="jb-label"), *reasons, cls="jb-block")


def _signals(item: Item, threshold: float) -> Html:
    primary = primary_verdict(item)
    others = [one for one in item.currents if one is not primary and one.judge_kind != RUBRIC]  # it has its own lines
    return tag(
        "div",
        tag("div", "Judge", tag("span", _judge_title(primary, item)), cls="jb-label"),
        _unusable(item) if primary is None else None,
        tag(
            "div",
            join(_primary_lines(primary, threshold)) if primary else None,
            join(_other_lines(others)),
            join(_user_lines(item)),
            join(_people_lines(item.reviews)),
            cls="jb-scores",
        ),
        cls="jb-block",
    )


def _judge_title(primary: ItemJudgment | None, item: Item) -> str:
    if primary is None:
        return item.primary_judge or ""
    return " · ".join(part for part in (primary.version_title, primary.model) if part)


def _primary_lines(primary: ItemJudgment, threshold: float) -> list[Html]:
    lines: list[Html] = []
    if primary.groundedness is not None:
        filled = tag("i", style=f"width:{primary.groundedness * 100:.1f}%")
        tick = tag("s", style=f"left:{threshold * 100:.1f}%", title=f"flagged below {short(threshold)}")
        lines += [
            tag("span", "Groundedness"),
            tag("span", filled, tick, cls="jb-bar", role="img", aria_label=f"{score(primary.groundedness)} of 1"),
            tag("b", score(primary.groundedness), cls="jb-big"),
        ]
    if primary.quality is not None:
        steps = [tag("i", cls="jb-on" if step <= primary.quality else None) for step in (1, 2, 3, 4)]
        lines += [
            tag("span", "Quality"),
            tag("span", *steps, cls="jb-steps", role="img", aria_label=f"{primary.quality} of 4"),
            tag("b", f"{primary.quality} / 4", cls="jb-big"),
        ]
    if primary.label is not None:
        lines += [tag("span", "Label"), tag("span"), tag("b", str(primary.label), cls="jb-big")]
    return lines


def _unusable(item: Item) -> Html:
    failed = next((one for one in item.judgments if one.judge_name == item.primary_judge), None)
    if failed is None:
        return tag("div", "Not judged yet.", cls="jb-mut")
    raw = (
        tag("details", tag("summary", "What it answered"), tag("div", failed.raw, cls="jb-raw")) if failed.raw else None
    )
    return tag(
        "div", tag("div", f"No usable verdict: {failed.error or failed.status}", cls="jb-why"), raw, cls="jb-block"
    )


def _other_lines(others: Sequence[ItemJudgment]) -> list[Html]:
    lines: list[Html] = []
    for place, judgment in enumerate(others):
        name = ("Second judge" if len(others) == 1 else "Other judges") if place == 0 else ""
        lines += [tag("span", name), _who(judgment.version_title), tag("b", score_words(judgment))]
    return lines


def _who(name: str) -> Html:
    return tag("span", name, cls="jb-who", title=name)


def _user_lines(item: Item) -> list[Html]:
    if not item.feedback:
        return [tag("span", "User"), tag("span"), tag("b", "no feedback")]
    latest = item.feedback[0]
    at = day(latest.at) if latest.at else ""
    return [tag("span", "User"), tag("span", at, cls="jb-who"), tag("b", latest.words)]


def _people_lines(reviews: Sequence[ItemReview]) -> list[Html]:
    standing = [review for review in reviews if review.stands]
    lines: list[Html] = []
    for place, review in enumerate(standing[:3]):
        name = ("Person" if len(standing) == 1 else "People") if place == 0 else ""
        who = ", ".join(filter(None, (review.reviewer, WHEN_SAID.get(review.stage or ""), day(review.at))))
        lines += [tag("span", name), _who(who), tag("b", review_words(review))]
    return lines


def _reasoning(item: Item) -> Html | None:
    primary = primary_verdict(item)
    if primary is None or not primary.reasoning:
        return None
    return tag("div", primary.reasoning[:MOST_REASONING], cls="jb-block jb-reason")


def _claims(claims: Sequence[NumberedClaim]) -> Html | None:
    claims = [one for one in claims if not one.sentence]
    if not claims:
        return None
    supported = sum(one.status == "supported" for one in claims)
    return tag(
        "div",
        tag("div", "Claims", tag("span", f"{supported} of {count(len(claims), 'claim')} supported"), cls="jb-label"),
        join(_claim(one) for one in problems_first(claims)),
        cls="jb-block",
    )


def _claim(one: NumberedClaim) -> Html:
    own = None if one.own is None else tag("em", f"you {ICONS[one.own.value]} ", cls=f"jb-own jb-{one.own.value}")
    return tag(
        "div",
        tag("b", replace(one, own=None).sign, aria_label=one.words),
        tag("span", own, one.claim.text, title=one.claim.text),
        _place(one),
        cls=f"jb-claim jb-{one.status} c{one.name}{' jb-at' if one.at else ''}",
    )


def _place(one: NumberedClaim) -> Html:
    """Where the claim's evidence stands: a link to the quote, to the passage, or that there is none."""
    claim = one.claim
    if one.status == "notfound":
        return tag("span", "not in answer")
    if claim.passage is None:
        return tag("span", "no passage")
    if claim.passage_start is not None:
        return tag("a", f"passage {claim.passage}", href=f"#q{one.number}")
    said = f"not in passage {claim.passage}" if claim.passage_quote else f"passage {claim.passage}"
    return tag("a", said, href=f"#p{claim.passage}")
