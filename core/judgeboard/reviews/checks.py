"""Checks of the content of a review before it is stored."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import (
    GRADE_TEXTS,
    LONGEST_KEY,
    Claim,
    ClaimMark,
    ClaimStatus,
    Decision,
    Grade,
    Preference,
)
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.formats.label_schema import FieldType
from judgeboard.judges.rubric_file import LEVELS, SCALE
from judgeboard.registry.masks import masked
from judgeboard.store.issues import list_modes
from judgeboard.store.label_schemas import schema_by_id
from judgeboard.store.queue_items import answer_texts
from judgeboard.store.queues import PAIRS
from judgeboard.store.reviews import LockedResponse, Review, claims_by_judgment, find_review
from judgeboard.store.tables import Queue, Reviewer
from judgeboard.text import some_of, unstorable

NOTHING = Grade()
ASKED = ("label", "groundedness", "quality")
MOST_MARKS = 2_000
LONGEST_LOOK = 30 * 86_400  # seconds


def checked_key(request_key: str) -> str:
    """Return the key of a request: 1 to 200 characters that can be stored."""
    if not request_key or len(request_key) > LONGEST_KEY or unstorable(request_key):
        raise BadInput(f"a request key is a text of 1 to {LONGEST_KEY} characters")
    return request_key


def checked_judgment(
    connection: Connection, judgment_id: int | None, response: LockedResponse
) -> int | None:
    """Return the judgment that was on the screen; raise `BadInput` if the judgment belongs to another answer."""
    if judgment_id is not None and not claims_by_judgment(connection, [judgment_id], response.id):
        raise BadInput(f"judgment {judgment_id} does not belong to {response.external_id}")
    return judgment_id


def checked_grade(
    connection: Connection,
    grade: Grade,
    response: LockedResponse | None,
    judgment_seen_id: int | None,
    *,
    schema: bool,
) -> Grade:
    """Return a grade as stored: blank texts and empty lists of spans become None.

    A pair (no ``response``) can only have notes. With a label ``schema``, `checked_fields` checks
    the scores later. Marks get texts from the answer and from the judgments that the marks name.

    Raises:
        BadInput: A part of the grade does not belong to this answer, or cannot be stored.
        DecisionRefused: The answer was forgotten, and the grade has a note, a corrected answer or
            texts.
    """
    grade = masked(grade)
    texts: dict[str, Any] = {name: _checked_grade_text(grade, name) for name in GRADE_TEXTS}
    if response is None:
        if grade != grade.only_notes():
            raise BadInput(
                "a pair has no grades: choose the better answer, and add a note if you want"
            )
        return replace(grade, **texts)
    if grade.why_differs is not None and judgment_seen_id is None:
        raise BadInput("a reason for differing from the judge needs a verdict that the person saw")
    scores = grade.scores
    if len({score.dimension for score in scores}) < len(scores):
        raise BadInput("a dimension is scored twice")
    for score in scores:
        if (
            not score.dimension.strip()
            or len(score.dimension) > LONGEST_KEY
            or unstorable(score.dimension)
        ):
            raise BadInput(f"the name of a dimension must have 1 to {LONGEST_KEY} characters")
        if schema:
            continue
        if score.scale != SCALE or isinstance(score.value, bool) or score.value not in LEVELS:
            raise BadInput(
                f"{score.dimension}: a rubric's score is an integer from 1 to 5, not {score.value!r}"
            )
    check_modes(connection, grade.modes)
    spans = tuple(_checked_span(span, response.answer or "") for span in grade.spans or ())
    if grade.texts or any(texts.values()):
        check_not_forgotten(response)  # a new text could repeat the deleted ones
    # Marks as stored: each with the text of the statement, in the order of the answer.
    if len(grade.claim_marks) > MOST_MARKS:
        raise BadInput(f"at most {MOST_MARKS:,} statements of one answer can be marked")
    judgment_ids = {mark.judgment_id for mark in grade.claim_marks if mark.judgment_id is not None}
    claims = claims_by_judgment(connection, judgment_ids, response.id) if judgment_ids else {}
    marks = [_checked_mark(mark, response, claims) for mark in grade.claim_marks]
    statements = {
        (mark.judgment_id, mark.number)
        if mark.judgment_id is not None
        else (mark.start, mark.end, "")
        for mark in marks
    }
    if len(statements) < len(marks):
        raise BadInput("a statement is marked twice")
    marks.sort(key=lambda mark: (mark.start is None, mark.start or 0, mark.number or 0))
    implied = grade.label_implied and grade.label is not None
    return replace(
        grade,
        spans=spans or None,
        claim_marks=tuple(marks),
        label_implied=implied,
        modes=tuple(sorted(set(grade.modes))),
        **texts,
    )


def checked_fields(
    connection: Connection,
    schema_id: int | None,
    grade: Grade,
    response: LockedResponse | None,
    decision: Decision | None,
) -> Grade:
    """Return a grade with checked fields; raise BadInput if a field is wrong, missing or not in the schema.

    A confirmed or dismissed answer needs the required fields; a grade alone and the decision
    "unsure" do not.
    """
    if schema_id is None or response is None:
        if grade.choices or grade.texts:
            raise BadInput(
                f"this queue has no field {next(iter({**grade.choices, **grade.texts}))!r}"
            )
        return grade
    schema = schema_by_id(connection, schema_id).content
    scored = {score.dimension for score in grade.scores}
    unknown = {*grade.choices, *grade.texts, *scored} - {field.name for field in schema.own}
    if unknown:
        raise BadInput(f"the schema {schema.name} has no field {min(unknown)!r}")
    values = schema.checked(schema.values(grade))
    missing_names = schema.missing(values)
    if missing_names and decision in {Decision.CONFIRM, Decision.DISMISS}:
        raise BadInput(f"required: {', '.join(missing_names)}")
    # A span lies inside its text, and the answer has each passage that a field names.
    placed = [
        field
        for field in schema.of_type(FieldType.SPANS, FieldType.RANKING)
        if field.name in values
    ]
    texts = answer_texts(connection, [response.id]) if placed else {}
    for field in placed:
        passages = texts[response.id].passages or ()
        for place in values[field.name]:
            number = place if field.type is FieldType.RANKING else place.get("passage")
            if number is not None and not 1 <= number <= len(passages):
                raise BadInput(f"{field.name}: there is no passage {number}")
            if field.type is FieldType.SPANS:
                text = (response.answer or "") if number is None else passages[number - 1]
                if place["end"] > len(text):
                    raise BadInput(
                        f"{field.name}: the span {place['start']} to {place['end']} is outside its text"
                    )
    return schema.grade(values, grade)


class MissingGrades(BadInput):
    """A review lacks grades that the queue requires."""


def missing_grades(
    queue: Queue, decision: Decision | Preference | None, grade: Grade
) -> tuple[str, ...]:
    """Return the required grades that a review lacks. Unsure reviews and reviews of pairs need no grades."""
    if queue.subject == PAIRS or decision is Decision.UNSURE:
        return ()
    graded = {name for name in ASKED if getattr(grade, name) is not None}
    graded |= {score.dimension for score in grade.scores if score.value is not None}
    return tuple(name for name in queue.grades if name not in graded)


def check_required(queue: Queue, decision: Decision | Preference | None, grade: Grade) -> None:
    """Raise `MissingGrades` if a review lacks a grade that the queue requires."""
    if missing_names := missing_grades(queue, decision, grade):
        required = ", ".join(queue.grades)
        raise MissingGrades(
            f"the queue {queue.name!r} requires {required}; missing: {', '.join(missing_names)}"
        )


def check_modes(connection: Connection, names: Collection[str]) -> None:
    """Raise `BadInput` for an unknown failure mode. Retired modes are accepted: a draft may name one."""
    if not names:
        return
    modes = list_modes(connection)
    if unknown := sorted(set(names) - modes.keys()):
        choices = some_of([name for name, mode in modes.items() if not mode.retired])
        raise BadInput(
            f"there is no failure mode {unknown[0]!r}: {f'choose {choices}' if choices else 'add it first'}"
        )


def checked_text(what: str, text: str | None) -> str | None:
    """Return the stripped text, None if blank; raise `BadInput` if the text cannot be stored."""
    stripped = (text or "").strip() or None
    if stripped is not None and (reason := unstorable(stripped)):
        raise BadInput(f"{what} cannot be stored: {reason}")
    return stripped


def _checked_grade_text(grade: Grade, name: str) -> str | None:
    text: str | None = getattr(grade, name)
    stripped = checked_text(f"the {GRADE_TEXTS[name].label}", text)
    return text if stripped and GRADE_TEXTS[name].edits else stripped


def check_not_forgotten(response: LockedResponse) -> None:
    """Raise `DecisionRefused` if the texts of the answer were deleted: no new text about it is stored."""
    if response.answer is None:
        raise DecisionRefused(
            f"The texts of {response.external_id} were deleted: no new text about it can be stored."
        )


def stored_before(
    connection: Connection,
    request_key: str,
    reviewer: Reviewer,
    is_same: Callable[[Review], bool],
) -> Review | None:
    """Return the review that the same request stored before; raise `BadInput` if the key belongs to another request."""
    stored_review = find_review(connection, request_key=request_key)
    if stored_review is not None and (
        stored_review.reviewer_id != reviewer.id or not is_same(stored_review)
    ):
        raise BadInput("this request key belongs to another review: every request needs its own")
    return stored_review


def check_own(connection: Connection, review: Review, reviewer: Reviewer, what: str) -> None:
    """Raise `DecisionRefused` if a review is not the reviewer's own or not current. ``what`` is like "undo it"."""
    if review.reviewer_id != reviewer.id:
        raise DecisionRefused(
            f"This is {review.reviewer}'s review: only {review.reviewer} can {what}."
        )
    later = find_review(connection, replaces=review.id)
    if review.decision is Decision.WITHDRAWN or (
        later is not None and later.decision is Decision.WITHDRAWN
    ):
        raise DecisionRefused("This review is undone already.")
    if later is not None:
        raise DecisionRefused("You have a newer review of this answer: undo that one first.")


def _checked_mark(
    mark: ClaimMark, response: LockedResponse, claims: Mapping[int, tuple[Claim, ...]]
) -> ClaimMark:
    if mark.status not in set(ClaimStatus):
        raise BadInput(
            f"the status of a statement must be {', '.join(ClaimStatus)}, not {mark.status!r}"
        )
    if mark.judgment_id is None:
        if mark.number is not None:
            raise BadInput("the number of a claim needs the id of its judgment")
        start, end = _inside("mark", mark.start, mark.end, response.answer or "")
        return replace(
            mark, status=ClaimStatus(mark.status), text=(response.answer or "")[start:end]
        )
    if mark.judgment_id not in claims:
        raise BadInput(f"judgment {mark.judgment_id} does not belong to {response.external_id}")
    of_judgment = claims[mark.judgment_id]
    if (
        mark.number is None
        or isinstance(mark.number, bool)
        or not 1 <= mark.number <= len(of_judgment)
    ):
        raise BadInput(f"judgment {mark.judgment_id} has no claim {mark.number}")
    claim = of_judgment[mark.number - 1]
    complete_mark = replace(mark, status=ClaimStatus(mark.status), text=claim.text)
    if (mark.start, mark.end) == (None, None):
        complete_mark = replace(complete_mark, start=claim.answer_start, end=claim.answer_end)
    if (complete_mark.start, complete_mark.end) != (None, None):
        _inside("mark", complete_mark.start, complete_mark.end, response.answer or "")
    return complete_mark


def _inside(what: str, start: Any, end: Any, answer: str) -> tuple[int, int]:
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(answer):
        raise BadInput(
            f"the start and end of a {what} must lie inside the answer ({len(answer)} characters), not {start} to {end}"
        )
    return start, end


def _checked_span(span: dict[str, Any], answer: str) -> dict[str, Any]:
    if span.get("passage") is None:
        _inside("span", span.get("start"), span.get("end"), answer)
    for name, value in span.items():
        if isinstance(value, str):
            checked_text(f"the {name} of a span", value)
    return span
