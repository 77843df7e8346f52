"""Judge versions in the store: found by their content address, numbered within their name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from judgeboard.domain import JudgeVersion
from judgeboard.errors import NotFound
from judgeboard.judges.version import fingerprint, prompt_hash
from judgeboard.store.judgments.closest_versions import closest, closest_of_all
from judgeboard.store.schema.tables import JUDGMENT, VERSION
from judgeboard.store.sql.insertion import insert_or_skip


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A judge version as stored: immutable, ``number`` counts from 1 within its name."""

    id: int
    name: str
    number: int
    kind: str
    model: str | None
    params: dict[str, Any]
    prompt: str | None
    scale: str
    fingerprint: str
    created_at: datetime

    @property
    def title(self) -> str:
        """What people call it: "rag v3"."""
        return version_title(self.name, self.number)


def version_title(name: str, number: int) -> str:
    """Return what people call a judge version: "rag v3"."""
    return f"{name} v{number}"


def ensure_version(connection: Connection, version: JudgeVersion, now: datetime | None = None) -> StoredVersion:
    """Return the stored version with this content, storing it under the next number of its name where it is new.

    Two processes that bring the same version get the same row.

    Raises:
        ValueError: A parameter is NaN or infinite.
    """
    address = fingerprint(version)
    while True:
        known = _by_fingerprint(connection, address)
        if known is not None:
            return known
        last = select(func.coalesce(func.max(VERSION.c.number), 0)).where(VERSION.c.name == version.name)
        # Skips where another process stored this version, or this number, meanwhile: then look again.
        connection.execute(
            insert_or_skip(connection, VERSION),
            {
                "name": version.name,
                "kind": version.kind,
                "number": connection.execute(last).scalar_one() + 1,
                "model": version.model,
                "params": version.params,
                "prompt": version.prompt,
                "prompt_hash": None if version.prompt is None else prompt_hash(version.prompt),
                "scale": version.scale,
                "fingerprint": address,
                "created_at": now or datetime.now(UTC),
            },
        )


def find_version(connection: Connection, address: str) -> StoredVersion | None:
    """Return the version of a fingerprint, None where it is not stored."""
    return _by_fingerprint(connection, address)


def list_versions(connection: Connection) -> list[StoredVersion]:
    """Return every judge version by name and number."""
    rows = connection.execute(select(VERSION)).all()
    return sorted((_stored(row) for row in rows), key=lambda version: (version.name, version.number))


def get_version(connection: Connection, which: int | str) -> StoredVersion:
    """Return a version by id, fingerprint (or its first 8 digits or more), title ("rag v3") or name (its newest).

    Raises:
        NotFound: No version answers to it, or the digits are those of several.
    """
    if isinstance(which, int):
        row = connection.execute(select(VERSION).where(VERSION.c.id == which)).one_or_none()
        if row is None:
            raise NotFound(f"no judge version {which}")
        return _stored(row)
    versions = list_versions(connection)
    named = [version for version in versions if which in {version.name, version.title}]
    if named:
        return named[-1]
    addressed = [version for version in versions if len(which) >= 8 and version.fingerprint.startswith(which)]
    if len(addressed) == 1:
        return addressed[0]
    raise NotFound(f"no judge version {which!r}; {closest_of_all(which, versions)}")


def choose_version(
    connection: Connection, which: int | str, usable: Sequence[StoredVersion], did: str
) -> StoredVersion:
    """Return a version as `get_version` does, and only one that can be meant.

    Args:
        connection: A transaction.
        which: As `get_version` takes it.
        usable: Those that can be meant; where there are none, all.
        did: What they did, in words: "compared pairs".

    Raises:
        NotFound: No version answers to it, or one that did nothing of the kind; it names those that did.
    """
    try:
        version = get_version(connection, which)
    except NotFound:
        raise not_found(connection, which, usable, did) from None
    if usable and version.id not in {each.id for each in usable}:
        raise NotFound(f"{version.title} is none of those that {did}: {closest(version.name, usable)}")
    return version


def not_found(
    connection: Connection, which: int | str, usable: Sequence[StoredVersion], did: str, *, what: str = "judge version"
) -> NotFound:
    """Return the error for what no version answers to; the arguments are those of `choose_version`.

    It names those that can be meant, where there are none all; ``what`` says what was looked for.
    """
    name = str(which)
    meant = f"{did}: {closest(name, usable)}" if usable else closest_of_all(name, list_versions(connection))
    return NotFound(f"no {what} {which!r}; {meant}")


def versions_asked_again(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions that were asked more than once about an answer, by name and number."""
    again = select(JUDGMENT.c.judge_version_id).where(JUDGMENT.c.repeat > 0).distinct()
    ids = set(connection.execute(again).scalars())
    return [version for version in list_versions(connection) if version.id in ids]


def _by_fingerprint(connection: Connection, address: str) -> StoredVersion | None:
    row = connection.execute(select(VERSION).where(VERSION.c.fingerprint == address)).one_or_none()
    return None if row is None else _stored(row)


def _stored(row: Row[Any]) -> StoredVersion:
    return StoredVersion(
        id=row.id,
        name=row.name,
        number=row.number,
        kind=row.kind,
        model=row.model,
        params=row.params,
        prompt=row.prompt,
        scale=row.scale,
        fingerprint=row.fingerprint,
        created_at=row.created_at,
    )
