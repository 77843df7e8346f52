"""The view People: everybody's work, and the accounts for admins."""

from judgeboard.domain import Action
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.review.people import people
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.accounts import accounts
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.navigation import follow

WORK, ACCOUNTS = "Work", "Accounts"

with page():
    demand(Action.SEE_MANAGED)
    follow("people", own=("part",))
    parts = (
        {WORK: people, ACCOUNTS: accounts} if permitted(Action.MANAGE_PEOPLE) else {WORK: people}
    )
    parts[switch("Part", {name: name for name in parts}, key="part")]()
