"""The statements of an answer and the claims of its judge, placed in the texts they quote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard.judges.words import sentence_spans
from judgeboard_dashboard.evidence import Html, escaped, join, tag

ICONS = {"contradicted": "✗", "unsupported": "?", "notfound": "∅", "supported": "✓", "plain": ""}
# Worst first: an overlap shows the worse claim, and so does the list.
ORDER = tuple(ICONS)
MOST_LIT = 40


@dataclass(frozen=True, slots=True)
class NumberedClaim:
    """A claim with its number on the page, from 1 in the judge's order; or a sentence that the person marks.

    ``own`` is what the person at the screen says of it, ``at`` whether it is the one that the keys mark now.
    """

    number: int
    claim: Claim
    own: ClaimStatus | None = None
    at: bool = False
    sentence: bool = False

    @property
    def status(self) -> str:
        """The claim's status, ``notfound`` where its quote does not stand in the answer; of a sentence the person's."""
        if self.sentence:
            return "plain" if self.own is None else str(self.own.value)
        return str(self.claim.status.value) if self.claim.answer_start is not None else "notfound"

    @property
    def sign(self) -> str:
        """Icon and number, and the person's word: "✗1", "✗1 you ✓"; of a sentence only that: "you ✓"."""
        judged = "" if self.sentence else f"{ICONS[self.status]}{self.number}"
        said = "" if self.own is None else f"you {ICONS[self.own.value]}"
        return " ".join(part for part in (judged, said) if part) or "…"

    @property
    def words(self) -> str:
        """For a screen reader: "claim 1, contradicted", "claim 1, contradicted, you say supported"."""
        said = "quote not found in the answer" if self.status == "notfound" else STATUS_WORDS[self.claim.status]
        judged = f"sentence {self.number}" if self.sentence else f"claim {self.number}, {said}"
        return judged if self.own is None else f"{judged}, you say {STATUS_WORDS[self.own]}"

    @property
    def name(self) -> str:
        """What its ids and classes end in; sentences are numbered beside claims."""
        return f"s{self.number}" if self.sentence else str(self.number)


@dataclass(frozen=True, slots=True)
class Span:
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
    """Return what the claims quote of the answer."""
    return [
        Span(one.claim.answer_start, one.claim.answer_end, one)
        for one in claims
        if one.claim.answer_start is not None
        and one.claim.answer_end is not None
        and 0 <= one.claim.answer_start < one.claim.answer_end <= len(answer)
    ]


def passage_spans(claims: Iterable[NumberedClaim], passage: int, text: str) -> list[Span]:
    """Return what the claims quote of passage number ``passage`` (from 1)."""
    return [
        Span(one.claim.passage_start, one.claim.passage_end, one)
        for one in claims
        if one.claim.passage == passage
        and one.claim.passage_start is not None
        and one.claim.passage_end is not None
        and 0 <= one.claim.passage_start < one.claim.passage_end <= len(text)
    ]


def split(length: int, spans: Sequence[Span]) -> list[tuple[int, int, NumberedClaim | None]]:
    """Cut a text of ``length`` characters into pieces that each show one claim or none; overlaps show the worse."""
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
    """Return a text with its claims marked; its text content stays exactly the text.

    Args:
        text: As stored.
        spans: What to mark.
        here: The first letter of the marks' ids in this text ("a" in the answer, "q" in the passages).
        there: The same in the other text, to which a mark's number leads.
        part: Only the characters from here to there.
        begun: The claims that have an id already, where a text is shown in parts; added to.
    """
    begun = set() if begun is None else begun
    pieces = _within(split(len(text), spans), *(part or (0, len(text))))
    last = {claim.name: place for place, (_, _, claim) in enumerate(pieces) if claim is not None}
    parts: list[Html] = []
    for place, (start, end, claim) in enumerate(pieces):
        if claim is None:
            parts.append(escaped(text[start:end]))
            continue
        first = claim.name not in begun
        begun.add(claim.name)
        parts.append(
            tag(
                "mark",
                text[start:end],
                _number(claim, there) if last[claim.name] == place else None,
                cls=f"jb-m jb-{claim.status} c{claim.name}{' jb-at' if claim.at else ''}",
                id=f"{here}{claim.name}" if first else None,
                data_at=claim.name if first and claim.at else None,
            )
        )
    return join(parts)


def _within(
    pieces: Iterable[tuple[int, int, NumberedClaim | None]], start: int, end: int
) -> list[tuple[int, int, NumberedClaim | None]]:
    clipped = ((max(first, start), min(last, end), claim) for first, last, claim in pieces)
    return [piece for piece in clipped if piece[0] < piece[1]]


def _number(claim: NumberedClaim, there: str) -> Html:
    """The number after a mark: CSS content, since text would change what is copied and compared."""
    return tag("a", cls="jb-n", href=_goal(claim, there), data_n=claim.sign, aria_label=claim.words)


def _goal(claim: NumberedClaim, there: str) -> str | None:
    if claim.sentence:
        return None
    if there == "a":
        return f"#a{claim.number}" if claim.claim.answer_start is not None else None
    if claim.claim.passage_start is not None:
        return f"#q{claim.number}"
    return f"#p{claim.claim.passage}" if claim.claim.passage is not None else None


STATUS_WORDS = {
    ClaimStatus.SUPPORTED: "supported",
    ClaimStatus.UNSUPPORTED: "not supported",
    ClaimStatus.CONTRADICTED: "contradicted",
}


Subject = tuple[int | None, int | None, int | None]  # judgment and claim's number, or start and end in the answer


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement; ``judgment_id`` is None where it is a sentence. ``number`` counts from 1."""

    number: int
    text: str
    start: int | None
    end: int | None
    judgment_id: int | None = None

    @property
    def subject(self) -> Subject:
        """What a mark on it is known by."""
        if self.judgment_id is None:
            return (None, self.start, self.end)
        return (self.judgment_id, self.number, None)

    def marked(self, status: ClaimStatus) -> ClaimMark:
        """Return a person's word on it."""
        number = None if self.judgment_id is None else self.number
        return ClaimMark(status, self.text, self.start, self.end, self.judgment_id, number)


def statements_of(
    answer: str | None, claims: Sequence[Claim] | None = None, judgment_id: int | None = None
) -> tuple[Statement, ...]:
    """Return what can be marked, in order.

    Args:
        answer: As stored; None once forgotten, then there is nothing.
        claims: What the judge claimed that may be seen; none or None where it made none or is hidden: then the
            sentences of the answer.
        judgment_id: The judgment that the claims are of.
    """
    if answer is None:
        return ()
    if claims and judgment_id is not None:
        return tuple(
            Statement(number, claim.text, claim.answer_start, claim.answer_end, judgment_id)
            for number, claim in enumerate(claims, start=1)
        )
    return tuple(
        Statement(number, answer[start:end], start, end)
        for number, (start, end) in enumerate(sentence_spans(answer), start=1)
    )


def subject_of(mark: ClaimMark) -> Subject:
    """Return what a stored mark is known by."""
    return (None, mark.start, mark.end) if mark.judgment_id is None else (mark.judgment_id, mark.number, None)


def shown_claims(
    claims: Sequence[Claim],
    statements: Sequence[Statement],
    marks: Mapping[Subject, ClaimMark],
    at: int | None,
) -> list[NumberedClaim]:
    """Return what is marked in the texts: the judge's claims with the person's word beside it, or marked sentences.

    Args:
        claims: The judge's claims that may be seen.
        statements: What can be marked.
        marks: The person's marks by subject.
        at: The place among ``statements`` of the one that the keys mark now, None where none was chosen yet.
    """
    said = {statement.number: marks.get(statement.subject) for statement in statements}
    now = None if at is None or not statements else statements[at % len(statements)].number
    if any(statement.judgment_id is None for statement in statements):
        return [
            *numbered(claims),
            *(
                _sentence(statement, said[statement.number], at=statement.number == now)
                for statement in statements
                if said[statement.number] is not None or statement.number == now
            ),
        ]
    return [
        replace(one, own=None if (mark := said.get(one.number)) is None else mark.status, at=one.number == now)
        for one in numbered(claims)
    ]


def _sentence(statement: Statement, mark: ClaimMark | None, *, at: bool) -> NumberedClaim:
    status = ClaimStatus.SUPPORTED if mark is None else mark.status
    claim = Claim(statement.text, status, answer_start=statement.start, answer_end=statement.end)
    return NumberedClaim(statement.number, claim, own=None if mark is None else mark.status, at=at, sentence=True)
