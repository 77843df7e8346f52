"""Who may do what: roles, the one place where a change is allowed or refused, and the people who sign in."""

from judgeboard.people.permissions import (
    PERMISSIONS,
    Action,
    Actor,
    actor_name,
    allowed,
    check_allowed,
    may,
    require,
    role_now,
    role_of,
)

__all__ = [
    "PERMISSIONS",
    "Action",
    "Actor",
    "actor_name",
    "allowed",
    "check_allowed",
    "may",
    "require",
    "role_now",
    "role_of",
]
