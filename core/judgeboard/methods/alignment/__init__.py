"""Alignment: a model proposes better instructions for a judge, and labels of people test the proposal.

`store/alignments.py` stores which answers a proposal has seen: the labels of these answers count
for no figure of that version.
"""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    commands={("Improve", "align"): f"{__name__}.command:align_command"},
    wide_judge_sections=("judgeboard_dashboard.widgets.alignment:alignment_section",),
)
