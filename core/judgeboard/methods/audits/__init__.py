"""Audits: a stronger judge (the supreme judge) reviews the verdicts of a judge, and marks the wrong ones.

The reviews of judgments are in `store/judgment_reviews.py`, because files bring such reviews too,
and because the reviews raise flags.
"""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    commands={("Improve", "test", "audit"): f"{__name__}.command:audit_command"},
    wide_judge_sections=("judgeboard_dashboard.widgets.audits:audits_section",),
    runs={"audit": "Auditing"},
    sample=f"{__name__}.run:add_sample",
)
