"""The figures of a judge on pairs, by slice and aspect (methods.md §3, pairwise)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.pair_records import OVERALL
from judgeboard.pairs.one_order import codes, is_one_order, order_verdicts
from judgeboard.pairs.votes import Votes, votes_by_pair
from judgeboard.run_account import RunAccount
from judgeboard.stats.both_orders import INCONSISTENT, NONE, UNUSABLE_AS, BothOrderCounts, UnusableAs
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.compared_pairs import status_counts
from judgeboard.store.pairs.comparisons import PLAIN, BothOrders, load_comparisons
from judgeboard.store.pairs.preferences import load_preferences

ALL = "all"
"""The slice of all pairs."""

NO_GOLD = "no gold on these pairs"
NO_PEOPLE = "no preference of people on these pairs"


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


def pair_report(
    connection: Connection,
    version: StoredVersion,
    *,
    pair_ids: Collection[int] | None = None,
    by_query_type: bool = False,
    aspects: Sequence[str] = (),
    unusable: UnusableAs = "drop",
    account: RunAccount | None = None,
) -> PairReport:
    """Measure a judge version on pairs, from what is stored of it.

    Args:
        connection: A transaction.
        version: The judge version.
        pair_ids: Only these pairs; by default all that it was asked about.
        by_query_type: Also one group for each query type.
        aspects: Only these; by default all that it speaks of.
        unusable: What an unusable verdict counts as where verdicts are held against gold or people: left out
            (``drop``), a ``tie``, or ``wrong``.
        account: Of the run that has just asked, which may have been stopped before its first verdict; by default all
            comparisons of the version on these pairs are counted.

    Raises:
        NotFound: The version compared none of these pairs, or does not speak of an aspect.
        BadInput: ``unusable`` is none of the three.
    """
    if unusable not in UNUSABLE_AS:
        raise BadInput(f"--unusable is one of {', '.join(UNUSABLE_AS)}, not {unusable!r}")
    rows = load_comparisons(connection, [version.id], condition=PLAIN)
    one_order = is_one_order(version, rows)
    wanted = None if pair_ids is None else set(pair_ids)
    rows = [row for row in rows if wanted is None or row.pair_id in wanted]
    only_aspect = len({row.aspect for row in rows}) == 1
    missing = [aspect for aspect in aspects if aspect not in {row.aspect for row in rows}]
    rows = [row for row in rows if not aspects or row.aspect in aspects]
    if account is None and (not rows or missing):
        what = f"of the aspect {missing[0]!r}" if missing else "of these pairs"
        raise NotFound(f"{version.title} has no comparison {what}")
    votes = votes_by_pair(load_preferences(connection, {row.pair_id for row in rows}))
    slices = [ALL, *(sorted({row.query_type for row in rows}) if by_query_type else ())]
    groups = measure_groups(rows, votes, slices, one_order=one_order, only_aspect=only_aspect, unusable=unusable)
    if account is None:
        account = RunAccount.of(status_counts(connection, version.id, wanted))
    return PairReport(version.title, version.fingerprint, account, unusable, groups)


def measure_groups(
    rows: Sequence[BothOrders],
    votes: Mapping[tuple[int, str], Votes],
    slices: Sequence[str],
    *,
    one_order: bool,
    only_aspect: bool,
    unusable: UnusableAs = "drop",
) -> tuple[PairGroup, ...]:
    """Return the figures of each slice and aspect that has pairs.

    Args:
        rows: What one judge version said, a row a pair and aspect.
        votes: What people say of them.
        slices: Query types, and `ALL`.
        one_order: Whether each pair was asked in one order only.
        only_aspect: Whether the version speaks of one aspect: a gold then is of that one, else of ``overall``.
        unusable: As in `pair_report`.
    """
    groups = []
    for name in slices:
        for aspect in sorted({row.aspect for row in rows}):
            group = [row for row in rows if row.aspect == aspect and name in {ALL, row.query_type}]
            if group:
                known = group if only_aspect or aspect == OVERALL else [row._replace(gold=None) for row in group]
                groups.append(_group(name, aspect, known, votes, one_order=one_order, unusable=unusable))
    return tuple(groups)


def _group(
    name: str,
    aspect: str,
    rows: Sequence[BothOrders],
    votes: Mapping[tuple[int, str], Votes],
    *,
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
