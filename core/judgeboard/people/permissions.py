"""The functions that allow or refuse a change. `Role` has what each role allows."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from judgeboard.domain import OF_ONE_ANSWER, Action, Role
from judgeboard.errors import NotAllowed
from judgeboard.settings.model import load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import change_as
from judgeboard.store.reviewers import reviewer_by_id
from judgeboard.store.tables import Reviewer

# A text (``cli:USER``, ``library``) is a program with direct access to the database, and may do
# everything.
Actor = Reviewer | str
REFUSED = "refused"
SIGNED_IN = "oidc"
ENTERED = "page"
IMPORTED = "import"


def role_words(role: Role) -> str:
    """Return a line with what a role allows: "Auditor: all that viewers may; reading the event log."."""
    smaller = [each for each in Role if Role.NONE.actions < each.actions < role.actions]
    largest = [
        each for each in smaller if not any(each.actions < larger.actions for larger in smaller)
    ]
    included = frozenset[Action]().union(*(each.actions for each in largest))
    words = [action.words.rstrip(",") for action in Action if action in role.actions - included]
    parts = [word[:1].lower() + word[1:] for word in words]
    if largest:
        parts.insert(0, f"all that {' and '.join(f'{each}s' for each in largest)} may")
    return f"{role.value.capitalize()}: {'; '.join(parts)}."


def role_of(person: Reviewer) -> Role:
    """Return the role of a person. The author of imported grades has none, nor has anybody who was removed."""
    if person.origin == IMPORTED:
        return Role.NONE
    if person.origin == ENTERED:  # on a page of a server without sign-in
        return Role.NONE if person.role is Role.NONE else Role.ADMIN
    if person.origin != SIGNED_IN:  # ``cli:USER`` has direct access to the database
        return Role.ADMIN
    return Role.ADMIN if is_first_admin(person.name) else person.role


def is_first_admin(name: str) -> bool:
    """Whether ``JUDGEBOARD_ADMIN`` names this address."""
    return name == load_settings().admin


class _Refused(NotAllowed):
    def __init__(self, words: str, actor: str, action: Action, role: Role) -> None:
        super().__init__(words)
        self.actor, self.action, self.role = actor, action, role


@contextmanager
def allowed(
    store: Store, actor: Actor, action: Action | None = None, *, response_id: int | None = None
) -> Iterator[Connection]:
    """Open the transaction of a change, if the actor has the permission.

    If `require` refuses, here or in the body, the change is rolled back and a ``refused`` event is
    stored instead. Without ``action``, the body must call `require`. For an actor who may see some
    sources only, the answers of others do not exist in the transaction.
    """
    with _storing_refusals(store, response_id), store.writing() as connection:
        if not isinstance(actor, str):
            person = as_stored(connection, actor)
            if action is not None:
                _require(person, action)
            if person.sources is not None:
                change_as(connection, person.sources)
        yield connection


def check_allowed(store: Store, actor: Actor, action: Action) -> None:
    """Refuse an action that the actor's role does not allow, outside a transaction; a refusal is stored as an event."""
    with _storing_refusals(store), store.reading() as connection:
        require(connection, actor, action)


def require(connection: Connection, actor: Actor, action: Action) -> None:
    """Refuse an action that the actor's stored role does not allow; called within `allowed`, which stores the event."""
    if not isinstance(actor, str):
        _require(as_stored(connection, actor), action)


def _require(person: Reviewer, action: Action) -> None:
    if not may(person, action):
        raise _Refused(why_not(action, person), actor_name(person), action, role_of(person))


@contextmanager
def _storing_refusals(store: Store, response_id: int | None = None) -> Iterator[None]:
    try:
        yield
    except _Refused as refused:
        with store.writing() as connection:
            details = {"action": refused.action.value, "role": refused.role.value}
            record_event(
                connection, REFUSED, refused.actor, response_id=response_id, details=details
            )
        raise


def as_stored(connection: Connection, person: Reviewer) -> Reviewer:
    """Return a person with the role and the sources that are stored now; whoever is not stored has no role."""
    return reviewer_by_id(connection, person.id) or person.changed(role=Role.NONE)


def may(person: Reviewer, action: Action) -> bool:
    """Whether a person has a permission. Pages hide actions without permission; the change itself checks again."""
    return action in role_of(person).actions and (person.sources is None or action in OF_ONE_ANSWER)


def why_not(action: Action, person: Reviewer) -> str:
    """Return the sentence of a refusal."""
    role = role_of(person)
    if action in role.actions:
        return f"{action.words} is for people who see all sources; you see some only. Ask an admin."
    a_role = f"{'an' if role[0] in 'aeiou' else 'a'} {role}"
    yours = "nobody has added you here" if role is Role.NONE else f"you are {a_role}"
    *roles, last = (f"{role}s" for role in Role if action in role.actions)
    people_words = f"{', '.join(roles)} and {last}" if roles else last
    return f"{action.words} is for {people_words}; {yours}. Ask an admin."


def actor_name(actor: Actor) -> str:
    """Return the name that is stored in rows and events."""
    return actor if isinstance(actor, str) else actor.name
