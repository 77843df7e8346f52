"""The statements of an answer, the judge's claims, and the marks in the texts that the claims quote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard.judges.words import sentence_spans
from judgeboard_dashboard.evidence import Html, escaped, join, tag

ICONS = {"contradicted": "✗", "unsupported": "?", "notfound": "∅", "supported": "✓", "plain": ""}
# Worst first: lists of claims are in this order, and of overlapping claims the worst is marked.
ORDER = tuple(ICONS)
Subject = tuple[int | None, int | None, int | None]
"""The key of a mark: (judgment id, claim number, None), or (None, start, end) of a sentence in the answer."""
STATUS_WORDS = {
    ClaimStatus.SUPPORTED: "supported",
    ClaimStatus.UNSUPPORTED: "not supported",
    ClaimStatus.CONTRADICTED: "contradicted",
}


@dataclass(frozen=True, slots=True)
class NumberedClaim:
    """A claim with a number on the page (from 1, in the judge's order), or a ``sentence`` that the reviewer marks.

    ``own`` is the reviewer's mark. ``at``: the keys mark this statement now.
    """

    number: int
    claim: Claim
    own: ClaimStatus | None = None
    at: bool = False
    sentence: bool = False

    @property
    def status(self) -> str:
        """The claim's status, ``notfound`` if the quote is not in the answer. For a sentence, the reviewer's mark."""
        if self.sentence:
            return "plain" if self.own is None else str(self.own.value)
        return str(self.claim.status.value) if self.claim.answer_start is not None else "notfound"

    @property
    def sign(self) -> str:
        """Icon and number, and the reviewer's mark: "✗1", "✗1 you ✓"; for a sentence only the mark: "you ✓"."""
        icon = "" if self.sentence else f"{ICONS[self.status]}{self.number}"
        own = "" if self.own is None else f"you {ICONS[self.own.value]}"
        return " ".join(part for part in (icon, own) if part) or "…"

    @property
    def words(self) -> str:
        """For a screen reader: "claim 1, contradicted", "claim 1, contradicted, your mark: supported"."""
        status = (
            "quote not found in the answer"
            if self.status == "notfound"
            else STATUS_WORDS[self.claim.status]
        )
        words = f"sentence {self.number}" if self.sentence else f"claim {self.number}, {status}"
        return words if self.own is None else f"{words}, your mark: {STATUS_WORDS[self.own]}"

    @property
    def name(self) -> str:
        """The suffix of HTML ids and classes. Claims and sentences are numbered separately."""
        return f"s{self.number}" if self.sentence else str(self.number)


class Span(NamedTuple):
    """Characters ``start`` to ``end`` of a text that belong to a claim."""

    start: int
    end: int
    claim: NumberedClaim


def numbered(claims: Iterable[Claim]) -> list[NumberedClaim]:
    """Number claims in the judge's order."""
    return [NumberedClaim(number, claim) for number, claim in enumerate(claims, start=1)]


def problems_first(claims: Iterable[NumberedClaim]) -> list[NumberedClaim]:
    """Order claims worst first, then by number."""
    return sorted(claims, key=lambda claim: (ORDER.index(claim.status), claim.number))


def answer_spans(claims: Iterable[NumberedClaim], answer: str) -> list[Span]:
    """Return the spans of the answer that the claims quote."""
    offsets = ((claim, claim.claim.answer_start, claim.claim.answer_end) for claim in claims)
    return _spans(offsets, len(answer))


def passage_spans(claims: Iterable[NumberedClaim], passage: int, text: str) -> list[Span]:
    """Return the spans of passage number ``passage`` (from 1) that the claims quote."""
    quoted = (claim for claim in claims if claim.claim.passage == passage)
    return _spans(
        ((claim, claim.claim.passage_start, claim.claim.passage_end) for claim in quoted), len(text)
    )


def _spans(
    offsets: Iterable[tuple[NumberedClaim, int | None, int | None]], length: int
) -> list[Span]:
    return [
        Span(start, end, claim)
        for claim, start, end in offsets
        if start is not None and end is not None and 0 <= start < end <= length
    ]


def split(length: int, spans: Sequence[Span]) -> list[tuple[int, int, NumberedClaim | None]]:
    """Cut a text of ``length`` characters into pieces with one claim or none: of overlapping claims, the worst."""
    edges = sorted({0, length, *(span.start for span in spans), *(span.end for span in spans)})
    pieces: list[tuple[int, int, NumberedClaim | None]] = []
    for start, end in pairwise(edges):
        over = [span.claim for span in spans if span.start <= start and end <= span.end]
        claim = problems_first(over)[0] if over else None
        if pieces and pieces[-1][2] is claim:
            pieces[-1] = (pieces[-1][0], end, claim)
        else:
            pieces.append((start, end, claim))
    return pieces


def marked(
    text: str,
    spans: Sequence[Span],
    *,
    here: str,
    there: str,
    part: tuple[int, int] | None = None,
    begun: set[str] | None = None,
) -> Html:
    """Return a text with marked claims. The text content of the HTML equals the text.

    The ids of marks start with ``here`` in this text ("a": answer, "q": passages), and with
    ``there`` in the other text, to which the number of a mark links. If a text is shown in parts,
    ``part`` has the start and end of this part, and ``begun`` collects the claims that already have
    an id.
    """
    begun = set() if begun is None else begun
    begin, stop = part or (0, len(text))
    clipped = (
        (max(start, begin), min(end, stop), claim) for start, end, claim in split(len(text), spans)
    )
    pieces = [piece for piece in clipped if piece[0] < piece[1]]
    last = {claim.name: place for place, (_, _, claim) in enumerate(pieces) if claim is not None}
    parts: list[Html] = []
    for place, (start, end, claim) in enumerate(pieces):
        if claim is None:
            parts.append(escaped(text[start:end]))
            continue
        first = claim.name not in begun
        begun.add(claim.name)
        # The number links to the other text: to the quote, otherwise to the passage. A marked
        # sentence has no other text.
        if claim.sentence:
            goal = None
        elif there == "a":
            goal = f"#a{claim.number}" if claim.claim.answer_start is not None else None
        elif claim.claim.passage_start is not None:
            goal = f"#q{claim.number}"
        else:
            goal = f"#p{claim.claim.passage}" if claim.claim.passage is not None else None
        parts.append(
            tag(
                "mark",
                text[start:end],
                # The number is CSS content, so that copies of the text, and comparisons with the
                # text, do not contain the number.
                tag(
                    "a",
                    cls="jb-n",
                    href=goal,
                    data_n=claim.sign,
                    aria_label=claim.words,
                )
                if last[claim.name] == place
                else None,
                cls=f"jb-m jb-{claim.status}{' jb-at' if claim.at else ''}",
                data_claim=claim.name,
                id=f"{here}{claim.name}" if first else None,
                data_at=claim.name if first and claim.at else None,
            )
        )
    return join(parts)


def statements_of(
    answer: str, claims: Sequence[Claim] | None = None, judgment_id: int | None = None
) -> tuple[ClaimMark, ...]:
    """Return the statements that reviewers can mark: the claims of a judgment, otherwise the answer's sentences."""
    status = ClaimStatus.SUPPORTED
    if claims and judgment_id is not None:
        return tuple(
            ClaimMark(status, claim.text, claim.answer_start, claim.answer_end, judgment_id, number)
            for number, claim in enumerate(claims, start=1)
        )
    return tuple(
        ClaimMark(status, answer[start:end], start, end) for start, end in sentence_spans(answer)
    )


def subject_of(mark: ClaimMark) -> Subject:
    """Return the key of a mark."""
    return (
        (None, mark.start, mark.end)
        if mark.judgment_id is None
        else (mark.judgment_id, mark.number, None)
    )


def shown_claims(
    claims: Sequence[Claim],
    statements: Sequence[ClaimMark],
    marks: Mapping[Subject, ClaimMark],
    at: int | None,
) -> list[NumberedClaim]:
    """Return the claims with the reviewer's marks, or the marked sentences, to be shown in the texts.

    ``at`` is the index of the statement that the keys mark, None if no statement is chosen yet.
    """
    own = (
        (number, marks.get(subject_of(statement)))
        for number, statement in enumerate(statements, start=1)
    )
    statuses = {number: mark.status for number, mark in own if mark is not None}
    now = None if at is None or not statements else at % len(statements) + 1
    if statements and statements[0].judgment_id is None:
        sentences = (
            NumberedClaim(
                number,
                Claim(
                    each.text,
                    statuses.get(number, each.status),
                    answer_start=each.start,
                    answer_end=each.end,
                ),
                own=statuses.get(number),
                at=number == now,
                sentence=True,
            )
            for number, each in enumerate(statements, start=1)
            if number in statuses or number == now
        )
        return [*numbered(claims), *sentences]
    return [
        replace(claim, own=statuses.get(claim.number), at=claim.number == now)
        for claim in numbered(claims)
    ]
