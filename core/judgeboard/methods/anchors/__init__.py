"""Anchors: a fixed set of answers that a judge judges again and again, which shows whether it drifts.

To judge answers apart from the log is a mode of every run (`AskMode.ANCHORS`), which jobs have too.
"""

from judgeboard.registry.methods import JudgeSection, Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={("Improve", "test", "anchors"): f"{__name__}.command:anchors_command"},
    judge_sections=(JudgeSection("judgeboard_dashboard.widgets.anchors:anchors_section"),),
    reserves=f"{__name__}.queries:anchor_groups",
)
