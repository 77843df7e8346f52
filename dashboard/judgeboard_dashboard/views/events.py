"""The view Events: who did what, newest first."""

from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.administration import events

with page(answers=False):
    events()
