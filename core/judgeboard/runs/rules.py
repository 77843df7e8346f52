"""What people do with rules of every kind: name, pause, resume and remove a rule."""

from judgeboard.domain import Action, RuleState
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.rules import rule_named, set_rule_state
from judgeboard.store.tables import Rule
from judgeboard.text import unstorable

LONGEST_NAME = 80  # characters


def checked_name(rules: type[Rule], name: str) -> str:
    """Return the name of a rule on one line; raise BadInput if the name cannot be used."""
    line = " ".join(name.split())
    if not line or len(line) > LONGEST_NAME or unstorable(line):
        raise BadInput(f"{rules.noun}: the name has 1 to {LONGEST_NAME} characters")
    return line


def change_rule(store: Store, rules: type[Rule], name: str, state: RuleState, actor: Actor) -> None:
    """Pause, resume or remove the rule of a class with this name.

    Judgments, messages, and what another tool got are kept. A resumed judging rule also judges the
    answers that were stored during the pause.
    """
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        rule = rule_named(connection, rules, name)
        set_rule_state(connection, rule, state, actor_name(actor), utc_now())
