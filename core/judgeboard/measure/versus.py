"""Two judge versions on the answers that people labelled: is the second one better?"""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.agreement_result import left_out_sentence
from judgeboard.measure.ratings import people_values
from judgeboard.measure.samples import LabelledAnswers, SampledLabels
from judgeboard.stats.arrays import BoolArray, IntArray, grouping
from judgeboard.stats.estimates import measured, percent, points_words, unmeasured
from judgeboard.stats.paired import (
    MIN_GROUPS,
    WITHIN,
    Conclusion,
    PairedShares,
    after_looks,
    changes_by_class,
    conclusion,
    paired_shares,
    weighted_by_stratum,
    weighted_changes_by_class,
    without_plan,
)
from judgeboard.stats.ratings import SCALES
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import graded_reviews
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.strata import BAD, UNUSABLE, count_log, reviewed_where_verdicts_differ
from judgeboard.store.verdicts import answers_of_prompts
from judgeboard.text import counted

_UNUSABLE_APART = 0.01  # a larger difference between the shares of unusable verdicts has a line of its own
_FAR = 20  # a number of so many times the log tells nobody what to do
_TO_LABEL = 60  # labels that narrow the share on which one of two versions is right to about 13 points


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsCompared:
    """Two judge versions on the same labelled answers; changes are the second version's value minus the first's.

    ``answers`` have usable verdicts of both versions; ``differing`` counts those of them on which the verdicts differ.
    ``counts`` are the labelled answers among them, and ``changes`` those of kappa, sensitivity (recall of bad answers)
    and specificity. If the labels are no random sample of all answers, each stands for the answers of its stratum:
    whether a rule picked the answer, and the verdict of the version by which more labels count. ``counts`` are then of
    sampled answers on which the versions differ (``alone``). ``unlabelled`` counts the answers on which they differ
    without a label that counts; ``even_labels`` is the number of labels of an even random sample of such answers that
    would be as precise as those that count. ``to_label`` is the command of a queue whose labels show more; None if the
    conclusion is shown. ``unusable`` counts the labelled answers with an unusable verdict of each version, by title.
    ``as_wrong`` counts unusable verdicts as wrong; None if both versions have about as many. ``left_out`` counts
    labelled answers by reason. JSON has the same fields.
    """

    first: str
    second: str
    within: float
    conclusion: Conclusion
    exit_code: int
    sentence: str
    evidence_groups: int
    counts: PairedShares
    changes: Mapping[str, Estimate]
    unusable: Mapping[str, int]
    as_wrong: PairedShares | None
    answers: int
    differing: int
    unlabelled: int
    even_labels: float
    alone: bool = False
    to_label: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def left_out_sentence(self) -> str | None:
        """What was left out: "Left out: people tied (3)."."""
        return left_out_sentence(self.left_out)

    def more_labels(self, by_lot: int) -> int:
        """Return how many more labels, of answers on which the versions differ, are worth ``by_lot`` of all answers."""
        more = round(by_lot * self.differing / self.answers - self.even_labels)
        return min(max(more, 0), self.unlabelled)


def compare_versions(
    connection: Connection, first: int | str, second: int | str, *, within: float = WITHIN
) -> VersionsCompared:
    """Compare the current verdicts of two judge versions with the labels of people.

    People's label of an answer is the adjudication, otherwise the majority; ties are left out. ``within`` (0 to 1) is
    the loss of the share right that still counts as good. Raises NotFound for an unknown version, and BadInput if both
    are the same, or if answers are hidden from the viewer.
    """
    versions = get_version(connection, first), get_version(connection, second)
    if versions[0].id == versions[1].id:
        raise BadInput(f"{versions[0].title} cannot be compared with itself: name two judge versions")
    both = BothJudged(connection, versions)
    both.loaded.check_nothing_hidden("a comparison of versions")
    return both.compare(within, left_out=_left_out(connection, both))


class BothJudged:
    """The answers that two judge versions judged, with the labels of people; loaded once.

    ``loaded`` are the answers of the first version. ``rows`` are the positions in them, ascending, of the answers that
    the second version was asked about too, and ``verdicts`` the verdicts of both on these.
    """

    def __init__(
        self, connection: Connection, versions: tuple[StoredVersion, StoredVersion], where: RowFilter | None = None
    ) -> None:
        self.versions = versions
        self.loaded = LabelledAnswers(connection, versions[0], where, scores=False)
        self.other = LabelledAnswers(connection, versions[1], where, scores=False)
        ids = self.loaded.answers.response_ids
        _, rows, others = np.intersect1d(ids, self.other.answers.response_ids, assume_unique=True, return_indices=True)
        order = np.argsort(rows)
        self.rows: IntArray = rows[order]
        self.verdicts = self.loaded.answers.verdicts[self.rows], self.other.answers.verdicts[others[order]]
        of_queues = reviewed_where_verdicts_differ(connection, [each.id for each in versions])
        self._in_queues = self.loaded.reviewed_in(connection, of_queues)
        self._logged = count_log(connection, where)

    def sampled_where_they_differ(self, inside: BoolArray | None = None) -> SampledLabels:
        """Return the sampled labels of the answers (of the rows ``inside``, a mask) on which the verdicts differ.

        Queues that were planned for the two versions are random samples of these answers, and of no others.
        """
        one, other = self.verdicts
        differ = (one != other) & (one != UNUSABLE) & (other != UNUSABLE) & (True if inside is None else inside)
        return self.loaded.sample(self.rows[differ], by_group=False, also_in_random_order=self._in_queues)

    def _sampled_of_all(self, rows: IntArray, verdicts: tuple[IntArray, IntArray]) -> SampledLabels:
        """Return the sampled labels of the ``rows``, with strata by the verdicts of the version by which more count.

        All flagged answers of one version may be labelled, and of the other version only some. Then labels of flagged
        answers count in strata of the one. The order of the two versions decides nothing.
        """
        by_id = sorted(zip((each.id for each in self.versions), verdicts, strict=True), key=lambda each: each[0])
        samples = [self.loaded.sample(rows, by_group=False, by_verdicts=each) for _, each in by_id]
        return max(samples, key=lambda each: (not each.has_gap, int(each.is_sampled.sum())))

    def compare(
        self,
        within: float = WITHIN,
        inside: BoolArray | None = None,
        left_out: Mapping[str, int] = MappingProxyType({}),
    ) -> VersionsCompared:
        """Compare the versions on all answers, or on those ``inside`` (a mask of the rows)."""
        kept = np.ones(len(self.rows), dtype=np.bool_) if inside is None else inside
        rows, verdicts = self.rows[kept], (self.verdicts[0][kept], self.verdicts[1][kept])
        usable = (verdicts[0] != UNUSABLE) & (verdicts[1] != UNUSABLE)
        of_all = self._sampled_of_all(rows[usable], (verdicts[0][usable], verdicts[1][usable]))
        labelled = self.loaded.labelled[rows]
        # Labels of all answers, or of a share of all that was drawn, need no weights.
        is_drawn = not of_all.waiting.any() and self.loaded.drawn[rows][labelled & usable].all()
        chances = None
        if (labelled & usable).any() and of_all.unlabelled.any() and not is_drawn:
            chances = KnownChances(of_all, self.sampled_where_they_differ(inside))
        return compare_verdicts(
            (self.versions[0].title, self.versions[1].title),
            verdicts,
            labelled=labelled,
            bad=self.loaded.values[rows] == 1,
            groups=self.loaded.answers.evidence_groups[rows],
            within=within,
            left_out=left_out,
            chances=chances,
            logged=self._logged if inside is None else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class KnownChances:
    """The labels that came by known chances: of all answers with usable verdicts, and of those that differ."""

    of_all: SampledLabels
    of_differing: SampledLabels

    @property
    def even_labels(self) -> float:
        """The number of labels with equal chances that would be as precise as those of the answers that differ."""
        counts = self.of_differing.counts
        if not self.of_differing.is_sampled.any() or self.of_differing.has_gap:
            return 0.0
        return sum(each.answers for each in counts) ** 2 / sum(each.answers**2 / each.labelled for each in counts)


def _left_out(connection: Connection, both: BothJudged) -> dict[str, int]:
    """Count the answers with grades that are not compared."""
    ties = both.loaded.sample(both.rows, by_group=False).left_out.get("ties", 0) if len(both.rows) else 0
    graded = people_values(graded_reviews(connection), SCALES["label"]).response_ids
    made = answers_of_prompts(connection, [each.id for each in both.versions])
    labelled = [each.answers.response_ids[each.labelled] for each in (both.loaded, both.other)]
    of_one = np.setdiff1d(np.union1d(*labelled), both.loaded.answers.response_ids[both.rows])
    return {
        "ties": ties,
        **made.counts(graded),
        "labelled_but_judged_by_one": len(np.setdiff1d(of_one, made.both)),
    }


def compare_verdicts(
    titles: tuple[str, str],
    verdicts: tuple[IntArray, IntArray],
    *,
    labelled: BoolArray,
    bad: BoolArray,
    groups: IntArray,
    within: float,
    left_out: Mapping[str, int] = MappingProxyType({}),
    looks: int = 1,
    chances: KnownChances | None = None,
    logged: int | None = None,
) -> VersionsCompared:
    """Compare the verdicts (``GOOD``, ``BAD``, ``UNUSABLE``) of two versions on the same answers, one row each.

    ``labelled`` and ``bad`` are people's labels: a random sample of the answers, or all of them; otherwise ``chances``
    says which of them count. ``looks`` is the number of comparisons on these labels, with this one: the conclusion is
    corrected for it. ``logged`` is the number of answers in the log, if the two versions may judge more of them.
    """
    failed = verdicts[0] == UNUSABLE, verdicts[1] == UNUSABLE
    unusable = {title: int((each & labelled).sum()) for title, each in zip(titles, failed, strict=True)}
    usable = ~failed[0] & ~failed[1]
    called_bad = verdicts[0] == BAD, verdicts[1] == BAD
    differ = usable & (called_bad[0] != called_bad[1])
    right = [(called == bad) & ~no_verdict for called, no_verdict in zip(called_bad, failed, strict=True)]

    def shares(rows: BoolArray) -> PairedShares:
        by_group = grouping(groups[rows], int(rows.sum()))
        made = after_looks(paired_shares(right[0][rows], right[1][rows], by_group, within), by_group, looks)
        return made if not made.n or by_group.count >= MIN_GROUPS else _without_interval(made, by_group.count)

    has_gap = chances is not None and chances.of_differing.has_gap
    rows = labelled & usable if chances is None else labelled & differ
    if chances is not None and not has_gap:
        rows[differ] = chances.of_differing.is_sampled
    by_group = grouping(groups[rows], int(rows.sum()))
    enough = by_group.count >= MIN_GROUPS
    counts, changes = shares(rows), dict[str, Estimate]()
    if has_gap:
        counts = _without_figure(counts)
    elif chances is not None and differ.any():
        every = grouping(groups[usable], int(usable.sum()))
        strata, second_right = chances.of_differing.stratum_of, right[1][differ]
        counts = weighted_by_stratum(
            counts, strata, rows[differ], second_right, every.at(differ[usable]), int(usable.sum()), within
        )
        if not enough:
            counts = _without_interval(counts, by_group.count)
        elif not chances.of_all.has_gap:
            of_all = chances.of_all.stratum_of, chances.of_all.is_sampled
            called = called_bad[0][usable], called_bad[1][usable]
            changes = weighted_changes_by_class(*called, *of_all, bad[usable], every)
    elif enough and differ.any():
        changes = changes_by_class(called_bad[0][rows], called_bad[1][rows], bad[rows], by_group)
    apart = chances is None and abs(unusable[titles[0]] - unusable[titles[1]]) > _UNUSABLE_APART * labelled.sum()
    reached = conclusion(counts.change, within) if enough else Conclusion.NOT_SHOWN
    chosen = 0 if chances is None else int((labelled & differ & ~rows).sum())
    left_out = {**left_out, "unusable": int((labelled & ~usable).sum()), "extras_of_differing": chosen}
    only = [labelled[differ & called_bad[which]] for which in (0, 1)]
    counting = int((labelled & differ).sum()) if chances is None else int(chances.of_differing.is_sampled.sum())
    made = VersionsCompared(
        first=titles[0],
        second=titles[1],
        within=within,
        conclusion=reached,
        exit_code=reached.exit_code,
        sentence="",
        evidence_groups=by_group.count,
        counts=counts,
        changes=changes,
        unusable=unusable,
        as_wrong=shares(labelled) if apart else None,
        answers=int(usable.sum()),
        differing=int(differ.sum()),
        unlabelled=int(differ.sum()) - counting,
        even_labels=counting if chances is None else chances.even_labels,
        alone=chances is not None,
        left_out={reason: n for reason, n in left_out.items() if n},
        warnings=tuple(_warnings(titles, reached, changes)),
    )
    if logged is not None and logged <= len(usable):  # both judged all: only these have usable verdicts
        logged = made.answers
    more = _answers_to_label(made, logged)
    made = replace(made, to_label=queue_of_differing(titles, more) if more else None)
    return replace(made, sentence=" ".join(_sentences(made, only if has_gap else None, logged)))


def queue_of_differing(titles: Sequence[str], n: int, conditions: Sequence[str] = ()) -> str:
    """Return the command of a queue with a random sample of ``n`` answers on which two judge versions differ.

    Only answers that meet the ``conditions`` (``field=value``) are drawn.
    """
    named = [word for title in titles for word in ("--judge-version", title)]
    named += [word for condition in conditions for word in ("--where", condition)]
    words = ("queue", "create", "judges", "--plan", "judges", "--n", str(n), *named)
    return f"judgeboard {shlex.join(words)}"


def _without_figure(counts: PairedShares) -> PairedShares:
    """Return counts of labels that came by no known chance: they tell nothing of other answers."""
    change = unmeasured(counts.n, "the labels are no random sample")
    return without_plan(replace(counts, change=change, p=None, p_mcnemar=None))


def _without_interval(counts: PairedShares, groups: int) -> PairedShares:
    """Return a comparison of too few evidence groups: its counts stand, but no interval or plan rests on them."""
    change = measured(counts.change.value or 0.0, counts.change.n, reason=_few_groups(groups))
    return without_plan(replace(counts, change=change, p=None))


def _few_groups(groups: int) -> str:
    return f"the labels are in {counted(groups, 'evidence group')}; at least {MIN_GROUPS} are needed"


def _warnings(titles: tuple[str, str], reached: Conclusion, changes: Mapping[str, Estimate]) -> Iterator[str]:
    for name, words in (("sensitivity", "finds fewer bad answers"), ("specificity", "raises more false alarms")):
        change = changes.get(name)
        if reached.exit_code == 0 and change is not None and change.high is not None and change.high < 0:
            right = "right more often" if reached is Conclusion.BETTER else "not worse"
            yield f"{titles[1]} {words} than {titles[0]}, although it is {right} in all."


def start_words(reached: Conclusion, first: str, second: str, within: float) -> str:
    """Return the conclusion about the second of two things, as the start of a sentence."""
    words = {
        Conclusion.BETTER: f"{second} is better than {first}",
        Conclusion.WORSE: f"{second} is worse than {first}",
        Conclusion.AS_GOOD: f"{second} is not worse than {first} by more than {100 * within:g} points",
        Conclusion.NOT_SHOWN: f"Not shown yet whether {second} is better or worse than {first}",
    }
    return words[reached]


def too_few_words(answers: int, needed: int, goal: str, logged: int | None = None) -> str:
    """Return that two versions judged fewer ``answers`` than are ``needed`` to show the ``goal``.

    ``logged`` is the number of answers in the log, if it is known; these are enough.
    """
    both_judged = f"about {counted(needed, 'answer')} that both versions judged are needed, and"
    if logged is None:
        return f"To show {goal}, {both_judged} there are only {answers:,}."
    return (
        f"To show {goal}, {both_judged} both judged only {answers:,} of the {logged:,} in the log. Judge the others "
        "with both versions first."
    )


def _to_label_words(made: VersionsCompared) -> str:
    return f"To label a random sample of the answers on which they differ: `{made.to_label}`"


def _sentences(made: VersionsCompared, only: Sequence[BoolArray] | None, logged: int | None) -> Iterator[str]:
    """Yield the conclusion and what it rests on.

    ``only`` tells which answers have a label, of those that only the first and of those that only the second version
    calls bad; None if labels came by known chances. ``logged`` is the number of answers in the log, if it is known.
    """
    counts, both = made.counts, made.answers
    if both and not made.differing:
        every = "the 1 answer" if both == 1 else f"all {both:,} answers"
        yield (
            f"{made.first} and {made.second} give the same verdict on {every} that both judged, so no label can tell "
            "them apart."
        )
        return
    if not counts.n and not made.alone:
        yield f"No answer has a label of people and usable verdicts of both {made.first} and {made.second}."
        if both:
            same = f"{both - made.differing:,} of {counted(both, 'answer')}"
            yield f"They give the same verdict on {same} that both judged. {_to_label_words(made)}"
        return
    yield f"{start_words(made.conclusion, made.first, made.second, made.within)}."
    has_change = only is None and (counts.change.value is None or counts.change.low is not None)
    if has_change:  # a change without an interval would pass for a result
        yield _change_sentence(made)
    if labelled := counts.n if made.alone else counts.only_first + counts.only_second:
        right = f"{made.first} is right on {counts.only_first:,} and {made.second} on {counts.only_second:,}."
        if has_change:
            yield f"They differ on {made.differing:,} of these answers; on {labelled:,} of them with a label, {right}"
        else:
            yield f"Of {counted(labelled, 'labelled answer')} on which they differ, {right}"
    if only is not None:
        shares = [f"{percent(float(each.mean()) if len(each) else 0.0)} of the {len(each):,}" for each in only]
        yield (
            f"People labelled {shares[0]} answers that only {made.first} calls bad, and {shares[1]} that only "
            f"{made.second} calls bad. These labels are no random sample, so they tell nothing of the other answers. "
            f"{_to_label_words(made)}"
        )
        return
    if has_change:
        yield from _unlike_counts(made)
    if made.conclusion is Conclusion.NOT_SHOWN:
        yield from _more_labels(made, logged)


def _change_sentence(made: VersionsCompared) -> str:
    """Return how the share of right verdicts changes in all answers that both judged."""
    in_all = f"In all {counted(made.answers, 'answer')} that both judged"
    change = points_words(made.counts.change, sign=True)
    return f"{in_all}, the share of right verdicts changes by {change} from {made.first} to {made.second}."


def _unlike_counts(made: VersionsCompared) -> Iterator[str]:
    """Yield why the change has another sign than the counts of labels, and what is not known of it."""
    if not made.alone:
        return
    counts = made.counts
    more_right = counts.only_second - counts.only_first
    if (counts.change.value or 0.0) * more_right < 0:
        labels = "Some labels stand for more answers than others"
        yield f"{labels}, so the change has another sign than the counts of labels."
    if not made.changes:
        yield "How often each version is right is not known from these labels."


def _by_lot(counts: PairedShares, answers: int) -> int | None:
    """Return how many labels of all ``answers`` show the change, or else that the second version is as good.

    None if more are needed than there are answers.
    """
    return next((each for each in (counts.labels_needed, counts.as_good_needed) if each and each <= answers), None)


def _answers_to_label(made: VersionsCompared, logged: int | None) -> int:
    """Return how many more answers on which the versions differ are to be labelled next; 0 if these show nothing."""
    if made.conclusion is not Conclusion.NOT_SHOWN:
        return 0
    if not made.counts.labels_needed and not made.counts.as_good_needed:
        return min(made.unlabelled, _TO_LABEL)
    if by_lot := _by_lot(made.counts, made.answers):
        return min(max(made.more_labels(by_lot), 1), made.unlabelled)
    return made.unlabelled if logged == made.answers else 0


def _more_labels(made: VersionsCompared, logged: int | None) -> Iterator[str]:
    """Yield which labels would show the change, or how many answers it needs and what fewer can show."""
    needed, as_good, change = made.counts.labels_needed, made.counts.as_good_needed, made.counts.change
    if made.evidence_groups < MIN_GROUPS:
        few = _few_groups(made.evidence_groups)
        yield f"{few[0].upper()}{few[1:]}."
    if not needed and not as_good and made.to_label is not None:
        yield _to_label_words(made)
    elif made.evidence_groups < MIN_GROUPS:
        return
    elif made.to_label is not None and (by_lot := _by_lot(made.counts, made.answers)):
        shown = "it"
        if by_lot != needed:
            shown = f"that {made.second} is not worse by more than {100 * made.within:g} points"
        more = counted(_answers_to_label(made, logged), "more answer")
        yield (
            f"If the true change is as large as observed, labels on about {more} on which they differ will probably "
            f"show {shown}: `{made.to_label}`"
        )
    elif needed is None or needed <= made.answers or logged == made.answers:
        # The error falls with the square root of the number of labels.
        reach, by_lot = (abs(change.value or 0.0), needed) if needed else (made.within, as_good)
        all_show = reach * math.sqrt(by_lot / made.answers) if by_lot else None
        most = made.differing / made.answers
        yield labels_on_all(made.differing, "answer", all_show, made.to_label, most, which=" on which they differ")
    elif logged is not None and logged < needed:
        yield from _too_small_a_log(100 * abs(change.value or 0.0), needed, logged)
    else:
        yield too_few_words(made.answers, needed, "a change of this size", logged)
        yield f"This number rests on the observed change of {points_words(change, sign=True)}, so it is rough."


def labels_on_all(
    count: int, thing: str, all_show: float | None, command: str | None, most: float = 1.0, *, which: str = ""
) -> str:
    """Return which change labels on all ``count`` things can show, or that more things are needed.

    ``all_show`` is that change with a power of 80 % (None: unknown), ``most`` is the largest change that is possible.
    ``command`` creates the queue of the labels that are missing, None if there are none. ``which`` follows the noun.
    """
    every = f"the 1 {thing}{which}" if count == 1 else f"all {count:,} {thing}s{which}"
    log_more = f"Log more {thing}s."
    if command is None:
        return f"{every[0].upper()}{every[1:]} {'is' if count == 1 else 'are'} labelled. {log_more}"
    if all_show is None:
        return f"Label {every}: `{command}`"
    if all_show >= most:
        return f"Labels on {every} would show nothing. {log_more}"
    return f"Labels on {every} can show about {counted(max(round(100 * all_show), 1), 'point')} or more: `{command}`"


def _rounded(count: int) -> int:
    """Return a count with two digits: 75,543 is 76,000."""
    return round(count, 2 - len(str(count)))


def _too_small_a_log(points: float, needed: int, logged: int) -> Iterator[str]:
    """Yield how many answers a change of so many percentage points needs, and which change the whole log can show."""
    change = counted(round(points), "point") if points >= 0.5 else "less than 1 point"
    if needed > _FAR * logged:
        yield f"A change of {change} needs far more answers than the {logged:,} of your log."
    else:
        yield f"A change of {change} needs about {counted(_rounded(needed), 'answer')} (rough)."
    # The error falls with the square root of the number of answers.
    smallest = max(round(points * math.sqrt(needed / logged)), 1)
    if smallest < 100:
        least = f"{counted(smallest, 'point')} or more"
        yield f"Your {logged:,} can show {least}, if both versions judge all and people label all."
