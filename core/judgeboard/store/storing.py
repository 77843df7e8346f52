"""Stores responses and judgments, with the raised flags, in one transaction; records imports."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from judgeboard.domain import Feedback, Response
from judgeboard.flags.rules import RULES
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.registry.masks import count_masks, masked
from judgeboard.store.clock import utc_now
from judgeboard.store.events import record_event
from judgeboard.store.flags import FlagSummary, flag_new, reconciling, update_flags
from judgeboard.store.grades import Restoring
from judgeboard.store.jobs import wake_workers
from judgeboard.store.judgments import (
    NewJudgment,
    ResponseState,
    ShortResponse,
    insert_judgments,
    read_responses,
    read_states,
    update_current_judgments,
)
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.responses import (
    TEXTS,
    Giver,
    check_storable,
    content_hash,
    find_responses,
    insert_feedback,
    insert_responses,
    key_of,
)
from judgeboard.store.settings import primary_judge, rules_in_force
from judgeboard.store.statements import batches, first_row, rows_of
from judgeboard.store.tables import IMPORT_BATCH, RESPONSE, ImportBatch, StoredVersion
from judgeboard.store.traces import take_feedback
from judgeboard.text import storable


@dataclass(slots=True)
class StoredResponses:
    """The ids of all responses in order (``ids``), and the ids of ``new`` responses.

    ``differing`` has the indexes of responses whose external id is stored with other content.
    """

    ids: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    unchanged: int = 0
    differing: list[int] = field(default_factory=list)
    feedback_added: int = 0


def store_responses(
    connection: Connection,
    responses: Sequence[Response],
    batch_id: int | None = None,
    now: datetime | None = None,
) -> StoredResponses:
    """Store new responses, by (source, external id), new feedback on known responses, and the raised flags.

    A known response with other content does not change, and neither does the feedback. Raises
    BadInput if a text contains NUL or a lone surrogate: one of the engines cannot store such a
    text.
    """
    now = now or utc_now()
    result = StoredResponses()
    if batch_id is None:  # rows of files are masked when read, before ids are derived from the rows
        responses = masked(responses)
    start = 0
    for batch in batches(responses):
        for response in batch:
            check_storable(
                repr(response.external_id), ((name, getattr(response, name)) for name in TEXTS)
            )
        # Insert the new responses.
        hashes = [content_hash(response) for response in batch]
        first: dict[tuple[str, str], tuple[Response, str]] = {}
        for response, hash_ in zip(batch, hashes, strict=True):
            first.setdefault(key_of(response), (response, hash_))
        rows = find_responses(connection, first)
        new = {key: value for key, value in first.items() if key not in rows}
        new_ids = insert_responses(connection, new, batch_id, now) if new else {}
        if len(new_ids) < len(new):  # another process stored the rest between the two statements
            rows |= find_responses(connection, new.keys() - new_ids.keys())
        new_answers = {
            new_ids[key]: response for key, (response, _) in new.items() if key in new_ids
        }
        result.new += new_answers
        # Compare each response with the stored one, and collect its feedback. Feedback that waited
        # for a new answer came earlier.
        feedback = take_feedback(connection, responses=new_answers) if new_answers else {}
        for index, (response, hash_) in enumerate(zip(batch, hashes, strict=True), start):
            key = key_of(response)
            id_, stored_hash = (new_ids[key], first[key][1]) if key in new_ids else rows[key]
            result.ids.append(id_)
            if stored_hash != hash_:
                result.differing.append(index)
                continue
            if key not in new_ids or first[key][0] is not response:
                result.unchanged += 1
            feedback.setdefault(id_, []).extend(response.feedback)
        start += len(batch)
        # Add the feedback, then flag the new answers and put them into queues.
        new_feedback = add_feedback(connection, feedback, new_answers, batch_id, now)
        result.feedback_added += len(new_feedback)
        if new_answers:
            count_masks(connection, new_answers)
            flag_new(connection, new_answers, dict(new_feedback), rules_in_force(connection), now)
            follow_queues(connection, new_answers, now)
    if result.new:
        wake_workers(connection)  # judging rules may select the new responses
    return result


class JudgmentsOfVersion(NamedTuple):
    """New judgments of one judge version, made in one run."""

    version: StoredVersion
    run_id: int | None
    items: Sequence[NewJudgment]


def store_judgments(
    connection: Connection,
    version: StoredVersion,
    run_id: int | None,
    items: Sequence[NewJudgment],
    now: datetime | None = None,
) -> int:
    """Store judgments of one judge version, update current judgments and flags, and return how many are new.

    A judgment that is already stored (same response, version, ask and repeat) does not change.
    Raises NotFound if a response is not stored.
    """
    [count] = store_judgments_of_versions(
        connection, [JudgmentsOfVersion(version, run_id, items)], now or utc_now()
    )
    return count


def store_judgments_of_versions(
    connection: Connection, of_versions: Sequence[JudgmentsOfVersion], now: datetime
) -> list[int]:
    """Store judgments as `store_judgments` does; return how many of each version are new.

    Current judgments and flags are updated once for all versions.
    """
    counts = [0] * len(of_versions)
    numbered_items = [
        (number, item) for number, each in enumerate(of_versions) for item in each.items
    ]
    for batch in batches(numbered_items):
        responses = read_responses(connection, {item.response_id for _, item in batch}, lock=True)
        judged_ids: set[int] = set()  # responses whose flags may change
        measured_ids: set[int] = set()  # responses with measurements only: these change no flag
        for number, group in itertools.groupby(batch, key=itemgetter(0)):
            version, run_id, _ = of_versions[number]
            items = [item for _, item in group]
            if new := insert_judgments(connection, version.id, run_id, items, now):
                ids = (
                    measured_ids
                    if (
                        kind_of(version.kind).combined and version.name != primary_judge(connection)
                    )
                    else judged_ids
                )
                ids.update(item.response_id for item in items)
                counts[number] += new
        for ids, flags in ((judged_ids, True), (measured_ids - judged_ids, False)):
            if ids:
                _update_after_change(
                    connection, [each for each in responses if each.id in ids], now, flags=flags
                )
    return counts


def reapply_flags(
    connection: Connection, response_ids: Collection[int], now: datetime | None = None
) -> FlagSummary:
    """Apply every rule again to these responses, with the settings in force; return the changes.

    This is idempotent. Decided flags stay and are not raised again; open flags whose reason is gone
    are superseded. Raises NotFound if a response is not stored.
    """
    now = now or utc_now()
    changes = FlagSummary()
    for batch in batches(sorted(set(response_ids))):
        states = _locked_states(connection, batch)
        changes.add(
            update_flags(connection, states, [*RULES.values()], rules_in_force(connection), now)
        )
        follow_queues(connection, batch, now)
    return changes


def count_to_supersede(
    connection: Connection, response_ids: Collection[int], changed: Mapping[str, Any] | None = None
) -> int:
    """Return how many open flags of these responses `reapply_flags` would supersede. Changes nothing.

    ``changed`` are thresholds by name that replace the thresholds in force.
    """
    rules = rules_in_force(connection)
    rules = rules._replace(thresholds=rules.thresholds.model_copy(update=dict(changed or {})))
    states = read_states(connection, read_responses(connection, set(response_ids), lock=False))
    changes = reconciling(connection, states, [*RULES.values()], rules)
    return sum(len(each.result.to_supersede) for each in changes)


def rebuild_current(connection: Connection, response_ids: Collection[int]) -> int:
    """Compute the current judgments of these responses again; return how many rows were wrong."""
    id_batches = batches(sorted(set(response_ids)))
    return sum(
        update_current_judgments(connection, _locked_states(connection, batch))
        for batch in id_batches
    )


def _locked_states(connection: Connection, response_ids: Sequence[int]) -> list[ResponseState]:
    return read_states(connection, read_responses(connection, set(response_ids), lock=True))


def add_feedback(
    connection: Connection,
    feedback: Mapping[int, Sequence[Feedback]],
    new_ids: Collection[int],
    batch_id: int | None,
    now: datetime,
    changed_back: dict[Giver, Feedback] | None = None,
) -> list[tuple[int, Feedback]]:
    """Store feedback by response that is not stored yet (`insert_feedback`), with the raised flags.

    Return the new feedback as (response id, feedback). ``new_ids`` are the responses that were
    stored in this transaction.
    """
    known_ids = {id_ for id_, feedbacks in feedback.items() if feedbacks} - set(new_ids)
    known_responses = read_responses(connection, known_ids, lock=True) if known_ids else []

    @cache
    def restoring() -> Restoring:
        return Restoring.of_import(connection, batch_id)

    def may_change(import_id: int | None) -> bool:
        return restoring().may_change(import_id)

    new_feedback = insert_feedback(
        connection, feedback, known_ids, batch_id, now, may_change, changed_back
    )
    changed_ids = {response_id for response_id, _ in new_feedback}
    changed_responses = [response for response in known_responses if response.id in changed_ids]
    if changed_responses:
        _update_after_change(connection, changed_responses, now)
    return new_feedback


def update_after_withdrawal(
    connection: Connection, response_ids: Collection[int], now: datetime
) -> None:
    """Update the current judgments and flags of responses whose judgments or feedback were withdrawn."""
    for batch in batches(sorted(set(response_ids))):
        _update_after_change(connection, read_responses(connection, set(batch), lock=True), now)


def _update_after_change(
    connection: Connection, responses: Sequence[ShortResponse], now: datetime, *, flags: bool = True
) -> None:
    states = read_states(connection, responses)
    update_current_judgments(connection, states)
    if flags:
        # Drawn rules depend on the response alone: such rules apply when the response is stored and
        # when all rules are applied again.
        others = [rule for rule in RULES.values() if not rule.drawn]
        update_flags(connection, states, others, rules_in_force(connection), now)
    follow_queues(connection, [response.id for response in responses], now)


ASPECTS_ADDED = "aspects_added"  # in the counts of an import: verdicts of other imports that got further aspects


def start_batch(
    connection: Connection,
    *,
    file: str,
    sha256: str | None,
    importer: str,
    kind: str,
    actor: str,
    now: datetime,
) -> int:
    """Store the start of an import and return the id."""
    # The name of a file or a person on this machine may contain bytes that no database can store.
    by = storable(actor)[0]
    row = {
        "file": storable(file)[0],
        "sha256": sha256,
        "importer": importer,
        "kind": kind,
        "actor": by,
        "at": now,
    }
    batch_id = int(connection.scalar(insert(IMPORT_BATCH).returning(IMPORT_BATCH.c.id), row))
    record_event(connection, "start_import", by, details={"batch": batch_id, "kind": kind}, now=now)
    return batch_id


def store_counts(
    connection: Connection,
    batch_id: int,
    counts: Mapping[str, Any],
    finished_at: datetime | None = None,
) -> None:
    """Store the counts of rows so far, and the end of an import that is finished."""
    statement = (
        update(IMPORT_BATCH)
        .where(IMPORT_BATCH.c.id == batch_id)
        .values(counts=counts, finished_at=finished_at)
    )
    actor = connection.scalar(statement.returning(IMPORT_BATCH.c.actor))
    if finished_at is not None:
        details = {"batch": batch_id, **counts}
        record_event(connection, "finish_import", actor, details=details, now=finished_at)


def same_file_before(connection: Connection, sha256: str, kind: str) -> datetime | None:
    """Return when a file with this hash was last imported completely, or None."""
    same_file = (IMPORT_BATCH.c.sha256 == sha256) & (IMPORT_BATCH.c.kind == kind)
    complete = IMPORT_BATCH.c.finished_at.is_not(None) & IMPORT_BATCH.c.undone_at.is_(None)
    query = select(IMPORT_BATCH.c.at).where(same_file, complete)
    return connection.scalar(query.order_by(IMPORT_BATCH.c.id.desc()).limit(1))


def list_batches(connection: Connection) -> list[ImportBatch]:
    """Return the 50 latest imports, newest first."""
    return rows_of(connection, select(ImportBatch).order_by(IMPORT_BATCH.c.id.desc()).limit(50))


def import_in_progress(connection: Connection, since: datetime) -> ImportBatch | None:
    """Return the newest import without an end that began or stored an answer ``since`` a time, or None.

    An import that broke off has no end either. Such an import is returned only while the start or
    the last answer is recent enough.
    """
    is_unfinished = IMPORT_BATCH.c.finished_at.is_(None) & IMPORT_BATCH.c.undone_at.is_(None)
    batch = first_row(
        connection, select(ImportBatch).where(is_unfinished).order_by(IMPORT_BATCH.c.id.desc())
    )
    if batch is None:
        return None
    query = (
        select(RESPONSE.c.imported_at, RESPONSE.c.import_batch_id)
        .order_by(RESPONSE.c.id.desc())
        .limit(1)
    )
    latest_answer = connection.execute(query).first()
    goes_on = (
        latest_answer is not None
        and latest_answer.import_batch_id == batch.id
        and latest_answer.imported_at >= since
    )
    return batch if batch.at >= since or goes_on else None
