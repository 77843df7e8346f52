"""What people together say of pairs: the majority of one voice a person."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from judgeboard.domain import Preference, Stage
from judgeboard.stats.arrays import TIE as SAME
from judgeboard.store.pairs.preferences import StandingPreference


@dataclass(frozen=True, slots=True)
class Votes:
    """The voices on a pair and aspect; ``majority`` None where no answer (tie is one) has the most."""

    majority: Preference | None
    people: int


def votes_by_pair(standing: Iterable[StandingPreference]) -> Mapping[tuple[int, str], Votes]:
    """Return what people say of each (pair, aspect).

    A person has one voice, however often they spoke: what they said blind counts before what they said after the rest
    was revealed to them, then the latest. A grade counts for the side that it favours.
    """
    voices = voices_by_pair(standing)
    return {key: _votes([side_of(each) for each in of_person.values()]) for key, of_person in voices.items()}


def voices_by_pair(standing: Iterable[StandingPreference]) -> dict[tuple[int, str], dict[int, StandingPreference]]:
    """Return the one preference of each person (by id) that counts on each (pair, aspect)."""
    voices: dict[tuple[int, str], dict[int, StandingPreference]] = {}
    for each in standing:
        if each.stage is Stage.ADJUDICATION:  # gold, not a voice beside the others
            continue
        of_person = voices.setdefault((each.pair_id, each.aspect), {})
        known = of_person.get(each.reviewer_id)
        if known is None or _rank(each) > _rank(known):
            of_person[each.reviewer_id] = each
    return voices


def _rank(said: StandingPreference) -> tuple[bool, int]:
    return said.blind, said.preference_id


def side_of(said: StandingPreference) -> Preference:
    """Return the answer that somebody prefers: the side that they named, else the one that their grade favours."""
    if said.preference is not None:
        return said.preference
    value = said.value or 0.0
    return Preference.TIE if abs(value) < SAME else Preference.B if value > 0 else Preference.A


def _votes(sides: list[Preference]) -> Votes:
    (first, most), *others = Counter(sides).most_common()
    split = bool(others) and others[0][1] == most
    return Votes(None if split else first, len(sides))
