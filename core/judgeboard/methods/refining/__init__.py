"""Refining: a model answers again after feedback (self-refine) or after a bad verdict (self-reflection)."""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={
        ("Improve", "refine"): f"{__name__}.command:refine_command",
        ("Improve", "refine", "reflect"): f"{__name__}.command:reflect_command",
    },
    item_sections=("judgeboard_dashboard.review.attempts:AttemptsSection",),
    runs={"refine": "Refining", "reflect": "Reflecting"},
    exports={"refinements": f"{__name__}.export:REFINEMENTS"},
)
