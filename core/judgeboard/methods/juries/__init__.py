"""Juries: several judges judge the same answers or pairs, and the jury has the combined verdict."""

from judgeboard.registry.methods import JudgeOption, Registration

REGISTRATION = Registration(
    commands={("Measure", "compare", "judges"): f"{__name__}.command:judges_command"},
    judge_options=(
        JudgeOption(
            "--jury",
            "Judge with each of these models, and store the combined verdict of the jury.",
            f"{__name__}.command:judge_with_jury",
            metavar="M1,M2,M3",
            names_models=True,
        ),
    ),
    judge_sections=("judgeboard_dashboard.widgets.juries:jury_section",),
)
