"""What the page of pairs shows: the figures of one judge version, and the pairs line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from judgeboard.domain import Preference
from judgeboard.pair_records import OVERALL
from judgeboard.pairs.one_order import is_one_order, order_verdicts
from judgeboard.pairs.report import ALL, PairGroup, measure_groups
from judgeboard.pairs.votes import Votes, votes_by_pair
from judgeboard.stats.both_orders import INCONSISTENT, NONE
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.compared_pairs import uncompared
from judgeboard.store.pairs.comparisons import PLAIN, BothOrders, load_comparisons
from judgeboard.store.pairs.preferences import StandingPreference, load_preferences

_SIDES = {0: Preference.A, 1: Preference.B, 2: Preference.TIE}


class Listed(StrEnum):
    """Which pairs are listed."""

    ALL = "all"
    INCONSISTENT = "inconsistent"
    WRONG = "wrong"
    UNMEASURED = "unmeasured"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class PairLine:
    """One pair on one aspect.

    ``verdict`` is the judge's where it has one; ``inconsistent`` and ``unmeasured`` say why there is none.
    ``overruled`` is what a person said with the judge's verdict in view, the latest; ``mine`` whether the reviewer
    who looks has said anything of it.
    """

    pair_id: int
    query_type: str
    ab: Preference | None
    ba: Preference | None
    verdict: Preference | None
    inconsistent: bool
    gold: Preference | None
    people: Votes | None
    overruled: Preference | None
    mine: bool

    @property
    def truth(self) -> Preference | None:
        """What the verdict is held against: the gold, else the majority of people."""
        return self.gold if self.gold is not None else self.people.majority if self.people is not None else None

    @property
    def wrong(self) -> bool:
        """Whether the judge's verdict is known to be wrong."""
        return self.verdict is not None and self.truth is not None and self.verdict != self.truth

    def listed_as(self, what: Listed) -> bool:
        """Whether a list of this name holds the pair."""
        return {
            Listed.ALL: True,
            Listed.INCONSISTENT: self.inconsistent,
            Listed.WRONG: self.wrong,
            Listed.UNMEASURED: self.verdict is None and not self.inconsistent,
            Listed.UNJUDGED: self.people is None,
        }[what]


class ComparedPairs:
    """All pairs that one judge version compared, loaded once; without a version, pairs that people may judge.

    ``aspects`` begin with ``overall`` where there is one, ``query_types`` go by name.
    """

    def __init__(self, connection: Connection, version: StoredVersion | None, reviewer_id: int | None = None) -> None:
        """Load them; ``reviewer_id`` is who looks."""
        self.version = version
        self._rows = load_comparisons(connection, [version.id], condition=PLAIN) if version else uncompared(connection)
        self._one_order = version is not None and is_one_order(version, self._rows)
        self._preferences = load_preferences(connection, {row.pair_id for row in self._rows})
        self._votes = votes_by_pair(self._preferences)
        self._reviewer_id = reviewer_id
        self.aspects = tuple(sorted({row.aspect for row in self._rows}, key=lambda aspect: (aspect != OVERALL, aspect)))
        self.query_types = tuple(sorted({row.query_type for row in self._rows}))

    def groups(self) -> tuple[PairGroup, ...]:
        """Return the figures of every aspect, of all pairs and then of each query type; none without a version."""
        if self.version is None:
            return ()
        slices = [ALL, *(self.query_types if len(self.query_types) > 1 else ())]
        only_aspect = len(self.aspects) == 1
        return measure_groups(self._rows, self._votes, slices, one_order=self._one_order, only_aspect=only_aspect)

    def known_aspect(self, aspect: str | None) -> str:
        """Return this aspect, the first of them where it is not one."""
        return aspect if aspect in self.aspects else self.aspects[0] if self.aspects else OVERALL

    def lines(
        self, aspect: str | None = None, listed: Listed = Listed.ALL, query_types: Sequence[str] = ()
    ) -> tuple[PairLine, ...]:
        """Return pairs by id.

        Args:
            aspect: On which aspect; the first where it is not given or unknown.
            listed: Which of them.
            query_types: Only these types; all by default.
        """
        chosen = self.known_aspect(aspect)
        rows = [row for row in self._rows if row.aspect == chosen]
        if chosen != OVERALL and len(self.aspects) > 1:  # a gold says which answer is better, all in all
            rows = [row._replace(gold=None) for row in rows]
        lines = _lines(rows, self._votes, self._preferences, one_order=self._one_order, reviewer_id=self._reviewer_id)
        return tuple(
            line for line in lines if line.listed_as(listed) and (not query_types or line.query_type in query_types)
        )


def _lines(
    rows: Sequence[BothOrders],
    votes: Mapping[tuple[int, str], Votes],
    preferences: Sequence[StandingPreference],
    *,
    one_order: bool,
    reviewer_id: int | None,
) -> list[PairLine]:
    overruled = {
        (each.pair_id, each.aspect): each.preference for each in preferences if each.comparison_seen_id is not None
    }
    mine = {(each.pair_id, each.aspect) for each in preferences if each.reviewer_id == reviewer_id}
    lines = []
    for row, code in zip(rows, order_verdicts(rows, one_order=one_order).verdicts.tolist(), strict=True):
        key = (row.pair_id, row.aspect)
        verdict = None if code in {NONE, INCONSISTENT} else _SIDES[code]
        line = PairLine(
            pair_id=row.pair_id,
            query_type=row.query_type,
            ab=row.ab,
            ba=row.ba,
            verdict=verdict,
            inconsistent=code == INCONSISTENT,
            gold=row.gold,
            people=votes.get(key),
            overruled=overruled.get(key),
            mine=key in mine,
        )
        lines.append(line)
    return lines
