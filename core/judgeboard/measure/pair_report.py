"""A judge's comparisons of pairs: figures by slice and aspect, and lists of pairs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Estimate, Preference
from judgeboard.errors import NotFound, check_known
from judgeboard.measure.agreement_notes import order_note
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.runs.method import RunAccount
from judgeboard.stats.pair_orders import (
    INCONSISTENT,
    INCONSISTENT_AS,
    NONE,
    UNUSABLE_AS,
    InconsistentAs,
    OrderVerdicts,
    UnusableAs,
)
from judgeboard.store import comparisons, preferences
from judgeboard.store.engine import Readable
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.pairs import matching_pairs
from judgeboard.store.statements import record_of
from judgeboard.store.tables import StoredVersion

NO_GOLD = "these pairs have no gold preference"
NO_PEOPLE = "people have not compared these pairs"

COUNTS = ("pairs", "wins_a", "wins_b", "ties", "flips", "tie_win", "unmeasured")
"""How many pairs prefer which answer; ``flips`` and ``tie_win`` are pairs with verdicts that differ with the order."""
FIGURES = (
    *("self_consistency", "first_position", "changed_with_order", "leans_first", "leans_second"),
    *("accuracy", "accuracy_orders_mean", "accuracy_consistent"),
    *("people", "people_orders_mean", "people_consistent"),
)

_SIDES = {0: Preference.A, 1: Preference.B, 2: Preference.TIE}


@dataclass(frozen=True, slots=True)
class PairReport:
    """The comparisons of a judge version on pairs: the account of its calls, and a result for each aspect."""

    judge: str
    fingerprint: str
    account: RunAccount
    unusable_as: UnusableAs
    aspects: tuple[Result, ...]


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

    ``verdict`` is the judge's. Without a verdict, ``inconsistent`` is True or the pair is
    unmeasured.
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
        return (
            self.gold
            if self.gold is not None
            else self.people.majority
            if self.people is not None
            else None
        )

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
    """The pairs that a judge version compared, loaded once; all pairs without a version. ``pair_ids`` limits the pairs.

    Page, command and report take their figures from here. ``aspects`` start with ``overall``, if
    there is one.
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
        ids = None if pair_ids is None else set(pair_ids)
        self._rows = [row for row in rows if ids is None or row.pair_id in ids]
        of_people = preferences.load_preferences(connection, {row.pair_id for row in self._rows})
        self._votes = preferences.votes_by_pair(of_people)
        self.aspects = tuple(
            sorted(
                {row.aspect for row in self._rows}, key=lambda aspect: (aspect != OVERALL, aspect)
            )
        )
        self.query_types = tuple(sorted({row.query_type for row in self._rows}))

    def figures(
        self,
        *,
        by_query_type: bool | None = None,
        aspects: Sequence[str] = (),
        unusable: UnusableAs = "drop",
        inconsistent: InconsistentAs = "net",
    ) -> tuple[Result, ...]:
        """Return the figures of every aspect (``about.grade``), on all pairs and per query type.

        Without a version there are no figures. ``by_query_type`` adds the query types (default: if
        there are several). Other arguments are as in `measure_pairs`.
        """
        if self.version is None:
            return ()
        by_query_type = len(self.query_types) > 1 if by_query_type is None else by_query_type
        results = []
        for aspect in sorted(self.aspects):
            if aspects and aspect not in aspects:
                continue
            of_aspect, rows, caveats = self._of_aspect(aspect), list[Row](), list[Note]()
            for name in (ALL, *(self.query_types if by_query_type else ())):
                part = [row for row in of_aspect if name in {ALL, row.query_type}]
                if not part:
                    continue
                verdicts = preferences.order_verdicts(part, one_order=self._one_order)
                votes = [self._votes.get((row.pair_id, aspect)) for row in part]
                figures = _figures(part, verdicts, votes, inconsistent, unusable)
                rows += (Row.of(figure, name, each) for figure, each in figures.items())
                if name is ALL:
                    caveats = [note("one_order")] if verdicts.one_order else []
                    caveats += order_note(figures["changed_with_order"], inconsistent)
                    if without_majority := figures["people_split"].value:
                        caveats.append(note("people_split", n=round(without_majority)))
            headline = note(
                "compared_pairs", judge=self.version.title, aspect=aspect, n=len(of_aspect)
            )
            about = About(judges=(self.version.title,), grade=aspect, by="query_type", unit="pairs")
            results.append(
                Result(about=about, headline=headline, rows=tuple(rows), caveats=tuple(caveats))
            )
        return tuple(results)

    def lines(
        self, aspect: str, listed: Listed = Listed.ALL, query_types: Sequence[str] = ()
    ) -> tuple[PairLine, ...]:
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
            line
            for line in lines
            if line.listed_as(listed) and (not query_types or line.query_type in query_types)
        )

    def _of_aspect(self, aspect: str) -> list[comparisons.BothOrders]:
        """Return the rows of an aspect. The gold preference is overall, so rows of other aspects have none."""
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
    inconsistent: InconsistentAs = "net",
    unusable: UnusableAs = "drop",
    account: RunAccount | None = None,
    where: RowFilter | None = None,
) -> PairReport:
    """Measure a judge version on the pairs that it compared, here or elsewhere.

    In the agreement with gold and people, ``inconsistent`` decides how pairs with different
    verdicts in the two orders count, and ``unusable`` how pairs without a usable verdict count;
    both as in `measure_agreement`. ``account`` is that of a run (default: all comparisons of the
    version on these pairs). Only pairs that match ``where`` count: query type, source, id and the
    model of either answer.

    Raises NotFound if there is no such version, or if the version has no comparisons of these pairs
    or aspects.
    """
    check_known("--inconsistent", inconsistent, INCONSISTENT_AS)
    check_known("--unusable", unusable, UNUSABLE_AS)
    with store.reading() as connection:
        version = get_version(connection, judge_version)
        if (matching_ids := matching_pairs(connection, where or RowFilter())) is not None:
            pair_ids = matching_ids if pair_ids is None else matching_ids.intersection(pair_ids)
        pairs = ComparedPairs(connection, version, pair_ids=pair_ids)
        absent = [aspect for aspect in aspects if aspect not in pairs.aspects]
        if account is None:
            if not pairs.aspects or absent:
                what = f"for the aspect {absent[0]!r}" if absent else "of these pairs"
                raise NotFound(f"{version.title} has no comparison {what}")
            account = RunAccount.of(comparisons.status_counts(connection, version.id, pair_ids))
    figures = pairs.figures(
        by_query_type=by_query_type, aspects=aspects, inconsistent=inconsistent, unusable=unusable
    )
    conditions = (where or RowFilter()).as_dict()
    figures = tuple(replace(each, about=replace(each.about, where=conditions)) for each in figures)
    return PairReport(version.title, version.fingerprint, account, unusable, figures)


def _figures(
    rows: Sequence[comparisons.BothOrders],
    verdicts: OrderVerdicts,
    votes: Sequence[preferences.Votes | None],
    inconsistent: InconsistentAs,
    unusable: UnusableAs,
) -> dict[str, Estimate]:
    """Return the figures of pairs, by name.

    ``changed_with_order`` is the share of pairs with different verdicts in the two orders;
    ``leans_first`` and ``leans_second`` are its parts by the place of the preferred answer.
    ``accuracy`` is agreement with gold, ``people`` with their majority. ``people_split`` counts
    verdicts on pairs without a majority.
    """
    gold = preferences.codes(row.gold for row in rows)
    people = preferences.codes(None if vote is None else vote.majority for vote in votes)
    has_verdict = verdicts.counted(inconsistent, unusable) >= 0
    without_majority = sum(
        bool(is_judged) and vote is not None and vote.majority is None
        for is_judged, vote in zip(has_verdict, votes, strict=True)
    )
    counts = verdicts.counts() | {"people_split": without_majority}
    figures = {name: Estimate(n, n=len(rows)) for name, n in counts.items()}
    figures |= {
        "changed_with_order": verdicts.changed_with_order(),
        "self_consistency": verdicts.self_consistency(),
        "first_position": verdicts.first_position(),
    }
    if not verdicts.one_order:
        figures |= {f"leans_{place}": verdicts.leans(place) for place in ("first", "second")}
    for name, truth, why in (("accuracy", gold, NO_GOLD), ("people", people, NO_PEOPLE)):
        figures[name] = verdicts.accuracy(truth, inconsistent, unusable, unknown=why)
        if not verdicts.one_order and figures[name].value is not None:
            figures[f"{name}_orders_mean"] = verdicts.accuracy_of_orders(
                truth, unusable, unknown=why
            )
            figures[f"{name}_consistent"] = verdicts.accuracy(truth, "drop", unusable, unknown=why)
    return figures


def report_note(report: PairReport) -> Note:
    """Return the note with the judge of the report, and how many comparisons were asked."""
    return note("compared", judge=report.judge, calls=report.account.words("comparisons asked"))
