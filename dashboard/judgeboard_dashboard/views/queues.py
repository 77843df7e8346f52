"""The view Queues: the review queues with progress, and the forms of a new queue."""

import streamlit as st

from judgeboard_dashboard.review.plan import plan_queue
from judgeboard_dashboard.review.queues import new_queue_head, queue_form, queue_list
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.filters import FIELDS
from judgeboard_dashboard.widgets.navigation import PLANNED_ITEMS, follow

with page():
    follow("queues", own=(*FIELDS, "new"))
    new = st.query_params.get("new")
    if new:
        new_queue_head(new)
    if new == PLANNED_ITEMS:
        plan_queue()
    elif new:
        queue_form()
    else:
        queue_list()
