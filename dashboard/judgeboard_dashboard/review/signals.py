"""The pane beside an answer: signals and history, or the guidelines of a queue."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from judgeboard.domain import GRADE_TEXTS, Grade, Stage, Verdict
from judgeboard.measure.repeats import repeats_of_judgment
from judgeboard.store.items import Item, ItemFlag, ItemJudgment
from judgeboard.store.reviews import Review
from judgeboard.store.tables import Queue, SchemaVersion
from judgeboard.store.verdicts import RUBRIC, RubricScores
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, beginning, join, tag
from judgeboard_dashboard.review.claims import ICONS, ORDER, NumberedClaim, numbered, problems_first
from judgeboard_dashboard.review.fields import ANCHORS, LABELS, QUALITIES, rubric_block
from judgeboard_dashboard.review.leases import Reveal, ShownItem
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    WHY_DIFFERS,
    capital,
    count,
    day,
    score,
    short,
    when,
)

MOST = 50
MOST_MARKS = 5
MOST_REVIEWS = 6
MOST_REASONING = 20_000  # characters
DECIDED = {
    "confirm": "confirmed",
    "dismiss": "dismissed",
    "unsure": "was unsure",
    "withdrawn": "undone",
}
STAGES = {"blind": "blind", "revealed": "judge shown", "adjudication": "adjudication"}
"""The stage of a review in a queue; a review outside queues has none."""
SPREAD = "The same judge version was asked several times. The page Judges shows its repeats on all answers."


def history(item: Item) -> Html | None:
    """Return the foldable list of the last 50 events, None if there are none."""
    events = sorted(_events(item), key=lambda event: event[0], reverse=True)
    if not events:
        return None
    rows = [
        tag("div", tag("span", when(at)), tag("b", who), tag("div", *what), cls="jb-past")
        for at, who, what in events[:MOST]
    ]
    left = tag("div", f"{len(events) - MOST} older", cls="jb-cap") if len(events) > MOST else None
    return tag(
        "details",
        tag("summary", f"History ({len(events)})"),
        tag("div", *rows, cls="jb-history"),
        left,
        cls="jb-block",
    )


def judgment_words(judgment: ItemJudgment) -> str:
    """Return a judgment in words: "0.42, 3 / 4", "hallucinated", "no usable verdict: timeout"."""
    if judgment.status != "ok":
        return f"no usable verdict: {judgment.error or judgment.status}"
    rubric = "scored on a rubric" if judgment.judge_kind == RUBRIC else None
    return ", ".join(filter(None, (*_score_words(judgment), judgment.label, rubric))) or "no score"


def _score_words(scored: Verdict | Grade) -> list[str]:
    groundedness = [] if scored.groundedness is None else [score(scored.groundedness)]
    return groundedness if scored.quality is None else [*groundedness, f"{scored.quality} / 4"]


def label_words(grade: Grade) -> str | None:
    """Return the label of a grade in words: "grounded", "grounded (implied)"."""
    return f"{grade.label} (implied)" if grade.label_implied else grade.label


def _review_words(review: Review, schema: SchemaVersion | None) -> str:
    """Return a review in a few words: "confirmed", "0.50, 3 / 4", "hallucinated"."""
    grade, scores = review.grade, review.grade.by_dimension
    parts = (
        DECIDED.get(review.decision or ""),
        *_score_words(grade),
        label_words(grade),
        schema.title if schema else f"{len(scores)} on a rubric" if scores else None,
        f"{len(grade.claim_marks)} marked" if grade.claim_marks else None,
    )
    return ", ".join(filter(None, parts)) or "a note"


def _block(label: str, *children: str | None, aside: str | None = None) -> Html:
    """Return content under a label. ``aside`` is a text at the end of the label's line."""
    return tag(
        "div",
        tag("div", label, tag("span", aside) if aside else None, cls="jb-label"),
        *children,
        cls="jb-block",
    )


def decided_words(item: Item, flag: ItemFlag | None) -> str | None:
    """Return who decided a flag: "Confirmed by Mara, 12 Mar 09:41"; None for an open flag."""
    if flag is None or flag.state == "open":
        return None
    reviews = (
        review
        for review in item.reviews
        if flag.id in review.flag_ids and review.stands and review.decision
    )
    review = next(reviews, None)
    if review is None:
        return capital(f"{flag.state}: no open flag")
    return capital(f"{DECIDED[review.decision or '']} by {review.reviewer}, {when(review.at)}")


Event = tuple[datetime, str, Sequence[str | None]]
"""Time, author and description of an event."""


def _events(item: Item) -> Iterator[Event]:
    titles = {judgment.id: judgment.version_title for judgment in item.judgments}
    for judgment in item.judgments:
        yield (
            judgment.created_at,
            judgment.version_title,
            [_opening(judgment_words(judgment), judgment.reasoning)],
        )
    for audit in item.audits:
        words = f"calls the verdict of {titles[audit.judgment_id]} {'right' if audit.correct else 'wrong'}"
        yield audit.at, audit.supreme, [_opening(words, audit.reasoning)]
    for flag in item.flags:
        state = "" if flag.state == "open" else f" ({flag.state})"
        yield flag.created_at, "Flag", [f"{flag.why}{state}"]
    for review in item.reviews:
        grade, schema = review.grade, item.schemas.get(review.label_schema_id or 0)
        replaced = " (replaced)" if not review.stands and review.decision != "withdrawn" else ""
        stage = f" ({STAGES[review.stage]})" if review.stage else ""
        note = f": “{grade.note}”" if grade.note else ""
        why = (
            tag("div", f"Why they differ: {WHY_DIFFERS[grade.why_differs]}")
            if grade.why_differs
            else None
        )
        modes = tag("div", f"Failure modes: {', '.join(grade.modes)}") if grade.modes else None
        claim_marks = sorted(grade.claim_marks, key=lambda mark: ORDER.index(mark.status.value))
        left = len(claim_marks) - MOST_MARKS
        marks = [
            tag("div", f"{ICONS[mark.status.value]} {shortened(mark.text)}")
            for mark in claim_marks[:MOST_MARKS]
        ]
        yield (
            review.at,
            review.reviewer,
            [
                f"{_review_words(review, schema)}{stage}{replaced}{note}",
                own_fields(review, schema),
                modes,
                why,
                tag("div", *marks, f"and {left} more" if left > 0 else None) if marks else None,
                *(
                    tag("div", capital(f"{name}: "), text)
                    for name, text in grade.labelled_texts.items()
                ),
            ],
        )


def _opening(words: str, reasoning: str | None) -> Html | str:
    if not reasoning:
        return words
    return tag(
        "details",
        tag("summary", words),
        tag("div", beginning(reasoning, MOST_REASONING), cls="jb-lines"),
    )


def own_fields(review: Review, schema: SchemaVersion | None) -> Html | None:
    """Return the values of a review's own fields (a label schema's or a rubric's), each under the field's name."""
    grade, scores = review.grade, dict(sorted(review.grade.by_dimension.items()))
    values: dict[str, Any] = {**scores, **grade.choices, **grade.texts}
    if schema is not None:
        own = schema.content.own
        order = [field.name for field in own]
        levels = {field.name: dict(field.levels) for field in own}
        values = {name: values[name] for name in sorted(values, key=order.index)}
        values |= {
            name: f"{short(value)} {levels[name].get(value) or ''}".strip()
            for name, value in values.items()
            if name in scores
        }
    lines = [
        tag("div", f"{name}: ", tag("b", value_words(value))) for name, value in values.items()
    ]
    return tag("div", *lines) if lines else None


def value_words(value: Any) -> str:
    """Return a value of a label schema in words: "yes", "model, retrieval"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return short(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def primary_verdict(item: Item) -> ItemJudgment | None:
    """Return the current judgment of the primary judge, None without a usable judgment."""
    return next(
        (judgment for judgment in item.currents if judgment.judge_name == item.primary_judge), None
    )


def signals_pane(
    item: Item,
    claims: Sequence[NumberedClaim],
    threshold: float,
    rubric: RubricScores,
    *,
    flag_id: int | None = None,
    new_flags: Collection[int] = (),
    comments: Html | None = None,
    scales: Html | None = None,
) -> tuple[Html, Html]:
    """Return the two parts of the pane with all signals about an answer: why it is shown, and the signals.

    ``new_flags`` were raised while the answer is on the screen. New flags come last, so that the
    text that the reviewer reads does not move.
    """
    open_flags = [flag for flag in item.flags if flag.state == "open"]
    open_flags.sort(key=lambda flag: (flag.id != flag_id, -flag.severity))
    why = _why("Why you see this", [flag for flag in open_flags if flag.id not in new_flags])
    new = _why(
        "New flags since you opened this answer",
        [flag for flag in open_flags if flag.id in new_flags],
    )
    signals: Html | None = None
    if not item.hidden.judge:
        primary = primary_verdict(item)
        lines = [
            *(_primary_lines(primary, threshold) if primary else []),
            _spread(item, primary, threshold) if primary else None,
            *_user_lines(item),
        ]
        # The reviews that stand, except reviews that only repeat a blind review.
        repeating_ids = kept_reviews(item.reviews)
        current = [
            review for review in item.reviews if review.stands and review.id not in repeating_ids
        ]
        for place, review in enumerate(current[:MOST_REVIEWS]):
            name = ("Person" if len(current) == 1 else "People") if place == 0 else ""
            stage = STAGES.get(review.stage or "")
            who = ", ".join(filter(None, (review.reviewer, stage, day(review.at))))
            schema = item.schemas.get(review.label_schema_id or 0)
            words = tag("b", _review_words(review, schema))
            lines += [tag("span", name), tag("span", who, cls="jb-who", title=who), words]
            if (own := own_fields(review, schema)) is not None:
                lines.append(tag("span", own, cls="jb-cap jb-across"))
        if (left := len(current) - MOST_REVIEWS) > 0:
            lines.append(tag("span", f"{left} more in History", cls="jb-cap jb-across"))
        judge_name = primary and " · ".join(filter(None, (primary.version_title, primary.model)))
        signals = _block(
            "Judge",
            _unusable(item) if primary is None else None,
            tag("div", *lines, cls="jb-scores"),
            aside=judge_name or item.primary_judge,
        )
    hidden = item.hidden
    blind = _blind(judge=hidden.judge, people=hidden.people, queues=hidden.queues)
    return tag("div", blind, why, cls="jb-pane"), tag(
        "div",
        signals,
        rubric_block(rubric),
        _primary_reasons(item, claims),
        _other_judgments(item, claims, threshold),
        comments,
        history(item),
        new,
        how_to_grade(scales) if scales else None,
        cls="jb-pane jb-signals",
    )


def _blind(
    *, judge: bool, people: bool, queues: Sequence[str] = (), reveal: bool = True
) -> Html | None:
    """Return what is hidden, also after the grade if nothing is to ``reveal``; None if nothing is hidden."""
    parts = [*(["the judge"] if judge else []), *(["other reviewers"] if people else [])]
    if not parts:
        return None
    names = f" Queue: {', '.join(queues)}." if queues else ""
    sentence = f"You review this item without seeing {' and '.join(parts)}.{names}"
    title = "Blind until you grade" if reveal else "Blind"
    return _block(title, tag("div", sentence, cls="jb-why"))


def _why(title: str, flags: Sequence[ItemFlag]) -> Html | None:
    return _block(title, *(tag("div", flag.why, cls="jb-why") for flag in flags)) if flags else None


def _primary_lines(primary: ItemJudgment, threshold: float) -> list[Html]:
    lines: list[Html] = []
    if primary.groundedness is not None:
        bar = tag("i", style=f"width:{primary.groundedness * 100:.1f}%")
        tick = tag(
            "s", style=f"left:{threshold * 100:.1f}%", title=f"flagged below {short(threshold)}"
        )
        lines += [
            tag("span", "Groundedness"),
            tag(
                "span",
                bar,
                tick,
                cls="jb-bar",
                role="img",
                aria_label=f"{score(primary.groundedness)} of 1",
            ),
            tag("b", score(primary.groundedness), cls="jb-big"),
        ]
    if primary.quality is not None:
        steps = [
            tag("i", cls="jb-on" if step <= primary.quality else None) for step in (1, 2, 3, 4)
        ]
        lines += [
            tag("span", "Quality"),
            tag("span", *steps, cls="jb-steps", role="img", aria_label=f"{primary.quality} of 4"),
            tag("b", f"{primary.quality} / 4", cls="jb-big"),
        ]
    if primary.label is not None:
        lines += [tag("span", "Label"), tag("span"), tag("b", str(primary.label), cls="jb-big")]
    return lines + _own_scores(primary)


def _own_scores(judgment: ItemJudgment) -> list[Html]:
    """Return a line for each score that a judge without a rubric gave on another scale."""
    if judgment.judge_kind == RUBRIC:  # rubric scores have a separate block
        return []
    scores = (
        (each.dimension, each.value, each.scale)
        for each in judgment.scores
        if each.value is not None
    )
    words = ((name, f"{short(value)} (scale {scale})") for name, value, scale in scores)
    return [
        part for name, text in words for part in (tag("span", name), tag("span"), tag("b", text))
    ]


def _spread(item: Item, judgment: ItemJudgment, threshold: float) -> Html | None:
    """Return how far the judge's repeats differ: "5 repeats: groundedness 0.40 to 0.80, bad in 4 of 5"."""
    repeated = repeats_of_judgment(item, judgment, threshold)
    if repeated is None:
        return None
    unusable = repeated.repeats - repeated.usable
    parts = [
        f"{unusable} without a usable verdict" if unusable else None,
        *(
            f"{name} {_range(name, *ends)}"
            for name, ends in repeated.ranges.items()
            if name != "label"
        ),
        f"bad in {repeated.bad} of {repeated.sided}" if repeated.sided else None,
    ]
    words = f"{count(repeated.repeats, 'repeat')}: {', '.join(filter(None, parts))}"
    return tag("span", words, cls="jb-cap jb-across", title=SPREAD)


def _range(measure: str, low: float, high: float) -> str:
    ends = [score(end) if measure == "groundedness" else short(end) for end in (low, high)]
    return " to ".join(dict.fromkeys(ends))


def _unusable(item: Item) -> Html:
    latest = next(
        (judgment for judgment in item.judgments if judgment.judge_name == item.primary_judge), None
    )
    if latest is None:
        others = any(judgment.judge_kind != RUBRIC for judgment in item.currents)
        return tag(
            "div",
            f"{item.primary_judge} has not judged it yet." if others else "Not judged yet.",
            cls="jb-mut",
        )
    raw = (
        tag("details", tag("summary", "Raw output"), tag("div", latest.raw, cls="jb-raw"))
        if latest.raw
        else None
    )
    reason = tag("div", f"No usable verdict: {latest.error or latest.status}", cls="jb-why")
    return tag("div", reason, raw, cls="jb-block")


def _others(item: Item) -> list[ItemJudgment]:
    """Return the latest judgment of each other judge, usable judgments first. Rubric judgments are left out."""
    primary = primary_verdict(item)
    names = {judgment.judge_name for judgment in item.currents} | {item.primary_judge}
    unusable: dict[str, ItemJudgment] = {}
    for judgment in item.judgments:
        if judgment.judge_name not in names and judgment.status != "ok":
            unusable.setdefault(judgment.judge_name, judgment)
    judgments = (*item.currents, *unusable.values())
    return [
        judgment
        for judgment in judgments
        if judgment is not primary and judgment.judge_kind != RUBRIC
    ]


def shown_judgments(item: Item) -> list[ItemJudgment]:
    """Return the judgments on the screen: the primary judge's first, usable or not, then other judges' judgments."""
    primary = primary_verdict(item)
    own_judgments = (
        judgment for judgment in item.judgments if judgment.judge_name == item.primary_judge
    )
    first = primary or next(own_judgments, None)
    rubrics = [
        judgment
        for judgment in item.currents
        if judgment.judge_kind == RUBRIC and judgment is not first
    ]
    return [*([first] if first else []), *_others(item), *rubrics]


def _other_judgments(item: Item, claims: Sequence[NumberedClaim], threshold: float) -> Html | None:
    """Return a foldable line for each other judgment. Judgments that an open flag compares are unfolded."""
    others = _others(item)
    if not others:
        return None
    compared = frozenset[str]().union(*(flag.judges for flag in item.flags if flag.state == "open"))
    judgment_with_claims = item.with_claims
    lines = [
        tag(
            "details",
            tag(
                "summary",
                tag("span", judgment.version_title, cls="jb-who"),
                tag("b", judgment_words(judgment)),
            ),
            tag("div", judgment.model, cls="jb-cap") if judgment.model else None,
            tag("div", *scores, cls="jb-scores") if (scores := _own_scores(judgment)) else None,
            _spread(item, judgment, threshold),
            tag("div", beginning(judgment.reasoning, MOST_REASONING), cls="jb-reason")
            if judgment.reasoning
            else None,
            _claims(
                claims if judgment is judgment_with_claims else numbered(judgment.claims or ()),
                has_link=judgment is judgment_with_claims,
            ),
            *audit_lines(item, judgment),
            cls="jb-other",
            open="" if judgment.version_title in compared else None,
        )
        for judgment in others
    ]
    return _block("Other judges" if len(others) > 1 else "Second judge", *lines)


def audit_lines(item: Item, judgment: ItemJudgment) -> list[Html]:
    """Return a line for each audit of a judgment by a supreme judge."""
    return [
        tag(
            "div",
            f"{audit.supreme} calls this verdict {'right' if audit.correct else 'wrong'}",
            join((": ", beginning(audit.reasoning, MOST_REASONING))) if audit.reasoning else ".",
            cls="jb-audit",
        )
        for audit in item.audits
        if audit.judgment_id == judgment.id
    ]


def _user_lines(item: Item) -> list[Html]:
    if not item.response.feedback:
        return [tag("span", "User"), tag("span"), tag("b", "no feedback")]
    latest = item.response.feedback[-1]
    at = day(latest.at) if latest.at else ""
    comments = [each.comment for each in reversed(item.response.feedback) if each.comment][
        :MOST_REVIEWS
    ]
    return [
        *(tag("span", "User"), tag("span", at, cls="jb-who"), tag("b", latest.words)),
        *(
            tag("span", beginning(comment, MOST_REASONING), cls="jb-cap jb-across")
            for comment in comments
        ),
    ]


def kept_reviews(reviews: Sequence[Review]) -> frozenset[int]:
    """Return the ids of the reviews after a reveal that only repeat the blind review of the same person."""
    blind = {each.reviewer_id: _values(each) for each in reviews if each.stage == Stage.BLIND}
    revealed = (each for each in reviews if each.stage == Stage.REVEALED)
    return frozenset(each.id for each in revealed if _values(each) == blind.get(each.reviewer_id))


def _values(review: Review) -> tuple[Any, ...]:
    grade = review.grade
    scores = (grade.label, grade.groundedness, grade.quality, grade.by_dimension)
    texts = (getattr(grade, name) for name in GRADE_TEXTS)
    return (review.decision, *scores, *texts, grade.choices, grade.texts)


def _primary_reasons(item: Item, claims: Sequence[NumberedClaim]) -> Html | None:
    primary = primary_verdict(item)
    if primary is None:
        return None
    reasoning = primary.reasoning and tag(
        "div", beginning(primary.reasoning, MOST_REASONING), cls="jb-block jb-reason"
    )
    return join(
        (
            reasoning,
            *audit_lines(item, primary),
            _claims(claims) if item.with_claims is primary else None,
        )
    )


def _claims(claims: Sequence[NumberedClaim], *, has_link: bool = True) -> Html | None:
    """Return the list of claims, without links if the texts show the claims of another judgment."""
    claims = [claim for claim in claims if not claim.sentence]
    if not claims:
        return None
    supported = sum(claim.status == "supported" for claim in claims)
    lines = []
    for claim in problems_first(claims):
        passage = claim.claim.passage
        if has_link and claim.status == "notfound":
            evidence = tag("span", "not in answer")
        elif passage is None:
            evidence = tag("span", "no passage")
        elif not has_link:
            evidence = tag("span", f"passage {passage}")
        elif claim.claim.passage_start is not None:
            evidence = tag("a", f"passage {passage}", href=f"#q{claim.number}")
        else:
            prefix = "not in " if claim.claim.passage_quote else ""
            evidence = tag("a", f"{prefix}passage {passage}", href=f"#p{passage}")
        mark = claim.own and claim.own.value
        own = tag("em", f"you {ICONS[mark]} ", cls=f"jb-own jb-{mark}") if mark else None
        lines.append(
            tag(
                "div",
                tag("b", replace(claim, own=None).sign, aria_label=claim.words),
                tag("span", own, claim.claim.text, title=claim.claim.text),
                evidence,
                cls=f"jb-claim jb-{claim.status}{' jb-at' if claim.at else ''}",
                data_claim=claim.name if has_link else None,
            )
        )
    return _block(
        "Claims",
        *lines,
        aside=f"{supported} of {count(len(claims), 'claim')} supported",
    )


def queue_pane(
    queue: Queue, shown_item: ShownItem, reveal: Reveal | None, claims: Sequence[NumberedClaim]
) -> tuple[Html, Html]:
    """Return the two parts of the pane beside an answer of a queue: guidelines, or signals once the judge is shown."""
    item = shown_item.item
    scales = scales_block(queue.asked, aside=_named(queue))
    guidelines = None
    if queue.guidelines:
        body = tag("div", queue.guidelines, cls="jb-reason")
        guidelines = (
            _block("This queue", body)
            if scales
            else _block("How to grade", body, aside=_named(queue))
        )
    if item is None or (reveal is None and item.hidden.judge):
        blind = _blind(judge=queue.blind_judge, people=queue.blind_people, reveal=queue.reveal)
        return tag("div", blind, cls="jb-pane"), tag(
            "div", scales, guidelines, cls="jb-pane jb-signals"
        )
    reasons, signals = signals_pane(item, claims, shown_item.threshold, shown_item.rubric)
    if reveal is None:
        return reasons, join((signals, how_to_grade(scales, guidelines)))
    judgment = next(
        (
            each
            for each in shown_judgments(item)
            if each.status == "ok" and each.judge_kind != RUBRIC
        ),
        None,
    )
    if judgment is None:  # the item has only rubric scores, which have a separate block
        return reasons, signals
    draft, judge = (
        reveal.blind_draft,
        "Judge" if judgment is primary_verdict(item) else judgment.version_title,
    )
    lines = []
    for grade in ("groundedness", "quality", "label"):
        own_words, judge_words = (
            _grade_words(grade, getattr(each, grade, None)) for each in (draft, judgment)
        )
        if own_words or judge_words:
            own_cell, judge_cell = (
                tag("span", f"You: {own_words or UNKNOWN}"),
                tag("span", f"{judge}: {judge_words or UNKNOWN}"),
            )
            lines.append(
                tag("div", tag("span", grade.capitalize()), own_cell, judge_cell, cls="jb-against")
            )
    both = tag(
        "div", tag("div", "You and the judge", cls="jb-label"), *lines, cls="jb-pane jb-block"
    )
    return join((both, reasons)), signals


def _grade_words(name: str, grade: Any) -> str | None:
    """Return a grade for the list of signals, for example "0.50", "3 / 4", "grounded"."""
    if grade is None or name == "label":
        return grade and str(grade)
    return score(grade) if name == "groundedness" else f"{grade} / 4"


def _named(queue: Queue) -> str:
    return f"queue “{queue.name}”"


def how_to_grade(*blocks: Html | None) -> Html:
    """Return a part of the pane that shows these blocks on demand."""
    return tag(
        "div", tag("details", tag("summary", "How to grade"), *blocks), cls="jb-pane jb-block"
    )


def scales_block(grades: Collection[str], aside: Html | str | None = None) -> Html | None:
    """Return the meaning and the key of each step of these grades; None if reviewers only decide."""
    scales: dict[str, tuple[str, Sequence[tuple[Any, str, str, str]]]] = {
        "groundedness": ("Groundedness: how much of the answer is in the passages?", ANCHORS[::-1]),
        "quality": ("Quality: does it answer the question?", QUALITIES[::-1]),
        "label": ("Label: is anything made up?", LABELS),
    }
    parts: list[Html] = []
    for grade, (question, steps) in scales.items():
        if grade in grades:
            cells = [
                part
                for _, name, key, meaning in steps
                for part in (
                    tag("kbd", key),
                    tag("span", name, cls="jb-step"),
                    tag("span", meaning),
                )
            ]
            parts += [tag("div", question), tag("div", *cells, cls="jb-scale")]
    return _block("How to grade", *parts, aside=aside) if parts else None
