"""The view Versions: the judge versions, what differs between two of them, and retiring one."""

from judgeboard.domain import Action
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.administration import versions

with page(answers=False):
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        listed, retired = list_versions(connection), retired_versions(connection)
    versions(listed, retired)
