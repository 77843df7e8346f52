"""The view Accounts: who may do what. Admins add people and change their roles."""

from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.administration import accounts

with page(answers=False):
    accounts()
