"""Looks for damage in a database: SQLite's check of the file, values that cannot be read, hashes that differ."""

import json
import operator
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Engine,
    Integer,
    LargeBinary,
    String,
    func,
    select,
)
from sqlalchemy.types import TypeDecorator

from judgeboard.domain import JudgeVersion
from judgeboard.judges.judge import fingerprint
from judgeboard.store.responses import content_hash, response_of
from judgeboard.store.tables import METADATA, RESPONSE, VERSION

CHECK_SECONDS = 600.0  # for the check of a file
MOST_FAULTS = 5  # that are named
MOST_HASHED = 100_000  # answers whose content is compared with the hash
_STEPS = 100_000  # of SQLite's virtual machine between two looks at the clock
_PART = 1_000


@dataclass(frozen=True, slots=True)
class Integrity:
    """What a check found: ``faults`` name tables, columns and row numbers, never a stored text.

    ``complete`` is False if the check ended before everything was read; ``reason`` then says why.
    """

    faults: tuple[str, ...] = ()
    complete: bool = True
    reason: str | None = None


def check_integrity(engine: Engine, seconds: float = CHECK_SECONDS) -> Integrity:
    """Let SQLite check the file, and read every value, for at most this number of seconds.

    The files of PostgreSQL are on a server, with a tool for checks.
    """
    if engine.dialect.name != "sqlite":
        return Integrity(complete=False, reason="PostgreSQL has a tool for it, pg_amcheck")
    deadline = time.monotonic() + seconds
    with closing(engine.raw_connection()) as pooled:
        connection: Any = pooled.driver_connection
        pooled.detach()  # the settings are for this check
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        connection.text_factory = bytes
        faults: list[str] = []
        try:
            for fault in islice(_faults_of_file(connection), MOST_FAULTS):
                faults.append(fault)
                if time.monotonic() > deadline:
                    break
        except engine.dialect.loaded_dbapi.Error as error:
            if time.monotonic() <= deadline:
                faults.append(str(error).partition("\n")[0])
    if faults or time.monotonic() <= deadline:
        return Integrity(tuple(faults))
    return Integrity(complete=False, reason="the check takes too long")


def _faults_of_file(connection: Any) -> Iterator[str]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({MOST_FAULTS})"):
        if line != b"ok":
            yield (
                line.decode(errors="replace")
                .removeprefix("*** in database main ***\n")
                .partition("\n")[0]
            )
    for child, row, parent, _key in connection.execute("PRAGMA foreign_key_check"):
        yield f"{child.decode()} row {row}: {parent.decode()} missing"
    for table in METADATA.sorted_tables:
        # A database of an earlier release lacks tables and columns.
        column_names = {
            row[1].decode() for row in connection.execute(f'PRAGMA table_info("{table.name}")')
        }
        readers = [
            (each.name, _reader(each)) for each in table.columns if each.name in column_names
        ]
        if not readers:
            continue
        names = ", ".join(f'"{name}"' for name, _ in readers)
        for row, *values in connection.execute(f'SELECT rowid, {names} FROM "{table.name}"'):  # noqa: S608 - fixed names
            for (name, read), value in zip(readers, values, strict=True):
                try:
                    if value is not None:
                        read(value)
                except (AttributeError, TypeError, ValueError):
                    yield f"{table.name} row {row}: {name} unreadable"


def _reader(column: Column[Any]) -> Callable[[Any], object]:
    """Return a function that raises an error for a value that this column cannot have. Texts are passed as bytes."""
    type_ = column.type.impl_instance if isinstance(column.type, TypeDecorator) else column.type
    if isinstance(type_, JSON):
        # SQLite keeps a JSON number as a number.
        return lambda value: json.loads(value) if isinstance(value, bytes) else operator.pos(value)
    if isinstance(type_, DateTime):
        return lambda value: datetime.fromisoformat(value.decode())
    if isinstance(type_, String):
        return bytes.decode
    if isinstance(type_, LargeBinary):
        return memoryview
    return operator.index if isinstance(type_, Integer | Boolean) else operator.pos


@dataclass(frozen=True, slots=True)
class HashedContent:
    """How many of the ``answers`` were ``compared``; ``differing`` are the ids of answers with another hash.

    ``versions`` are the titles of judge versions with another fingerprint.
    """

    answers: int
    compared: int
    differing: tuple[int, ...]
    versions: tuple[str, ...]


def compare_hashes(connection: Connection) -> HashedContent:
    """Compare the content of answers with the hashes, and judge versions with the fingerprints.

    In a log of more than 100,000 answers, 100,000 to 200,000 answers are compared, spread evenly.
    Forgotten answers are left out.
    """
    has_texts = RESPONSE.c.query.is_not(None), RESPONSE.c.answer.is_not(None)
    answers, last = connection.execute(
        select(func.count(), func.max(RESPONSE.c.id)).where(*has_texts)
    ).one()
    step = max(1, answers // MOST_HASHED)
    compared_answers, differing_ids, after = 0, [], 0
    query = (
        select(RESPONSE)
        .where(*has_texts, RESPONSE.c.id % step == 0)
        .order_by(RESPONSE.c.id)
        .limit(_PART)
    )
    while after < (last or 0):
        rows = connection.execute(query.where(RESPONSE.c.id > after)).all()
        compared_answers += len(rows)
        differing_ids += [
            row.id for row in rows if content_hash(response_of(row)) != row.content_hash
        ]
        after = rows[-1].id if rows else last
    names = [field.name for field in fields(JudgeVersion)]
    versions = [
        f"{row.name} v{row.number}"
        for row in connection.execute(select(VERSION).order_by(VERSION.c.id))
        if fingerprint(JudgeVersion(**{name: getattr(row, name) for name in names}))
        != row.fingerprint
    ]
    return HashedContent(answers, compared_answers, tuple(differing_ids), tuple(versions))
