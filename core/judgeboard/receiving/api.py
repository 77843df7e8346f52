"""The API for programs with a key: read an answer with all its records, read pages of flags, send reviews.

The records are those of `judgeboard export`. A key is no person: like an export, a key also gets
data that the reviewers of blind queues do not see yet. For a key of one source, other sources do
not exist.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from judgeboard.domain import GRADE_TEXTS, Decision, DimensionScore, FlagState, Grade, Label
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.fields import MAX_ID, fault_in
from judgeboard.judges.rubric_file import SCALE
from judgeboard.people.permissions import ENTERED, SIGNED_IN
from judgeboard.people.roster import people_named
from judgeboard.receiving.keys import Sender
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.export import objects_of
from judgeboard.store.items import response_of_flag
from judgeboard.store.leases import split_token
from judgeboard.store.open_flags import flags_after
from judgeboard.store.queue_items import item_by_id
from judgeboard.store.responses import Named, responses_named
from judgeboard.store.reviewers import people_sign_in
from judgeboard.store.tables import FLAG, JUDGMENT, RESPONSE, REVIEW
from judgeboard.store.traces import responses_of_trace
from judgeboard.traces.sdk_requests import RequestBody, json_in_body

DEFAULT_LIMIT, HIGHEST_LIMIT = 100, 1_000
FLAG_PARAMETERS: Mapping[str, str] = {
    "state": f"{', '.join(FlagState)} (default: open)",
    "rule": "Name of a rule.",
    "source": "Source of the answers.",
    "limit": f"Number of flags, 1 to {HIGHEST_LIMIT:,} (default: {DEFAULT_LIMIT}).",
    "after": "The value of `next` of the page before.",
}
SOURCE_PARAMETER: Mapping[str, str] = {
    "source": "Source of the answer, if several sources have this id."
}


def response_record(
    store: Store, sender: Sender, name: str, parameters: Mapping[str, str]
) -> bytes:
    """Return an answer with its judgments, flags and reviews as JSON.

    ``name`` is the id of the answer or of the trace. Raises NotFound, or BadInput if several
    sources have this id.
    """
    _check_names(parameters, SOURCE_PARAMETER)
    with sender.seen(store).reading() as connection:
        id_ = named_response(connection, sender, name, parameters.get("source"))
        parts = {
            "judgments": objects_of(
                connection, "judgments", JUDGMENT.c.response_id == id_, key="judgment"
            ),
            "flags": objects_of(connection, "flags", FLAG.c.response_id == id_),
            "reviews": objects_of(connection, "reviews", REVIEW.c.response_id == id_),
        }
        response = next(objects_of(connection, "responses", RESPONSE.c.id == id_), None)
        if response is None:
            raise NotFound(f"the texts of the answer {name!r} were deleted")
        return orjson.dumps(
            {"response": orjson.Fragment(response)}
            | {part: [orjson.Fragment(each) for each in objects] for part, objects in parts.items()}
        )


def flag_page(store: Store, sender: Sender, parameters: Mapping[str, str]) -> bytes:
    """Return a page of flags by ascending id as JSON; ``next`` is the id after which the next page begins, or null."""
    _check_names(parameters, FLAG_PARAMETERS)
    state = parameters.get("state", FlagState.OPEN.value)
    if state not in set(FlagState):
        raise BadInput(f"the state of a flag is {', '.join(FlagState)}, not {state!r}")
    limit = _number(parameters, "limit", DEFAULT_LIMIT, HIGHEST_LIMIT)
    source = _named_source(sender, parameters.get("source"))
    with sender.seen(store).reading() as connection:
        ids = flags_after(
            connection,
            FlagState(state),
            rule=parameters.get("rule"),
            source=source,
            after=_number(parameters, "after", 0, 2**63 - 1),
            limit=limit,
        )
        flags = [
            orjson.Fragment(each) for each in objects_of(connection, "flags", FLAG.c.id.in_(ids))
        ]
    return orjson.dumps({"flags": flags, "next": ids[-1] if len(ids) == limit else None})


def named_response(connection: Connection, sender: Sender, name: str, source: str | None) -> int:
    """Return the database id of an answer by the id of the answer or of the trace.

    Raises NotFound, or BadInput if several sources that the sender may read have this id.
    """
    if not name or len(name) > MAX_ID:
        raise BadInput(f"an id is a text of 1 to {MAX_ID} characters")
    required_source = _named_source(sender, source)
    matches: list[Named] = []
    for answers in (
        responses_named(connection, [name]).get(name, []),
        responses_of_trace(connection, name.lower()),
    ):
        matches = matches or [
            each for each in answers if required_source is None or each.source == required_source
        ]
    if not matches:
        raise NotFound(f"no answer has the id {name!r}")
    if len(matches) > 1:
        sources = ", ".join(sorted({each.source for each in matches}))
        raise BadInput(f"several answers have the id {name!r}: name the source ({sources})")
    return matches[0].id


def _named_source(sender: Sender, source: str | None) -> str | None:
    """Return the source that a request names. Raises Refused if the key is for another source."""
    return source and sender.checked_source(source)


def _check_names(parameters: Mapping[str, str], descriptions: Mapping[str, Any]) -> None:
    unknown_names = sorted(parameters.keys() - descriptions.keys())
    if unknown_names:
        raise BadInput(f"there is no parameter {unknown_names[0]!r}: use {', '.join(descriptions)}")


def _number(parameters: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = parameters.get(name, str(default))
    least = min(1, default)
    if not (
        text.isascii()
        and text.isdecimal()
        and len(text) <= len(str(most))
        and least <= int(text) <= most
    ):
        raise BadInput(f"{name} is a whole number from {least} to {most:,}, not {text!r}")
    return int(text)


class SentGrade(BaseModel):
    """The content of a review that a program or an agent sends: a decision on flags, grades and texts."""

    model_config = ConfigDict(extra="forbid", strict=True)

    flag: int | None = Field(
        None, ge=1, le=2**63 - 1, description="Id of an open flag. Needs a decision."
    )
    decision: Literal["confirm", "dismiss", "unsure"] | None = Field(
        None, description="Decision on the flags."
    )
    label: Literal["grounded", "hallucinated"] | None = None
    groundedness: float | None = Field(None, ge=0, le=1)
    quality: int | None = Field(None, ge=1, le=4)
    scores: dict[str, int] = Field({}, description="Scores from 1 to 5 by dimension of a rubric.")
    failure_modes: list[str] = Field([], description="Names of failure modes.")
    note: str | None = None
    corrected_answer: str | None = None

    @property
    def grade(self) -> Grade:
        """The grade."""
        texts: dict[str, Any] = {name: getattr(self, name, None) for name in GRADE_TEXTS}
        return Grade(
            label=None if self.label is None else Label(self.label),
            groundedness=self.groundedness,
            quality=self.quality,
            scores=tuple(DimensionScore(name, value, SCALE) for name, value in self.scores.items()),
            modes=tuple(self.failure_modes),
            **texts,
        )


class SentReview(SentGrade, RequestBody):
    """A review of an answer by a person, about one of ``flag``, ``response`` and ``lease``."""

    example: ClassVar[Mapping[str, Any]] = {
        "reviewer": "ann@example.org",
        "response": "answer-1",
        "quality": 1,
        "note": "The passage names another temperature.",
        "request_key": "ticket-7",
    }

    reviewer: str = Field(description="Name or e-mail address of the person, as on the pages.")
    response: str | None = Field(
        None, description="Id of an answer or of its trace, for a grade without a decision."
    )
    source: str | None = Field(
        None, description="Source of the answer, if several sources have its id."
    )
    lease: str | None = Field(None, description="Token of a queue item that the person has leased.")
    judgment: int | None = Field(
        None, ge=1, le=2**63 - 1, description="Id of the judgment that the person saw."
    )
    seconds: float | None = Field(None, ge=0, description="Time that the person spent.")
    request_key: str | None = Field(
        None, max_length=100, description="The same key again stores nothing."
    )


def review_in(body: bytes) -> SentReview:
    """Return the review in a body. Raises BadInput, which names the field."""
    content = json_in_body(body)
    if isinstance(content, dict) and (fault := fault_in(content)):
        raise BadInput(f"{fault[0]}: {fault[1]}")
    try:
        review = SentReview.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise BadInput(
            f"{field}: {first['msg']}" if field else f"the body is not a review: {first['msg']}"
        ) from None
    if sum(each is not None for each in (review.flag, review.response, review.lease)) != 1:
        raise BadInput("a review needs one of flag, response and lease")
    if review.flag is not None and review.decision is None:
        raise BadInput(
            "decision: a flag needs confirm, dismiss or unsure; for a grade alone, name the response"
        )
    if review.response is not None and review.decision is not None:
        raise BadInput("decision: name the flag or the lease that it decides")
    return review


def store_sent_review(store: Store, sender: Sender, review: SentReview) -> dict[str, Any]:
    """Store a review and return its id, and the new state of the flag or the item.

    An event names the key before the review is stored. The same rules hold as on the pages:
    permissions, blind queues and leases. Raises the errors of `submit`, NotFound, and Refused if
    the review names another source.
    """
    with sender.seen(store).reading() as connection:
        # The id of the answer, None for a pair.
        response_id: int | None
        if review.response is not None:
            response_id = named_response(connection, sender, review.response, review.source)
        elif review.flag is not None:
            response_id = response_of_flag(connection, review.flag)
        else:
            response_id = item_by_id(connection, split_token(review.lease or "")[0]).response_id
    # The person with the name. If people sign in, only people who signed in may review. Only a
    # program on this machine, without a key and without sign-in, can add a new name, as on the
    # pages. No error names other people.
    with store.reading() as connection:
        sign_in = people_sign_in(connection)
    origins = (
        {SIGNED_IN}
        if sign_in
        else {SIGNED_IN, ENTERED}
        if sender.key
        else {SIGNED_IN, ENTERED, "cli"}
    )
    person = None
    with suppress(NotFound):
        person = people_named(store, [review.reviewer], new=sender.key is None and not sign_in)[0]
    if person is None or person.origin not in origins:
        way = "" if sign_in else "enter the name on a page, or "
        raise BadInput(
            f"reviewer: nobody here has the name {review.reviewer!r}: {way}add a person with "
            "`judgeboard people add E-MAIL`"
        )
    key = review.request_key or secrets.token_hex(16)
    details = {"reviewer": person.id, "request": key}
    with store.writing() as connection:
        record_event(
            connection, "send_review", sender.actor, response_id=response_id, details=details
        )
    submission = Submission(
        reviewer=person,
        request_key=f"{sender.actor}:{key}",
        flag_id=review.flag,
        response_id=None if review.response is None else response_id,
        token=review.lease,
        decision=None if review.decision is None else Decision(review.decision),
        grade=review.grade,
        judgment_seen_id=review.judgment,
        seconds=review.seconds,
    )
    outcome = submit(store, submission)
    if review.lease is not None:
        item = {"item": outcome.item_id, "state": outcome.state, "repeated": outcome.repeated}
        return {"review": outcome.review_id, **item}
    if review.flag is not None:
        return {"review": outcome.review_id, "flags_stay_open": outcome.held}
    return {"review": outcome.review_id}
