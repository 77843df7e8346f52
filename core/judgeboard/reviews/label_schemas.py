"""Label schemas in reviews: stored by leads, and the check that a review fits the schema of its queue."""

from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action, Decision, Grade
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import FieldType, LabelSchema
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.label_schemas import StoredSchema, ensure_schema, schema_by_id
from judgeboard.store.queue_items import answer_texts, item_by_id
from judgeboard.store.queues import Queue, queue_by_id
from judgeboard.store.reviews import LockedResponse


def add_schema(store: Store, schema: LabelSchema, *, by: Actor) -> StoredSchema:
    """Store a version of a label schema for queues; a schema that is stored already is returned as it is."""
    at = utc_now()
    with allowed(store, by, Action.MAKE_QUEUES) as connection:
        stored = ensure_schema(connection, schema, actor_name(by), at)
        if stored.created_at == at:
            record_event(connection, "add_schema", actor_name(by), details={"schema": stored.title}, now=at)
        return stored


def schema_of_item(store: Store, item_id: int) -> LabelSchema | None:
    """Return the label schema of an item's queue, None if the queue has no schema."""
    with store.reading() as connection:
        return schema_of_queue(connection, queue_by_id(connection, item_by_id(connection, item_id).queue_id))


def schema_of_queue(connection: Connection, queue: Queue) -> LabelSchema | None:
    """Return the label schema of a queue, None if it has no schema."""
    return None if queue.label_schema_id is None else schema_by_id(connection, queue.label_schema_id).schema


def checked_fields(
    connection: Connection,
    schema_id: int | None,
    grade: Grade,
    response: LockedResponse | None,
    decision: Decision | None,
) -> Grade:
    """Return a grade with checked fields; raise BadInput if a field is wrong, missing or not in the schema.

    A confirmed or dismissed answer needs the required fields; a grade alone and the decision "unsure" do not.
    """
    if schema_id is None or response is None:
        if grade.choices or grade.texts:
            raise BadInput(f"this queue has no field {next(iter({**grade.choices, **grade.texts}))!r}")
        return grade
    schema = schema_by_id(connection, schema_id).schema
    scored = {score.dimension for score in grade.scores}
    unknown = {*grade.choices, *grade.texts, *scored} - {field.name for field in schema.own}
    if unknown:
        raise BadInput(f"the schema {schema.name} has no field {min(unknown)!r}")
    values = schema.checked(schema.values(grade))
    missing = schema.missing(values)
    if missing and decision in {Decision.CONFIRM, Decision.DISMISS}:
        raise BadInput(f"required: {', '.join(missing)}")
    _check_places(connection, schema, values, response)
    return schema.grade(values, grade)


def _check_places(
    connection: Connection, schema: LabelSchema, values: dict[str, Any], response: LockedResponse
) -> None:
    """Raise `BadInput` for a span outside its text, or for a passage that the answer does not have."""
    placed = [field for field in schema.of_type(FieldType.SPANS, FieldType.RANKING) if field.name in values]
    if not placed:
        return
    passages = answer_texts(connection, [response.id])[response.id].passages or ()
    for field in placed:
        for place in values[field.name]:
            number = place if field.type is FieldType.RANKING else place.get("passage")
            if number is not None and not 1 <= number <= len(passages):
                raise BadInput(f"{field.name}: there is no passage {number}")
            if field.type is FieldType.SPANS:
                text = (response.answer or "") if number is None else passages[number - 1]
                if place["end"] > len(text):
                    raise BadInput(f"{field.name}: the span {place['start']} to {place['end']} is outside its text")
