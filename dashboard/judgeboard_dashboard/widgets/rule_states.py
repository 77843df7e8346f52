"""The problems and the buttons of a judging rule, a push target or an alert rule."""

from collections.abc import Callable

from judgeboard.domain import Action, RuleState
from judgeboard.people.permissions import may
from judgeboard.runs.rules import change_rule
from judgeboard.store.engine import Store
from judgeboard.store.tables import Reviewer, Rule
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import as_label, show_div
from judgeboard_dashboard.session import button, current_reviewer, in_row, saving, store

LONGEST_LABEL = 30  # characters of a name in a button


def show_problem(name: str, problem: str | None) -> None:
    """Show why a rule does not work; None shows nothing."""
    if problem:
        show_div("jb-wrong", f"{name}: {problem}")


def state_buttons(
    rule: Rule, *, test: Callable[[Store, str, Reviewer], object] | None = None
) -> None:
    """Show the button that sends a test message, and the buttons that change the state of a rule.

    Only a person with the permission sees the buttons. The keys of the buttons have the name of the
    rule: if another person has changed the list meanwhile, a press changes no other rule.
    """
    reviewer = current_reviewer()
    if reviewer is None or not may(reviewer, Action.KEEP_RULES):
        return
    name, key = rule.name, rule.kind
    label = as_label(shortened(name, LONGEST_LABEL))
    verb, state = ("Pause", RuleState.PAUSED) if rule.is_active else ("Resume", RuleState.ACTIVE)
    with in_row(f"{key}_states"):
        if test is not None and button("Send test message", key=f"{key}_test_{name}"):
            with saving("Not sent"):
                test(store(), name, reviewer)
        for change_words, new in ((verb, state), ("Remove", RuleState.REMOVED)):
            if button(f"{change_words} {label}", key=f"{key}_{new.value}_{name}"):
                with saving():
                    change_rule(store(), type(rule), name, new, reviewer)
