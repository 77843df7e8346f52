"""Juries: several judges judge the same answers or pairs, and the jury has their combined verdict."""

from judgeboard.registry.methods import JudgeSection, Registration

REGISTRATION = Registration(
    commands={("Measure", "compare", "judges"): f"{__name__}.command"},
    judge_options=(f"{__name__}.judge_option:OPTION",),
    judge_sections=(JudgeSection("judgeboard_dashboard.widgets.juries:jury_section"),),
)
