"""Repeats: one judge judges the same answers several times, to show how far the judge agrees with itself."""

from judgeboard.registry.methods import JudgeOption, Kind, Registration

REGISTRATION = Registration(
    commands={("Improve", "test", "repeats"): f"{__name__}.command:repeats_command"},
    judge_options=(
        JudgeOption(
            "--repeats",
            "Judge each answer this many times, to measure how stable the judge is.",
            f"{__name__}.command:judge_repeatedly",
            numbers=(2, 1000),
        ),
    ),
    imports={
        "repeats": Kind(
            f"{__name__}.imports:RepeatImport",
            "Repeated scores",
            "answer",
            "an answer with several scores by one judge, on a rubric",
            "judgeboard test health NAME",
        )
    },
    judge_sections=("judgeboard_dashboard.widgets.repeats:repeats_section",),
)
