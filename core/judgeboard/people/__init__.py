"""Who may do what: roles, the one place where a change is allowed or refused, and the people who sign in."""

from judgeboard.people.actions import LEAST_ROLE, Action
from judgeboard.people.permission import Actor, actor_name, allowed, check_allowed, may, require, role_now
from judgeboard.people.roles import role_of

__all__ = [
    "LEAST_ROLE",
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
