"""Own labels: the values of label schemas in reviews, as filters and trends read them."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    and_,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
)

from judgeboard.stats.arrays import IntArray
from judgeboard.store.day_sums import DaySums, Groups, NewestValues
from judgeboard.store.filters import FieldCondition, Scalar
from judgeboard.store.metadata import Jsonb, as_stored, sqlite_path
from judgeboard.store.reviews import is_current
from judgeboard.store.statements import LOGGED, NO_DAY, TextColumn, rows_with
from judgeboard.store.tables import RESPONSE, REVIEW, REVIEW_SCORE


def has_own_label(connection: Connection, condition: FieldCondition) -> ColumnElement[bool]:
    """Return the condition that a review has a value in a field of the label schema, or of a rubric."""
    field, operator, _, values = condition
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    score_query = select(REVIEW_SCORE.c.review_id).where(REVIEW_SCORE.c.dimension == field)
    score = REVIEW_SCORE.c.value
    if not operator:
        return or_(
            REVIEW.c.id.in_(score_query.where(score.is_not(None))), _chosen(connection, condition)
        )
    if operator != "=":
        in_range = score >= numbers[0] if operator == ">=" else score <= numbers[0]
        return or_(REVIEW.c.id.in_(score_query.where(in_range)), _chosen(connection, condition))
    of_scale = [REVIEW.c.id.in_(score_query.where(score.in_(numbers)))] if numbers else []
    return or_(*of_scale, _chosen(connection, condition))


def _chosen(connection: Connection, condition: FieldCondition) -> ColumnElement[bool]:
    """Return the condition that ``choices`` of a review has a value; a list matches by any value."""
    field, operator, _, values = condition
    if connection.dialect.name == "sqlite":
        # On a single value, json_each returns one row with this value.
        each = func.json_each(REVIEW.c.choices, sqlite_path((field,))).table_valued("value", "type")
        matches: ColumnElement[bool]
        if not operator:
            matches = each.c.type != "null"
        elif operator == "=":
            matches = or_(*(_is_value(each.c.value, each.c.type, value) for value in values))
        else:
            at_end = (
                each.c.value >= literal(values[0])
                if operator == ">="
                else each.c.value <= literal(values[0])
            )
            matches = and_(each.c.type.in_(("integer", "real")), at_end)
        return exists(select(1).select_from(each).where(matches))
    choice = cast(REVIEW.c.choices, Jsonb()).op("->", return_type=Jsonb())(field)
    if not operator:
        return choice.is_not(None)
    if operator == "=":
        return or_(
            *(
                choice.op("@>", return_type=Boolean())(as_stored(connection, value))
                for value in values
            )
        )
    is_number = func.jsonb_typeof(choice) == "number"
    bound = as_stored(connection, values[0])
    return and_(is_number, choice >= bound if operator == ">=" else choice <= bound)


def _is_value(
    value: ColumnElement[Any], kind: ColumnElement[str], constant: Scalar
) -> ColumnElement[bool]:
    if isinstance(constant, bool):  # in json_each, the value is 1 or 0
        return kind == json.dumps(constant)
    kinds = ("text",) if isinstance(constant, str) else ("integer", "real")
    return and_(kind.in_(kinds), value == literal(constant))


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """A figure of one field of a label schema: the mean of the numbers, or the share of the given ``value``.

    ``low`` and ``high`` are the ends of the range of numbers; both are None for a share.
    """

    field: str
    value: Scalar | None = None
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """The name: "tone", "verdict=fix"."""
        if self.value is None:
            return self.field
        return f"{self.field}={('no', 'yes')[self.value] if isinstance(self.value, bool) else self.value}"


def own_label_values(
    connection: Connection, own_label: OwnLabel, groups: Groups = None
) -> NewestValues:
    """Return the values of the logged answers that people labelled in a field; the latest current review counts.

    The value is the number, or for a share 1 or 0. With ``groups``, only answers of these groups
    are read.
    """
    name = RESPONSE.c.query_type if groups is None else groups.c.value
    query = (
        select(
            REVIEW.c.id,
            REVIEW.c.response_id,
            REVIEW.c.choices,
            name,
            RESPONSE.c.evidence_group,
            RESPONSE.c.asked_day,
        )
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(
            LOGGED,
            is_current(),
            has_own_label(connection, FieldCondition(own_label.field, "", "", ())),
        )
        .order_by(REVIEW.c.id)
    )
    if groups is not None:
        query = query.join(groups, groups.c.id == REVIEW.c.response_id)
    latest = {row.response_id: row for row in connection.execute(query)}
    rows = [latest[response_id] for response_id in sorted(latest)]
    scores = select(REVIEW_SCORE.c.review_id, REVIEW_SCORE.c.value).where(
        REVIEW_SCORE.c.dimension == own_label.field
    )
    values = {row.id: (row.choices or {}).get(own_label.field) for row in rows}
    values |= dict(rows_with(connection, scores, REVIEW_SCORE.c.review_id, values))
    numbers = [_number(own_label, values[row.id]) for row in rows]
    places = [place for place, number in enumerate(numbers) if number is not None]
    names, codes = np.unique(
        np.array([rows[place][3] for place in places], dtype=str), return_inverse=True
    )

    def whole_numbers(column: int, default: int) -> IntArray:
        cells = (rows[place][column] for place in places)
        return np.array([default if cell is None else cell for cell in cells], dtype=np.int64)

    return NewestValues(
        whole_numbers(1, 0),
        TextColumn(tuple(map(str, names)), codes.astype(np.int64)),
        whole_numbers(4, 0),
        whole_numbers(5, NO_DAY),
        np.array([numbers[place] for place in places], dtype=np.float64),
    )


def _number(own_label: OwnLabel, value: Any) -> float | None:
    """Return the number of a value of the field; None if a mean cannot count the value."""
    if own_label.value is not None:
        values = value if isinstance(value, list) else [value]
        label_value = own_label.value
        return float(
            any(
                each == label_value and isinstance(each, bool) == isinstance(label_value, bool)
                for each in values
            )
        )
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def own_label_sums(
    connection: Connection, own_label: OwnLabel, groups: Groups = None
) -> list[DaySums]:
    """Return the sums of the values of labelled answers, by group and day."""
    labels = own_label_values(connection, own_label, groups)
    numbers = defaultdict[tuple[str, int | None], list[float]](list)
    for code, day, number in zip(
        labels.names.codes.tolist(), labels.days.tolist(), labels.values.tolist(), strict=True
    ):
        numbers[labels.names.names[code], None if day == NO_DAY else day].append(number)
    return [
        DaySums(
            group, day, None, len(of_day), sum(of_day), sum(number * number for number in of_day)
        )
        for (group, day), of_day in sorted(
            numbers.items(), key=lambda item: (item[0][0], item[0][1] or NO_DAY)
        )
    ]
