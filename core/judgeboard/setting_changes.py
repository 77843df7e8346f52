"""Changes what everybody's flags rest on: thresholds and the primary judge."""

from collections.abc import Mapping
from typing import Any

from judgeboard.people import Action, Actor, actor_name, allowed
from judgeboard.store.engine import Store
from judgeboard.store.settings_table import set_setting


def change_settings(store: Store, changes: Mapping[str, Any], actor: Actor) -> None:
    """Store settings, all or none; None brings a default back. `judgeboard flag` applies them to what is stored.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        BadInput: No such setting, a value outside its range, or a judge of whom nothing is known.
    """
    with allowed(store, actor, Action.CHANGE_SETTINGS) as connection:
        for key, value in changes.items():
            set_setting(connection, key, value, actor_name(actor))
