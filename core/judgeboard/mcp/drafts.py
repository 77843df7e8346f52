"""Drafts of agents: a person confirms a draft, which stores its content as the person's own, or dismisses the draft."""

from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy import Connection, insert, select, update

from judgeboard.domain import Action, Decision
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import schema_in
from judgeboard.mcp.tables import MACHINE_DRAFT, DraftKind, DraftState, MachineDraft
from judgeboard.people.permissions import allowed
from judgeboard.receiving.api import SentGrade
from judgeboard.registry.masks import masked
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.queues import add_schema
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.runs.estimates import CallEstimate
from judgeboard.runs.jobs import estimate_calls, request_rejudge, usable_versions
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Readable, Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter, describe, from_dict
from judgeboard.store.hidden_rows import Seen, hidden_of, viewer_of
from judgeboard.store.statements import get_row, rows_of
from judgeboard.store.tables import Reviewer

ACTIONS = {
    DraftKind.REVIEW: Action.REVIEW,
    DraftKind.LABEL_SCHEMA: Action.MAKE_QUEUES,
    DraftKind.FAILURE_MODES: Action.CHANGE_SETTINGS,
    DraftKind.RUN: Action.REJUDGE_MANY,
}
"""What a person must be allowed to do to confirm or dismiss a draft."""

MOST_OPEN = 1_000  # of one agent, so that nobody fills the database
MOST_LISTED = 200


class DraftedSchema(BaseModel):
    """A label schema as YAML."""

    yaml: str


class DraftedMode(BaseModel):
    """A failure mode."""

    name: str = Field(min_length=1, max_length=60)
    description: str | None = Field(None, max_length=1_000)


class DraftedModes(BaseModel):
    """New failure modes."""

    modes: list[DraftedMode]


class RunRequest(BaseModel):
    """A run of a stored judge version on the answers of a filter. The run stops at a cost."""

    judge: str
    where: dict[str, Any]
    mode: Literal["plain", "all", "failed"]
    max_cost: float | None
    estimated: str = ""

    @property
    def words(self) -> str:
        """The run with the estimate, for the person who confirms the run."""
        limit = "" if self.max_cost is None else f" The run stops at a cost of {self.max_cost:g}."
        return f"{self.estimated}. Answers: {describe(self.filter)}. Mode: {self.mode}.{limit}"

    @property
    def filter(self) -> RowFilter:
        """The filter."""
        return from_dict(self.where)

    def estimate(self, store: Readable) -> CallEstimate:
        """Return the number of calls and the cost of all calls, as of now."""
        spec = self._spec(store)
        return estimate_calls(store, judge=spec, where=self.filter, mode=self.mode)

    def start(self, store: Store, actor: Reviewer | str) -> str:
        """Request the job that judges these answers, and return the id of the job."""
        return request_rejudge(
            store,
            judge=self._spec(store),
            where=self.filter,
            mode=self.mode,
            max_cost=self.max_cost,
            estimate=self.estimate(store),
            actor=actor,
        )

    def _spec(self, store: Readable) -> dict[str, Any]:
        with store.reading() as connection:
            versions = usable_versions(connection)
        for version, spec in versions:
            if self.judge in {version.title, version.name, version.fingerprint}:
                return spec
        titles = ", ".join(version.title for version, _ in versions) or "none yet"
        raise BadInput(f"no judge version {self.judge!r} can make a job; those that can: {titles}")


CONTENTS: dict[DraftKind, type[BaseModel]] = {
    DraftKind.REVIEW: SentGrade,
    DraftKind.LABEL_SCHEMA: DraftedSchema,
    DraftKind.FAILURE_MODES: DraftedModes,
    DraftKind.RUN: RunRequest,
}


def add_draft(
    store: Store, kind: DraftKind, content: BaseModel, *, by: str, response_id: int | None = None
) -> int:
    """Store a draft, whose content was checked, and return its id. Raises BadInput if too many are open."""
    now = utc_now()
    draft = MachineDraft(
        kind=kind,
        response_id=response_id,
        content=masked(content.model_dump(mode="json", exclude_defaults=True)),
        by=by,
        at=now,
    )
    with store.writing() as connection:
        if len(list_drafts(connection, by=by, most=MOST_OPEN)) == MOST_OPEN:
            raise BadInput(
                f"{MOST_OPEN:,} drafts of {by} are open: a person must decide some of them first"
            )
        id_ = connection.scalar(
            insert(MACHINE_DRAFT).returning(MACHINE_DRAFT.c.id), draft.new_values()
        )
        details = {"draft": id_, "kind": kind.value}
        record_event(connection, "draft", by, response_id=response_id, details=details, now=now)
    return int(id_ or 0)


def list_drafts(
    connection: Connection,
    *,
    response_id: int | None = None,
    by: str | None = None,
    most: int = MOST_LISTED,
) -> list[MachineDraft]:
    """Return the latest open drafts, the newest first: about an answer, of an agent.

    A reader gets no draft about an answer if a part of the answer is hidden until the reader's
    review: the agent may have read this part.
    """
    columns = {"state": DraftState.OPEN, "response_id": response_id, "by": by}
    conditions = [MACHINE_DRAFT.c[name] == value for name, value in columns.items() if value]
    query = select(MachineDraft).where(*conditions).order_by(MACHINE_DRAFT.c.id.desc())
    viewer = viewer_of(connection)
    return [
        draft
        for draft in rows_of(connection, query.limit(most))
        if draft.response_id is None
        or not hidden_of(connection, viewer, response_id=draft.response_id, own_first=True)
    ]


def content_of(draft: MachineDraft) -> BaseModel | None:
    """Return the content of a draft, None if the content was forgotten with the answer."""
    return None if draft.content is None else CONTENTS[draft.kind].model_validate(draft.content)


def draft_words(draft: MachineDraft) -> str:
    """Return the content of a draft in words, some of which an agent wrote."""
    match content_of(draft):
        case SentGrade() as review:
            values = review.model_dump(exclude_defaults=True)
            return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in values.items())
        case DraftedSchema(yaml=yaml):
            return yaml.strip()
        case DraftedModes(modes=modes):
            return "\n".join(
                f"{mode.name}: {mode.description or 'no description'}" for mode in modes
            )
        case RunRequest() as run:
            return run.words
        case _:
            return "deleted with the texts of its answer"


def confirm(store: Store, draft_id: int, person: Reviewer) -> str:
    """Store a draft as a person's own review, schema, failure modes or run, and return a sentence about it.

    Raises BadInput if the draft is decided or forgotten, NotAllowed, and the errors of storing the
    content: a blind answer must be reviewed in the queue.
    """
    draft = _open_draft(store, draft_id, person)
    review_id = None
    match content_of(draft):
        case SentGrade() as review:
            submission = Submission(
                reviewer=person,
                # The same confirmation again stores nothing; of two people at once, the second is refused.
                request_key=f"draft:{draft.id}",
                flag_id=review.flag,
                response_id=None if review.flag else draft.response_id,
                decision=None if review.decision is None else Decision(review.decision),
                grade=review.grade,
            )
            review_id = submit(store, submission).review_id
            stored_words = f"review {review_id}"
        case DraftedSchema(yaml=yaml):
            stored_words = f"the label schema {add_schema(store, schema_in(yaml), by=person).title}"
        case DraftedModes(modes=modes):
            for mode in modes:
                save_mode(store, mode.name, mode.description, by=person)
            stored_words = f"failure modes {', '.join(mode.name for mode in modes)}"
        case RunRequest() as run:
            stored_words = f"the job {run.start(store, person)}"
        case _:
            raise BadInput(f"the draft {draft_id} was deleted with the texts of its answer")
    _decide(store, draft, person, DraftState.CONFIRMED, review_id)
    return f"Draft {draft_id} is confirmed: {stored_words}"


def dismiss(store: Store, draft_id: int, person: Reviewer) -> str:
    """Dismiss a draft, and return a sentence about it. Raises BadInput if the draft is decided, and NotAllowed."""
    draft = _open_draft(store, draft_id, person)
    _decide(store, draft, person, DraftState.DISMISSED, None)
    return f"Draft {draft_id} is dismissed"


def _open_draft(store: Store, draft_id: int, person: Reviewer) -> MachineDraft:
    with Seen(store, person.id).reading() as connection:
        draft = get_row(connection, MachineDraft, draft_id, "draft")
    if draft.state is not DraftState.OPEN:
        raise BadInput(
            f"the draft {draft_id} is {draft.state.value} already, by {draft.decided_by}"
        )
    return draft


def _decide(
    store: Store, draft: MachineDraft, person: Reviewer, state: DraftState, review_id: int | None
) -> None:
    now = utc_now()
    with allowed(store, person, ACTIONS[draft.kind]) as connection:
        is_open = (MACHINE_DRAFT.c.id == draft.id) & (MACHINE_DRAFT.c.state == DraftState.OPEN)
        decision = update(MACHINE_DRAFT).where(is_open)
        decided = {
            "state": state,
            "decided_by": person.name,
            "decided_at": now,
            "review_id": review_id,
        }
        if not connection.execute(decision, decided).rowcount:
            return  # somebody else has just decided the draft
        details = {"draft": draft.id, "state": state.value, "by": draft.by, "review": review_id}
        record_event(
            connection,
            "decide_draft",
            person.name,
            response_id=draft.response_id,
            details=details,
            now=now,
        )
