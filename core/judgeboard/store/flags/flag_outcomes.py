"""What became of flags: which rule's flags people confirmed, and what they found among the randomly drawn ones."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, exists, func, select

from judgeboard.domain import Decision, FlagState
from judgeboard.flags import random_sample
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import FLAG, JUDGMENT
from judgeboard.store.sql.column_arrays import Texts, read_columns

_DECIDED = (FlagState.CONFIRMED.value, FlagState.DISMISSED.value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many flags were decided, and how many of them confirmed."""

    confirmed: int = 0
    decided: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class FlagReviews:
    """Standing reviews of flags as columns: ``rules`` with their names, NaN ``seconds`` where it was not timed."""

    rules: Texts
    response_ids: IntArray
    decides: BoolArray
    seconds: FloatArray


def outcomes_by_rule(connection: Connection) -> dict[str, Outcome]:
    """Return what people said of the flags of each rule that has a decided one."""
    query = select(FLAG.c.rule, FLAG.c.state, func.count()).where(FLAG.c.state.in_(_DECIDED))
    outcomes: dict[str, Outcome] = {}
    for rule, state, n in connection.execute(query.group_by(FLAG.c.rule, FLAG.c.state)):
        before = outcomes.get(rule, Outcome())
        confirmed = n if state == FlagState.CONFIRMED else 0
        outcomes[rule] = Outcome(before.confirmed + confirmed, before.decided + n)
    return outcomes


def random_outcome(connection: Connection) -> Outcome:
    """Return what people said of randomly drawn answers that no other rule raised: what the rules do not see."""
    other = FLAG.alias()
    raised = exists(
        select(other.c.id).where(
            other.c.response_id == FLAG.c.response_id,
            other.c.rule != random_sample.NAME,
            other.c.state != FlagState.SUPERSEDED.value,
        )
    )
    query = select(FLAG.c.state, func.count()).where(
        FLAG.c.rule == random_sample.NAME, FLAG.c.state.in_(_DECIDED), ~raised
    )
    counts = connection.execute(query.group_by(FLAG.c.state)).all()
    return Outcome(sum(n for state, n in counts if state == FlagState.CONFIRMED), sum(n for _, n in counts))


def flag_reviews(connection: Connection) -> FlagReviews:
    """Return every standing review of a flag, without its texts."""
    decides = case((REVIEW.c.decision.in_((Decision.CONFIRM.value, Decision.DISMISS.value)), 1), else_=0)
    query = select(FLAG.c.rule, REVIEW.c.response_id, decides, REVIEW.c.seconds)
    rules, response_ids, decided, seconds = read_columns(
        connection, query.join(FLAG, FLAG.c.id == REVIEW.c.flag_id).where(standing())
    )
    return FlagReviews(rules, response_ids, decided == 1, seconds)


def judged_again(connection: Connection, version_id: int) -> list[int]:
    """Return the reviewed responses that one judge version was asked about more than once."""
    query = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.response_id.in_(select(REVIEW.c.response_id)),
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.ask > 0,
        JUDGMENT.c.repeat == 0,
    )
    return list(connection.execute(query.distinct()).scalars())
