"""Anchors: a fixed set of answers that a judge judges again and again, to show whether the judge drifts.

Runs and jobs that judge answers apart from the log have the mode `AskMode.ANCHORS`.
"""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={("Improve", "test", "anchors"): f"{__name__}.command:anchors_command"},
    judge_sections=("judgeboard_dashboard.widgets.anchors:anchors_section",),
    reserves=f"{__name__}.queries:anchor_groups",
)
