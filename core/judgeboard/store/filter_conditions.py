"""Turns the filter, including the text search, into SQL conditions on responses, open flags and current judgments."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    column,
    exists,
    literal_column,
    or_,
    select,
    table,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from judgeboard.domain import TEXT_FILTERS, FeedbackKind, FlagState, Label, Status
from judgeboard.errors import BadInput
from judgeboard.settings.model import Thresholds
from judgeboard.store.filters import SCORE_FIELDS, RowFilter, own_label_conditions
from judgeboard.store.metadata import with_metadata
from judgeboard.store.own_labels import has_own_label
from judgeboard.store.reviews import has_grade, is_current
from judgeboard.store.settings import primary_judge, thresholds
from judgeboard.store.statements import (
    CURRENT_OF_NAME,
    CURRENT_OF_VERSION,
    LOGGED,
    NOT_OK,
    below_cut,
    listed,
)
from judgeboard.store.tables import (
    CURRENT,
    FEEDBACK,
    FLAG,
    JUDGMENT,
    PAIR,
    RESPONSE,
    REVIEW,
    REVIEW_FAILURE_MODE,
    VERSION,
)

Columns = ReadOnlyColumnCollection[str, ColumnElement[Any]]
# The texts of the log that flags, pairs and current judgments have as well: filters read these
# columns there.
_ALSO_ELSEWHERE = frozenset({"query_type", "source", "external_id"})


def check_names(names: Iterable[str]) -> None:
    """Raise ValueError if a column of flags, pairs or current judgments has the name of another text of the log."""
    for name in names:
        tables = [each.name for each in (FLAG, PAIR, CURRENT) if name in each.c]
        if tables and name not in _ALSO_ELSEWHERE:
            raise ValueError(
                f"answers cannot be filtered by {name!r}: {tables[0]} has a column of this name"
            )


check_names(TEXT_FILTERS)


def text_conditions(where: RowFilter, columns: Columns) -> list[ColumnElement[bool]]:
    """Return the conditions on the texts of the log that are in ``columns``, of `response` or of a copy."""
    return [columns[name].in_(values) for name, values in where.texts.items() if name in columns]


def other_text_conditions(
    where: RowFilter, columns: Columns, response_id: ColumnElement[int | None]
) -> list[ColumnElement[bool]]:
    """Return the condition on ``response_id`` for texts of the log that are not in ``columns``, if there are any."""
    answer = RESPONSE.alias("named")
    texts = [
        answer.c[name].in_(values) for name, values in where.texts.items() if name not in columns
    ]
    return [response_id.in_(select(answer.c.id).where(*texts))] if texts else []


def rule_conditions(where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the filter's condition on the rule of a flag, if the filter has rules."""
    return [FLAG.c.rule.in_(where.rules)] if where.rules else []


def _within(
    column: ColumnElement[Any], low: float | None, high: float | None
) -> list[ColumnElement[bool]]:
    """Return the conditions of a range; a missing value never matches."""
    conditions: list[ColumnElement[bool]] = [] if low is None else [column >= low]
    return conditions if high is None else [*conditions, column <= high]


def day_conditions(where: RowFilter, day: ColumnElement[int | None]) -> list[ColumnElement[bool]]:
    """Return the filter's days as conditions on this column."""
    return [
        *_within(day, where.day_from, where.day_to),
        *([day.is_(None)] if where.no_time else []),
    ]


def score_conditions(
    where: RowFilter, groundedness: ColumnElement[float | None], quality: ColumnElement[int | None]
) -> list[ColumnElement[bool]]:
    """Return the filter's ranges of scores as conditions on these columns."""
    scores = _within(groundedness, where.min_score, where.max_score)
    return [*scores, *_within(quality, where.min_quality, where.max_quality)]


def is_low(at: Thresholds) -> ColumnElement[bool]:
    """Return the condition that a row of current_judgment has a low score; the condition is never NULL."""
    return or_(
        and_(
            CURRENT.c.groundedness.is_not(None),
            below_cut(CURRENT.c.groundedness, CURRENT.c.query_type, at.cuts),
        ),
        and_(CURRENT.c.quality.is_not(None), CURRENT.c.quality <= at.low_quality),
        and_(
            CURRENT.c.groundedness.is_(None),
            CURRENT.c.label.is_not(None),
            CURRENT.c.label == Label.HALLUCINATED,
        ),
    )


def is_latest_feedback() -> ColumnElement[bool]:
    """Return the condition that a row of user_feedback is the latest (highest id) of its response."""
    later = FEEDBACK.alias()
    return ~exists().where(
        later.c.response_id == FEEDBACK.c.response_id, later.c.id > FEEDBACK.c.id
    )


def feedback_side_conditions() -> dict[str, ColumnElement[bool]]:
    """Return, for each side (down, middle, up), the condition on a row of user_feedback."""
    thumbs, value = FEEDBACK.c.kind == FeedbackKind.THUMBS, FEEDBACK.c.value
    return {
        "down": or_(thumbs & (value == 0), ~thumbs & (value < 3)),
        "middle": ~thumbs & (value == 3),
        "up": or_(thumbs & (value == 1), ~thumbs & (value > 3)),
    }


def quality_side_conditions(quality: ColumnElement[float | None]) -> dict[str, ColumnElement[bool]]:
    """Return, for each side and for no feedback, the condition on feedback as a quality (`Feedback.quality`)."""
    return {
        "down": quality < 2.5,
        "middle": quality == 2.5,
        "up": quality > 2.5,
        "none": quality.is_(None),
    }


_INDEX = table("response_search", column("rowid"))
_MATCHED: ColumnElement[str] = literal_column(
    "response_search"
)  # the name by which FTS5 matches the whole index

SHORTEST = 3  # characters; the trigram index cannot find shorter texts


def text_condition(
    connection: Connection, response_id: ColumnElement[int], words: str
) -> ColumnElement[bool]:
    """Return the condition that the response ``response_id`` contains ``words``.

    Words of one or two characters are searched only at the start of external ids: no index finds
    such words elsewhere, and reading every text takes seconds on a large log.
    """
    if len(words) < SHORTEST:
        condition = RESPONSE.c.external_id.startswith(words, autoescape=True)
    elif connection.dialect.name == "sqlite":
        return response_id.in_(indexed_matches(words))
    else:
        condition = contains_text(words)
    return (
        condition
        if response_id is RESPONSE.c.id
        else response_id.in_(select(RESPONSE.c.id).where(condition))
    )


def contains_text(words: str) -> ColumnElement[bool]:
    """Return the condition that a row of response contains ``words``, without the search index."""
    return or_(
        *(
            RESPONSE.c[name].icontains(words, autoescape=True)
            for name in ("query", "answer", "external_id")
        )
    )


def indexed_matches(words: str) -> Select[Any]:
    """Return the query for ids that FTS5 finds. The words are one quoted phrase, in which only the quote is special."""
    phrase = words.replace('"', '""')
    return select(_INDEX.c.rowid).where(_MATCHED.op("MATCH")(f'"{phrase}"'))


def needs_verdict(where: RowFilter) -> bool:
    """Return whether the filter needs a usable verdict. Beside a status, a judge only selects whose judgments count."""
    if any(getattr(where, name) is not None for name in (*SCORE_FIELDS, "unscored")):
        return True
    if where.judge_side is not None:
        return where.judge_side != "none"
    return not where.statuses and (where.judge is not None or where.judge_version is not None)


def of_judge(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the conditions for current verdicts of the filter's judge version or judge (default: primary judge)."""
    kinds = CURRENT.c.response_kind.in_(where.kinds)
    if where.judge_version is not None:
        return [
            kinds if where.kinds else CURRENT_OF_VERSION,
            CURRENT.c.judge_version_id == where.judge_version,
        ]
    current = [CURRENT.c.is_current, kinds] if where.kinds else [CURRENT_OF_NAME]
    return [*current, CURRENT.c.judge_name == (where.judge or primary_judge(connection))]


def verdict_conditions(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the filter's conditions on a current verdict, including copies of the response's columns."""
    conditions = of_judge(connection, where)
    conditions += text_conditions(where, CURRENT.c)
    conditions += day_conditions(where, CURRENT.c.asked_day)
    conditions += score_conditions(where, CURRENT.c.groundedness, CURRENT.c.quality)
    if where.unscored is not None:
        conditions.append(CURRENT.c[where.unscored].is_(None))
    if where.judge_side in {"low", "high"}:
        low = is_low(thresholds(connection))
        conditions.append(low if where.judge_side == "low" else ~low)
    if where.user is not None:
        conditions.append(quality_side_conditions(CURRENT.c.user_quality)[where.user])
    return conditions


def without_verdict(
    connection: Connection, where: RowFilter, response_id: ColumnElement[int]
) -> ColumnElement[bool]:
    """Return the condition that the filter's judge has no usable verdict on a response."""
    return response_id.not_in(select(CURRENT.c.response_id).where(*of_judge(connection, where)))


def subquery_conditions(
    connection: Connection, where: RowFilter, response_id: ColumnElement[int]
) -> list[ColumnElement[bool]]:
    """Return the conditions on ``response_id`` that need other tables; each is a subquery that is evaluated once."""
    conditions: list[ColumnElement[bool]] = []
    if where.rules or where.states:
        query = select(FLAG.c.response_id).where(*rule_conditions(where))
        states = where.states or tuple(
            state.value for state in FlagState if state is not FlagState.SUPERSEDED
        )
        conditions.append(response_id.in_(query.where(FLAG.c.state.in_(states))))
    if needs_verdict(where):
        verdicts = select(CURRENT.c.response_id).where(*verdict_conditions(connection, where))
        conditions.append(response_id.in_(verdicts))
    elif where.user == "none":
        conditions.append(response_id.not_in(select(FEEDBACK.c.response_id)))
    elif where.user is not None:
        of_side = feedback_side_conditions()[where.user]
        query = select(FEEDBACK.c.response_id).where(of_side, is_latest_feedback())
        conditions.append(response_id.in_(query))
    if where.judge_side == "none":
        conditions.append(without_verdict(connection, where, response_id))
    if where.statuses:
        conditions.append(response_id.in_(_with_latest_status(where)))
    # Current reviews with a grade, a failure mode or an own label.
    if where.graded is not None:
        graded_ids = select(REVIEW.c.response_id).where(has_grade(), is_current())
        conditions.append(
            response_id.in_(graded_ids) if where.graded else response_id.not_in(graded_ids)
        )
    if where.failure_modes:
        reviews_with_mode = select(REVIEW.c.response_id).join(
            REVIEW_FAILURE_MODE, REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id
        )
        of_mode = (
            REVIEW_FAILURE_MODE.c.mode.in_(where.failure_modes),
            REVIEW.c.response_id.is_not(None),
        )
        conditions.append(response_id.in_(reviews_with_mode.where(*of_mode, is_current())))
    for same in own_label_conditions(where):
        has_label = or_(*(has_own_label(connection, each) for each in same))
        reviews = select(REVIEW.c.response_id).where(
            has_label, REVIEW.c.response_id.is_not(None), is_current()
        )
        conditions.append(response_id.in_(reviews))
    if where.response_ids is not None:
        conditions.append(response_id.in_(listed(connection, where.response_ids)))
    if where.metadata:
        conditions.append(response_id.in_(with_metadata(connection, where)))
    if where.text is not None:
        conditions.append(text_condition(connection, response_id, where.text))
    return conditions


def _with_latest_status(where: RowFilter) -> Select[tuple[int]]:
    later = JUDGMENT.alias()
    newer = exists().where(
        later.c.response_id == JUDGMENT.c.response_id,
        later.c.judge_version_id == JUDGMENT.c.judge_version_id,
        later.c.repeat == 0,
        later.c.id > JUDGMENT.c.id,
    )
    query = select(JUDGMENT.c.response_id).where(
        JUDGMENT.c.status.in_(where.statuses), JUDGMENT.c.repeat == 0, ~newer
    )
    if Status.OK.value not in where.statuses:
        query = query.where(NOT_OK)
    if where.judge_version is not None:
        query = query.where(JUDGMENT.c.judge_version_id == where.judge_version)
    elif where.judge is not None:
        version_ids = select(VERSION.c.id).where(VERSION.c.name == where.judge)
        query = query.where(JUDGMENT.c.judge_version_id.in_(version_ids))
    return query


def response_conditions(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the conditions on a response; a status refers to the latest judgment (by the filter's judge, if any)."""
    own = text_conditions(where, RESPONSE.c) + day_conditions(where, RESPONSE.c.asked_day)
    kind = RESPONSE.c.kind.in_(where.kinds) if where.kinds else LOGGED
    return [kind, *own, *subquery_conditions(connection, where, RESPONSE.c.id)]


def pair_conditions(where: RowFilter) -> list[ColumnElement[bool]]:
    """Return the conditions on a pair; raise BadInput if the filter has a field that pairs do not have."""
    names = [each.name for each in TEXT_FILTERS.values()]
    if where.without(*(each.plural for each in TEXT_FILTERS.values())) != RowFilter():
        raise BadInput(f"pairs can be filtered only by {', '.join(names[:-1])} and {names[-1]}")
    sides = PAIR.c.response_a_id, PAIR.c.response_b_id
    of_either = [
        condition for side in sides for condition in other_text_conditions(where, PAIR.c, side)
    ]
    return text_conditions(where, PAIR.c) + ([or_(*of_either)] if of_either else [])


def flag_conditions(
    connection: Connection, where: RowFilter
) -> tuple[list[ColumnElement[bool]], list[ColumnElement[bool]]]:
    """Return the filter's conditions on an open flag, without ``states``: on the flag's columns, and on other tables.

    The flag has columns for rule, judge, scores, day, source and query type, and the queue's
    indexes contain these columns. A judge's side, a missing score and a judge version need other
    tables.
    """
    own = rule_conditions(where) + text_conditions(where, FLAG.c)
    own += [FLAG.c.judge_name == where.judge] if where.judge else []
    own += day_conditions(where, FLAG.c.asked_day)
    own += score_conditions(where, FLAG.c.groundedness, FLAG.c.quality)
    needs_judge = (
        where.judge_side is not None
        or where.unscored is not None
        or where.judge_version is not None
    )
    other_fields = where.without(
        "rules", "states", *SCORE_FIELDS, *(() if needs_judge else ("judge",))
    )
    elsewhere = subquery_conditions(connection, other_fields, FLAG.c.response_id)
    elsewhere += other_text_conditions(where, FLAG.c, FLAG.c.response_id)
    return own, elsewhere
