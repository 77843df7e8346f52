"""Judge versions: stored, found by name and number, retired and restored."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, Select, func, select

from judgeboard.domain import RECORDED, JudgeVersion
from judgeboard.errors import BadInput, NotFound, UnknownName
from judgeboard.store.clock import utc_now
from judgeboard.store.events import record_event
from judgeboard.store.statements import first_row, get_row, insert_or_skip, number_of, rows_of
from judgeboard.store.tables import (
    EVENT,
    JUDGMENT,
    RUN,
    SETTING,
    VERSION,
    Event,
    StoredVersion,
    version_title,
)

MOST_NAMED = 8


def closest(which: str, versions: Sequence[StoredVersion]) -> str:
    """Return at most 8 of these versions as text; the versions with the closest names come first."""
    names = list(dict.fromkeys(version.name for version in versions))
    close = _closest_names(which, names)
    ordered = [*close, *(name for name in names if name not in close)]
    titles = [version.title for name in ordered for version in versions if version.name == name]
    texts = titles if len(titles) <= MOST_NAMED else ordered
    more = len(texts) - MOST_NAMED
    return ", ".join(texts[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def closest_of_all(which: str, versions: Sequence[StoredVersion]) -> str:
    """Return the available versions as text: versions with a similar name, otherwise the first of all versions."""
    if not versions:
        return "no judge has judged yet: `judgeboard judge --judge lexical`"
    # Imported judges come last: one file may have hundreds.
    ordered = sorted(versions, key=lambda version: version.kind == RECORDED)
    close = _closest_names(which, list(dict.fromkeys(version.name for version in ordered)))
    return f"known: {closest(which, [each for each in ordered if not close or each.name in close])}"


def _closest_names(which: str, names: Sequence[str]) -> list[str]:
    """Return the names that contain the text, otherwise similar names, the closest first."""
    plain_names, plain_text = {name: _plain(name) for name in names}, _plain(which)
    matches = [name for name in names if plain_text and plain_text in plain_names[name]]
    similar_names = difflib.get_close_matches(
        plain_text, list(dict.fromkeys(plain_names.values())), n=MOST_NAMED
    )
    return matches or [
        name for each in similar_names for name in names if plain_names[name] == each
    ]


def _plain(name: str) -> str:
    """Return only letters and digits: people write gpt4 and GPT-4."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def version_titles(connection: Connection) -> dict[int, str]:
    """Return the titles of all judge versions by id."""
    query = select(VERSION.c.id, VERSION.c.name, VERSION.c.number)
    return {id_: version_title(name, number) for id_, name, number in connection.execute(query)}


def ensure_version(
    connection: Connection, version: JudgeVersion, now: datetime | None = None
) -> StoredVersion:
    """Return the stored version with this content; store a new version under the next number of the name.

    Two processes with the same version get the same row. Raises ValueError if a parameter is NaN or
    infinite.
    """
    from judgeboard.judges.judge import fingerprint, prompt_hash  # loads the providers of models

    address = fingerprint(version)
    while True:
        stored_version = find_version(connection, address)
        if stored_version is not None:
            return stored_version
        last = select(func.max(VERSION.c.number)).where(VERSION.c.name == version.name)
        # The insert is skipped if another process stored this version or number meanwhile: then try
        # again.
        new = StoredVersion(
            **asdict(version),
            number=number_of(connection, last) + 1,
            prompt_hash=None if version.prompt is None else prompt_hash(version.prompt),
            fingerprint=address,
            created_at=now or utc_now(),
        )
        connection.execute(insert_or_skip(connection, VERSION), new.model_dump(exclude={"id"}))


def find_version(connection: Connection, address: str) -> StoredVersion | None:
    """Return the version with a fingerprint, or None."""
    return first_row(connection, select(StoredVersion).where(VERSION.c.fingerprint == address))


def list_versions(
    connection: Connection, ids: Select[tuple[int]] | None = None
) -> list[StoredVersion]:
    """Return all judge versions, or the versions whose ids a query selects, sorted by name and number."""
    query = select(StoredVersion)
    if ids is not None:
        query = query.where(VERSION.c.id.in_(ids))
    return sorted(rows_of(connection, query), key=lambda version: (version.name, version.number))


def get_version(connection: Connection, which: int | str) -> StoredVersion:
    """Return a version by id, fingerprint (8 digits or more), title ("rag v3") or name (newest), or raise NotFound."""
    if isinstance(which, int):
        return get_row(connection, StoredVersion, which, "judge version")
    versions = list_versions(connection)
    of_name = [version for version in versions if which in {version.name, version.title}]
    if of_name:
        return of_name[-1]
    of_fingerprint = [
        version for version in versions if len(which) >= 8 and version.fingerprint.startswith(which)
    ]
    if len(of_fingerprint) == 1:
        return of_fingerprint[0]
    raise _not_known(
        f"no judge version {which!r}; {closest_of_all(which, versions)}", which, versions
    )


def choose_version(
    connection: Connection, which: int | str, usable: Sequence[StoredVersion], did: str
) -> StoredVersion:
    """Return a ``usable`` version, or raise NotFound; ``did`` is what usable versions did ("compared pairs")."""
    try:
        version = get_version(connection, which)
    except NotFound:
        raise not_found(connection, which, usable, did) from None
    if usable and version.id not in {each.id for each in usable}:
        raise NotFound(
            f"{version.title} is not one of the judges that {did}: {closest(version.name, usable)}"
        )
    return version


def not_found(
    connection: Connection,
    which: int | str,
    usable: Sequence[StoredVersion],
    did: str,
    *,
    what: str = "judge version",
) -> NotFound:
    """Return the error of `choose_version`, with the usable versions, or all versions if none is usable."""
    name = str(which)
    available = (
        f"{did}: {closest(name, usable)}"
        if usable
        else closest_of_all(name, list_versions(connection))
    )
    versions = usable or list_versions(connection)
    return _not_known(f"no {what} {which!r}; {available}", name, versions)


def _not_known(message: str, name: str, versions: Sequence[StoredVersion]) -> NotFound:
    close = _closest_names(name, [version.name for version in versions])
    return UnknownName(message, name, close[0]) if close else NotFound(message)


def versions_asked_again(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions with repeats, by name and number."""
    return list_versions(
        connection, select(JUDGMENT.c.judge_version_id).where(JUDGMENT.c.repeat > 0)
    )


RETIRED, RESTORED = "retire_version", "restore_version"


def retired_versions(connection: Connection) -> dict[int, Event]:
    """Return the retired versions by id, each with the event of the retirement."""
    query = select(Event).where(EVENT.c.kind.in_((RETIRED, RESTORED))).order_by(EVENT.c.id)
    latest = {event.details["version"]: event for event in rows_of(connection, query)}
    return {id_: event for id_, event in latest.items() if event.kind == RETIRED}


def setup_mark(connection: Connection) -> tuple[str, ...]:
    """Return a mark that changes with the judge versions, the last runs, retirements and the primary judge."""
    newest = [
        select(func.max(column)).scalar_subquery()
        for column in (VERSION.c.id, RUN.c.id, RUN.c.finished_at, SETTING.c.id)
    ]
    last_change = (
        select(func.max(EVENT.c.id)).where(EVENT.c.kind.in_((RETIRED, RESTORED))).scalar_subquery()
    )
    return tuple(map(str, connection.execute(select(*newest, last_change)).one()))


def refuse_retired(connection: Connection, version: StoredVersion) -> None:
    """Raise BadInput if a judge version is retired."""
    retirement = retired_versions(connection).get(version.id)
    if retirement is not None:
        raise BadInput(
            f"{version.title} was retired by {retirement.actor} on {retirement.at:%d %b %Y} and makes no new "
            f'judgments. An admin can restore it with `judgeboard versions restore "{version.title}"`'
        )


def known_judges(connection: Connection, judges: Collection[str]) -> None:
    """Raise NotFound unless every name is the name of a judge."""
    names = set(connection.scalars(select(VERSION.c.name).distinct()))
    for judge in judges:
        if judge not in names:
            raise NotFound(f"no judge {judge!r}; judges: {', '.join(sorted(names)) or 'none'}")


def record_retired(connection: Connection, version_id: int, actor: str, *, retired: bool) -> None:
    """Record that a version is retired or restored."""
    record_event(
        connection, RETIRED if retired else RESTORED, actor, details={"version": version_id}
    )
