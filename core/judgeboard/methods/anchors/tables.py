"""The tables of anchors. A run of the mode `anchors` stores verdicts on anchors in `anchor_judgment`."""

from datetime import datetime

from sqlalchemy import Index

from judgeboard.store.columns import BigId, Row, Stored, Utc, column, table_of


class AnchorSet(Stored, table=True, has_hidden_rows=False):
    """Answers that a judge version judges again and again, to show whether it drifts; the newest set counts."""

    seed: str
    by: str
    at: datetime = column(Utc)


ANCHOR_SET = table_of(AnchorSet)


class Anchor(Row, table=True):
    """An answer of an anchor set."""

    anchor_set_id: int = column(BigId, refers="anchor_set", primary_key=True)
    response_id: int = column(BigId, refers="response", reads=True, primary_key=True)

    __table_args__ = (Index("ix_anchor_response", "response_id", "anchor_set_id"),)


ANCHOR = table_of(Anchor)
