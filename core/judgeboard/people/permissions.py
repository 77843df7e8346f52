"""Roles and permissions: ROLES, PERMISSIONS, and the functions that allow or refuse a change."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from sqlalchemy import Connection

from judgeboard.domain import Role
from judgeboard.errors import NotAllowed
from judgeboard.settings.model import load_settings
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviewers import Reviewer, reviewer_by_id

# A text (``cli:USER``, ``library``) is a program with direct access to the database: it may do everything.
Actor = Reviewer | str
REFUSED = "refused"
SIGNED_IN = "oidc"
ENTERED = "page"
IMPORTED = "import"


class Action(StrEnum):
    """An action that needs a permission; its value is stored in the event of a refused attempt."""

    SEE_PAGES = "see_pages"
    REVIEW = "review"
    REJUDGE_ONE = "rejudge_one"
    MAKE_QUEUES = "make_queues"
    ASSIGN = "assign"
    KEEP_ISSUES = "keep_issues"
    ACKNOWLEDGE_ALARMS = "acknowledge_alarms"
    ADJUDICATE = "adjudicate"
    CHANGE_SETTINGS = "change_settings"
    REJUDGE_MANY = "rejudge_many"
    CHOOSE_JUDGE = "choose_judge"
    CANCEL_JOBS = "cancel_jobs"
    KEEP_JUDGING_RULES = "keep_judging_rules"
    KEEP_PUSH_TARGETS = "keep_push_targets"
    KEEP_ALERT_RULES = "keep_alert_rules"
    IMPORT = "import"
    MANAGE_KEYS = "manage_keys"
    READ_EVENTS = "read_events"
    MANAGE_PEOPLE = "manage_people"
    RETIRE_VERSIONS = "retire_versions"

    @property
    def words(self) -> str:
        """The action as the subject of a sentence."""
        return PERMISSIONS[self].words


class Permission(NamedTuple):
    """The lowest role with a permission, and the action as the subject of a sentence."""

    least: Role
    words: str


PERMISSIONS: Mapping[Action, Permission] = MappingProxyType(
    {
        Action.SEE_PAGES: Permission(Role.VIEWER, "Seeing all pages"),
        Action.REVIEW: Permission(Role.REVIEWER, "Reviewing"),
        Action.REJUDGE_ONE: Permission(Role.REVIEWER, "Rejudging an answer"),
        Action.MAKE_QUEUES: Permission(Role.LEAD, "Creating and closing queues"),
        Action.ASSIGN: Permission(Role.LEAD, "Assigning answers to people"),
        Action.KEEP_ISSUES: Permission(Role.LEAD, "Opening and changing issues"),
        Action.ACKNOWLEDGE_ALARMS: Permission(Role.LEAD, "Acknowledging alarms"),
        Action.ADJUDICATE: Permission(Role.LEAD, "Adjudicating"),
        Action.CHANGE_SETTINGS: Permission(Role.LEAD, "Changing thresholds, rules and the primary judge"),
        Action.REJUDGE_MANY: Permission(Role.LEAD, "Judging more than one answer"),
        Action.CHOOSE_JUDGE: Permission(Role.LEAD, "Using a new judge, or another address of a judge,"),
        Action.CANCEL_JOBS: Permission(Role.LEAD, "Cancelling another person's job"),
        Action.KEEP_JUDGING_RULES: Permission(Role.LEAD, "Adding and changing judging rules"),
        Action.KEEP_PUSH_TARGETS: Permission(Role.LEAD, "Adding and changing push targets"),
        Action.KEEP_ALERT_RULES: Permission(Role.LEAD, "Adding, changing and testing alert rules"),
        Action.IMPORT: Permission(Role.LEAD, "Importing"),
        Action.MANAGE_KEYS: Permission(Role.LEAD, "Creating and revoking keys"),
        Action.READ_EVENTS: Permission(Role.LEAD, "Reading the event log"),
        Action.MANAGE_PEOPLE: Permission(Role.ADMIN, "Adding people and changing their roles"),
        Action.RETIRE_VERSIONS: Permission(Role.ADMIN, "Retiring judge versions"),
    }
)
"""The permissions: for each action the lowest role that has it."""


def role_words(role: Role) -> str:
    """Return a line with the permissions that a role adds to the role before it."""
    added = [permission.words.rstrip(",") for permission in PERMISSIONS.values() if permission.least is role]
    return f"{role.value.capitalize()}: {'; '.join(words[:1].lower() + words[1:] for words in added)}."


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

    If `require` refuses, here or in the body, the change is rolled back and a ``refused`` event is stored instead.
    Without ``action``, the body must call `require`.
    """
    with _storing_refusals(store, response_id), store.writing() as connection:
        if action is not None:
            require(connection, actor, action)
        yield connection


def check_allowed(store: Store, actor: Actor, action: Action) -> None:
    """Refuse an action that the actor's role does not allow, outside a transaction; a refusal is stored as an event."""
    with _storing_refusals(store), store.reading() as connection:
        require(connection, actor, action)


def require(connection: Connection, actor: Actor, action: Action) -> None:
    """Refuse an action that the actor's stored role does not allow; called within `allowed`, which stores the event."""
    if isinstance(actor, str):
        return
    role = role_now(connection, actor)
    if role.rank < PERMISSIONS[action].least.rank:
        raise _Refused(why_not(action, role), actor_name(actor), action, role)


@contextmanager
def _storing_refusals(store: Store, response_id: int | None = None) -> Iterator[None]:
    try:
        yield
    except _Refused as refused:
        with store.writing() as connection:
            details = {"action": refused.action.value, "role": refused.role.value}
            record_event(connection, REFUSED, refused.actor, response_id=response_id, details=details)
        raise


def role_now(connection: Connection, actor: Actor) -> Role:
    """Return the stored role of an actor."""
    if isinstance(actor, str):
        return Role.ADMIN
    person = reviewer_by_id(connection, actor.id)
    return Role.NONE if person is None else role_of(person)


def may(person: Reviewer, action: Action) -> bool:
    """Whether a person has a permission. Pages hide actions without permission; the change itself checks again."""
    return role_of(person).rank >= PERMISSIONS[action].least.rank


def why_not(action: Action, role: Role) -> str:
    """Return the sentence of a refusal."""
    yours = "nobody has added you here" if role is Role.NONE else f"you are a {role}"
    *roles, last = (f"{role}s" for role in Role if role.rank >= PERMISSIONS[action].least.rank)
    needed = f"{', '.join(roles)} and {last}" if roles else last
    return f"{action.words} is for {needed}; {yours}. Ask an admin."


def actor_name(actor: Actor) -> str:
    """Return the name that is stored in rows and events."""
    return actor if isinstance(actor, str) else actor.name
