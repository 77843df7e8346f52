"""The one place where a change is allowed or refused, by the role as it is stored at that moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from judgeboard.domain import Role
from judgeboard.errors import NotAllowed
from judgeboard.people.actions import LEAST_ROLE, Action
from judgeboard.people.roles import role_of
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import Reviewer, reviewer_by_id

# A text (``cli:USER``, ``library``) is a program that holds the database: nothing is asked of it. Pages pass a person.
Actor = Reviewer | str
REFUSED = "refused"
_WHO_MAY = {Role.REVIEWER: "people whom an admin added", Role.LEAD: "leads and admins", Role.ADMIN: "admins"}


class _Refused(NotAllowed):
    """Carries what the event of the refusal tells."""

    def __init__(self, words: str, actor: str, action: Action, role: Role) -> None:
        super().__init__(words)
        self.actor, self.action, self.role = actor, action, role


@contextmanager
def allowed(
    store: Store, actor: Actor, action: Action | None = None, *, response_id: int | None = None
) -> Iterator[Connection]:
    """Open the transaction of a change for somebody who may make it.

    Where `require` refuses, here or in the body, the change is rolled back and a ``refused`` event is committed in its
    place. Without an action the body asks (`require`), once it knows what the change amounts to.

    Args:
        store: The open database.
        actor: Who makes the change.
        action: What is asked for.
        response_id: The answer that the change is about; it stands in the event of a refusal.

    Raises:
        NotAllowed: The role of the actor, read within the transaction, does not allow the action.
    """
    try:
        with store.writing() as connection:
            if action is not None:
                require(connection, actor, action)
            yield connection
    except _Refused as refused:
        _record(store, refused, response_id)
        raise


def check_allowed(store: Store, actor: Actor, action: Action) -> None:
    """Refuse what the actor's role does not allow where nothing is changed yet; a refusal leaves its event.

    Raises:
        NotAllowed: It is not theirs to do.
    """
    try:
        with store.reading() as connection:
            require(connection, actor, action)
    except _Refused as refused:
        _record(store, refused)
        raise


def require(connection: Connection, actor: Actor, action: Action) -> None:
    """Refuse what the actor's role does not allow; within `allowed`, which leaves the event.

    The role is read again: what a session remembers of it does not count.

    Raises:
        NotAllowed: It is not theirs to do.
    """
    role = role_now(connection, actor)
    if role.rank < LEAST_ROLE[action].rank:
        raise _Refused(why_not(action, role), actor_name(actor), action, role)


def _record(store: Store, refused: _Refused, response_id: int | None = None) -> None:
    with store.writing() as connection:
        details = {"action": refused.action.value, "role": refused.role.value}
        record_event(connection, REFUSED, refused.actor, response_id=response_id, details=details)


def role_now(connection: Connection, actor: Actor) -> Role:
    """Return the role of an actor as it is stored at this moment."""
    if isinstance(actor, str):
        return Role.ADMIN
    person = reviewer_by_id(connection, actor.id)
    return Role.NONE if person is None else role_of(person)


def may(person: Reviewer, action: Action) -> bool:
    """Whether a person's role, as it was read with them, allows an action: for a page that hides what it would refuse.

    The change itself asks again.
    """
    return role_of(person).rank >= LEAST_ROLE[action].rank


def why_not(action: Action, role: Role) -> str:
    """Return the sentence of a refusal."""
    yours = "you are not among the people here" if role is Role.NONE else f"you are a {role}"
    return f"{action.words} is for {_WHO_MAY[LEAST_ROLE[action]]}; {yours}. Ask an admin."


def actor_name(actor: Actor) -> str:
    """Return the text that stands in rows and events."""
    return actor if isinstance(actor, str) else actor.name
