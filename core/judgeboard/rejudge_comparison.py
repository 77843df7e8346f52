"""Old and new verdicts side by side, for a run or for two judge versions, with the texts of the rows shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.agreement import PairSource
from judgeboard.domain import Label
from judgeboard.store.figures.verdict_pairs import PairTexts, VerdictPair, pairs_of_run, pairs_of_versions, texts_of
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard.store.reviews.ratings import LABELS
from judgeboard.verdict_changes import Compared, Comparison, Side, compare, comparison_sentence, side_of


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
        texts_of(connection, [row.pair for row in shown]),
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
