"""What a judge says of pairs: its figures by slice and aspect (methods.md §3, pairwise), and the pairs in lines."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from judgeboard.domain import Estimate, Preference
from judgeboard.errors import BadInput, NotFound
from judgeboard.pair_records import OVERALL
from judgeboard.pairs.one_order import codes, is_one_order, order_verdicts
from judgeboard.pairs.votes import Votes, votes_by_pair
from judgeboard.run_account import RunAccount
from judgeboard.stats.both_orders import INCONSISTENT, NONE, UNUSABLE_AS, BothOrderCounts, UnusableAs
from judgeboard.store.engine import Readable
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs.compared_pairs import status_counts, uncompared
from judgeboard.store.pairs.comparisons import PLAIN, BothOrders, load_comparisons
from judgeboard.store.pairs.preferences import load_preferences

ALL = "all"
"""The slice of all pairs."""

NO_GOLD = "no gold on these pairs"
NO_PEOPLE = "no preference of people on these pairs"

_SIDES = {0: Preference.A, 1: Preference.B, 2: Preference.TIE}


@dataclass(frozen=True, slots=True)
class PairGroup:
    """The figures of one slice and aspect.

    ``people`` is how often the judge's verdict on a pair is the majority of people's preferences; ``people_split``
    counts the verdicts that are left out there, since people have no majority. ``one_order`` says that each pair was
    asked in one order only: its verdict is that order's.
    """

    slice: str
    aspect: str
    counts: BothOrderCounts
    one_order: bool
    self_consistency: Estimate
    first_position: Estimate
    accuracy_orders_mean: Estimate
    accuracy_consistent: Estimate
    people: Estimate
    people_split: int


@dataclass(frozen=True, slots=True)
class PairReport:
    """What a judge version says of pairs: the account of its comparisons, and the figures by group."""

    judge: str
    fingerprint: str
    account: RunAccount
    unusable_as: UnusableAs
    groups: tuple[PairGroup, ...]


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

    Page, command and report take their figures from here. ``aspects`` begin with ``overall`` where there is one,
    ``query_types`` go by name.
    """

    def __init__(
        self,
        connection: Connection,
        version: StoredVersion | None,
        reviewer_id: int | None = None,
        pair_ids: Collection[int] | None = None,
    ) -> None:
        """Load them; ``reviewer_id`` is who looks, ``pair_ids`` limits them."""
        rows = load_comparisons(connection, [version.id], condition=PLAIN) if version else uncompared(connection)
        self.version = version
        self._one_order = version is not None and is_one_order(version, rows)
        wanted = None if pair_ids is None else set(pair_ids)
        self._rows = [row for row in rows if wanted is None or row.pair_id in wanted]
        self._preferences = load_preferences(connection, {row.pair_id for row in self._rows})
        self._votes = votes_by_pair(self._preferences)
        self._reviewer_id = reviewer_id
        self.aspects = tuple(sorted({row.aspect for row in self._rows}, key=lambda aspect: (aspect != OVERALL, aspect)))
        self.query_types = tuple(sorted({row.query_type for row in self._rows}))

    def groups(
        self,
        *,
        by_query_type: bool | None = None,
        aspects: Sequence[str] = (),
        unusable: UnusableAs = "drop",
    ) -> tuple[PairGroup, ...]:
        """Return the figures of every aspect, of all pairs and then of each query type; none without a version.

        Args:
            by_query_type: Whether also each query type is a slice; by default where there are several.
            aspects: Only these.
            unusable: As in `measure_pairs`.
        """
        if self.version is None:
            return ()
        by_query_type = len(self.query_types) > 1 if by_query_type is None else by_query_type
        groups = []
        for name in (ALL, *(self.query_types if by_query_type else ())):
            for aspect in sorted(self.aspects):
                rows = [row for row in self._of_aspect(aspect) if name in {ALL, row.query_type}]
                if rows and (not aspects or aspect in aspects):
                    groups.append(_group(name, aspect, rows, self._votes, self._one_order, unusable))
        return tuple(groups)

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
        rows = self._of_aspect(self.known_aspect(aspect))
        verdicts = order_verdicts(rows, one_order=self._one_order).verdicts.tolist()
        overruled = {
            (each.pair_id, each.aspect): each.preference
            for each in self._preferences
            if each.comparison_seen_id is not None
        }
        mine = {(each.pair_id, each.aspect) for each in self._preferences if each.reviewer_id == self._reviewer_id}
        lines = (
            PairLine(
                pair_id=row.pair_id,
                query_type=row.query_type,
                ab=row.ab,
                ba=row.ba,
                verdict=None if code in {NONE, INCONSISTENT} else _SIDES[code],
                inconsistent=code == INCONSISTENT,
                gold=row.gold,
                people=self._votes.get((row.pair_id, row.aspect)),
                overruled=overruled.get((row.pair_id, row.aspect)),
                mine=(row.pair_id, row.aspect) in mine,
            )
            for row, code in zip(rows, verdicts, strict=True)
        )
        return tuple(
            line for line in lines if line.listed_as(listed) and (not query_types or line.query_type in query_types)
        )

    def _of_aspect(self, aspect: str) -> list[BothOrders]:
        """The rows of an aspect; a gold says which answer is better all in all, so others have none."""
        rows = [row for row in self._rows if row.aspect == aspect]
        if aspect == OVERALL or len(self.aspects) == 1:
            return rows
        return [row._replace(gold=None) for row in rows]


def measure_pairs(
    store: Readable,
    judge_version: int | str,
    *,
    pair_ids: Collection[int] | None = None,
    by_query_type: bool = False,
    aspects: Sequence[str] = (),
    unusable: UnusableAs = "drop",
    account: RunAccount | None = None,
) -> PairReport:
    """Measure a judge version, asked here or recorded elsewhere, on the pairs that it compared.

    Args:
        store: Where they are.
        judge_version: As `get_version` takes it: an id, a name, a title or a fingerprint.
        pair_ids: Only these pairs; by default all that it was asked about.
        by_query_type: Also one group for each query type.
        aspects: Only these; by default all that it speaks of.
        unusable: What an unusable verdict counts as where verdicts are held against gold or people: left out
            (``drop``), a ``tie``, or ``wrong``.
        account: Of the run that has just asked, which may have been stopped before its first verdict; by default all
            comparisons of the version on these pairs are counted.

    Raises:
        NotFound: There is no such version, it compared none of these pairs, or does not speak of an aspect.
        BadInput: ``unusable`` is none of the three.
    """
    if unusable not in UNUSABLE_AS:
        raise BadInput(f"--unusable is one of {', '.join(UNUSABLE_AS)}, not {unusable!r}")
    with store.reading() as connection:
        version = get_version(connection, judge_version)
        pairs = ComparedPairs(connection, version, pair_ids=pair_ids)
        missing = [aspect for aspect in aspects if aspect not in pairs.aspects]
        if account is None and (not pairs.aspects or missing):
            what = f"of the aspect {missing[0]!r}" if missing else "of these pairs"
            raise NotFound(f"{version.title} has no comparison {what}")
        if account is None:
            account = RunAccount.of(status_counts(connection, version.id, pair_ids))
    groups = pairs.groups(by_query_type=by_query_type, aspects=aspects, unusable=unusable)
    return PairReport(version.title, version.fingerprint, account, unusable, groups)


def _group(
    name: str,
    aspect: str,
    rows: Sequence[BothOrders],
    votes: Mapping[tuple[int, str], Votes],
    one_order: bool,
    unusable: UnusableAs,
) -> PairGroup:
    verdicts = order_verdicts(rows, one_order=one_order)
    held = verdicts.verdicts != INCONSISTENT
    if unusable == "drop":
        held &= verdicts.verdicts != NONE
    gold = codes(row.gold for row in rows)
    said = [votes.get((row.pair_id, aspect)) for row in rows]
    people = codes(None if one is None else one.majority for one in said)
    return PairGroup(
        slice=name,
        aspect=aspect,
        counts=verdicts.counts(),
        one_order=one_order,
        self_consistency=verdicts.self_consistency(),
        first_position=verdicts.first_position(),
        accuracy_orders_mean=verdicts.accuracy_of_orders(gold, unusable, unknown=NO_GOLD),
        accuracy_consistent=verdicts.accuracy(gold, unusable, unknown=NO_GOLD),
        people=verdicts.accuracy(people, unusable, unknown=NO_PEOPLE),
        people_split=sum(
            bool(can) and one is not None and one.majority is None for can, one in zip(held, said, strict=True)
        ),
    )
