"""Who may do what: one table of actions, and the one place where a change is allowed or refused."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy import Connection

from judgeboard.domain import Role
from judgeboard.errors import NotAllowed
from judgeboard.settings import load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviewers import Reviewer, reviewer_by_id

# A text (``cli:USER``, ``library``) is a program that holds the database: nothing is asked of it. Pages pass a person.
Actor = Reviewer | str
REFUSED = "refused"
SIGNED_IN = "oidc"
IMPORTED = "import"


class Action(StrEnum):
    """A kind of change that is not everybody's; its value is stored in the event of a refused attempt."""

    REVIEW = "review"
    REJUDGE_ONE = "rejudge_one"
    MAKE_QUEUES = "make_queues"
    ASSIGN = "assign"
    ADJUDICATE = "adjudicate"
    CHANGE_SETTINGS = "change_settings"
    REJUDGE_MANY = "rejudge_many"
    CHOOSE_JUDGE = "choose_judge"
    CANCEL_JOBS = "cancel_jobs"
    IMPORT = "import"
    READ_EVENTS = "read_events"
    MANAGE_PEOPLE = "manage_people"
    RETIRE_VERSIONS = "retire_versions"

    @property
    def words(self) -> str:
        """The action as the subject of a sentence."""
        return PERMISSIONS[self].words


class Permission(NamedTuple):
    """The lowest role that may take an action, and the action as the subject of a sentence."""

    least: Role
    words: str


PERMISSIONS: Mapping[Action, Permission] = MappingProxyType(
    {
        Action.REVIEW: Permission(Role.REVIEWER, "Reviewing"),
        Action.REJUDGE_ONE: Permission(Role.REVIEWER, "Having an answer judged again"),
        Action.MAKE_QUEUES: Permission(Role.LEAD, "Making and closing queues"),
        Action.ASSIGN: Permission(Role.LEAD, "Assigning answers to people"),
        Action.ADJUDICATE: Permission(Role.LEAD, "Deciding where people differ"),
        Action.CHANGE_SETTINGS: Permission(Role.LEAD, "Changing thresholds, rules and the primary judge"),
        Action.REJUDGE_MANY: Permission(Role.LEAD, "Having more than one answer judged"),
        Action.CHOOSE_JUDGE: Permission(
            Role.LEAD, "Asking a judge that has judged nothing here, or at another address,"
        ),
        Action.CANCEL_JOBS: Permission(Role.LEAD, "Stopping somebody else's job"),
        Action.IMPORT: Permission(Role.LEAD, "Importing"),
        Action.READ_EVENTS: Permission(Role.LEAD, "Seeing who did what"),
        Action.MANAGE_PEOPLE: Permission(Role.ADMIN, "Adding people and changing their roles"),
        Action.RETIRE_VERSIONS: Permission(Role.ADMIN, "Retiring judge versions"),
    }
)
"""The permissions; the roles themselves are `domain.Role`, each of which includes the ones before it."""


def role_words(role: Role) -> str:
    """Return what a role adds to the one before it, as a line for people."""
    added = [permission.words.rstrip(",") for permission in PERMISSIONS.values() if permission.least is role]
    return f"{role.value.capitalize()}: {'; '.join(words[:1].lower() + words[1:] for words in added)}."


def role_of(person: Reviewer) -> Role:
    """Return what a person may do.

    Who signs in has the role that an admin gave them; the one whom ``JUDGEBOARD_ADMIN`` names is an admin whatever is
    stored. Whoever only wrote a grade that was imported may do nothing here. Everybody else (a name typed at a desk
    without sign-in, ``cli:USER`` in a terminal, a program) holds the database anyway and is admin of it.
    """
    if person.origin == IMPORTED:
        return Role.NONE
    if person.origin != SIGNED_IN:
        return Role.ADMIN
    return Role.ADMIN if is_first_admin(person.name) else person.role


def is_first_admin(name: str) -> bool:
    """Whether ``JUDGEBOARD_ADMIN`` names this address."""
    return name == load_settings().admin


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
    if role.rank < PERMISSIONS[action].least.rank:
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
    return role_of(person).rank >= PERMISSIONS[action].least.rank


def why_not(action: Action, role: Role) -> str:
    """Return the sentence of a refusal."""
    yours = "you are not among the people here" if role is Role.NONE else f"you are a {role}"
    return f"{action.words} is for {_who_may(PERMISSIONS[action].least)}; {yours}. Ask an admin."


def _who_may(least: Role) -> str:
    if least is Role.REVIEWER:
        return "people whom an admin added"
    return " and ".join(f"{role}s" for role in Role if role.rank >= least.rank)


def actor_name(actor: Actor) -> str:
    """Return the text that stands in rows and events."""
    return actor if isinstance(actor, str) else actor.name
