"""Stores responses and judgments with the flags that they raise, in one transaction."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from judgeboard.domain import Feedback, Response
from judgeboard.flags.rules import RULES
from judgeboard.store.events import record_event
from judgeboard.store.flags import FlagChanges, keep_flags
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.judgments import (
    NewJudgment,
    Said,
    ShortResponse,
    insert_judgments,
    keep_current,
    read_responses,
    read_said,
)
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.responses import (
    Known,
    check_storable,
    content_hash,
    find_responses,
    insert_feedback,
    insert_responses,
    key_of,
)
from judgeboard.store.settings import rules_in_force
from judgeboard.store.statements import AT_ONCE, batches
from judgeboard.store.tables import IMPORT_BATCH
from judgeboard.text import storable

BATCH = IMPORT_BATCH


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """One import of one file; ``finished_at`` None is one that broke off (its whole batches of rows are in)."""

    id: int
    file: str
    kind: str
    importer: str
    actor: str
    at: datetime
    counts: dict[str, Any] | None
    finished_at: datetime | None


def start_batch(
    connection: Connection, *, file: str, sha256: str | None, importer: str, kind: str, actor: str, now: datetime
) -> int:
    """Insert a batch and return its id."""
    # A file's or a person's name on this machine may hold bytes that no database takes.
    by = storable(actor)[0]
    row = {"file": storable(file)[0], "sha256": sha256, "importer": importer, "kind": kind, "actor": by, "at": now}
    batch_id = int(connection.execute(insert(BATCH).returning(BATCH.c.id), row).scalar_one())
    record_event(connection, "start_import", by, details={"batch": batch_id, "kind": kind}, now=now)
    return batch_id


def finish_batch(connection: Connection, batch_id: int, counts: dict[str, Any], now: datetime) -> None:
    """Set what became of the rows."""
    ended = update(BATCH).where(BATCH.c.id == batch_id).values(counts=counts, finished_at=now)
    actor = connection.execute(ended.returning(BATCH.c.actor)).scalar_one()
    record_event(connection, "finish_import", actor, details={"batch": batch_id, **counts}, now=now)


def same_file_before(connection: Connection, sha256: str, kind: str) -> datetime | None:
    """Return when a file with these bytes was last imported to its end, None if never."""
    query = select(BATCH.c.at).where(BATCH.c.sha256 == sha256, BATCH.c.kind == kind, BATCH.c.finished_at.is_not(None))
    return connection.execute(query.order_by(BATCH.c.id.desc()).limit(1)).scalar()


def list_batches(connection: Connection, limit: int = 50) -> list[ImportBatch]:
    """Return the latest batches, newest first."""
    columns = (BATCH.c[name] for name in ImportBatch.__dataclass_fields__)
    rows = connection.execute(select(*columns).order_by(BATCH.c.id.desc()).limit(limit))
    return [ImportBatch(*row) for row in rows]


# Every statement of a batch stays far below SQLite's 32,766 variables.

# A drawn rule looks at the response alone: when it is stored, and when the rules are applied anew.
_DRAWN = tuple(rule for rule in RULES if rule.drawn)
_HEARD = tuple(rule for rule in RULES if not rule.drawn)


@dataclass(frozen=True, slots=True)
class Conflict:
    """A response whose id is stored with other content; ``index`` is its place among those that were handed over."""

    source: str
    external_id: str
    index: int


@dataclass(slots=True)
class StoredResponses:
    """What became of responses: ids of the ``new`` ones in their order; conflicts are not stored."""

    new: list[int] = field(default_factory=list)
    unchanged: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    feedback_added: int = 0


def store_responses(
    connection: Connection, responses: Sequence[Response], batch_id: int | None = None, now: datetime | None = None
) -> StoredResponses:
    """Store responses that are new by (source, external id), and feedback that is new on those that are known.

    A known response with other content is a conflict and left as it was, its feedback included. Nothing is read or
    written row by row. Flags that a response raises when it is stored are raised here.

    Raises:
        BadInput: A text holds NUL or a lone surrogate, which not both engines can hold.
    """
    now = now or datetime.now(UTC)
    result = StoredResponses()
    for start in range(0, len(responses), AT_ONCE):
        _store_batch(connection, responses[start : start + AT_ONCE], start, batch_id, now, result)
    return result


def store_judgments(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewJudgment],
    now: datetime | None = None,
) -> int:
    """Store verdicts of one judge version; return how many came in.

    One that is stored already (same response, version, ask and repeat) counts as done and is left as it was.
    Current judgments and flags of these responses follow, in a number of statements that does not depend on theirs.

    Raises:
        NotFound: A response is not stored.
    """
    now = now or datetime.now(UTC)
    stored = 0
    for batch in batches(items):
        ids = {item.response_id for item in batch}
        responses = read_responses(connection, ids, lock=True)
        came_in = insert_judgments(connection, version.id, run_id, batch, now)
        if came_in:
            _follow(connection, responses, now)
        stored += came_in
    return stored


def reapply_flags(connection: Connection, response_ids: Collection[int], now: datetime | None = None) -> FlagChanges:
    """Apply every rule anew to these responses, by the settings in force; return what changed.

    Again adds nothing; decided flags stay and do not come back; open ones whose reason is gone are superseded.

    Raises:
        NotFound: A response is not stored.
    """
    changes = FlagChanges()
    for batch in batches(sorted(set(response_ids))):
        said = read_said(connection, read_responses(connection, set(batch), lock=True))
        changes.add(keep_flags(connection, said, RULES, rules_in_force(connection), now or datetime.now(UTC)))
        follow_queues(connection, batch, now or datetime.now(UTC))
    return changes


def rebuild_current(connection: Connection, response_ids: Collection[int]) -> int:
    """Bring the current judgments of these responses back to their definition; return how many rows were wrong."""
    wrong = 0
    for batch in batches(sorted(set(response_ids))):
        wrong += keep_current(connection, read_said(connection, read_responses(connection, set(batch), lock=True)))
    return wrong


def _store_batch(
    connection: Connection,
    responses: Sequence[Response],
    start: int,
    batch_id: int | None,
    now: datetime,
    result: StoredResponses,
) -> None:
    for response in responses:
        check_storable(response)
    hashes = [content_hash(response) for response in responses]
    first: dict[tuple[str, str], tuple[Response, str]] = {}
    for response, hash_ in zip(responses, hashes, strict=True):
        first.setdefault(key_of(response), (response, hash_))
    known = find_responses(connection, first)
    new = {key: value for key, value in first.items() if key not in known}
    inserted = insert_responses(connection, new, batch_id, now) if new else {}
    if len(inserted) < len(new):  # another process stored the rest between the two statements
        known |= find_responses(connection, new.keys() - inserted.keys())
    new_ids = [inserted[key] for key in new if key in inserted]
    result.new += new_ids
    if new_ids:
        said = [Said(response) for response in read_responses(connection, set(new_ids), lock=False)]
        keep_flags(connection, said, _DRAWN, rules_in_force(connection), now)
        follow_queues(connection, new_ids, now)

    feedback: dict[int, list[Feedback]] = {}
    seen_here: set[tuple[str, str]] = set()
    for index, (response, hash_) in enumerate(zip(responses, hashes, strict=True), start):
        key = key_of(response)
        stored = Known(inserted[key], first[key][1]) if key in inserted else known[key]
        if stored.content_hash != hash_:
            result.conflicts.append(Conflict(*key, index))
            continue
        if key not in inserted or key in seen_here:
            result.unchanged += 1
        seen_here.add(key)
        feedback.setdefault(stored.id, []).extend(response.feedback)
    _add_feedback(connection, feedback, set(new_ids), batch_id, now, result)


def _add_feedback(
    connection: Connection,
    feedback: dict[int, list[Feedback]],
    new_ids: set[int],
    batch_id: int | None,
    now: datetime,
    result: StoredResponses,
) -> None:
    known_ids = {id_ for id_, given in feedback.items() if given} - new_ids
    known = read_responses(connection, known_ids, lock=True) if known_ids else []
    heard = insert_feedback(connection, feedback, known_ids, batch_id, now)
    result.feedback_added += len(heard)
    changed = set(heard)
    spoken_of = [response for response in known if response.id in changed]
    if spoken_of:
        _follow(connection, spoken_of, now)


def _follow(connection: Connection, responses: Sequence[ShortResponse], now: datetime) -> None:
    """What judges or users said of these responses has changed: current judgments and flags follow."""
    said = read_said(connection, responses)
    keep_current(connection, said)
    keep_flags(connection, said, _HEARD, rules_in_force(connection), now)
    follow_queues(connection, [response.id for response in responses], now)
