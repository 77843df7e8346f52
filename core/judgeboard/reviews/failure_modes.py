"""Failure modes: the list that leads keep, how often people tag answers with each, and suggestions from notes."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.judges.words import STOP_WORDS
from judgeboard.people.permissions import Action, Actor, actor_name, allowed
from judgeboard.reviews.checks import check_modes, checked_text
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.failure_modes import (
    FailureMode,
    Group,
    count_tagged,
    insert_mode,
    list_modes,
    untagged_notes,
)
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import list_versions
from judgeboard.trends import start_of

GROUPS: dict[Group, str] = {"query_type": "Query type", "judge_version": "Judge version", "week": "Week"}
KEYS = "ABDEFGHIJKLMNOPQSTUVWXYZ"
"""Streamlit keeps C and R for itself."""
LONGEST_MODE = 60  # characters
LEAST_NOTES = 2


def save_mode(
    store: Store,
    name: str,
    description: str | None = None,
    *,
    key: str | None = None,
    retired: bool = False,
    by: Actor,
    now: datetime | None = None,
) -> FailureMode:
    """Add a failure mode, or change the one with this name; a ``retired`` one is offered no more, its tags stay.

    Raises BadInput if the name, the description or the key cannot be used, or another mode has the key.
    """
    checked, letter = checked_text("the failure mode", " ".join(name.split())), (key or "").strip().upper() or None
    if checked is None or len(checked) > LONGEST_MODE:
        raise BadInput(f"the name of a failure mode has 1 to {LONGEST_MODE} characters")
    with allowed(store, by, Action.CHANGE_SETTINGS) as connection:
        modes = list_modes(connection)
        checked = next((each for each in modes if each.casefold() == checked.casefold()), checked)
        used = {mode.key: mode.name for mode in modes.values() if mode.key and not mode.retired}
        if letter is not None and letter not in tuple(KEYS):
            raise BadInput(f"the key of a failure mode is one of the letters {' '.join(KEYS)}, not {key!r}")
        if letter is not None and not retired and used.get(letter, checked) != checked:
            raise BadInput(f"the failure mode {used[letter]!r} has the key {letter} already")
        at, text = now or datetime.now(UTC), checked_text("the description", description)
        mode = FailureMode(checked, text, letter, retired, by=actor_name(by), at=at)
        insert_mode(connection, **asdict(mode))
        record_event(connection, "save_failure_mode", mode.by, details={"failure_mode": mode.name}, now=at)
        return mode


def retire_mode(store: Store, name: str, *, by: Actor) -> FailureMode:
    """Offer a failure mode no more; its tags stay. Raises BadInput if there is none."""
    with store.reading() as connection:
        check_modes(connection, [name])
        mode = list_modes(connection)[name]
    return save_mode(store, name, mode.description, key=mode.key, retired=True, by=by)


@dataclass(frozen=True, slots=True)
class FailureModeCount:
    """How often people tagged the answers of a group with a failure mode; ``where`` filters these answers.

    ``share`` is that among the answers of the group that people reviewed.
    """

    group: str
    mode: str
    answers: int
    share: Estimate
    where: RowFilter


def failure_mode_counts(connection: Connection, by: Group = "query_type") -> tuple[FailureModeCount, ...]:
    """Return the counts by group, each mode in every group that has any: weeks in time, others the most first.

    Only current reviews of logged answers count, an answer once. A week is that in which the answer was given.
    """
    if by not in GROUPS:
        raise BadInput(f"failure modes are counted by {', '.join(GROUPS)}, not {by!r}")
    titles = {version.id: version.title for version in list_versions(connection)} if by == "judge_version" else {}
    reviewed, tagged = Counter[_Group](), defaultdict[_Group, Counter[str]](Counter)
    totals = Counter[str]()
    for value, mode, n in count_tagged(connection, by):
        group = _group(by, value, titles)
        if mode is None:
            reviewed[group] += n
        else:
            tagged[group][mode] += n
            totals[mode] += n
    return tuple(
        FailureModeCount(
            group.name,
            mode,
            tagged[group][mode],
            share_intervals([tagged[group][mode]], [reviewed[group]])[0],
            replace(group.where, failure_modes=(mode,)),
        )
        for group in sorted(tagged, key=lambda each: (each.start, -tagged[each].total(), each.name))
        for mode, _ in totals.most_common()
    )


class _Group(NamedTuple):
    start: int
    name: str
    where: RowFilter


def _group(by: Group, value: Any, titles: Mapping[int, str]) -> _Group:
    if by == "query_type":
        return _Group(0, value, RowFilter(query_types=(value,)))
    if by == "judge_version":
        return _Group(0, titles.get(value, str(value)), RowFilter(judge_version=value))
    if value is None:
        return _Group(-1, "no time", RowFilter(no_time=True))
    start = start_of(int(value), "week")
    monday = date(1970, 1, 1) + timedelta(days=start)
    return _Group(start, str(monday), RowFilter(day_from=start, day_to=start + 6))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word or phrase that is frequent in notes without a failure mode, in ``notes`` of them."""

    words: str
    notes: int
    example: str


def suggested_modes(connection: Connection, most: int = 10) -> tuple[Suggestion, ...]:
    """Return frequent words and phrases of up to three words from the notes that have no failure mode.

    Only the latest 2,000 notes are read. A phrase counts once per note, without the words of failure modes that exist.
    """
    known = {name.casefold() for name in list_modes(connection)}
    return suggestions_in(untagged_notes(connection), known, most)


def suggestions_in(notes: Iterable[str], known: Collection[str] = (), most: int = 10) -> tuple[Suggestion, ...]:
    """Return the suggestions for notes; a phrase replaces the shorter ones that occur only in it."""
    counts, examples = Counter[tuple[str, ...]](), dict[tuple[str, ...], str]()
    for note in notes:
        words = re.findall(r"[^\W\d_][\w'-]+", note.casefold())
        phrases = {
            tuple(words[at : at + size])
            for size in (1, 2, 3)
            for at in range(len(words) - size + 1)
            if not {words[at], words[at + size - 1]} & STOP_WORDS
        }
        counts.update(phrases)
        for phrase in phrases:
            examples.setdefault(phrase, note)
    for phrase, n in list(counts.items()):
        for part in (phrase[:-1], phrase[1:]):
            if part and counts[part] == n:
                counts[part] = 0
    frequent = sorted(counts.items(), key=lambda item: (-item[1], -len(item[0]), item[0]))
    return tuple(
        Suggestion(" ".join(phrase), n, examples[phrase])
        for phrase, n in frequent
        if n >= LEAST_NOTES and " ".join(phrase) not in known
    )[:most]
