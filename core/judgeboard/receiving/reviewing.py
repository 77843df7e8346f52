"""Stores reviews that programs send with a key, in the name of a person, by the functions of the pages."""

import secrets
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from judgeboard.domain import Decision, DimensionScore, Grade, Label
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.fields import fault_in
from judgeboard.judges.rubric_file import SCALE
from judgeboard.people.permissions import SIGNED_IN
from judgeboard.people.roster import people_named
from judgeboard.receiving.keys import Sender
from judgeboard.receiving.reading import named_response
from judgeboard.receiving.records import json_in_body
from judgeboard.reviews.decisions import decide, grade
from judgeboard.reviews.leases import split_token
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.items import response_of_flag
from judgeboard.store.queue_items import item_by_id
from judgeboard.store.responses import responses_by_id
from judgeboard.store.reviewers import Reviewer, reviewers_of


class SentReview(BaseModel):
    """A review of an answer by a person, about one of ``flag``, ``response`` and ``lease``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reviewer: str = Field(description="Name or e-mail address of the person, as on the pages.")
    flag: int | None = Field(None, ge=1, le=2**63 - 1, description="Id of an open flag. Needs a decision.")
    response: str | None = Field(None, description="Id of an answer or of its trace, for a grade without a decision.")
    source: str | None = Field(None, description="Source of the answer, if several sources have its id.")
    lease: str | None = Field(None, description="Token of a leased queue item, as `judgeboard queue next` prints it.")
    decision: Literal["confirm", "dismiss", "unsure"] | None = Field(None, description="Decision on the flags.")
    label: Literal["grounded", "hallucinated"] | None = None
    groundedness: float | None = Field(None, ge=0, le=1)
    quality: int | None = Field(None, ge=1, le=4)
    scores: dict[str, int] = Field({}, description="Scores from 1 to 5 by dimension of a rubric.")
    failure_modes: list[str] = Field([], description="Names of failure modes.")
    note: str | None = None
    corrected_answer: str | None = None
    judgment: int | None = Field(None, ge=1, le=2**63 - 1, description="Id of the judgment that the person saw.")
    seconds: float | None = Field(None, ge=0, description="Time that the person spent.")
    request_key: str | None = Field(None, max_length=100, description="The same key again stores nothing.")

    @property
    def grade(self) -> Grade:
        """The grade."""
        return Grade(
            label=None if self.label is None else Label(self.label),
            groundedness=self.groundedness,
            quality=self.quality,
            note=self.note,
            corrected_answer=self.corrected_answer,
            scores=tuple(DimensionScore(name, value, SCALE) for name, value in self.scores.items()),
            modes=tuple(self.failure_modes),
        )


def review_in(body: bytes) -> SentReview:
    """Return the review in a body. Raises BadInput, which names the field."""
    content = json_in_body(body)
    if isinstance(content, dict) and (fault := fault_in(content)):
        raise BadInput(f"{fault[0]}: {fault[1]}")
    try:
        sent = SentReview.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise BadInput(f"{field}: {first['msg']}" if field else f"the body is not a review: {first['msg']}") from None
    if sum(each is not None for each in (sent.flag, sent.response, sent.lease)) != 1:
        raise BadInput("a review needs one of flag, response and lease")
    if sent.flag is not None and sent.decision is None:
        raise BadInput("decision: a flag needs confirm, dismiss or unsure; for a grade alone, name the response")
    if sent.response is not None and sent.decision is not None:
        raise BadInput("decision: name the flag or the lease that it decides")
    return sent


def store_sent_review(store: Store, sender: Sender, sent: SentReview) -> dict[str, Any]:
    """Store a review and return its id, and what became of the flag or the item.

    An event names the key before the review is stored. The same rules hold as on the pages: permissions, blind queues
    and leases. Raises the errors of `decide`, `grade` and `decide_item`, NotFound, and Refused for another source.
    """
    with store.reading() as connection:
        response_id = _response_of(connection, sender, sent)
    person = _person(store, sent.reviewer)
    key = sent.request_key or secrets.token_hex(16)
    details = {"reviewer": person.id, "request": key}
    with store.writing() as connection:
        record_event(connection, "send_review", sender.actor, response_id=response_id, details=details)
    common: dict[str, Any] = {
        "reviewer": person,
        "grade": sent.grade,
        "judgment_seen_id": sent.judgment,
        "seconds": sent.seconds,
        "request_key": f"{sender.actor}:{key}",
    }
    decision = None if sent.decision is None else Decision(sent.decision)
    if sent.lease is not None:
        item = decide_item(store, sent.lease, decision=decision, **common)
        return {"review": item.review_id, "item": item.item_id, "state": item.state, "repeated": item.repeated}
    if sent.flag is not None and decision is not None:
        decided = decide(store, flag_id=sent.flag, decision=decision, **common)
        return {"review": decided.review_id, "flags_stay_open": decided.held}
    return {"review": grade(store, response_id=response_id or 0, **common)}


def _response_of(connection: Connection, sender: Sender, sent: SentReview) -> int | None:
    """Return the id of the answer, None for a pair. Raises Refused if the sender's key is for another source."""
    if sent.response is not None:
        return named_response(connection, sender, sent.response, sent.source)
    if sent.flag is not None:
        response_id: int | None = response_of_flag(connection, sent.flag)
    else:
        response_id = item_by_id(connection, split_token(sent.lease or "")[0]).response_id
    if sender.owner:
        _, response = next(responses_by_id(connection, [response_id or 0]), (0, None))
        sender.checked_source(response.source if response is not None else "another source")
    return response_id


def _person(store: Store, name: str) -> Reviewer:
    """Return the person with a name. Without sign-in, a new name is stored, as on the pages."""
    with store.reading() as connection:
        people_sign_in = bool(reviewers_of(connection, SIGNED_IN))
    try:
        return people_named(store, [name], new=not people_sign_in)[0]
    except NotFound as error:
        raise BadInput(f"reviewer: {error}") from None
