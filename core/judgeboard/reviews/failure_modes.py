"""Failure modes: the list that leads edit, how often people use each mode, and suggestions from notes."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import combinations, product
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action, Estimate
from judgeboard.errors import BadInput
from judgeboard.judges.words import STOP_WORDS
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.reviews.checks import checked_text
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filters import RowFilter
from judgeboard.store.issues import (
    KEYS,
    LONGEST_MODE,
    Group,
    count_tagged,
    insert_mode,
    list_modes,
    untagged_notes,
)
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.tables import FailureMode

GROUPS: dict[Group, str] = {
    "query_type": "Query type",
    "judge_version": "Judge version",
    "week": "Week",
}
LEAST_NOTES, LONGEST_PHRASE = 2, 5  # notes per phrase, words per phrase


def save_mode(
    store: Store,
    name: str,
    description: str | None = None,
    *,
    key: str | None = None,
    retired: bool = False,
    by: Actor,
) -> FailureMode:
    """Add a failure mode, or change the one with this name. A ``retired`` mode is not offered; tags are kept.

    Raises BadInput if the name, the description or the key cannot be used, or another mode has the
    key.
    """
    mode_name, letter = (
        checked_text("the failure mode", " ".join(name.split())),
        (key or "").strip().upper() or None,
    )
    if mode_name is None or len(mode_name) > LONGEST_MODE:
        raise BadInput(f"the name of a failure mode has 1 to {LONGEST_MODE} characters")
    with allowed(store, by, Action.CHANGE_SETTINGS) as connection:
        modes = list_modes(connection)
        mode_name = next(
            (each for each in modes if each.casefold() == mode_name.casefold()), mode_name
        )
        names_by_key = {
            mode.key: mode.name for mode in modes.values() if mode.key and not mode.retired
        }
        if letter is not None and letter not in tuple(KEYS):
            raise BadInput(
                f"the key of a failure mode is one of the letters {' '.join(KEYS)}, not {key!r}"
            )
        if letter is not None and not retired and names_by_key.get(letter, mode_name) != mode_name:
            raise BadInput(
                f"the failure mode {names_by_key[letter]!r} has the key {letter} already"
            )
        at, text = utc_now(), checked_text("the description", description)
        mode = FailureMode(
            name=mode_name, description=text, key=letter, retired=retired, by=actor_name(by), at=at
        )
        insert_mode(connection, mode)
        record_event(
            connection, "save_failure_mode", mode.by, details={"failure_mode": mode.name}, now=at
        )
        return mode


@dataclass(frozen=True, slots=True)
class FailureModeCount:
    """How many ``answers`` of a group people tagged with a failure mode; ``where`` filters these answers.

    ``share`` is the share of tagged answers in the reviewed answers of the group.
    """

    group: str
    mode: str
    answers: int
    share: Estimate
    where: RowFilter


def failure_mode_counts(connection: Connection, by: Group) -> tuple[FailureModeCount, ...]:
    """Return the counts of every mode in every group that has tags.

    Weeks are in order of time, other groups by the number of tags. Only current reviews of logged
    answers count. An answer counts once, in the week of the answer.
    """
    if by not in GROUPS:
        raise BadInput(f"failure modes are counted by {', '.join(GROUPS)}, not {by!r}")
    reviewed_counts, tagged_counts = count_tagged(connection, by)
    of_mode, of_group = Counter[str](), Counter[Any]()
    for (group, mode), n in tagged_counts.items():
        of_mode[mode] += n
        of_group[group] += n
    titles = version_titles(connection) if by == "judge_version" else {}
    if by == "week":
        groups = sorted(of_group, key=lambda start: -1 if start is None else start)
    else:
        groups = sorted(of_group, key=lambda group: (-of_group[group], titles.get(group, group)))
    return tuple(
        FailureModeCount(
            titles.get(group, name),
            mode,
            n,
            share_intervals([n], [reviewed_counts[group]])[0],
            replace(where, failure_modes=(mode,)),
        )
        for group in groups
        for name, where in [_in_group(by, group)]
        for mode, _ in of_mode.most_common()
        for n in [tagged_counts.get((group, mode), 0)]
    )


def _in_group(by: Group, group: Any) -> tuple[str, RowFilter]:
    if by == "query_type":
        return group, RowFilter(query_types=(group,))
    if by == "judge_version":
        return str(group), RowFilter(judge_version=group)
    if group is None:
        return "no time", RowFilter(no_time=True)
    return str(date(1970, 1, 1) + timedelta(group)), RowFilter(day_from=group, day_to=group + 6)


def suggested_modes(connection: Connection) -> dict[str, int]:
    """Return up to ten frequent phrases in notes that have no failure mode, each with the number of notes.

    A note counts for one phrase. Only the latest 1,000 notes about problems are read. Phrases from
    names of failure modes are left out.
    """
    notes_of: dict[tuple[str, ...], set[int]] = {}
    for number, note in enumerate(untagged_notes(connection)):
        for part in re.split(r"[.,:;?!]", note.casefold()):
            words = re.findall(r"[^\W\d_][\w'-]*", part)
            for at, size in product(range(len(words)), range(1, LONGEST_PHRASE + 1)):
                notes_of.setdefault(tuple(words[at : at + size]), set()).add(number)
    names = [name.casefold().split() for name in list_modes(connection)]
    mode_phrases = {
        tuple(words[at:end])
        for words in names
        for at, end in combinations(range(len(words) + 1), 2)
    }
    weights = {
        phrase: len(phrase) for phrase in notes_of.keys() - mode_phrases if {*phrase} - STOP_WORDS
    }
    groups: dict[str, int] = {}
    while len(groups) < 10:
        weights = {
            phrase: words
            for phrase, words in weights.items()
            if len(notes_of[phrase]) >= LEAST_NOTES
        }
        if not weights:
            break
        best = min(weights, key=lambda phrase: (-len(notes_of[phrase]) * weights[phrase], phrase))
        grouped_notes = set(notes_of[best])
        groups[" ".join(best)] = len(grouped_notes)
        for phrase in weights:
            notes_of[phrase] -= grouped_notes
    return dict(sorted(groups.items(), key=lambda group: -group[1]))
