"""The buttons and keys with which a reviewer tags an answer with failure modes."""

from functools import partial

import streamlit as st

from judgeboard.store.failure_modes import list_modes
from judgeboard.store.items import Item
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.review.actions import Actions, DraftActions
from judgeboard_dashboard.review.schema_form import schema_form
from judgeboard_dashboard.widgets.keys import key_button


class ModeActions(DraftActions):
    """The keys of failure modes."""

    def choose(self, name: str) -> None:
        """Tag the answer with a failure mode; the same again removes it."""
        modes = self.draft.modes
        self.draft.modes = [each for each in modes if each != name] if name in modes else [*modes, name]


def side_fields(actions: Actions, item: Item, *, quality: bool) -> None:
    """Show the fields of the draft's schema, and the failure modes; ``quality``: the digits 1 to 4 give the quality."""
    schema_form(actions, item, quality=quality)
    with actions.store.reading() as connection:  # nothing of the list is hidden from anybody
        modes = list_modes(connection).values()
    chosen = actions.draft.modes
    offered = [mode for mode in modes if not mode.retired or mode.name in chosen]
    if not offered:
        return
    tags = ModeActions(actions.session, actions.subject)
    with st.container(key="failure_modes", gap="xxsmall"):
        show(tag("div", "Failure modes", cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall"):
            for place, mode in enumerate(offered):
                key_button(
                    as_label(mode.name),
                    partial(tags.choose, mode.name),
                    key=f"mode_{place}",
                    shortcut=f"Shift+{mode.key}" if mode.key else None,
                    chosen=mode.name in chosen,
                    tip=as_label(mode.description) if mode.description else None,
                )
