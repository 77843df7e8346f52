"""The page My reviews: a person's own reviews."""

from judgeboard_dashboard.review.people import FIELDS, own_reviews
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.navigation import follow

with page():
    follow("my_reviews", own=FIELDS)
    own_reviews()
