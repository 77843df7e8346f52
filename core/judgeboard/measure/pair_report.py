"""A judge's comparisons of pairs: figures by slice and aspect, rankings of models, and lists of pairs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Estimate, Preference
from judgeboard.errors import NotFound, check_known
from judgeboard.formats.output import Column, Table
from judgeboard.measure.agreement_notes import order_note
from judgeboard.measure.notes import Note, note
from judgeboard.runs.method import RunAccount
from judgeboard.stats.arrays import IntArray, grouping
from judgeboard.stats.model_ranking import RankedModel, rank_models, ranking_correlations
from judgeboard.stats.pair_orders import (
    INCONSISTENT,
    INCONSISTENT_AS,
    NONE,
    TIE,
    UNUSABLE_AS,
    A,
    BothOrderCounts,
    InconsistentAs,
    OrderVerdicts,
    UnusableAs,
)
from judgeboard.store import comparisons, preferences
from judgeboard.store.engine import Readable
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import matching_pairs
from judgeboard.store.statements import record_of

ALL = "all"

BY_WORDS = {"judge": "the judge", "gold": "gold", "people": "people", "votes": "each person's vote"}

NO_GOLD = "these pairs have no gold preference"
NO_PEOPLE = "people have not compared these pairs"

CORRELATIONS = ("Pearson", "Spearman", "Kendall's tau-b")

_SIDES = {0: Preference.A, 1: Preference.B, 2: Preference.TIE}


@dataclass(frozen=True, slots=True)
class PairGroup:
    """The figures of one slice and aspect.

    ``changed_with_order`` is the share of pairs with different verdicts in the two orders; ``leans_first`` and
    ``leans_second`` are its parts by the place of the preferred answer. ``inconsistent_as`` is how these pairs count in
    ``accuracy`` (agreement with gold) and ``people`` (agreement with their majority). ``people_split`` counts verdicts
    on pairs without a majority. With ``one_order``, each pair was compared in one order only; that preference is the
    verdict.
    """

    slice: str
    aspect: str
    counts: BothOrderCounts
    one_order: bool
    inconsistent_as: InconsistentAs
    changed_with_order: Estimate
    self_consistency: Estimate
    first_position: Estimate
    leans_first: Estimate
    leans_second: Estimate
    accuracy: Estimate
    accuracy_orders_mean: Estimate
    accuracy_consistent: Estimate
    people: Estimate
    people_orders_mean: Estimate
    people_consistent: Estimate
    people_split: int


Ranker = Literal["judge", "gold", "people", "votes"]
"""Whose preferences rank the models."""


@dataclass(frozen=True, slots=True)
class ModelRanking:
    """The models that wrote the answers, the strongest first, by the preferences of ``by`` on one aspect.

    ``people`` is their majority on a pair; ``votes`` counts every person's preference. ``left_out`` pairs have no such
    preference, or two answers of one model. An answer without a model counts for its source. The
    judge's ranking has the ``correlations`` of its win rates with those by people (``compared_with``; else by gold).
    """

    aspect: str
    by: Ranker
    pairs: int
    left_out: int
    models: tuple[RankedModel, ...]
    compared_with: Ranker | None = None
    correlations: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairReport:
    """The comparisons of a judge version on the pairs that match ``where``: account of its calls, and figures.

    Without a judge version (``judge`` is None) there are only the rankings of models by gold and people.
    """

    judge: str | None
    fingerprint: str | None
    account: RunAccount
    unusable_as: UnusableAs
    where: Mapping[str, Any]
    groups: tuple[PairGroup, ...]
    rankings: tuple[ModelRanking, ...] = ()


class Listed(StrEnum):
    """Which pairs a list contains."""

    ALL = "all"
    INCONSISTENT = "inconsistent"
    WRONG = "wrong"
    UNMEASURED = "unmeasured"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class PairLine:
    """One pair and aspect.

    ``verdict`` is the judge's; if it is None, ``inconsistent`` is True or the pair is unmeasured.
    """

    pair_id: int
    query_type: str
    ab: Preference | None
    ba: Preference | None
    verdict: Preference | None
    inconsistent: bool
    gold: Preference | None
    people: preferences.Votes | None

    @property
    def truth(self) -> Preference | None:
        """The gold preference, or else the majority of people."""
        return self.gold if self.gold is not None else self.people.majority if self.people is not None else None

    @property
    def wrong(self) -> bool:
        """Whether the verdict differs from a known truth."""
        return self.verdict is not None and self.truth is not None and self.verdict != self.truth

    def listed_as(self, what: Listed) -> bool:
        """Whether a list contains the pair."""
        return {
            Listed.ALL: True,
            Listed.INCONSISTENT: self.inconsistent,
            Listed.WRONG: self.wrong,
            Listed.UNMEASURED: self.verdict is None and not self.inconsistent,
            Listed.UNJUDGED: self.people is None,
        }[what]


class ComparedPairs:
    """The pairs that a judge version compared, loaded once; all pairs without a version. ``pair_ids`` limits them.

    Page, command and report take their figures from here. ``aspects`` start with ``overall``, if it exists.
    """

    def __init__(
        self,
        connection: Connection,
        version: StoredVersion | None,
        pair_ids: Collection[int] | None = None,
    ) -> None:
        rows = (
            comparisons.load_comparisons(connection, [version.id], condition=comparisons.PLAIN)
            if version
            else comparisons.uncompared(connection)
        )
        self.version = version
        self._one_order = version is not None and preferences.is_one_order(version, rows)
        wanted = None if pair_ids is None else set(pair_ids)
        self._rows = [row for row in rows if wanted is None or row.pair_id in wanted]
        of_people = preferences.load_preferences(connection, {row.pair_id for row in self._rows})
        self._single = preferences.counted_preferences(of_people)
        self._votes = preferences.votes_by_pair(of_people)
        self._models = comparisons.pair_models(connection, {row.pair_id for row in self._rows})
        self.aspects = tuple(sorted({row.aspect for row in self._rows}, key=lambda aspect: (aspect != OVERALL, aspect)))
        self.query_types = tuple(sorted({row.query_type for row in self._rows}))

    def groups(
        self,
        *,
        by_query_type: bool | None = None,
        aspects: Sequence[str] = (),
        unusable: UnusableAs = "drop",
        inconsistent: InconsistentAs = "net",
    ) -> tuple[PairGroup, ...]:
        """Return the figures of every aspect, for all pairs and then per query type; empty without a version.

        ``by_query_type`` adds the query types (default: if there are several). Other arguments are as in
        `measure_pairs`.
        """
        if self.version is None:
            return ()
        by_query_type = len(self.query_types) > 1 if by_query_type is None else by_query_type
        groups = []
        for name in (ALL, *(self.query_types if by_query_type else ())):
            for aspect in sorted(self.aspects):
                rows = [row for row in self._of_aspect(aspect) if name in {ALL, row.query_type}]
                if rows and (not aspects or aspect in aspects):
                    verdicts = preferences.order_verdicts(rows, one_order=self._one_order)
                    groups.append(_group(name, aspect, rows, verdicts, self._votes, inconsistent, unusable))
        return tuple(groups)

    def rankings(
        self, *, aspects: Sequence[str] = (), unusable: UnusableAs = "drop", inconsistent: InconsistentAs = "net"
    ) -> tuple[ModelRanking, ...]:
        """Return the models of each aspect by the preferences of the judge, of gold and of people, if there are any."""
        rankings = []
        for aspect in sorted(self.aspects):
            if aspects and aspect not in aspects:
                continue
            rows = self._of_aspect(aspect)
            verdicts = preferences.order_verdicts(rows, one_order=self._one_order)
            votes = [self._votes.get((row.pair_id, aspect)) for row in rows]
            single = [self._single.get((row.pair_id, aspect), {}).values() for row in rows]
            every, places = np.arange(len(rows)), np.repeat(np.arange(len(rows)), [len(each) for each in single])
            preferred: dict[Ranker, tuple[IntArray, IntArray]] = {
                "judge": (every, verdicts.counted(inconsistent, unusable)),
                "gold": (every, preferences.codes(row.gold for row in rows)),
                "people": (every, preferences.codes(None if vote is None else vote.majority for vote in votes)),
            }
            if len(np.unique(places)) < len(places):
                sides = (preferences.side_of(each) for of_pair in single for each in of_pair)
                preferred["votes"] = places, preferences.codes(sides)
            first, second = np.array([self._models[row.pair_id] for row in rows], dtype=np.str_).T
            of_aspect: dict[Ranker, ModelRanking] = {}
            for by, (at, chosen) in preferred.items():
                known = (chosen >= A) & (chosen <= TIE) & (first != second)[at]
                if known.any():
                    rated = at[known]
                    questions = grouping(verdicts.questions[rated], rated.size, row="pair", group="question")
                    ranked = rank_models(first[rated], second[rated], chosen[known], questions)
                    pairs = len(np.unique(rated))
                    of_aspect[by] = ModelRanking(aspect, by, pairs, len(rows) - pairs, ranked)
            rankings += _with_correlations(of_aspect)
        return tuple(rankings)

    def lines(self, aspect: str, listed: Listed = Listed.ALL, query_types: Sequence[str] = ()) -> tuple[PairLine, ...]:
        """Return the pairs of an aspect that are in a list of the report, ordered by id."""
        rows = self._of_aspect(aspect)
        verdicts = preferences.order_verdicts(rows, one_order=self._one_order).verdicts.tolist()
        lines = (
            record_of(
                PairLine,
                row,
                verdict=None if code in {NONE, INCONSISTENT} else _SIDES[code],
                inconsistent=code == INCONSISTENT,
                people=self._votes.get((row.pair_id, row.aspect)),
            )
            for row, code in zip(rows, verdicts, strict=True)
        )
        return tuple(
            line for line in lines if line.listed_as(listed) and (not query_types or line.query_type in query_types)
        )

    def _of_aspect(self, aspect: str) -> list[comparisons.BothOrders]:
        """Return the rows of an aspect. The gold preference is overall, so other aspects have none."""
        rows = [row for row in self._rows if row.aspect == aspect]
        if aspect == OVERALL or len(self.aspects) == 1:
            return rows
        return [row._replace(gold=None) for row in rows]


def _with_correlations(rankings: Mapping[Ranker, ModelRanking]) -> list[ModelRanking]:
    """Return the rankings; that of the judge gets the correlations of its win rates with those by people or gold."""
    by_judge = rankings.get("judge")
    truth = rankings.get("people") or rankings.get("gold")
    if by_judge is None or truth is None:
        return list(rankings.values())
    compared = replace(
        by_judge, compared_with=truth.by, correlations=ranking_correlations(by_judge.models, truth.models)
    )
    return [compared, *(ranking for ranking in rankings.values() if ranking.by != "judge")]


def measure_pairs(
    store: Readable,
    judge_version: int | str | None,
    *,
    pair_ids: Collection[int] | None = None,
    by_query_type: bool = False,
    aspects: Sequence[str] = (),
    inconsistent: InconsistentAs = "net",
    unusable: UnusableAs = "drop",
    account: RunAccount | None = None,
    where: RowFilter | None = None,
) -> PairReport:
    """Measure a judge version on the pairs that it compared, here or elsewhere.

    Agreement with gold and people counts pairs with different verdicts in the two orders as ``inconsistent`` tells, and
    pairs without a usable verdict as ``unusable`` tells; both as in `measure_agreement`. ``account`` is that of a run
    (default: all comparisons of the version on these pairs). Only pairs that match ``where`` count: query type,
    source, id and the model of either answer. Without a judge version, only models are ranked, by gold and people.

    Raises NotFound if there is no such version, or it has no comparisons of these pairs or aspects.
    """
    check_known("--inconsistent", inconsistent, INCONSISTENT_AS)
    check_known("--unusable", unusable, UNUSABLE_AS)
    with store.reading() as connection:
        version = None if judge_version is None else get_version(connection, judge_version)
        if (wanted := matching_pairs(connection, where or RowFilter())) is not None:
            pair_ids = wanted if pair_ids is None else wanted.intersection(pair_ids)
        pairs = ComparedPairs(connection, version, pair_ids=pair_ids)
        missing = [aspect for aspect in aspects if aspect not in pairs.aspects]
        if account is None:
            if not pairs.aspects or missing:
                what = f"for the aspect {missing[0]!r}" if missing else "of these pairs"
                if version is None and pairs.aspects:
                    raise NotFound(f"models are ranked {what} only with --judge-version; without it, on {OVERALL}")
                if version is None:
                    raise NotFound("no such pairs are stored: `judgeboard import --kind pairs FILE`")
                raise NotFound(f"{version.title} has no comparison {what}")
            counts = {} if version is None else comparisons.status_counts(connection, version.id, pair_ids)
            account = RunAccount.of(counts)
    groups = pairs.groups(by_query_type=by_query_type, aspects=aspects, inconsistent=inconsistent, unusable=unusable)
    rankings = pairs.rankings(aspects=aspects, inconsistent=inconsistent, unusable=unusable)
    kept = (where or RowFilter()).as_dict()
    title, fingerprint = (None, None) if version is None else (version.title, version.fingerprint)
    return PairReport(title, fingerprint, account, unusable, kept, groups, rankings)


def _group(
    name: str,
    aspect: str,
    rows: Sequence[comparisons.BothOrders],
    verdicts: OrderVerdicts,
    votes: Mapping[tuple[int, str], preferences.Votes],
    inconsistent: InconsistentAs,
    unusable: UnusableAs,
) -> PairGroup:
    gold = preferences.codes(row.gold for row in rows)
    row_votes = [votes.get((row.pair_id, aspect)) for row in rows]
    people = preferences.codes(None if vote is None else vote.majority for vote in row_votes)
    return PairGroup(
        slice=name,
        aspect=aspect,
        counts=verdicts.counts(),
        one_order=verdicts.one_order,
        inconsistent_as=inconsistent,
        changed_with_order=verdicts.changed_with_order(),
        self_consistency=verdicts.self_consistency(),
        first_position=verdicts.first_position(),
        leans_first=verdicts.leans("first"),
        leans_second=verdicts.leans("second"),
        accuracy=verdicts.accuracy(gold, inconsistent, unusable, unknown=NO_GOLD),
        accuracy_orders_mean=verdicts.accuracy_of_orders(gold, unusable, unknown=NO_GOLD),
        accuracy_consistent=verdicts.accuracy(gold, "drop", unusable, unknown=NO_GOLD),
        people=verdicts.accuracy(people, inconsistent, unusable, unknown=NO_PEOPLE),
        people_orders_mean=verdicts.accuracy_of_orders(people, unusable, unknown=NO_PEOPLE),
        people_consistent=verdicts.accuracy(people, "drop", unusable, unknown=NO_PEOPLE),
        people_split=sum(
            bool(counts) and vote is not None and vote.majority is None
            for counts, vote in zip(verdicts.counted(inconsistent, unusable) >= 0, row_votes, strict=True)
        ),
    )


def outcomes_table(groups: Sequence[PairGroup]) -> Table:
    """Return how many verdicts prefer which answer; "changed" and "tie once" are pairs whose verdicts differ."""
    names = ("pairs", "A better", "B better", "tie", "changed", "tie once", "no verdict")
    rows = (
        (
            *(group.slice, group.aspect, group.counts.pairs, group.counts.wins_a, group.counts.wins_b),
            *(group.counts.ties, group.counts.flips, group.counts.tie_win, group.counts.unmeasured),
        )
        for group in groups
    )
    return Table((Column("Pairs"), Column("Aspect"), *(Column(name, "count") for name in names)), tuple(rows))


def group_notes(group: PairGroup) -> Iterator[Note]:
    """Yield how pairs with different verdicts count, and how many are not compared with people."""
    yield from order_note(group.changed_with_order, group.inconsistent_as)
    if group.people_split:
        yield note("people_split", n=group.people_split)


def figures_of(group: PairGroup) -> list[tuple[str, Estimate]]:
    """Return the statistics of a group with their names."""
    one, known = group.one_order, group.people.value is not None
    figures = [
        ("preference changed with the order", group.changed_with_order),
        ("changed, prefers the answer shown first", None if one else group.leans_first),
        ("changed, prefers the answer shown second", None if one else group.leans_second),
        ("same preference in both orders", group.self_consistency),
        ("prefers the answer shown first", group.first_position),
        ("accuracy by gold", group.accuracy),
        ("accuracy by gold, mean of both orders", None if one else group.accuracy_orders_mean),
        ("accuracy by gold, consistent verdicts", None if one else group.accuracy_consistent),
        ("agrees with the majority of people", group.people),
        ("agrees with people, mean of both orders", group.people_orders_mean if known and not one else None),
        ("agrees with people, consistent verdicts", group.people_consistent if known and not one else None),
    ]
    return [(name, estimate) for name, estimate in figures if estimate is not None]


def figures_table(groups: Sequence[PairGroup]) -> Table:
    """Return the statistics of groups, one per row."""
    columns = (Column("Pairs"), Column("Aspect"), Column("Figure"), Column("n", "count"))
    rows = (
        (group.slice, group.aspect, name, estimate.n, estimate)
        for group in groups
        for name, estimate in figures_of(group)
    )
    return Table((*columns, Column("Value", "share estimate")), tuple(rows))


def models_table(rankings: Sequence[ModelRanking]) -> Table:
    """Return the models of rankings, one per row."""
    columns = (
        *(Column("Model", width=170), Column("Preferences of", width=120), Column("Aspect")),
        Column("n", "count", width=55, help="Pairs, or votes where each person's vote counts"),
        *(Column("Wins", "share estimate", width=140), Column("Strength", "estimate", width=275)),
    )
    rows = (
        (each.model, BY_WORDS[ranking.by], ranking.aspect, each.n, each.win_rate, each.strength)
        for ranking in rankings
        for each in ranking.models
    )
    return Table(columns, tuple(rows))


def correlations_table(rankings: Sequence[ModelRanking]) -> Table:
    """Return how far the win rates of rankings follow those that they are compared with."""
    columns = (
        Column("Aspect"),
        Column("Win rates compared with"),
        *(Column(name, "estimate") for name in CORRELATIONS),
    )
    rows = (
        (ranking.aspect, BY_WORDS[ranking.compared_with], *ranking.correlations.values())
        for ranking in rankings
        if ranking.compared_with is not None and ranking.correlations
    )
    return Table(columns, tuple(rows))


def report_note(report: PairReport) -> Note:
    """Return whose preferences the report has."""
    if report.judge is not None:
        return note("compared", judge=report.judge, calls=report.account.words("comparisons asked"))
    return note("preferences" if report.rankings else "no_ranking")
