"""What agents draft, in `machine_draft`."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Index

from judgeboard.store.columns import JsonValue, Stored, column, table_of


class DraftKind(StrEnum):
    """What an agent can draft."""

    REVIEW = "review"
    LABEL_SCHEMA = "label_schema"
    FAILURE_MODES = "failure_modes"
    RUN = "run"

    @property
    def noun(self) -> str:
        """The word for such a draft on pages."""
        return self.replace("_", " ")


class DraftState(StrEnum):
    """Whether a person has decided a draft."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    DISMISSED = "dismissed"


class MachineDraft(Stored, table=True, of_responses="SELECT OLD.response_id"):
    """What an agent proposes. A draft counts nowhere until a person confirms the draft."""

    kind: DraftKind
    response_id: int | None = column(refers="response", default=None, index=True, reads=True)
    content: dict[str, Any] | None = column(JsonValue, forgotten=True)
    by: str
    at: datetime
    state: DraftState = column(default=DraftState.OPEN, changes=True)
    decided_by: str | None = column(default=None, changes=True)
    decided_at: datetime | None = column(default=None, changes=True)
    review_id: int | None = column(refers="review", default=None, index=True, changes=True)

    __table_args__ = (Index("ix_machine_draft_state", "state", "id"),)


MACHINE_DRAFT = table_of(MachineDraft)
