"""The view Thresholds: find, set and apply the threshold that reaches a goal."""

from judgeboard.domain import Action
from judgeboard.measure.sample import count_logged
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import page, read
from judgeboard_dashboard.widgets.flag_rules import apply_rules
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.thresholds import threshold_search

with page():
    demand(Action.SEE_MANAGED)
    follow("thresholds")
    threshold_search()
    answers = read(count_logged)
    apply_rules(answers)
