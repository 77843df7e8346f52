"""Control answers: made from logged ones with a known effect, to see whether a judge notices."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from sqlalchemy import Connection

from judgeboard.blocking import blocking
from judgeboard.domain import Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.judges.protocol import Judge
from judgeboard.judging import JudgingSummary, judge_pending_async
from judgeboard.method import RunOptions
from judgeboard.methods.control_kinds import CONTROL_KINDS, AnswerText, ControlKind, Effect
from judgeboard.stats.arrays import IntArray
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.health.controls import (
    ANSWER_OF,
    Original,
    answers_to_change,
    control_id,
    list_controls,
    read_originals,
)
from judgeboard.store.landing import land_responses
from judgeboard.store.sql.batches import batches

# Per kind: the checks need 30, and some verdicts will fail.
DEFAULT_N = 50
# Answers tried per kind: where few have a hedge or a number, a long log is not read to its end.
_MOST_TRIED = 20_000
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class MadeControlAnswers:
    """How many control answers of a kind were made now, and how many were ``known`` from before."""

    kind: str
    effect: Effect
    made: int
    known: int


def make_control_answers(
    store: Store,
    *,
    kinds: Collection[str] = (),
    n: int = DEFAULT_N,
    seed: int = 0,
    where: RowFilter | None = None,
    actor: str = "library",
) -> list[MadeControlAnswers]:
    """Make ``n`` control answers of each kind from logged answers and store them as responses of kind control.

    The seed alone decides which answers are taken, one of each evidence group before a second of any; another seed
    makes further ones. A second call adds nothing, unless the log has new answers that the seed puts first. A kind that
    applies to few answers gives fewer than ``n``.

    Raises:
        BadInput: A kind is unknown, or ``n`` is below 1.
    """
    if n < 1:
        raise BadInput(f"n must be 1 or more, not {n}")
    chosen = [CONTROL_KINDS[name] for name in _checked_kinds(kinds)]
    with store.reading() as connection:
        ids = _in_seeded_order(*answers_to_change(connection, where or RowFilter()), seed)
    return [_make(store, kind, ids, n, seed, actor) for kind in chosen]


def _make(store: Store, kind: ControlKind, ids: IntArray, n: int, seed: int, actor: str) -> MadeControlAnswers:
    with store.reading() as connection:
        suffix = control_id("", kind.name, seed)
        known = {each.original_id for each in list_controls(connection) if each.external_id.endswith(suffix)}
        new: list[Response] = []
        taken = 0
        for original, donor in _with_donors(connection, ids[:_MOST_TRIED]):
            if taken == n:
                break
            if original.response_id in known:
                taken += 1
                continue
            changed = kind.change(_text(original), _text(donor))
            if changed is not None:
                taken += 1
                new.append(_control(original, donor, changed, kind, seed))
    if not new:
        return MadeControlAnswers(kind.name, kind.effect, 0, taken)
    with store.writing() as connection:
        landed = land_responses(connection, new)
        if landed.new:
            record_event(
                connection, "make_control_answers", actor, details={"control": kind.name, "new": len(landed.new)}
            )
    return MadeControlAnswers(kind.name, kind.effect, len(landed.new), taken - len(landed.new))


def _with_donors(connection: Connection, ids: IntArray) -> Iterator[tuple[Original, Original]]:
    """Yield each answer with the one after it, the last with the first of its part."""
    for some in batches(ids.tolist(), _AT_ONCE):
        part: Sequence[Original] = read_originals(connection, some)
        yield from zip(part, [*part[1:], *part[:1]], strict=True)


def _control(original: Original, donor: Original, changed: AnswerText, kind: ControlKind, seed: int) -> Response:
    borrowed = changed.answer not in (original.response.answer, "") and changed.answer == donor.response.answer
    # Whose answer it repeats: forgetting that one reaches the control by it.
    lender = {ANSWER_OF: donor.response_id} if borrowed else {}
    return replace(
        original.response,
        external_id=control_id(original.response.external_id, kind.name, seed),
        query=changed.query,
        answer=changed.answer,
        passages=changed.passages,
        metadata={"control": kind.name, "seed": seed} | lender,
        kind=ResponseKind.CONTROL,
        derived_from=original.response_id,
    )


def _text(original: Original) -> AnswerText:
    response = original.response
    return AnswerText(response.query, response.answer, response.passages)


def _in_seeded_order(ids: IntArray, groups: IntArray, seed: int) -> IntArray:
    """Return the ids in an order that the seed decides, and that more ids only fill up; first one of each group."""
    if not len(ids):
        return ids
    order = np.argsort(_mixed(ids, seed), kind="stable")
    ids, groups = ids[order], groups[order]
    # How many of its group came before each: sorted stably by group, it counts up within each stretch.
    by_group = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.append(True, groups[by_group][1:] != groups[by_group][:-1]))
    lengths = np.diff(np.append(starts, len(ids)))
    before = np.empty(len(ids), dtype=np.int64)
    before[by_group] = np.arange(len(ids)) - np.repeat(starts, lengths)
    return ids[np.argsort(before, kind="stable")]


def _mixed(ids: IntArray, seed: int) -> IntArray:
    """Return one pseudo-random number per id: G. Steele, D. Lea, C. Flood, SplitMix64 (OOPSLA, 2014)."""
    mixed = ids.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % (1 << 64))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)


async def judge_control_answers_async(
    store: Store, judge: Judge, *, kinds: Collection[str] = (), **options: Unpack[RunOptions]
) -> JudgingSummary:
    """Judge the stored control answers and their originals; what this judge version judged is not asked again.

    The judge is closed at the end. ``options`` are fields of `RunOptions`.

    Raises:
        BadInput: A kind is unknown, or there are no such control answers yet.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    chosen = _checked_kinds(kinds)
    with store.reading() as connection:
        made = [each for each in list_controls(connection) if each.kind in chosen]
    if not made:
        raise BadInput("there are no such control answers yet: make some with `judgeboard control-answers make`")
    ids = {each.response_id for each in made} | {each.original_id for each in made}
    where = RowFilter(response_ids=tuple(ids), kinds=(ResponseKind.CONTROL, ResponseKind.LOG))
    return await judge_pending_async(store, judge, where=where, **options)


judge_control_answers = blocking(judge_control_answers_async)


def _checked_kinds(kinds: Collection[str]) -> list[str]:
    unknown = sorted(set(kinds) - CONTROL_KINDS.keys())
    if unknown:
        raise BadInput(f"there is no kind of control answer {unknown[0]!r}; choose {', '.join(CONTROL_KINDS)}")
    return [name for name in CONTROL_KINDS if not kinds or name in kinds]
