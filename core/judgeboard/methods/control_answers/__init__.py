"""Control answers: changed copies of logged answers, known to be worse than their originals, or as good.

They are answers of a kind of their own, which the store leaves out of all figures of the log, and
forgets with the answers that they repeat.
"""

from judgeboard.registry.methods import Checks, Registration

REGISTRATION = Registration(
    commands={("Improve", "test", "controls"): f"{__name__}.command:controls_command"},
    checks=Checks(
        f"{__name__}.checks:CHECKS",
        maker="judgeboard_dashboard.widgets.control_answers:make_section",
    ),
    sample=f"{__name__}.sample:add_sample",
)
