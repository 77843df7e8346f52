"""Retires a judge version, which is then asked nothing more, and takes that back."""

from sqlalchemy import Connection

from judgeboard.errors import BadInput
from judgeboard.people import Action, Actor, actor_name, allowed
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import VERSION, StoredVersion, get_version, list_versions
from judgeboard.store.judgments.retired_versions import record_retired, retired_versions
from judgeboard.store.settings_table import primary_judge


def retire_version(store: Store, which: int | str, actor: Actor) -> StoredVersion:
    """Retire a judge version and return it: no new run asks it, what it said stays. Twice is as once.

    Args:
        store: The open database.
        which: The version, as `get_version` takes it; a name alone is its newest version.
        actor: An admin.

    Raises:
        NotAllowed: The actor is no admin.
        NotFound: There is no such version.
        BadInput: It is the last version of the primary judge that is in use.
    """
    with allowed(store, actor, Action.RETIRE_VERSIONS) as connection:
        version = _locked(connection, which)
        retired = retired_versions(connection)
        if version.id in retired:
            return version
        in_use = {each.id for each in list_versions(connection) if each.name == version.name} - retired.keys()
        if in_use == {version.id} and primary_judge(connection) == version.name:
            raise BadInput(f"{version.name} is the primary judge: choose another in Settings before you retire it")
        record_retired(connection, version.id, actor_name(actor), retired=True)
    return version


def restore_version(store: Store, which: int | str, actor: Actor) -> StoredVersion:
    """Bring a retired judge version back into use and return it. Twice is as once.

    Raises:
        NotAllowed: The actor is no admin.
        NotFound: There is no such version.
    """
    with allowed(store, actor, Action.RETIRE_VERSIONS) as connection:
        version = _locked(connection, which)
        if version.id in retired_versions(connection):
            record_retired(connection, version.id, actor_name(actor), retired=False)
    return version


def _locked(connection: Connection, which: int | str) -> StoredVersion:
    """The version, with every other that is about to be retired or asked made to wait for this transaction."""
    version = get_version(connection, which)
    connection.execute(VERSION.select().where(VERSION.c.name == version.name).with_for_update()).all()
    return version
