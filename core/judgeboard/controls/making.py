"""Makes controls from the log and stores them: a seeded choice, the same again for the same log."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from judgeboard.controls.kinds import CONTROLS, ControlKind
from judgeboard.controls.text import AnswerText
from judgeboard.domain import Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
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

DEFAULT_N = 50
"""Controls of a kind: 30 is the least that says anything (`judge_health.known_bad`), and some verdicts will fail."""

LOOKED_AT = 20_000
"""Answers looked at for one kind: where few have a hedge or a number, a long log is not read to its end."""

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class MadeControls:
    """What became of one kind: ``made`` now, ``known`` from before; fewer than asked where it seldom applies."""

    kind: ControlKind
    made: int
    known: int


def make_controls(
    store: Store,
    *,
    kinds: Collection[str] = (),
    n: int = DEFAULT_N,
    seed: int = 0,
    where: RowFilter | None = None,
    actor: str = "library",
) -> list[MadeControls]:
    """Make controls of a log and store them as responses of kind control.

    Which answers are taken depends on the seed alone, one of each evidence group before a second of any; another seed
    makes further ones. Again adds nothing, unless answers have come into the log that are chosen first.

    Args:
        store: Where the log is.
        kinds: Keys of ``CONTROLS``; all by default.
        n: Controls of each kind; fewer where it applies to fewer answers.
        seed: Of the choice.
        where: Which answers of the log; all by default.
        actor: Who makes them.

    Raises:
        BadInput: A kind is unknown, or ``n`` is below 1.
    """
    unknown = sorted(set(kinds) - CONTROLS.keys())
    if unknown:
        raise BadInput(f"there is no control {unknown[0]!r}; choose {', '.join(CONTROLS)}")
    if n < 1:
        raise BadInput(f"n is how many controls to make of each kind, not {n}")
    chosen = [kind for kind in CONTROLS.values() if not kinds or kind.name in kinds]
    with store.reading() as connection:
        ids = _in_seeded_order(*answers_to_change(connection, where or RowFilter()), seed)
    return [_make(store, kind, ids, n, seed, actor) for kind in chosen]


def _make(store: Store, kind: ControlKind, ids: IntArray, n: int, seed: int, actor: str) -> MadeControls:
    with store.reading() as connection:
        suffix = control_id("", kind.name, seed)
        known = {each.original_id for each in list_controls(connection) if each.external_id.endswith(suffix)}
        controls: list[Response] = []
        taken = 0
        for original, donor in _with_donors(connection, ids[:LOOKED_AT]):
            if taken == n:
                break
            if original.response_id in known:
                taken += 1
                continue
            changed = kind.change(_text(original), _text(donor))
            if changed is not None:
                taken += 1
                controls.append(_control(original, donor, changed, kind, seed))
    if not controls:
        return MadeControls(kind, 0, taken)
    with store.writing() as connection:
        landed = land_responses(connection, controls)
        if landed.new:
            record_event(connection, "make_controls", actor, details={"control": kind.name, "new": len(landed.new)})
    return MadeControls(kind, len(landed.new), taken - len(landed.new))


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
