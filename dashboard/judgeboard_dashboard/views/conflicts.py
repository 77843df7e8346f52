"""The Conflicts page: the items on which reviewers differ."""

from judgeboard_dashboard.review.conflicts import FIELDS, conflicts
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.navigation import follow

with page("Conflicts"):
    follow("conflicts", own=FIELDS)
    conflicts()
