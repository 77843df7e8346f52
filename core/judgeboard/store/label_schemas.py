"""Label schemas: versions that never change and are numbered within a name.

The format is imported where a schema is read, because few databases have schemas.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, String, case, cast, func, select

from judgeboard.errors import NotFound
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.reviews import grade_from, is_current, scores_of
from judgeboard.store.statements import first_row, get_row, insert_or_skip, number_of, rows_of
from judgeboard.store.tables import LABEL_SCHEMA, QUEUE_ITEM, RESPONSE, REVIEW, SchemaVersion

if TYPE_CHECKING:
    from judgeboard.formats.label_schema import LabelSchema

LABEL_SCHEMA_TITLE = (LABEL_SCHEMA.c.name + " v" + cast(LABEL_SCHEMA.c.number, String)).label(
    "label_schema"
)
_TITLE = re.compile(r"(.+?)(?: v(\d{1,9}))?")


def ensure_schema(
    connection: Connection, schema: "LabelSchema", by: str, now: datetime
) -> SchemaVersion:
    """Return the stored version with this content; store a new version under the next number of the name."""
    while True:
        stored_version = first_row(
            connection, select(SchemaVersion).where(LABEL_SCHEMA.c.hash == schema.hash)
        )
        if stored_version is not None:
            return stored_version
        last = select(func.max(LABEL_SCHEMA.c.number)).where(LABEL_SCHEMA.c.name == schema.name)
        # The insert is skipped if another process stored this version or number meanwhile: then try
        # again.
        version = SchemaVersion(
            name=schema.name,
            number=number_of(connection, last) + 1,
            fields=schema.as_json()["fields"],
            hash=schema.hash,
            created_by=by,
            created_at=now,
        )
        connection.execute(insert_or_skip(connection, LABEL_SCHEMA), version.new_values())


def schema_by_id(connection: Connection, schema_id: int) -> SchemaVersion:
    """Return a version, or raise NotFound."""
    return get_row(connection, SchemaVersion, schema_id, "label schema")


def schema_named(connection: Connection, title: str) -> SchemaVersion:
    """Return the version with this title ("support v2"), or the newest of a name; raise NotFound with all names."""
    match = _TITLE.fullmatch(title.strip())
    name, number = (match[1], match[2]) if match else (title, None)
    query = (
        select(SchemaVersion)
        .where(LABEL_SCHEMA.c.name == name)
        .order_by(LABEL_SCHEMA.c.number.desc())
    )
    version = first_row(
        connection, query if number is None else query.where(LABEL_SCHEMA.c.number == int(number))
    )
    if version is None:
        names = connection.scalars(
            select(LABEL_SCHEMA.c.name).distinct().order_by(LABEL_SCHEMA.c.name)
        ).all()
        hint = (
            f"the schemas are {', '.join(names)}"
            if names
            else "store one with `judgeboard queue schema add FILE`"
        )
        raise NotFound(f"no label schema is called {title!r}: {hint}")
    return version


def list_schemas(connection: Connection) -> list[SchemaVersion]:
    """Return all versions by name, the newest of a name first."""
    newest_first = (LABEL_SCHEMA.c.name, LABEL_SCHEMA.c.number.desc())
    return rows_of(connection, select(SchemaVersion).order_by(*newest_first))


def classes_of(connection: Connection, field: str) -> tuple[str, ...]:
    """Return the options of the categories with this name, the newest schemas first; empty without such a category.

    Categories with several options per answer are left out.
    """
    from judgeboard.formats.label_schema import FieldType

    newest = {each.name: each for each in reversed(list_schemas(connection))}
    fields = [
        each for version in newest.values() for each in version.content.fields if each.name == field
    ]
    return tuple(
        dict.fromkeys(
            option
            for each in fields
            if each.type is FieldType.CATEGORY and not each.many
            for option in each.values
        )
    )


def own_label_choices(connection: Connection) -> dict[str, str]:
    """Return the conditions that select one value of a field (``tone=2``), in words (``tone: 2 neutral``).

    Only the newest version of each schema counts. Numbers and texts have no list of values.
    """
    from judgeboard.formats.label_schema import FieldType

    choices: dict[str, str] = {}
    newest = {each.name: each.content for each in reversed(list_schemas(connection))}
    for field in (field for schema in newest.values() for field in schema.own):
        levels = dict(field.levels)
        for value in field.values if field.type is not FieldType.SPANS else ():
            text = ("no", "yes")[value] if isinstance(value, bool) else str(value)
            choices[f"{field.name}={text}"] = (
                f"{field.name}: {text} {levels.get(value) or ''}".strip()
            )
    return choices


@dataclass(frozen=True, slots=True)
class FieldReview:
    """A person's review of an answer with a label schema; ``values`` are by field."""

    response_id: int
    reviewer_id: int
    evidence_group: int
    values: dict[str, Any]


def field_reviews(
    connection: Connection, schema: "LabelSchema", where: RowFilter, *, implied_labels: bool = True
) -> list[FieldReview]:
    """Return, for each person and answer that matches, the latest current review that used any version of the schema.

    Adjudications, reviews after the reveal and reviews of repeated, test and training items are
    left out. If ``implied_labels`` is False, labels that a decision implied are left out too.
    Without a filter, answers outside the log count.
    """
    versions = select(LABEL_SCHEMA.c.id).where(LABEL_SCHEMA.c.name == schema.name)
    columns = ("id", "response_id", "reviewer_id", "groundedness", "quality", "spans", "choices")
    own_label = case((REVIEW.c.label_implied.is_not(True), REVIEW.c.label)).label("label")
    label = REVIEW.c.label if implied_labels else own_label
    query = (
        select(*(REVIEW.c[name] for name in columns), label, RESPONSE.c.evidence_group)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .where(
            REVIEW.c.label_schema_id.in_(versions),
            is_current(),
            func.coalesce(cast(REVIEW.c.stage, String), "").not_in(("revealed", "adjudication")),
            QUEUE_ITEM.c.repeat_for.is_(None),
            QUEUE_ITEM.c.test.is_not(True),
            *([] if where == RowFilter() else response_conditions(connection, where)),
        )
        .order_by(REVIEW.c.id)
    )
    rows = connection.execute(query).all()
    scores = scores_of(connection, [row.id for row in rows])
    latest: dict[tuple[int, int], FieldReview] = {}
    for row in rows:
        values = schema.values(grade_from(row, scores.get(row.id, ())))
        review = FieldReview(row.response_id, row.reviewer_id, row.evidence_group, values)
        latest[row.response_id, row.reviewer_id] = review
    return list(latest.values())
