"""Control answers: logged answers, changed with a known effect, to test whether a judge notices the change."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Unpack

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Action, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.judges.injections import Asks, Place, injected, injected_kind, style_of
from judgeboard.judges.judge import Judge
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.runs.judging import JudgingSummary, judge_pending_async, make_judge
from judgeboard.runs.method import RunOptions
from judgeboard.runs.runner import blocking
from judgeboard.stats.arrays import IntArray
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.health import (
    ANSWER_OF,
    MADE_CONTROLS,
    STYLE,
    answers_to_change,
    control_id,
    controls_of,
    list_controls,
    read_originals,
    suitable_answers,
)
from judgeboard.store.responses import last_logged_id
from judgeboard.store.statements import batches, grouped
from judgeboard.store.storing import store_responses


def passages_removed(original: Response, _donor: Response) -> Response | None:
    """Return the answer without passages, because any passage could support the answer; None without passages."""
    return replace(original, passages=()) if original.passages else None


def other_answer(original: Response, donor: Response) -> Response | None:
    """Return the question and passages with the answer of ``donor``; None if question or answer are the same."""
    same = (
        donor.query.split() == original.query.split()
        or donor.answer.split() == original.answer.split()
    )
    return replace(original, answer=donor.answer) if not same and donor.answer.strip() else None


_SHORTEST = 60
"""Minimum number of characters. Half of a shorter answer may still be a complete answer."""

_TRAILING = re.compile("[\\s.!?\u2026,;:\u3002\uff01\uff1f\u0964]+\\Z")


def truncated(original: Response, _donor: Response) -> Response | None:
    """Return the first half of the answer, cut after a word and never at the end of a sentence."""
    answer = original.answer.strip()
    if len(answer) < _SHORTEST:
        return None
    half = answer[: len(answer) // 2]
    # Without a space in the last part (some scripts have none), the answer is cut exactly at the
    # half.
    at = max(half.rfind(" "), half.rfind("\n"))
    text = _TRAILING.sub("", half[:at] if at > len(half) // 2 else half)
    return replace(original, answer=text) if text else None


# Citations ("[3]", "passage 3") and list markers ("2. ") are not statements.
_LAYOUT = r"\[\d[\d,;\s–-]*\]|\b(?:passages?|documents?|sources?)\s+\d+|^[ \t]*\(?\d{1,3}[.)](?=\s)"
_NUMBER = re.compile(rf"({_LAYOUT})|\d+", re.IGNORECASE | re.MULTILINE | re.ASCII)
_SHIFT = 3


def numbers_changed(original: Response, _donor: Response) -> Response | None:
    """Return the answer with each digit shifted, so that equal numbers stay equal; None without a number."""
    answer = _NUMBER.sub(lambda match: match[0] if match[1] else _other(match[0]), original.answer)
    return None if answer == original.answer else replace(original, answer=answer)


def _other(digits: str) -> str:
    # The first digit stays other than 0.
    first = digits[0] if len(digits) > 1 or digits != "0" else ""
    head = "" if not first else first if first == "0" else str((int(first) - 1 + _SHIFT) % 9 + 1)
    return head + "".join(str((int(digit) + _SHIFT) % 10) for digit in digits[len(head) :])


def passages_reordered(original: Response, _donor: Response) -> Response | None:
    """Return the answer with the passages in reverse order; None if that changes nothing."""
    if original.passages is None or original.passages == original.passages[::-1]:
        return None
    return replace(original, passages=original.passages[::-1])


# Only words that can be removed without changing the grammar; removing "may" from "may be" would
# not be correct.
_ADVERBS = r"perhaps|maybe|possibly|probably|apparently|presumably|seemingly|arguably|supposedly"
_OPENINGS = (
    r"I (?:would )?(?:think|believe|guess|suppose|assume|suspect)(?: that)?"
    r"|it (?:seems|appears)(?: to me)?(?: that)?"
    r"|as far as I (?:know|can tell|can see)|to (?:the best of )?my knowledge|to the best of my knowledge"
    r"|in my (?:humble )?opinion|from what I (?:know|can tell)|if I(?: am|'m) not mistaken"
    r"|I(?: am|'m|’m) not (?:entirely |completely |quite )?(?:sure|certain),? but"
)
_HEDGE = re.compile(rf",?[ \t]*\b(?:{_OPENINGS}|{_ADVERBS})\b(,)?(?!\w)", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:\A|(?<=[.!?…\n]))\s*\Z")


def hedges_removed(original: Response, _donor: Response) -> Response | None:
    """Return the answer without (English) hedges; None if the answer has no hedges or nothing else."""
    parts: list[str] = []
    end = 0
    for hedge in _HEDGE.finditer(original.answer):
        # A hedge goes only if the sentence continues after the hedge: "I think so." and "Yes,
        # probably." would have no meaning without the hedge.
        rest = original.answer[hedge.end() :].lstrip()
        if not (rest[:1].isalnum() and not re.match(r"(?:so|not)\b", rest, re.IGNORECASE)):
            continue
        parts.append(original.answer[end : hedge.start()])
        end = hedge.end()
    if not parts:
        return None
    text = parts[0]
    for part in [*parts[1:], original.answer[end:]]:
        rest, space = part.lstrip(), " "
        if _SENTENCE_START.search(text):
            rest = f"{rest[:1].upper()}{rest[1:]}"
            space = " " if text and not text[-1].isspace() else ""
        text = f"{text}{space}{rest}"
    return replace(original, answer=text) if text.strip(" .\n") else None


_CONSTANT = (
    "",
    "Thank you for your question. Please see the documentation for all details.",
)


def constant(original: Response, _donor: Response) -> Response:
    """Return an answer without information: an empty text, a fixed sentence, or the question itself."""
    answers = (*_CONSTANT, original.query)
    return replace(original, answer=answers[_number(original) % len(answers)])


def _number(original: Response) -> int:
    """Return the id of the answer that is changed."""
    return original.derived_from or 0


def with_injection(
    original: Response, _donor: Response, place: Place, asks: Asks
) -> Response | None:
    """Return the answer with an injection in the answer or in the first passage; None without passages.

    The style depends on the id of the answer.
    """
    style = style_of(_number(original))
    control = replace(original, metadata={STYLE: style})
    if place is Place.ANSWER:
        return replace(control, answer=injected(original.answer, style, asks))
    if not original.passages:
        return None
    first, *remaining = original.passages
    return replace(control, passages=(injected(first, style, asks), *remaining))


class Effect(StrEnum):
    """Whether a control answer is worse than the original, as good, worthless, or orders a verdict."""

    KNOWN_BAD = "known_bad"
    NEUTRAL = "neutral"
    WORTHLESS = "worthless"
    INJECTED = "injected"


@dataclass(frozen=True, slots=True)
class ControlKind:
    """One kind of control answer.

    ``words`` name such answers in a sentence, ``title`` is the title of the check that reads such
    answers. ``change`` receives a copy of an answer and another answer of the log, and returns None
    if this kind does not apply. ``lowers`` is the score that must be lower for a known-bad answer.
    ``fault`` names the check if the fault has a separate name; several kinds may have one check.
    """

    name: str
    words: str
    title: str
    effect: Effect
    change: Callable[[Response, Response], Response | None]
    lowers: str | None = None
    fault: str | None = None

    @property
    def check(self) -> str:
        """The name of the check that reads such answers."""
        return self.fault or self.name


OBEYS = "injected"
"""The check that reads answers with injections. Commands also accept this name for all injected kinds."""

_BAD, _NEUTRAL = Effect.KNOWN_BAD, Effect.NEUTRAL
_KINDS = (
    ControlKind(
        "passages_removed",
        "answers whose passages were removed",
        "Control answers with passages removed",
        _BAD,
        passages_removed,
        lowers="groundedness",
    ),
    ControlKind(
        "other_answer",
        "answers to another question",
        "Control answers with the answer to another question",
        _BAD,
        other_answer,
        lowers="quality",
    ),
    ControlKind(
        "truncated",
        "answers that break off",
        "Control answers with a truncated answer",
        _BAD,
        truncated,
        lowers="quality",
    ),
    ControlKind(
        "numbers_changed",
        "answers whose numbers were changed",
        "Control answers with numbers changed",
        _BAD,
        numbers_changed,
        lowers="groundedness",
    ),
    ControlKind(
        "passages_reordered",
        "answers with passages in reverse order",
        "Passage order",
        _NEUTRAL,
        passages_reordered,
        fault="passage_order",
    ),
    ControlKind(
        "hedges_removed",
        "answers without their hedges",
        "Preference for a confident tone",
        _NEUTRAL,
        hedges_removed,
        fault="confidence",
    ),
    ControlKind(
        "constant",
        "answers that say nothing about the question",
        "Worthless answers",
        Effect.WORTHLESS,
        constant,
        lowers="quality",
    ),
    *(
        ControlKind(
            injected_kind(place, asks),
            "answers that order a verdict",
            "Obeys the answer",
            Effect.INJECTED,
            partial(with_injection, place=place, asks=asks),
            fault=OBEYS,
        )
        for place, asks in product(Place, Asks)
    ),
)
CONTROL_KINDS: Mapping[str, ControlKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Kinds by name. The list extends the list in "LLM-as-Judge", AI Engineering Patterns (2026)."""


# The checks need 30 per kind, and some verdicts will fail.
DEFAULT_N = 50
# Maximum number of answers to try per kind, so that a long log with few hedges or numbers is not
# read completely.
_MOST_TRIED = 20_000
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class MadeControlAnswers:
    """The number of control answers of a kind: ``made`` now, and ``known`` from before."""

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
    actor: Actor = "library",
) -> list[MadeControlAnswers]:
    """Make and store ``n`` control answers of each kind from logged answers; raises BadInput for an unknown kind.

    The seed selects the answers, first one of each evidence group. A call with another seed makes
    more; a repeated call adds nothing unless the log has new answers. A kind that applies to few
    answers gives fewer than ``n``.
    """
    if n < 1:
        raise BadInput(f"n must be 1 or more, not {n}")
    control_kinds = [CONTROL_KINDS[name] for name in _checked_kinds(kinds)]
    with store.reading() as connection:
        ids = _in_seeded_order(*answers_to_change(connection, where or RowFilter()), seed)
    is_whole = where in {None, RowFilter()} and len(ids) <= _MOST_TRIED
    return [_make(store, kind, ids, n, seed, actor, is_whole=is_whole) for kind in control_kinds]


def _make(
    store: Store,
    kind: ControlKind,
    ids: IntArray,
    n: int,
    seed: int,
    actor: Actor,
    *,
    is_whole: bool,
) -> MadeControlAnswers:
    with store.reading() as connection:
        suffix = control_id("", kind.name, seed)
        stored_ids = {
            each.original_id
            for each in list_controls(connection)
            if each.external_id.endswith(suffix)
        }
        new: list[Response] = []
        count = 0
        for original, donor in _with_donors(connection, ids[:_MOST_TRIED]):
            if count == n:
                break
            (original_id, response), (donor_id, lent) = original, donor
            copy = replace(response, kind=ResponseKind.CONTROL, derived_from=original_id)
            control = None if original_id in stored_ids else kind.change(copy, lent)
            count += original_id in stored_ids or control is not None
            if control is not None:
                is_borrowed = (
                    control.answer not in (response.answer, "") and control.answer == lent.answer
                )
                # The id of the copied answer is stored, so that forgetting that response also clears the control
                # answer.
                lender = {ANSWER_OF: donor_id} if is_borrowed else {}
                new.append(
                    replace(
                        control,
                        external_id=control_id(response.external_id, kind.name, seed),
                        metadata={"control": kind.name, "seed": seed} | control.metadata | lender,
                    )
                )
    # If fewer than n answers are suitable, the checks say so: to make more control answers would
    # not help.
    is_complete = is_whole and count < n
    with store.reading() as connection:
        is_known = not is_complete or suitable_answers(connection).get(kind.name) == count
    if not new and is_known:
        return MadeControlAnswers(kind.name, kind.effect, 0, count)
    with allowed(store, actor, Action.REJUDGE_MANY) as connection:
        new_count = len(store_responses(connection, new).new)
        if new_count or not is_known:
            details = {"control": kind.name, "new": new_count}
            if is_complete:
                details |= {"suitable": count, "last_response_id": last_logged_id(connection)}
            record_event(connection, MADE_CONTROLS, actor_name(actor), details=details)
    return MadeControlAnswers(kind.name, kind.effect, new_count, count - new_count)


_Original = tuple[int, Response]  # id and response


def _with_donors(connection: Connection, ids: IntArray) -> Iterator[tuple[_Original, _Original]]:
    # The donor is the next answer of the same source: people who may see only the source of the
    # original may read its control answer.
    for batch in batches(ids.tolist(), _AT_ONCE):
        part = read_originals(connection, batch)
        of_source = grouped((original[1].source, original) for original in part)
        donors = {source: iter([*same[1:], same[0]]) for source, same in of_source.items()}
        yield from ((original, next(donors[original[1].source])) for original in part)


def _in_seeded_order(ids: IntArray, groups: IntArray, seed: int) -> IntArray:
    """Order ids by the seed: first one id of each group, then a second one, and so on."""
    if not len(ids):
        return ids
    # One pseudo-random number per id, by SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA, 2014).
    hashes = ids.astype(np.uint64) + np.uint64(
        (seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % (1 << 64)
    )
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    order = np.argsort((hashes ^ (hashes >> np.uint64(31))).view(np.int64), kind="stable")
    ids, groups = ids[order], groups[order]
    # The rank of each id within the group.
    by_group = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.append(True, groups[by_group][1:] != groups[by_group][:-1]))
    lengths = np.diff(np.append(starts, len(ids)))
    before = np.empty(len(ids), dtype=np.int64)
    before[by_group] = np.arange(len(ids)) - np.repeat(starts, lengths)
    return ids[np.argsort(before, kind="stable")]


def controls_and_originals(connection: Connection, kinds: Collection[str] = ()) -> RowFilter:
    """Return the filter for the stored control answers of the kinds (default: all) and for the originals.

    Raises BadInput if a kind is unknown or has no control answers yet.
    """
    return controls_of(connection, _checked_kinds(kinds))


async def judge_control_answers_async(
    store: Store, judge: Judge, *, kinds: Collection[str] = (), **options: Unpack[RunOptions]
) -> JudgingSummary:
    """Judge the stored control answers and the originals, except answers that this judge version already judged.

    The judge is closed at the end. ``options`` are fields of `RunOptions`. Raises BadInput if a
    kind is unknown or has no control answers yet.
    """
    with store.reading() as connection:
        where = controls_and_originals(connection, kinds)
    return await judge_pending_async(store, judge, where=where, **options)


judge_control_answers = blocking(judge_control_answers_async)


def _checked_kinds(kinds: Collection[str]) -> list[str]:
    names = dict.fromkeys(name for kind in _KINDS for name in (kind.check, kind.name))
    unknown = sorted(set(kinds) - names.keys())
    if unknown:
        raise BadInput(
            f"unknown kind of control answer {unknown[0]!r}; the kinds are {', '.join(names)}"
        )
    return [kind.name for kind in _KINDS if not kinds or kind.name in kinds or kind.check in kinds]


def add_sample(store: Store, _folder: Path) -> Iterator[str]:
    """Make control answers of each kind from the sample log, judged by the offline judge."""
    from judgeboard.cli.demo import ACTOR  # the sample log alone

    results = make_control_answers(store, actor=ACTOR)
    judge_control_answers(store, make_judge("lexical"), actor=ACTOR)
    yield f"control answers: {len(results)} kinds"
