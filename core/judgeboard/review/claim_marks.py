"""Checks what a person says of single statements of an answer."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlalchemy import Connection

from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard.errors import BadInput
from judgeboard.store.reviews.claim_marks import claims_by_judgment
from judgeboard.store.reviews.reviews import LockedResponse

MOST_MARKS = 2_000


def checked_marks(
    connection: Connection, marks: Collection[ClaimMark], response: LockedResponse
) -> tuple[ClaimMark, ...]:
    """Return marks as they are stored, in order of the answer: each with the text it speaks of.

    Raises:
        BadInput: There are more than 2,000, a status is none of the three, offsets do not lie inside the answer, a
            judgment is not of this response or has no claim of this number, or a statement is marked twice.
    """
    if len(marks) > MOST_MARKS:
        raise BadInput(f"at most {MOST_MARKS:,} statements of one answer are marked")
    named = {mark.judgment_id for mark in marks if mark.judgment_id is not None}
    claims = claims_by_judgment(connection, named, response.id) if named else {}
    whole = [_checked(mark, response, claims) for mark in marks]
    spoken_of = {
        (mark.judgment_id, mark.number) if mark.judgment_id is not None else (mark.start, mark.end, "")
        for mark in whole
    }
    if len(spoken_of) < len(whole):
        raise BadInput("a statement is marked twice")
    return tuple(sorted(whole, key=lambda mark: (mark.start is None, mark.start or 0, mark.number or 0)))


def _checked(mark: ClaimMark, response: LockedResponse, claims: Mapping[int, tuple[Claim, ...]]) -> ClaimMark:
    if mark.status not in set(ClaimStatus):
        raise BadInput(f"a statement is {', '.join(ClaimStatus)}, not {mark.status!r}")
    if mark.judgment_id is None:
        if mark.number is not None:
            raise BadInput("a claim's number needs the judgment that made the claim")
        start, end = _inside(mark, response)
        return replace(mark, status=ClaimStatus(mark.status), text=(response.answer or "")[start:end])
    if mark.judgment_id not in claims:
        raise BadInput(f"judgment {mark.judgment_id} is not one of {response.external_id}")
    made = claims[mark.judgment_id]
    if mark.number is None or isinstance(mark.number, bool) or not 1 <= mark.number <= len(made):
        raise BadInput(f"judgment {mark.judgment_id} has no claim {mark.number}")
    claim = made[mark.number - 1]
    whole = replace(mark, status=ClaimStatus(mark.status), text=claim.text)
    if (mark.start, mark.end) == (None, None):
        whole = replace(whole, start=claim.answer_start, end=claim.answer_end)
    if (whole.start, whole.end) != (None, None):
        _inside(whole, response)
    return whole


def _inside(mark: ClaimMark, response: LockedResponse) -> tuple[int, int]:
    length = len(response.answer or "")
    start, end = mark.start, mark.end
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= length:
        raise BadInput(
            f"a mark runs from a start to an end inside the answer's {length} characters, not {start} to {end}"
        )
    return start, end
