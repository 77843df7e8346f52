"""Judge versions that are retired: a version never changes, so that is a fact of its own, and the latest one counts."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.errors import BadInput
from judgeboard.store.events import record_event
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.schema.tables import EVENT

RETIRED, RESTORED = "retire_version", "restore_version"


@dataclass(frozen=True, slots=True)
class Retired:
    """Who retired a judge version, and when."""

    version_id: int
    by: str
    at: datetime


def retired_versions(connection: Connection) -> dict[int, Retired]:
    """Return the versions that are retired now, by id."""
    facts = select(EVENT.c.kind, EVENT.c.actor, EVENT.c.at, EVENT.c.details)
    found: dict[int, Retired] = {}
    for kind, by, at, details in connection.execute(
        facts.where(EVENT.c.kind.in_((RETIRED, RESTORED))).order_by(EVENT.c.id)
    ):
        version_id = details["version"]
        if kind == RETIRED:
            found[version_id] = Retired(version_id, by, at)
        else:
            found.pop(version_id, None)
    return found


def refuse_retired(connection: Connection, version: StoredVersion) -> None:
    """Refuse to ask a judge version that is retired.

    Raises:
        BadInput: It is; the text says by whom and since when.
    """
    fact = retired_versions(connection).get(version.id)
    if fact is not None:
        raise BadInput(
            f"{version.title} was retired by {fact.by} on {fact.at:%d %b %Y}: what it said stays, nothing more is "
            f'asked of it. An admin takes that back with `judgeboard versions restore "{version.title}"`'
        )


def record_retired(connection: Connection, version_id: int, actor: str, *, retired: bool) -> None:
    """Write that a version is retired, or in use again."""
    record_event(connection, RETIRED if retired else RESTORED, actor, details={"version": version_id})
