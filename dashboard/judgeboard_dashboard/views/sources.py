"""The view Sources: import of a file, what assistants send, the tools that get scores back, and keys."""

from judgeboard.domain import Action
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.access_keys import access_keys
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.import_form import import_form
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.received import push_targets, received

PARTS = {
    "Import a file": import_form,
    "Receive": received,
    "Push": push_targets,
    "Keys": access_keys,
}

with page(answers=False):
    demand(Action.SEE_MANAGED)
    follow("sources", own=("part", "kind", "source", "unused"))
    PARTS[switch("Part", {name: name for name in PARTS}, key="part")]()
