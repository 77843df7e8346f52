"""People who sign in or enter a name, and changes for leads and admins only: settings, judge versions, flags."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import ROLES, Action, Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.people.permissions import (
    ENTERED,
    IMPORTED,
    REFUSED,
    SIGNED_IN,
    Actor,
    actor_name,
    allowed,
    is_first_admin,
    may,
    role_of,
)
from judgeboard.registry.methods import load_object, registrations
from judgeboard.settings.model import load_settings, variable_of
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import AdvisoryLock, Readable, Store, take_lock
from judgeboard.store.events import record_event
from judgeboard.store.flags import FlagSummary, with_open_flags
from judgeboard.store.hidden_rows import Seen, count_hidden
from judgeboard.store.judge_versions import (
    get_version,
    list_versions,
    record_retired,
    retired_versions,
)
from judgeboard.store.reviewers import (
    change_reviewer,
    checked_name,
    find_reviewer,
    people_sign_in,
    reviewers_of,
    store_reviewer,
    take_up_imports,
)
from judgeboard.store.settings import (
    check_primary_judge,
    check_query_types,
    primary_judge,
    set_setting,
)
from judgeboard.store.statements import AT_ONCE, any_row, count_rows, rows_of
from judgeboard.store.storing import count_to_supersede, reapply_flags, rebuild_current
from judgeboard.store.tables import (
    EVENT,
    RESPONSE,
    REVIEW,
    REVIEWER,
    VERSION,
    Reviewer,
    StoredVersion,
)
from judgeboard.store.visible_sources import check_source
from judgeboard.text import counted, folded_address, some_of

LONGEST_ADDRESS = 254  # characters: RFC 5321, section 4.5.3.1.3, less the brackets
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
REFUSAL_PAUSE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person with role and last activity. A time is None if there was no activity or the time is unknown."""

    person: Reviewer
    role: Role
    first_admin: bool
    last_seen: datetime | None
    last_review: datetime | None


def add_person(
    store: Store,
    address: str,
    role: Role,
    actor: Actor,
    *,
    origin: str = SIGNED_IN,
    any_name: bool = False,
) -> Reviewer:
    """Add a person who signs in with this e-mail address. A removed person can be added again.

    Where a proxy tells who signed in, or with ``any_name``, the ``address`` may be another name.
    With the origin ``page``, ``address`` is a name that the person enters on the pages. Such people
    have all permissions where nobody signs in, whatever the role.

    Raises:
        BadInput: The e-mail address or the role is not valid, or the person was added already.
        NotFound: People sign in, and nobody entered this name on a page before.
    """
    if origin != SIGNED_IN:
        name = checked_name(address)
    elif any_name or load_settings().trusted_header is not None:
        name = checked_sign_in_name(address)
    else:
        name = checked_address(address)
    new_role = _checked_role(role)
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        reviewers_of(connection, SIGNED_IN, lock=True)
        take_lock(connection, AdvisoryLock.REVIEWER_NAMES)
        member = find_reviewer(connection, origin, name)
        if member is None and origin != SIGNED_IN and people_sign_in(connection):
            raise NotFound(
                f"nobody entered the name {name} on a page: give the e-mail address to sign in with"
            )
        if member is not None and role_of(member) is not Role.NONE:
            if origin != SIGNED_IN:
                raise BadInput(
                    f"{member.name} was added already: they enter this name on the pages"
                )
            raise BadInput(
                f"{name} was added already, as {role_of(member)}: change the role instead"
            )
        imported = (
            take_up_imports(connection, name) if member is None and origin == ENTERED else None
        )
        person = member or imported or store_reviewer(connection, origin, name, role=new_role)
        change_reviewer(connection, person, role=new_role)
        _record(connection, "add_person", actor, person, role=new_role)
    return person.changed(role=new_role)


def change_role(store: Store, address: str, role: Role, actor: Actor) -> Reviewer:
    """Give a person another role, which applies from the next action.

    Raises:
        NotFound: No person with this address was added.
        BadInput: The e-mail address or the role is not valid, ``JUDGEBOARD_ADMIN`` names the
            person, or no admin would be left.
    """
    name = checked_sign_in_name(address)
    return _set(store, name, _checked_role(role), actor, "change_role", SIGNED_IN)


def remove_person(store: Store, name: str, actor: Actor, *, origin: str | None = None) -> Reviewer:
    """Remove a person, who may do nothing from now on; the reviews are kept.

    ``name`` is the e-mail address of a person who signs in, otherwise a name that was entered on a
    page. ``origin`` (``oidc`` or ``page``) tells two people with one name apart. Raises the same
    errors as `change_role`.
    """
    return _set(store, name.strip(), Role.NONE, actor, "remove_person", origin)


def list_people(connection: Connection) -> list[PersonLine]:
    """Return everybody, including removed people, by role and name. A name's last event gives ``last_seen``.

    Where people sign in, people who only entered a name on a page have no role.
    """
    last_review = (
        select(REVIEW.c.at)
        .where(REVIEW.c.reviewer_id == REVIEWER.c.id)
        .order_by(REVIEW.c.id.desc())
    )
    last_seen = (
        select(EVENT.c.at).where(EVENT.c.actor == REVIEWER.c.name).order_by(EVENT.c.id.desc())
    )
    query = select(
        REVIEWER.c.id,
        last_seen.limit(1).scalar_subquery().label("last_seen"),
        last_review.limit(1).scalar_subquery().label("last_review"),
    )
    sign_in = people_sign_in(connection)
    people = {person.id: person for person in rows_of(connection, select(Reviewer))}
    lines = []
    for row in connection.execute(query):
        person = people[row.id]
        role = Role.NONE if sign_in and person.origin == ENTERED else role_of(person)
        first = person.origin == SIGNED_IN and is_first_admin(person.name)
        # The author of imported grades never signs in: an event with the same name belongs to
        # another person.
        last_seen_at = None if person.origin == IMPORTED else row.last_seen
        lines.append(PersonLine(person, role, first, last_seen_at, row.last_review))
    return sorted(
        lines, key=lambda line: (-len(line.role.actions), line.person.name, line.person.origin)
    )


def checked_address(address: str) -> str:
    """Return an e-mail address as stored: lower case, no surrounding blanks. Raises BadInput if invalid."""
    tidy = folded_address(address.strip())
    if not _ADDRESS.fullmatch(tidy) or not tidy.isprintable() or len(tidy) > LONGEST_ADDRESS:
        raise BadInput(
            "give the e-mail address with which the person signs in, for example ann@example.org"
        )
    return tidy


def checked_sign_in_name(name: str) -> str:
    """Return the name with which a person signs in, as stored: an e-mail address, or another name.

    Raises BadInput if invalid. Another name has no colon, because ``cli:USER`` is a user of the
    terminal.
    """
    if "@" in name:
        return checked_address(name)
    if ":" in name:
        raise BadInput("a name with which a person signs in has no colon")
    return checked_name(name)


def _set(
    store: Store, name: str, role: Role, actor: Actor, kind: str, origin: str | None
) -> Reviewer:
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        person = _added_person(connection, name, origin)
        if role is not person.role:
            if role is not Role.ADMIN:
                _check_admin_left(connection, person)
            change_reviewer(connection, person, role=role)
            _record(connection, kind, actor, person, role=role)
        if role is Role.NONE:
            for each in registrations():
                if each.removed_person is not None:
                    load_object(each.removed_person)(connection, person.id)
    return person.changed(role=role)


def set_sources(
    store: Store,
    name: str,
    sources: Sequence[str] | None,
    actor: Actor,
    *,
    origin: str | None = None,
) -> Reviewer:
    """Give a person some sources only; None gives all. The change applies from the next action.

    Answers of other sources do not exist for the person, and the person can start nothing that
    reaches all answers. ``name`` and ``origin`` are as in `remove_person`.

    Raises:
        NotFound: No person with this name was added.
        BadInput: A source is not valid, ``JUDGEBOARD_ADMIN`` names the person, or no admin who sees
            all sources would be left.
    """
    for source in sources or ():
        check_source(source)
    only = None if sources is None else tuple(sorted(set(sources)))
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        person = _added_person(connection, name.strip(), origin)
        if only != person.sources:
            if only is not None:
                _check_admin_left(connection, person)
            change_reviewer(connection, person, sources=only)
            details = {"person": person.id, "name": person.name, "sources": only}
            record_event(connection, "change_sources", actor_name(actor), details=details)
    return person.changed(sources=only)


def _check_admin_left(connection: Connection, person: Reviewer) -> None:
    """Raise BadInput if this person is the only one who signs in and may manage people."""
    if person.origin != SIGNED_IN or not may(person, Action.MANAGE_PEOPLE) or load_settings().admin:
        return
    # Locked, so that two admins cannot remove each other.
    everybody = reviewers_of(connection, SIGNED_IN, lock=True)
    if not any(may(each, Action.MANAGE_PEOPLE) for each in everybody if each.id != person.id):
        raise BadInput(f"{person.name} is the only admin: make another person admin first")


def _added_person(connection: Connection, name: str, origin: str | None) -> Reviewer:
    """Return the person with a name who has a role. Raises NotFound, or BadInput for the first admin."""
    origins = (SIGNED_IN, ENTERED) if origin is None else (origin,)
    namesakes = filter(None, (find_reviewer(connection, each, name) for each in origins))
    person = next((each for each in namesakes if role_of(each) is not Role.NONE), None)
    if person is None:
        raise NotFound(
            f"no person was added with the {'address' if '@' in name else 'name'} {name}"
        )
    if person.origin == SIGNED_IN and is_first_admin(person.name):
        raise BadInput(
            f"{name} is admin because JUDGEBOARD_ADMIN names this address: change that variable first"
        )
    return person


def _record(
    connection: Connection, kind: str, actor: Actor, person: Reviewer, *, role: Role
) -> None:
    former = role_of(person) if kind != "add_person" else Role.NONE
    details = {"person": person.id, "name": person.name, "from": former.value, "to": role.value}
    record_event(connection, kind, actor_name(actor), details=details)


def _checked_role(role: Role) -> Role:
    if role not in ROLES:
        raise BadInput(
            f"the role must be one of {', '.join(ROLES)}; to take a role away, remove the person"
        )
    return role


def admit(store: Store, signed_in_as: str, *, arrives: bool = False) -> Reviewer:
    """Return the stored person who signed in under a name; raise `NotAllowed` if no admin added the person.

    The person whom ``JUDGEBOARD_ADMIN`` names is stored as admin. If a session begins
    (``arrives``), the sign-in or the refusal is stored as an event, but of each name at most one
    refusal a minute.
    """
    name = checked_sign_in_name(signed_in_as)
    with store.reading() as connection:
        person = find_reviewer(connection, SIGNED_IN, name)
    if is_first_admin(name) and (person is None or person.role is not Role.ADMIN):
        with store.writing() as connection:
            person = store_reviewer(connection, SIGNED_IN, name, role=Role.ADMIN)
            change_reviewer(connection, person, role=Role.ADMIN)
            person = person.changed(role=Role.ADMIN)
            details = {
                "person": person.id,
                "name": name,
                "to": Role.ADMIN.value,
                "by": "JUDGEBOARD_ADMIN",
            }
            record_event(connection, "add_person", name, details=details)
    welcome = person is not None and role_of(person) is not Role.NONE
    if arrives:
        with store.writing() as connection:
            if welcome:
                record_event(connection, "sign_in", name)
            else:
                _record_refusal(connection, name)
    if person is None or not welcome:
        raise NotAllowed(f"{name} may not sign in here yet. An admin can add you.")
    return person


def seen_by_user(store: Store, user: str, say: Callable[[str], None]) -> Seen:
    """Return the database without the rows that ``cli:USER`` will review blind; ``say`` gets the number of answers."""
    with store.reading() as connection:
        person = find_reviewer(connection, "cli", user)
    readable = Seen(store, None if person is None else person.id)
    with readable.reading() as connection:
        hidden = count_hidden(connection)
    if hidden:
        say(f"hidden: {counted(hidden, 'answer')} that you have not reviewed yet in a blind queue")
    return readable


def ensure_reviewer(store: Store, origin: str, name: str, *, by: Actor | None = None) -> Reviewer:
    """Return the reviewer with this name and origin. A new reviewer is stored.

    Names that differ only in case are one person; if several are stored, the exact match is used.
    Without sign-in, a person who enters a new name on a page takes over the imported reviews of the
    author with that name.

    The ``origin`` is ``page`` (typed on a page), ``cli`` (then the name is ``cli:USER``),
    ``import`` or ``oidc``. ``by`` is who invites a new person; without ``by``, the person came and
    is seen now. Raises BadInput if the name is empty, longer than 80 characters or not printable,
    or no admin added this person.
    """
    tidy = checked_name(name)
    with store.reading() as connection:
        reviewer = find_reviewer(connection, origin, tidy)
        imported = (
            reviewer is None
            and origin == ENTERED
            and find_reviewer(connection, IMPORTED, tidy) is not None
        )
    if reviewer is not None:
        return reviewer
    if origin == SIGNED_IN:
        raise BadInput(
            f"{tidy} is not a person here. An admin can add them: `judgeboard people add {shlex.quote(tidy)}`"
        )
    with store.writing() as connection:
        take_lock(connection, AdvisoryLock.REVIEWER_NAMES)
        reviewer = find_reviewer(connection, origin, tidy)
        if reviewer is None:
            author = take_up_imports(connection, tidy) if imported else None
            reviewer = author or store_reviewer(connection, origin, tidy)
            if by is None:
                details = {"origin": origin} | ({} if author is None else {"person": author.id})
                record_event(connection, "first_seen", tidy, details=details)
            else:
                _record(connection, "add_person", by, reviewer, role=role_of(reviewer))
    return reviewer


def link_person(
    store: Store, user: str, person: str | None, actor: Actor, *, origin: str = "cli"
) -> Reviewer:
    """Store the later reviews of a terminal's user (``cli:USER``) under a person; None removes the link.

    With the origin ``import``, ``user`` is an annotator in files that are imported later. Earlier
    reviews do not change. Returns the reviewer under whom later reviews are stored.

    Raises:
        NotFound: Nobody has the name ``person``.
        BadInput: ``person`` is a user of a terminal, or a name cannot be used.
    """
    target = None if person is None else people_named(store, [person], new=False)[0]
    if target is not None and target.origin not in {SIGNED_IN, ENTERED}:
        raise BadInput(
            f"{target.name} is not a person on the pages: give the name or e-mail address used there"
        )
    with allowed(store, actor, Action.MANAGE_PEOPLE) as connection:
        name = checked_name(user)
        annotator = find_reviewer(connection, origin, name) if origin == IMPORTED else None
        annotator_or_user = annotator or store_reviewer(connection, origin, name)
        linked_id = None if target is None else target.id
        change_reviewer(connection, annotator_or_user, same_as=linked_id)
        details = {"person": linked_id, "user": annotator_or_user.id}
        record_event(connection, "link_person", actor_name(actor), details=details)
    return target or annotator_or_user


def people_named(
    store: Store, names: Sequence[str], *, new: bool = True, by: Actor | None = None
) -> list[Reviewer]:
    """Return the people with these names, without repeats. If ``new``, unknown names without sign-in are stored.

    ``by`` is who gives the names; without ``by``, a new person counts as seen now.

    Raises:
        NotFound: No admin added a person with this address, or, without ``new``, nobody has this
            name.
        BadInput: A name is empty, longer than 80 characters or not printable.
    """
    return list(dict.fromkeys(_person(store, checked_name(name), new, by) for name in names))


def _person(store: Store, name: str, new: bool, by: Actor | None) -> Reviewer:
    origins = ("cli",) if name.casefold().startswith("cli:") else (SIGNED_IN, ENTERED)
    with store.reading() as connection:
        for origin in origins:
            reviewer = find_reviewer(connection, origin, name)
            if reviewer is not None:
                return reviewer
        people = (
            []
            if new
            else [
                line.person.name for line in list_people(connection) if line.role is not Role.NONE
            ]
        )
    if "@" in name and "cli" not in origins:
        command = f"judgeboard people add {shlex.quote(name)}"
        raise NotFound(f"{name} is not a person here. An admin can add them: `{command}`")
    if not new:
        raise NotFound(f"nobody is named {name!r}; known: {some_of(people)}")
    return ensure_reviewer(store, origins[-1], name, by=by)


def turn_away(store: Store) -> None:
    """Store an event for a sign-in without a verified address. The address can be anybody's and is not stored."""
    with store.writing() as connection:
        _record_refusal(connection, "not verified")


def _record_refusal(connection: Connection, name: str) -> None:
    """Store an event, unless there was one less than a minute ago: strangers must not fill the database."""
    is_same = (EVENT.c.kind == REFUSED) & (EVENT.c.actor == name)
    if not any_row(connection, is_same, EVENT.c.at > utc_now() - REFUSAL_PAUSE):
        details = {"action": "enter", "role": Role.NONE.value}
        record_event(connection, REFUSED, name, details=details)


def change_settings(store: Store, changes: Mapping[str, Any], actor: Actor) -> None:
    """Store settings, all or none; None restores a default. `judgeboard flags apply` changes stored responses.

    Raises:
        BadInput: A setting is unknown, a value is outside its range, or a judge is unknown.
    """
    with allowed(store, actor, Action.CHANGE_SETTINGS) as connection:
        for key, value in changes.items():
            set_setting(connection, key, value, actor_name(actor))


def retire_version(store: Store, which: int | str, actor: Actor) -> StoredVersion:
    """Retire and return a judge version, which makes no new judgments; existing judgments are kept. Idempotent.

    ``which`` is as in `get_version`; a name alone means the newest version.

    Raises:
        BadInput: The version is the last version in use of the primary judge.
    """
    return _set_retired(store, which, actor, retired=True)


def restore_version(store: Store, which: int | str, actor: Actor) -> StoredVersion:
    """Restore a retired judge version and return it. Idempotent; ``which`` is as in `retire_version`."""
    return _set_retired(store, which, actor, retired=False)


def _set_retired(store: Store, which: int | str, actor: Actor, *, retired: bool) -> StoredVersion:
    with allowed(store, actor, Action.RETIRE_VERSIONS) as connection:
        version = get_version(connection, which)
        # Transactions that retire or use a version of this name wait for this transaction.
        connection.execute(
            VERSION.select().where(VERSION.c.name == version.name).with_for_update()
        ).all()
        retired_before = retired_versions(connection)
        if (version.id in retired_before) is not retired:
            in_use = {
                each.id for each in list_versions(connection) if each.name == version.name
            } - retired_before.keys()
            if retired and in_use == {version.id} and primary_judge(connection) == version.name:
                raise BadInput(
                    f"{version.name} is the primary judge: choose another in Settings before you retire it"
                )
            record_retired(connection, version.id, actor_name(actor), retired=retired)
    return version


def flags_to_supersede(store: Readable, **thresholds: object) -> int:
    """Return how many open flags `raise_flags` would supersede with the settings in force. Changes nothing.

    ``thresholds`` are values by name, in place of the thresholds in force. Raises BadInput as
    `raise_flags` does.
    """
    total, last_id = 0, 0
    with store.reading() as connection:
        check_primary_judge(connection)
        while ids := with_open_flags(connection, after=last_id):
            total += count_to_supersede(connection, ids, thresholds)
            last_id = ids[-1]
    return total


def raise_flags(
    store: Store,
    *,
    actor: Actor = "library",
    progress: Callable[[int, int], None] | None = None,
    now: datetime | None = None,
) -> FlagSummary:
    """Apply every rule to every response, 1,000 responses in a transaction. Idempotent.

    ``progress`` is called with the number of responses done and the total.

    Raises:
        BadInput: The environment sets a threshold outside its range, or names a query type that no
            answer has. Or the environment or the project file names a primary judge that does not
            exist.
    """
    summary = FlagSummary()
    with store.reading() as connection:
        check_primary_judge(connection)
        total = count_rows(connection, RESPONSE)
        if total:
            check_query_types(
                connection, variable_of("always_review"), load_settings().always_review or ()
            )
    last_id = 0
    while True:
        with allowed(store, actor, Action.CHANGE_SETTINGS) as connection:
            following = select(RESPONSE.c.id).where(RESPONSE.c.id > last_id)
            ids = connection.scalars(following.order_by(RESPONSE.c.id).limit(AT_ONCE)).all()
            if not ids:
                return summary
            repaired = rebuild_current(connection, ids)
            changes = reapply_flags(connection, ids, now)
            changes.repaired = repaired
            counts = {name: getattr(changes, name) for name in ("raised", "superseded", "repaired")}
            if any(counts.values()):
                record_event(
                    connection,
                    "apply_rules",
                    actor_name(actor),
                    details=counts | {"up_to": ids[-1]},
                    now=now,
                )
        last_id = ids[-1]
        summary.add(changes)
        if progress is not None:
            progress(summary.responses, max(total, summary.responses))
