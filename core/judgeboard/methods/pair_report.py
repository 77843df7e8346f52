"""Figures of a judge on pairs by slice and aspect, the pairs in lines, and both in words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Estimate, Preference, Shown
from judgeboard.errors import BadInput, NotFound
from judgeboard.reviews.shown import order_for, shown_side, stored_side
from judgeboard.runs.method import RunAccount
from judgeboard.stats.both_orders import INCONSISTENT, NONE, UNUSABLE_AS, BothOrderCounts, UnusableAs
from judgeboard.stats.estimates import percent_words
from judgeboard.store.comparisons import (
    PLAIN,
    BothOrders,
    LatestComparison,
    latest_comparisons,
    load_comparisons,
    status_counts,
    uncompared,
)
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import load_pairs
from judgeboard.store.preferences import (
    CurrentPreference,
    Votes,
    codes,
    is_one_order,
    load_preferences,
    order_verdicts,
    own_preferences,
    saw_hidden_parts,
    votes_by_pair,
)

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


_UNUSABLE = {
    "drop": "",
    "tie": " An unusable verdict counts as a tie against gold and people.",
    "wrong": " An unusable verdict counts as wrong against gold and people.",
}


def group_title(group: PairGroup) -> str:
    """Return what a group is of: "all pairs, overall"."""
    return f"{'all pairs' if group.slice == ALL else group.slice}, {group.aspect}"


def outcome_words(group: PairGroup) -> str:
    """Return how the pairs of a group came out, in one line."""
    counts = group.counts
    said = f"{counts.pairs:,} pairs: A better {counts.wins_a:,}, B better {counts.wins_b:,}, tie {counts.ties:,}"
    if group.one_order:
        said += "; asked in one order only"
    else:
        said += f"; inconsistent: {counts.flips:,} name both answers, {counts.tie_win:,} a tie in one order"
    return f"{said}; unmeasured {counts.unmeasured:,}"


def figures_of(group: PairGroup) -> list[tuple[str, Estimate]]:
    """Return the statistics of a group under the names that people read."""
    # Of one order the two accuracies are one.
    gold = (
        [("right by gold", group.accuracy_consistent)]
        if group.one_order
        else [
            ("right by gold, mean of the orders", group.accuracy_orders_mean),
            ("right by gold, consistent verdicts", group.accuracy_consistent),
        ]
    )
    return [
        ("self-consistency", group.self_consistency),
        ("names the answer shown first", group.first_position),
        *gold,
        ("as the majority of people", group.people),
    ]


def group_lines(group: PairGroup) -> list[str]:
    """Return a group in lines for a terminal."""
    lines = [f"{group_title(group)}: {outcome_words(group)}"]
    for name, estimate in figures_of(group):
        n = f" (n {estimate.n:,})" if estimate.value is not None else ""
        lines.append(f"  {name}: {percent_words(estimate)}{n}")
    if group.people_split:
        split = "1 verdict" if group.people_split == 1 else f"{group.people_split:,} verdicts"
        lines.append(f"  left out there: {split} on pairs without a majority of people")
    return lines


def report_sentence(report: PairReport) -> str:
    """Return what was counted, in one sentence: asked = ok + the rest, and how unusable verdicts count."""
    return f"{report.judge}: {report.account.words('comparisons asked')}.{_UNUSABLE[report.unusable_as]}"


MORE_THAN_ONE = 2


@dataclass(frozen=True, slots=True)
class Revealed:
    """What a person sees once they have decided; models are those of the left and the right answer."""

    external_id: str
    model_left: str | None
    model_right: str | None
    said: tuple[LatestComparison, ...]
    gold: Preference | None
    votes: Votes | None


@dataclass(frozen=True, slots=True)
class PairScreen:
    """One pair in the order ``shown`` to one person, with what they said of it.

    ``own`` was given blind, ``overruled`` after the rest was revealed; ``revealed`` is None until they have spoken of
    the pair, on whatever aspect, unless they came from where the verdict is shown: what may not be shown is not even
    read. ``last_id`` is the last preference on the aspect that stands, None before the first.
    """

    pair_id: int
    aspect: str
    query_type: str
    question: str | None
    options: tuple[str, ...]
    passages: tuple[str, ...]
    left: str | None
    right: str | None
    shown: Shown
    own: Preference | None
    overruled: Preference | None
    revealed: Revealed | None
    last_id: int | None = None

    @property
    def decidable(self) -> bool:
        """Whether both answers are there: neither forgotten nor never recorded."""
        return self.left is not None and self.right is not None

    @property
    def seen_id(self) -> int | None:
        """The judge's verdict that is in view: that in the order in which the person sees the pair, else the other."""
        if self.revealed is None or not self.revealed.said:
            return None
        return min(self.revealed.said, key=lambda said: said.shown is not self.shown).comparison_id

    def side(self, preference: Preference) -> str:
        """Return where a stored answer stands on this screen: left, right or tie."""
        return shown_side(preference, self.shown)

    def preference(self, side: str) -> Preference:
        """Return which stored answer stands at a side: the reverse of `side`."""
        return stored_side(side, self.shown)


def pair_screen(
    connection: Connection,
    pair_id: int,
    *,
    aspect: str,
    reviewer_id: int,
    version_id: int | None,
    verdict_seen: bool = False,
) -> PairScreen:
    """Return a pair as this person sees it.

    Args:
        connection: A transaction.
        pair_id: Which pair.
        aspect: On which aspect.
        reviewer_id: Who looks; the order is theirs.
        version_id: Whose verdicts are shown after the decision; None shows none.
        verdict_seen: The person has seen that judge's verdict on the pair: it is shown at once, and what they say is
            said over it.

    Raises:
        NotFound: No such pair.
    """
    pair = next(iter(load_pairs(connection, [pair_id])), None)
    if pair is None:
        raise NotFound(f"no pair {pair_id}")
    given = own_preferences(connection, pair_id, reviewer_id, aspect)
    order = given[0].shown if given and given[0].shown is not None else order_for(pair_id, reviewer_id)
    left, right = _in_order(order, pair.answer_a, pair.answer_b)
    spoken = saw_hidden_parts(connection, pair_id, reviewer_id)
    may_see = spoken or verdict_seen
    said = (
        tuple(_of_aspect(each, aspect) for each in latest_comparisons(connection, version_id, pair_id))
        if may_see and version_id is not None
        else ()
    )
    revealed = None
    if spoken or said:
        model_left, model_right = _in_order(order, pair.model_a, pair.model_b)
        votes = votes_by_pair(load_preferences(connection, [pair_id], aspect=aspect))
        revealed = Revealed(pair.external_id, model_left, model_right, said, pair.gold, votes.get((pair_id, aspect)))
    return PairScreen(
        pair_id=pair.id,
        aspect=aspect,
        query_type=pair.query_type,
        question=pair.question,
        options=pair.options or (),
        passages=pair.passages or (),
        left=left,
        right=right,
        shown=order,
        own=_latest(given, blind=True),
        overruled=_latest(given, blind=False),
        revealed=revealed,
        last_id=given[-1].review_id if given else None,
    )


def _in_order(order: Shown, of_a: str | None, of_b: str | None) -> tuple[str | None, str | None]:
    return (of_a, of_b) if order is Shown.AB else (of_b, of_a)


def _latest(given: list[CurrentPreference], *, blind: bool) -> Preference | None:
    return next((each.preference for each in reversed(given) if each.blind is blind), None)


def _of_aspect(said: LatestComparison, aspect: str) -> LatestComparison:
    """Leave of reasons by aspect, each in a line that names it, those of this aspect."""
    if said.reasoning is None or len(said.preferences) < MORE_THAN_ONE:
        return said
    names = "|".join(re.escape(name) for name in said.preferences)
    parts = re.split(rf"^({names}): ", said.reasoning, flags=re.MULTILINE)
    if len(parts) == 1:  # recorded elsewhere, in a form of its own
        return said
    reasons = dict(zip(parts[1::2], parts[2::2], strict=True))
    return said._replace(reasoning=reasons.get(aspect, "").rstrip("\n") or None)


class PairWalk:
    """Pairs of one list by id, and those of them that the person has not judged yet.

    It is made once from the whole list; going on through it reads nothing, and a pair keeps its place where deciding
    it takes it off the list.
    """

    def __init__(self, aspect: str, lines: Iterable[PairLine]) -> None:
        """Take the lines of the list, by pair; ``aspect`` is what they are compared in."""
        self.aspect = aspect
        by_id = {line.pair_id: line.mine for line in lines}
        self._pair_ids = sorted(by_id)
        self._waiting = [pair_id for pair_id in self._pair_ids if not by_id[pair_id]]

    def __len__(self) -> int:
        """Return how many pairs the list holds."""
        return len(self._pair_ids)

    def place(self, pair_id: int) -> int | None:
        """Return where a pair stands in the list, from 1; None where it does not."""
        found = bisect_left(self._pair_ids, pair_id)
        return found + 1 if found < len(self._pair_ids) and self._pair_ids[found] == pair_id else None

    def judged(self, pair_id: int) -> None:
        """Take a pair from those that wait."""
        found = bisect_left(self._waiting, pair_id)
        if found < len(self._waiting) and self._waiting[found] == pair_id:
            del self._waiting[found]

    def following(self, pair_id: int) -> int | None:
        """Return the next other pair that waits, from the start again at the end; None where none does."""
        found = bisect_right(self._waiting, pair_id)
        following = self._waiting[found % len(self._waiting)] if self._waiting else None
        return None if following == pair_id else following
