"""Control answers: changed copies of logged answers, known to be worse than the originals, or as good.

Control answers have a separate kind. The store leaves this kind out of all figures of the log, and
forgets a control answer with the answer that is copied.
"""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(
    commands={("Improve", "test", "controls"): f"{__name__}.command:controls_command"},
    checks=f"{__name__}.checks:CHECKS",
    checks_maker="judgeboard_dashboard.widgets.control_answers:make_section",
    sample=f"{__name__}.run:add_sample",
)
