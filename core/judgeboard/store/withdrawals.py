"""Withdraws the rows of an import and all rows that were derived from these rows, in one transaction.

Foreign keys decide what is derived, as for hidden rows: every row that refers to a withdrawn row is
withdrawn too. A copy of each row is kept in `withdrawn_row`, and nothing else reads these copies.
Then the row is deleted, so that no query has to exclude the row and the id is free again. The
triggers allow the deletion only of rows that have a copy.
"""

import base64
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy import cast as sql_cast

from judgeboard.domain import RECORDED, ItemState, ResponseKind, RunState
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.clock import utc_now
from judgeboard.store.columns import BigId, row_of
from judgeboard.store.events import record_event
from judgeboard.store.grades import ORIGIN
from judgeboard.store.health import ANSWER_OF
from judgeboard.store.responses import Named
from judgeboard.store.runs import IMPORT, RECEIVED
from judgeboard.store.statements import (
    any_row,
    batches,
    first_row,
    grouped,
    listed,
    rows_of,
)
from judgeboard.store.storing import ASPECTS_ADDED, update_after_withdrawal
from judgeboard.store.tables import (
    ANSWER_FACT,
    CURRENT,
    EVENT,
    FEEDBACK,
    IMPORT_BATCH,
    JUDGMENT,
    METADATA,
    PAIR,
    PUSHED,
    QUEUE_ITEM,
    QUEUE_ITEM_FLAG,
    RESPONSE,
    REVIEW,
    REVIEW_FLAG,
    REVIEWER,
    RUN,
    TRACE,
    VERSION,
    WITHDRAWN_ROW,
    ImportBatch,
)
from judgeboard.store.tools import What
from judgeboard.text import counted, iso_z

Key = tuple[Any, ...]
Reached = dict[str, set[Key]]
"""Rows by table: the values of the primary keys."""

_STORED_BY_IMPORTS = (RESPONSE, PAIR, FEEDBACK, REVIEW)  # with a column `import_batch_id`
_RECORDED = tuple(
    table for table in METADATA.tables.values() if row_of(table).is_recorded
)  # the run has the column
_KINDS_WITH_VERDICTS = frozenset({"verdicts", "pairs", "comparisons", "samples", "repeats"})
# Earlier versions of Judgeboard imported the other kinds too.
_WITHOUT_IMPORT = frozenset(
    {"audits", "flags", "comments", "failure_modes", "label_schemas", "issues"}
)
_COMPUTED = {ANSWER_FACT.name, CURRENT.name}  # from other rows, so a copy is not needed
MOST_NAMED = 5  # latest imports in a message
_RECEIVER = "receiver"  # sent verdicts one by one; runs of older databases do not record this


@dataclass(frozen=True, slots=True)
class ImportUndo:
    """The rows that are withdrawn when an import is undone.

    ``rows`` has the number of rows by table. ``kept`` has the external ids of the answers and pairs
    that stay, wholly or in part, because of the decisions of people.
    """

    batch: ImportBatch
    rows: Mapping[str, int]
    kept: tuple[str, ...]

    @property
    def words(self) -> str:
        """The withdrawn rows in words: "12 answers, 24 verdicts, 1 review"; empty without rows."""
        verdicts = self.rows.get("judgment", 0) + self.rows.get("comparison", 0)
        numbers = (
            (self.rows.get("response", 0), "answer"),
            (self.rows.get("pair", 0), "pair"),
            (verdicts, "verdict"),
            (self.rows.get("review", 0), "review"),
            (self.rows.get("user_feedback", 0), "user rating"),
            (self.rows.get("sample", 0), "sample"),
            (self.rows.get("flag", 0), "flag"),
            (self.rows.get("comment", 0), "comment"),
        )
        return ", ".join(counted(number, noun) for number, noun in numbers if number)


def get_batch(connection: Connection, batch_id: int | None) -> ImportBatch:
    """Return an import (default: the latest that is not undone). Raises NotFound if there is none."""
    query = select(ImportBatch).order_by(IMPORT_BATCH.c.id.desc())
    of_id = (
        IMPORT_BATCH.c.undone_at.is_(None) if batch_id is None else IMPORT_BATCH.c.id == batch_id
    )
    batch = first_row(connection, query.where(of_id))
    if batch is None:
        latest = rows_of(connection, query.limit(MOST_NAMED))
        imports = ", ".join(f"{each.id} ({each.file})" for each in latest)
        which = "no import is left to undo" if batch_id is None else f"no import {batch_id}"
        raise NotFound(f"{which}; the latest imports: {imports or 'none'}")
    return batch


def plan_undo(connection: Connection, batch_id: int | None = None) -> ImportUndo:
    """Return what `withdraw_import` would withdraw by default. Nothing changes; the errors are the same."""
    return _Undo(connection, get_batch(connection, batch_id), with_reviews=False).result()


def withdraw_import(
    connection: Connection, batch_id: int | None = None, *, with_reviews: bool = False, actor: str
) -> ImportUndo:
    """Withdraw the rows of an import (default: the latest), and all derived rows, in one transaction.

    Rows on which people decided stay, and so do the rows to which these rows refer. With
    ``with_reviews``, answers and pairs are withdrawn together with the reviews. Rows that other
    imports added to the answers are withdrawn with the answers.

    Raises:
        NotFound: There is no such import.
        BadInput: No row of the import is left, or the rows cannot be told apart from rows of other
            imports.
    """
    batch = get_batch(connection, batch_id)
    # Another process that undoes the import waits here. On SQLite, the process already waits for
    # the transaction.
    connection.execute(
        select(IMPORT_BATCH.c.id).where(IMPORT_BATCH.c.id == batch.id).with_for_update()
    )
    # Nobody judges or reviews these answers until the transaction ends.
    of_batch = select(RESPONSE.c.id).where(RESPONSE.c.import_batch_id == batch.id)
    connection.execute(of_batch.order_by(RESPONSE.c.id).with_for_update())
    undo = _Undo(connection, batch, with_reviews=with_reviews)
    result = undo.result()
    now = utc_now()
    details = {"batch": batch.id, "rows": dict(result.rows), "kept": len(result.kept)}
    record_event(connection, "undo_import", actor, details=details, now=now)
    undo.withdraw(now)
    if not result.kept:
        connection.execute(
            update(IMPORT_BATCH).where(IMPORT_BATCH.c.id == batch.id).values(undone_at=now)
        )
    return result


class _Undo:
    def __init__(self, connection: Connection, batch: ImportBatch, *, with_reviews: bool) -> None:
        self.connection = connection
        self.batch = batch
        roots = {
            table.name: self._scalars(select(table.c.id).where(table.c.import_batch_id == batch.id))
            for table in _STORED_BY_IMPORTS
        }
        runs = select(RUN.c.id).where(RUN.c.import_batch_id == batch.id)
        roots |= {
            table.name: self._scalars(select(table.c.id).where(table.c.run_id.in_(runs)))
            for table in _RECORDED
        }
        self._refuse_shared_rows(roots)
        if not any(roots.values()):
            state = "it is undone already" if batch.undone_at else "none of its rows are left"
            raise BadInput(f"import {batch.id} ({batch.file}) cannot be undone: {state}")
        kept_rows: dict[str, set[int]] = defaultdict(set)
        self.rows = _derived_rows(connection, roots)
        while decided_rows := self._decided(with_reviews=with_reviews):
            sources = _sources(connection, self.rows, decided_rows)
            staying_ids = {name: ids & sources.get(name, set()) for name, ids in roots.items()}
            if not any(staying_ids.values()):
                raise BadInput(
                    f"import {batch.id} ({batch.file}) cannot be undone: people decided on all that it led to"
                )
            for name, ids in staying_ids.items():
                kept_rows[name] |= ids
            roots = {name: ids - kept_rows[name] for name, ids in roots.items()}
            self.rows = _derived_rows(connection, roots)
        self.kept_rows = kept_rows

    def result(self) -> ImportUndo:
        rows = {
            name: len(keys)
            for name, keys in sorted(self.rows.items())
            if keys and name not in _COMPUTED
        }
        return ImportUndo(self.batch, rows, tuple(sorted(self._kept_ids())))

    def withdraw(self, now: datetime) -> None:
        connection, rows = self.connection, self.rows
        runs = _values(connection, rows, "run_id")
        versions = _values(connection, rows, "judge_version_id")
        people = _values(connection, rows, "reviewer_id")
        response_ids = _values(connection, rows, "response_id", (JUDGMENT, FEEDBACK)) - _ids(
            rows, RESPONSE
        )
        self._withdraw(rows, now)
        empty_runs = [run for run in sorted(runs) if self._is_empty(run)]
        self._withdraw(_derived_rows(connection, {RUN.name: set(empty_runs)}), now)
        # Judges and annotators that only this import named.
        judges = select(VERSION.c.id).where(
            VERSION.c.id.in_(listed(connection, versions)), VERSION.c.kind == RECORDED
        )
        annotators = select(REVIEWER.c.id).where(
            REVIEWER.c.id.in_(listed(connection, people)), REVIEWER.c.origin == ORIGIN
        )
        for table, query in ((VERSION, judges), (REVIEWER, annotators)):
            ids = [
                id_
                for id_ in connection.scalars(query).all()
                if not any(
                    any_row(connection, child.c[column] == id_)
                    for child, column in _children().get(table.name, ())
                )
            ]
            self._withdraw({table.name: {(id_,) for id_ in ids}}, now)
        update_after_withdrawal(connection, response_ids, now)

    def _scalars(self, query: Select[Any]) -> set[int]:
        return set(self.connection.scalars(query))

    def _refuse_shared_rows(self, roots: Mapping[str, set[int]]) -> None:
        """Raise BadInput if verdicts of the import cannot be told apart from verdicts of other imports."""
        batch, connection = self.batch, self.connection
        cannot = f"import {batch.id} ({batch.file}) cannot be undone: "
        if batch.kind in _WITHOUT_IMPORT:
            raise BadInput(
                f"{cannot}{batch.kind.replace('_', ' ')} do not record the import that stored them"
            )
        if (batch.counts or {}).get(ASPECTS_ADDED):
            raise BadInput(
                f"{cannot}it added aspects to verdicts of other imports, and these cannot be told apart"
            )
        if batch.kind not in _KINDS_WITH_VERDICTS:
            return
        clauses = [RUN.c.kind == IMPORT, RUN.c.import_batch_id.is_(None), RUN.c.actor != _RECEIVER]
        clauses += [
            RUN.c.started_at >= batch.at,
            *([RUN.c.started_at <= batch.finished_at] if batch.finished_at else []),
        ]
        imports = connection.execute(select(RUN.c.id, RUN.c.filter).where(*clauses))
        runs = {id_ for id_, question in imports if question != RECEIVED}
        derived_rows = _derived_rows(connection, roots) if runs else {}
        for table in _RECORDED if runs else ():
            steps = self._scalars(
                select(table.c.id).where(table.c.run_id.in_(listed(connection, runs)))
            )
            if steps - _ids(derived_rows, table):
                raise BadInput(
                    f"{cannot}an earlier version of Judgeboard stored its verdicts, which cannot be told apart from "
                    "those of other imports"
                )

    def _decided(self, *, with_reviews: bool) -> Reached:
        """Return the rows that cannot be withdrawn because of people's decisions."""
        connection, reviews = self.connection, _ids(self.rows, REVIEW)
        query = select(REVIEW.c.id, REVIEW.c.response_id, REVIEW.c.pair_id).where(
            REVIEW.c.id.in_(listed(connection, reviews)),
            or_(REVIEW.c.import_batch_id.is_(None), REVIEW.c.import_batch_id != self.batch.id),
        )
        answers, pairs = _ids(self.rows, RESPONSE), _ids(self.rows, PAIR)
        review_keys = {
            (id_,)
            for id_, response_id, pair_id in connection.execute(query)
            if not (with_reviews and (response_id in answers or pair_id in pairs))
        }
        # The review stays, but the decided flag would be withdrawn.
        links = {key for key in self.rows.get(REVIEW_FLAG.name, ()) if key[0] not in reviews}
        rows = {REVIEW.name: review_keys, REVIEW_FLAG.name: links}
        return {name: keys for name, keys in rows.items() if keys}

    def _kept_ids(self) -> Iterator[str]:
        connection = self.connection
        for subject, column in ((RESPONSE, "response_id"), (PAIR, "pair_id")):
            ids = set(self.kept_rows.get(subject.name, ()))
            for name, rows in self.kept_rows.items():
                table = METADATA.tables[name]
                if column in table.c:
                    of_rows = select(table.c[column]).where(
                        table.c.id.in_(listed(connection, rows))
                    )
                    ids |= {id_ for id_ in connection.scalars(of_rows) if id_ is not None}
            query = select(subject.c.external_id).where(subject.c.id.in_(listed(connection, ids)))
            yield from connection.scalars(query)

    def _is_empty(self, run: int) -> bool:
        connection = self.connection
        tables = (table for table in METADATA.sorted_tables if row_of(table).keeps_run)
        if any(any_row(connection, table.c.run_id == run) for table in tables):
            return False
        return not any_row(connection, RUN.c.id == run, RUN.c.state == RunState.RUNNING)

    def _withdraw(self, rows: Reached, now: datetime) -> None:
        """Copy the rows, then delete the rows. A row is deleted before the rows to which the row refers."""
        connection = self.connection
        answers = listed(connection, _ids(rows, RESPONSE))
        # Received traces may become answers again.
        of_answers = update(TRACE).where(TRACE.c.response_id.in_(answers))
        connection.execute(
            of_answers.where(TRACE.c.state == "made").values(
                state="waiting", used=None, read_at=None
            )
        )
        connection.execute(of_answers.values(response_id=None, reason=None))
        about: dict[tuple[str, Any], tuple[int | None, int | None]] = {}
        tables = [table for table in METADATA.sorted_tables if rows.get(table.name)]
        for table in tables:
            if table.name not in _COMPUTED:
                self._copy(table, rows[table.name], about, now)
        for table in reversed(tables):
            _delete(connection, table, rows[table.name])

    def _copy(
        self,
        table: Table,
        keys: Collection[Key],
        about: dict[tuple[str, Any], tuple[int | None, int | None]],
        now: datetime,
    ) -> None:
        first, parents = _key_columns(table)[0], _parents(table)
        for batch in batches(sorted({key[0] for key in keys})):
            copies = []
            rows = self.connection.execute(select(table).where(first.in_(batch))).mappings()
            for row in map(dict, rows):
                key = tuple(row[column.name] for column in _key_columns(table))
                if key not in keys:
                    continue
                # The answer and the pair that the row names, otherwise those of a parent.
                subject: tuple[int | None, int | None]
                if table is RESPONSE:
                    subject = row["id"], None
                elif table is PAIR:
                    subject = None, row["id"]
                else:
                    answer = row.get("response_id") or row.get("root_response_id")
                    subject = answer, row.get("pair_id")
                for column, parent in parents:
                    if subject == (None, None):
                        subject = about.get((parent, row[column]), subject)
                about[table.name, key[0]] = subject
                copies.append(
                    {
                        "import_batch_id": self.batch.id,
                        "table_name": table.name,
                        "row_key": ",".join(map(str, key)),
                        "response_id": subject[0],
                        "pair_id": subject[1],
                        "content": {
                            column: _json(value)
                            for column, value in row.items()
                            if value is not None
                        },
                        "at": now,
                    }
                )
            if copies:
                self.connection.execute(insert(WITHDRAWN_ROW), copies)


def withdrawn_answers(connection: Connection, external_id: str) -> list[Named]:
    """Return the withdrawn answers with this external id that are not forgotten."""
    copy = WITHDRAWN_ROW.c
    query = select(copy.response_id, copy.content["source"].as_string()).where(
        copy.table_name == RESPONSE.name, copy.content["external_id"].as_string() == external_id
    )
    return [Named(*row) for row in connection.execute(query)]


def forget_copies(connection: Connection, response_ids: Collection[int]) -> None:
    """Blank the copies of rows about these answers, about derived answers, or about pairs of any of these."""
    copy = WITHDRAWN_ROW.c
    ids, new = set(response_ids), set(response_ids)
    origins = (
        copy.content["derived_from"].as_integer(),
        copy.content[("extra", ANSWER_OF)].as_integer(),
    )
    while new:
        is_derived = or_(*(origin.in_(listed(connection, new)) for origin in origins))
        answers = select(copy.response_id).where(copy.table_name == RESPONSE.name, is_derived)
        new = set(connection.scalars(answers)) - ids
        ids |= new
    of_ids = listed(connection, ids)
    sides = (
        copy.content[name].as_integer().in_(of_ids) for name in ("response_a_id", "response_b_id")
    )
    withdrawn_pairs = select(copy.pair_id).where(copy.table_name == PAIR.name, or_(*sides))
    live_pairs = select(PAIR.c.id).where(
        or_(PAIR.c.response_a_id.in_(of_ids), PAIR.c.response_b_id.in_(of_ids))
    )
    pairs = {*connection.scalars(withdrawn_pairs), *connection.scalars(live_pairs)}
    about = or_(copy.response_id.in_(of_ids), copy.pair_id.in_(listed(connection, pairs)))
    connection.execute(update(WITHDRAWN_ROW).where(about).values(content=None))


def _derived_rows(connection: Connection, roots: Mapping[str, set[int]]) -> Reached:
    """Return the ``roots`` (ids by table) with all rows that refer to a root, directly or through other rows."""
    rows: Reached = {name: {(id_,) for id_ in ids} for name, ids in roots.items() if ids}
    new = {name: set(ids) for name, ids in roots.items() if ids}
    while new:
        next_rows: dict[str, set[Key]] = defaultdict(set)
        for name, ids in new.items():
            for table, query in _referring(connection, name, ids):
                next_rows[table.name] |= {tuple(row) for row in connection.execute(query)}
        if flags := new.get("flag"):
            # Open queue items without a review that only withdrawn flags put into the queue.
            withdrawn_flags = listed(connection, _ids(rows, METADATA.tables["flag"]))
            item = QUEUE_ITEM_FLAG.c.queue_item_id
            other = QUEUE_ITEM_FLAG.alias()
            query = (
                select(QUEUE_ITEM.c.id)
                .join(QUEUE_ITEM_FLAG, item == QUEUE_ITEM.c.id)
                .where(
                    QUEUE_ITEM_FLAG.c.flag_id.in_(listed(connection, flags)),
                    QUEUE_ITEM.c.state == ItemState.OPEN,
                    ~exists().where(
                        other.c.queue_item_id == QUEUE_ITEM.c.id,
                        other.c.flag_id.not_in(withdrawn_flags),
                    ),
                    ~exists().where(REVIEW.c.queue_item_id == QUEUE_ITEM.c.id),
                )
            )
            next_rows[QUEUE_ITEM.name] |= {tuple(row) for row in connection.execute(query)}
        new = {}
        for name, keys in next_rows.items():
            fresh = keys - rows.get(name, set())
            if fresh:
                rows.setdefault(name, set()).update(fresh)
                new[name] = {key[0] for key in fresh}
    return rows


def _referring(
    connection: Connection, name: str, ids: set[int]
) -> Iterator[tuple[Table, Select[Any]]]:
    """Yield queries for the keys of all rows that refer to these rows of a table."""
    of_ids = listed(connection, ids)
    for table, column in _children().get(name, ()):
        yield table, select(*_key_columns(table)).where(table.c[column].in_(of_ids))
    # References that are no foreign keys.
    if name == "response" and any_row(connection, RESPONSE.c.kind == ResponseKind.CONTROL):
        repeats = RESPONSE.c.extra[ANSWER_OF].as_integer().in_(of_ids)
        yield (
            RESPONSE,
            select(RESPONSE.c.id).where(RESPONSE.c.kind == ResponseKind.CONTROL, repeats),
        )
    elif name == "pair":
        for side in (PAIR.c.response_a_id, PAIR.c.response_b_id):
            sides = (
                select(RESPONSE.c.id).join(PAIR, RESPONSE.c.id == side).where(PAIR.c.id.in_(of_ids))
            )
            yield RESPONSE, sides.where(RESPONSE.c.kind == ResponseKind.PAIR_SIDE)
    elif name in {"judgment", "review"}:
        of_table = PUSHED.c.what == What.JUDGMENTS.value
        yield (
            PUSHED,
            select(*_key_columns(PUSHED)).where(
                of_table if name == "judgment" else ~of_table, PUSHED.c.row_id.in_(of_ids)
            ),
        )
        if name == "review":  # events of pairs
            review = sql_cast(EVENT.c.details["review"].as_string(), BigId)
            yield EVENT, select(EVENT.c.id).where(EVENT.c.response_id.is_(None), review.in_(of_ids))


def _sources(connection: Connection, candidates: Reached, rows: Reached) -> dict[str, set[int]]:
    """Return which ``candidates`` the ``rows`` are derived from, directly or through other rows."""
    sources: Reached = {name: set(keys) for name, keys in rows.items()}
    new = dict(rows)
    while new:
        next_rows: dict[str, set[Key]] = defaultdict(set)
        for name, keys in new.items():
            for parent, id_ in _referred(connection, METADATA.tables[name], keys):
                if (id_,) in candidates.get(parent, ()) and (id_,) not in sources.get(parent, ()):
                    next_rows[parent].add((id_,))
        for name, keys in next_rows.items():
            sources.setdefault(name, set()).update(keys)
        new = next_rows
    return {name: {key[0] for key in keys} for name, keys in sources.items()}


def _referred(
    connection: Connection, table: Table, keys: Collection[Key]
) -> Iterator[tuple[str, int]]:
    """Yield the rows to which these rows refer, each as (table, id). The opposite of `_referring`."""
    first = _key_columns(table)[0]
    for batch in batches(sorted({key[0] for key in keys})):
        for row in connection.execute(select(table).where(first.in_(batch))).mappings():
            if tuple(row[column.name] for column in _key_columns(table)) in keys:
                yield from (
                    (parent, row[column])
                    for column, parent in _parents(table)
                    if row[column] is not None
                )
                if table is RESPONSE and (answer := row["extra"].get(ANSWER_OF)) is not None:
                    yield RESPONSE.name, answer
        if table is RESPONSE:
            side = or_(PAIR.c.response_a_id.in_(batch), PAIR.c.response_b_id.in_(batch))
            yield from (
                (PAIR.name, id_) for id_ in connection.scalars(select(PAIR.c.id).where(side))
            )


@cache
def _children() -> dict[str, list[tuple[Table, str]]]:
    """Return for each table the columns that refer to this table, as (table, column), except columns of traces."""
    return grouped(
        (parent, (table, column))
        for table in METADATA.sorted_tables
        if table not in {TRACE, WITHDRAWN_ROW}
        for column, parent in _parents(table)
    )


@cache
def _parents(table: Table) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table that refer to other tables, as (column, table)."""
    return tuple(
        (column.name, key.column.table.name) for column in table.c for key in column.foreign_keys
    )


@cache
def _key_columns(table: Table) -> tuple[Any, ...]:
    return tuple(table.primary_key.columns)


def _ids(rows: Reached, table: Table) -> set[int]:
    return {key[0] for key in rows.get(table.name, ())}


def _values(
    connection: Connection,
    rows: Reached,
    column: str,
    tables: Iterable[Table] = METADATA.sorted_tables,
) -> set[int]:
    """Return the values of a column in these rows."""
    values: set[int] = set()
    for table in tables:
        if column in table.c and "id" in table.c and rows.get(table.name):
            ids = listed(connection, _ids(rows, table))
            values |= set(
                connection.scalars(select(table.c[column]).where(table.c.id.in_(ids)).distinct())
            )
    return {value for value in values if value is not None}


def _delete(connection: Connection, table: Table, keys: Collection[Key]) -> None:
    columns = _key_columns(table)
    if len(columns) == 1:  # in one statement: rows may refer to each other
        ids = [key[0] for key in keys]
        of_ids = columns[0].in_(
            listed(connection, ids) if columns[0].name == "id" and table.name != "job" else ids
        )
        connection.execute(delete(table).where(of_ids))
        return
    statement = delete(table).where(
        *(column == bindparam(f"key_{column.name}") for column in columns)
    )
    names = [f"key_{column.name}" for column in columns]
    for batch in batches(sorted(keys)):
        connection.execute(statement, [dict(zip(names, key, strict=True)) for key in batch])


def _json(value: Any) -> Any:
    """Return a value of a column as JSON."""
    if isinstance(value, datetime):
        return iso_z(value)
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
