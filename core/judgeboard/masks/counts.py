"""Counts masked values: when an answer is stored, and for figures."""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Connection, delete, func, insert, select

from judgeboard.domain import Response
from judgeboard.masks.rules import Masks
from judgeboard.masks.tables import MASK_COUNT
from judgeboard.registry.masks import MaskTotal
from judgeboard.store.responses import content


def store_counts(connection: Connection, masks: Masks, answers: Mapping[int, Response]) -> None:
    """Store how many different values of each kind are masked in answers, by id, in place of earlier counts."""
    rows = [
        {"response_id": id_, "kind": kind, "version": masks.version, "masked": count}
        for id_, answer in answers.items()
        for kind, count in Counter(
            mask[1:].partition(" ")[0] for mask in masks.masks_in(content(answer))
        ).items()
    ]
    connection.execute(delete(MASK_COUNT).where(MASK_COUNT.c.response_id.in_(answers)))
    if rows:
        connection.execute(insert(MASK_COUNT), rows)


def mask_totals(connection: Connection) -> list[MaskTotal]:
    """Return how many values are masked, by kind and version of the masks."""
    columns = MASK_COUNT.c.kind, MASK_COUNT.c.version
    query = select(*columns, func.sum(MASK_COUNT.c.masked), func.count()).group_by(*columns)
    return sorted(
        MaskTotal(kind, version, int(n), answers)
        for kind, version, n, answers in connection.execute(query)
    )
