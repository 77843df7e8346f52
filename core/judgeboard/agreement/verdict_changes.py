"""Old and new verdicts side by side: which changed side, and with which people agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from judgeboard.agreement.ratings import PairSource
from judgeboard.domain import Label
from judgeboard.flags.rule import HALF_STEP
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.proportions import mcnemar
from judgeboard.store.grades import LABELS
from judgeboard.store.judge_versions import get_version
from judgeboard.store.verdict_pairs import (
    OneVerdict,
    PairTexts,
    VerdictPair,
    pair_texts,
    pairs_of_run,
    pairs_of_versions,
)


class Side(StrEnum):
    """Where a verdict or a person stands: the label as given, else the groundedness cut at the rule's threshold."""

    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Compared:
    """One response: the sides of both verdicts and of people (None: not said), and the change of groundedness."""

    pair: VerdictPair
    old_side: Side | None
    new_side: Side | None
    people: Side | None
    change: float | None

    @property
    def flip(self) -> Side | None:
        """The new side where it is another than the old one, None where it is not or one is unknown."""
        if self.old_side is None or self.new_side is None or self.old_side is self.new_side:
            return None
        return self.new_side


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs in order of interest, and their counts.

    ``compared`` pairs have both sides; ``graded`` of them people graded. ``p`` is McNemar's exact two-sided p for the
    old and the new verdicts being right equally often on the graded ones, None without any.
    """

    rows: tuple[Compared, ...]
    compared: int
    now_good: int
    now_bad: int
    graded: int
    old_right: int
    new_right: int
    p: float | None


def side_of(label: str | None, groundedness: float | None, cut: float) -> Side | None:
    """Return the side of a label, else of a groundedness (0 to 1, bad below ``cut``), None without either."""
    if label is not None:
        return Side.BAD if label == Label.HALLUCINATED else Side.GOOD
    if groundedness is None:
        return None
    return Side.BAD if groundedness < cut - HALF_STEP else Side.GOOD


def compare(pairs: Sequence[VerdictPair], people: Mapping[int, Side], cut: float) -> Comparison:
    """Return every pair, those that changed side first, then the largest change of groundedness, then by response.

    Args:
        pairs: Old and new verdict of each response.
        people: What people say, by response.
        cut: Below this groundedness a verdict without a label is bad.
    """
    rows = [
        Compared(
            pair,
            _side(pair.old, cut),
            _side(pair.new, cut),
            people.get(pair.response_id),
            _change(pair),
        )
        for pair in pairs
    ]
    both = [row for row in rows if row.old_side is not None and row.new_side is not None]
    graded = [row for row in both if row.people is not None]
    old_right = sum(row.old_side is row.people for row in graded)
    new_right = sum(row.new_side is row.people for row in graded)
    flips = [row for row in graded if row.flip is not None]
    only_old = sum(row.old_side is row.people for row in flips)
    return Comparison(
        tuple(sorted(rows, key=_interest)),
        len(both),
        sum(row.flip is Side.GOOD for row in both),
        sum(row.flip is Side.BAD for row in both),
        len(graded),
        old_right,
        new_right,
        mcnemar(only_old, len(flips) - only_old) if graded else None,
    )


def comparison_sentence(comparison: Comparison, old: str, new: str) -> str:
    """Return how many verdicts changed side, and on how many of the graded ones each side is right.

    Args:
        comparison: What was compared.
        old: What to call the old verdicts ("rag v3").
        new: What to call the new ones.
    """
    if comparison.compared == 0:
        return "No answer has both an old and a new verdict that say good or bad."
    n, flips = comparison.compared, comparison.now_good + comparison.now_bad
    if flips == 0:
        said = "The verdict did not change side." if n == 1 else f"None of {n:,} verdicts changed side."
    else:
        ways = f"{comparison.now_good:,} from bad to good, {comparison.now_bad:,} from good to bad"
        said = f"{flips:,} of {n:,} verdicts changed side: {ways}."
    if comparison.graded == 0 or comparison.p is None:
        return f"{said} People graded none of them."
    right = f"{new} is right on {comparison.new_right:,}, {old} on {comparison.old_right:,}"
    if comparison.graded >= MIN_PAIRS:
        right += f" (McNemar p {'under 0.001' if comparison.p < 0.001 else format(comparison.p, '.2g')})"
    return f"{said} Of the {comparison.graded:,} that people graded, {right}."


def _side(verdict: OneVerdict, cut: float) -> Side | None:
    return side_of(verdict.label, verdict.groundedness, cut)


def _change(pair: VerdictPair) -> float | None:
    if pair.old.groundedness is None or pair.new.groundedness is None:
        return None
    return round(pair.new.groundedness - pair.old.groundedness, 9)


def _interest(row: Compared) -> tuple[bool, float, int]:
    return row.flip is None, -abs(row.change or 0.0), row.pair.response_id


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """The comparison with one page of its rows' texts, by response; titles name the versions ("rag v3")."""

    sentence: str
    comparison: Comparison
    shown: tuple[Compared, ...]
    texts: Mapping[int, PairTexts]
    old_titles: tuple[str, ...]
    new_titles: tuple[str, ...]


def run_comparison(connection: Connection, run_id: int, *, offset: int = 0, limit: int = 50) -> ComparisonPage:
    """Return what a run said beside what the same judge had said before.

    Raises:
        NotFound: There is no such run, or it has no judge version.
    """
    return _page(connection, pairs_of_run(connection, run_id), offset, limit)


def version_comparison(
    connection: Connection, old_version_id: int, new_version_id: int, *, offset: int = 0, limit: int = 50
) -> ComparisonPage:
    """Return the current verdicts of two judge versions on the responses that both judged."""
    return _page(connection, pairs_of_versions(connection, old_version_id, new_version_id), offset, limit)


def _page(connection: Connection, pairs: list[VerdictPair], offset: int, limit: int) -> ComparisonPage:
    source = PairSource.open(connection)
    comparison = compare(pairs, _people(source), source.cut)
    shown = comparison.rows[offset : offset + limit]
    titles = {
        version_id: get_version(connection, version_id).title
        for version_id in {verdict.version_id for pair in pairs for verdict in (pair.old, pair.new)}
    }
    old, new = (
        tuple(titles[version_id] for version_id in sorted(ids))
        for ids in ({pair.old.version_id for pair in pairs}, {pair.new.version_id for pair in pairs})
    )
    calls = ("the old verdict" if len(old) != 1 or old == new else old[0], new[0] if len(new) == 1 else "the new one")
    return ComparisonPage(
        comparison_sentence(comparison, calls[0], calls[1] if old != new else "the new one"),
        comparison,
        shown,
        pair_texts(connection, [row.pair for row in shown]),
        old,
        new,
    )


def _people(source: PairSource) -> dict[int, Side]:
    """Return the side of people: the label of most, else their mean groundedness cut like a judge's."""
    labels, scores = source.people("label"), source.people("groundedness")
    sides = {
        response_id: side
        for response_id, value in zip(scores.response_ids.tolist(), scores.values.tolist(), strict=True)
        for side in (side_of(None, value, source.cut),)
        if side is not None
    }
    for response_id, code in zip(labels.response_ids.tolist(), labels.values.tolist(), strict=True):
        sides[response_id] = Side.BAD if LABELS[code] == Label.HALLUCINATED else Side.GOOD
    return sides
