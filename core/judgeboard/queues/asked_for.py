"""Looks whether a new queue asks for what there is: a word that occurs nowhere was most likely mistyped."""

from sqlalchemy import Connection

from judgeboard.domain import FlagState
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.flags.rules import RULES
from judgeboard.queues.rules import ASKED, QueueRules
from judgeboard.store.queues.occurrences import (
    any_pairs,
    dimensions_without_scores,
    rules_without_flags,
    sources_without_rows,
    types_without_rows,
)
from judgeboard.store.queues.queue_rows import PAIRS


def check_flags(connection: Connection, where: RowFilter) -> None:
    """Refuse a filter under which no flag can ever join a queue.

    Raises:
        BadInput: A rule that is none here, or a state in which a flag is in no queue.
    """
    known = [rule.name for rule in RULES]
    unknown = rules_without_flags(connection, [rule for rule in where.rules if rule not in known])
    if unknown:
        raise BadInput(f"there is no rule {unknown[0]!r}; rules: {', '.join(known)}")
    decided = [state for state in where.states if state != FlagState.OPEN]
    if decided:
        raise BadInput(f"a queue holds open flags: leave out state={decided[0]}")


def unheard_of(connection: Connection, rules: QueueRules) -> list[str]:
    """Return a sentence for each thing that a queue asks for and that occurs nowhere so far; it may still come."""
    of_pairs, where = rules.subject == PAIRS, rules.where
    if of_pairs and not any_pairs(connection):
        return ["there are no pairs yet: judgeboard import FILE --kind pairs, or judgeboard compare, brings them"]
    noun = "pair" if of_pairs else "answer"
    types = types_without_rows(connection, where.query_types, of_pairs=of_pairs)
    sources = sources_without_rows(connection, where.sources, of_pairs=of_pairs)
    said = [
        *(f"no {noun} has the query type {one!r}" for one in types),
        *(f"no {noun} has the source {one!r}" for one in sources),
    ]
    if not of_pairs:
        named = [grade for grade in rules.grades if grade not in ASKED]
        said += [
            f"nothing was scored on {one!r} yet: it is asked for as a dimension of a rubric, 1 to 5"
            for one in dimensions_without_scores(connection, named)
        ]
    return said
