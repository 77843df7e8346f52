"""The page People: how everybody reviews, and the queues of each person."""

from judgeboard_dashboard.review.people import people
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.navigation import follow

with page():
    follow("people", own=())
    people()
