"""Lets in who has signed in and was added, and nobody else."""

from judgeboard.domain import Role
from judgeboard.errors import NotAllowed
from judgeboard.people.permissions import REFUSED, SIGNED_IN, is_first_admin, role_of
from judgeboard.people.roster import checked_address
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import Reviewer, find_reviewer, set_role, store_reviewer


def admit(store: Store, address: str, *, arrives: bool = False) -> Reviewer:
    """Return the person of a verified e-mail address, as they are stored now.

    The one whom ``JUDGEBOARD_ADMIN`` names is stored as admin on first sight.

    Args:
        store: The open database.
        address: What the provider verified.
        arrives: Whether this is the first look of a session: then coming in, or being refused, leaves an event.

    Raises:
        NotAllowed: No admin added this person, or one removed them.
        BadInput: It is no e-mail address.
    """
    name = checked_address(address)
    with store.reading() as connection:
        person = find_reviewer(connection, SIGNED_IN, name)
    if is_first_admin(name) and (person is None or person.role is not Role.ADMIN):
        person = _store_first_admin(store, name)
    welcome = person is not None and role_of(person) is not Role.NONE
    if arrives:
        with store.writing() as connection:
            details = {} if welcome else {"action": "enter", "role": Role.NONE.value}
            record_event(connection, "sign_in" if welcome else REFUSED, name, details=details)
    if person is None or not welcome:
        raise NotAllowed(f"{name} is not among the people of this Judgeboard. An admin can add you.")
    return person


def _store_first_admin(store: Store, name: str) -> Reviewer:
    with store.writing() as connection:
        person = store_reviewer(connection, SIGNED_IN, name, role=Role.ADMIN)
        set_role(connection, person.id, Role.ADMIN)
        details = {"person": person.id, "name": name, "to": Role.ADMIN.value, "by": "JUDGEBOARD_ADMIN"}
        record_event(connection, "add_person", name, details=details)
    return Reviewer(person.id, person.origin, person.name, Role.ADMIN)


def turn_away(store: Store) -> None:
    """Note that somebody came whose address nobody verified; it is not kept, since it may be anybody's."""
    with store.writing() as connection:
        details = {"action": "enter", "role": Role.NONE.value}
        record_event(connection, REFUSED, "not verified", details=details)
