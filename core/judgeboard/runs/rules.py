"""What people do with rules of every kind: name, pause, resume and remove a rule."""

from judgeboard.domain import RuleKind, RuleState
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.rules import rule_named, set_rule_state
from judgeboard.store.tables import RULES
from judgeboard.text import unstorable

LONGEST_NAME = 80  # characters


def checked_name(kind: RuleKind, name: str) -> str:
    """Return the name of a rule on one line; raise BadInput if the name cannot be used."""
    line = " ".join(name.split())
    if not line or len(line) > LONGEST_NAME or unstorable(line):
        raise BadInput(f"{kind.noun}: the name has 1 to {LONGEST_NAME} characters")
    return line


def change_rule(store: Store, kind: RuleKind, name: str, state: RuleState, actor: Actor) -> None:
    """Pause, resume or remove the rule of a kind with this name.

    Judgments, messages, and what another tool got are kept. A resumed judging rule also judges the
    answers that were stored during the pause.
    """
    with allowed(store, actor, kind.action) as connection:
        rule = rule_named(connection, RULES[kind], name)
        set_rule_state(connection, rule, state, actor_name(actor), utc_now())
