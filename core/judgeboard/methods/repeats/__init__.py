"""Repeats: one judge judges the same answers several times, which shows how far it agrees with itself."""

from judgeboard.registry.methods import JudgeSection, Registration

REGISTRATION = Registration(
    commands={("Improve", "test", "repeats"): f"{__name__}.command"},
    judge_options=(f"{__name__}.judge_option:OPTION",),
    judge_sections=(JudgeSection("judgeboard_dashboard.widgets.repeats:repeats_section"),),
)
