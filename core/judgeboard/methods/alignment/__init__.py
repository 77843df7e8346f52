"""Alignment: a model proposes better instructions for a judge, and labels of people test them.

Which answers a proposal has seen is in `store/alignments.py`: their labels count for no figure of
that version.
"""

from judgeboard.registry.methods import JudgeSection, Registration

REGISTRATION = Registration(
    commands={("Improve", "align"): f"{__name__}.command:align_command"},
    judge_sections=(
        JudgeSection("judgeboard_dashboard.widgets.alignment:alignment_section", below=True),
    ),
)
