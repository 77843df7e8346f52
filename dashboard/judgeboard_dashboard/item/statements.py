"""The statements of an answer that a reviewer marks: a judge's claims where they may be seen, else sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard.judges.sentences import sentence_spans
from judgeboard_dashboard.item.marks import NumberedClaim, numbered

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
