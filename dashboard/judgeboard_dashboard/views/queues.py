"""The view Queues: the review queues with their progress, and the form of a new queue."""

import streamlit as st

from judgeboard_dashboard.review.queues import new_queue, queue_list
from judgeboard_dashboard.session import page
from judgeboard_dashboard.widgets.filters import FIELDS
from judgeboard_dashboard.widgets.navigation import follow

with page():
    follow("queues", own=(*FIELDS, "new"))
    if st.query_params.get("new"):
        new_queue()
    else:
        queue_list()
