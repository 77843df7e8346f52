"""The view Plan: how many labels give which precision of the share of bad answers, and their queue."""

from judgeboard_dashboard.review.plans import plan
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.navigation import follow

with page():
    follow("plan")
    plan()
