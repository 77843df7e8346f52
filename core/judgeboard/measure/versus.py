"""Two judge versions on the answers that people labelled: is the second one better?"""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import people_values
from judgeboard.measure.result import ALL, About, Result, Row, without_zeros
from judgeboard.measure.samples import LabelledAnswers, SampledLabels
from judgeboard.stats.arrays import BoolArray, IntArray, grouping
from judgeboard.stats.estimates import measured, unmeasured
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
from judgeboard.store.judge_versions import get_version
from judgeboard.store.overview import count_log
from judgeboard.store.strata import BAD, UNUSABLE, reviewed_where_verdicts_differ
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import answers_of_prompts
from judgeboard.text import counted

_UNUSABLE_APART = (
    0.01  # a larger difference between the shares of unusable verdicts has a line of its own
)
_TO_LABEL = (
    60  # labels that narrow the share on which one of two versions is right to about 13 points
)

UNUSABLE_WRONG = "unusable verdicts as wrong"
"""The slice of all labelled answers, with unusable verdicts as wrong; only if one version has clearly more of these."""
_COUNTS = (
    *("n", "first_right", "second_right", "only_first", "only_second", "p", "p_mcnemar"),
    *("labels_needed", "differing_needed", "as_good_needed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast(Result):
    """The second of two judge versions against the first. The figure ``change`` is its value minus that of the first.

    ``within`` is the loss that still counts as "as good" in the ``conclusion``, which describes all
    answers.
    """

    sides: tuple[str, str]
    within: float
    conclusion: Conclusion


def compare_versions(
    connection: Connection, first: int | str, second: int | str, *, within: float = WITHIN
) -> Contrast:
    """Compare the current verdicts of two judge versions with the labels of people.

    People's label of an answer is the adjudication, otherwise the majority; ties are left out.
    ``within`` (0 to 1) is the loss of the share right that still counts as good. Raises NotFound
    for an unknown version, and BadInput if both are the same, or if answers are hidden from the
    viewer.

    If the labels are no random sample of all answers, each label represents the answers of its
    stratum: whether a rule picked the answer, and the verdict of the version by which more labels
    count. Rows then count only sampled answers on which the versions differ. ``about`` counts the
    ``answers`` with usable verdicts of both versions, the ``differing`` answers, and the
    ``unlabelled`` answers among the differing ones. The figure ``even_labels`` is the number of
    labels of an even random sample of differing answers that would be as precise as the labels that
    count.
    """
    versions = get_version(connection, first), get_version(connection, second)
    if versions[0].id == versions[1].id:
        raise BadInput(
            f"{versions[0].title} cannot be compared with itself: name two judge versions"
        )
    both = BothJudged(connection, versions)
    both.loaded.check_nothing_hidden("a comparison of versions")
    # Count the answers with grades that are not compared.
    ties = (
        both.loaded.sample(both.rows, by_group=False).left_out.get("ties", 0)
        if len(both.rows)
        else 0
    )
    graded_ids = people_values(graded_reviews(connection), SCALES["label"]).response_ids
    prompt_answers = answers_of_prompts(connection, [each.id for each in both.versions])
    labelled_ids = [each.answers.response_ids[each.labelled] for each in (both.loaded, both.other)]
    of_one = np.setdiff1d(np.union1d(*labelled_ids), both.loaded.answers.response_ids[both.rows])
    return both.compare(
        within,
        left_out={
            "ties": ties,
            **prompt_answers.counts(graded_ids),
            "labelled_but_judged_by_one": len(np.setdiff1d(of_one, prompt_answers.both)),
        },
    )


class BothJudged:
    """The answers that two judge versions judged, with the labels of people; loaded once.

    ``loaded`` are the answers of the first version. ``rows`` are the positions in ``loaded``,
    ascending, of the answers about which the second version was asked too. ``verdicts`` has the
    verdicts of both on ``rows``.
    """

    def __init__(
        self,
        connection: Connection,
        versions: tuple[StoredVersion, StoredVersion],
        where: RowFilter | None = None,
    ) -> None:
        self.versions = versions
        self.loaded = LabelledAnswers(connection, versions[0], where, scores=False)
        self.other = LabelledAnswers(connection, versions[1], where, scores=False)
        ids = self.loaded.answers.response_ids
        _, rows, others = np.intersect1d(
            ids, self.other.answers.response_ids, assume_unique=True, return_indices=True
        )
        order = np.argsort(rows)
        self.rows: IntArray = rows[order]
        self.verdicts = (
            self.loaded.answers.verdicts[self.rows],
            self.other.answers.verdicts[others[order]],
        )
        of_queues = reviewed_where_verdicts_differ(connection, [each.id for each in versions])
        self._in_queues = self.loaded.reviewed_in(connection, of_queues)
        self._logged = count_log(connection, where)

    def sampled_where_they_differ(self, inside: BoolArray | None = None) -> SampledLabels:
        """Return the sampled labels of the answers (of the rows ``inside``, a mask) on which the verdicts differ.

        Queues that were planned for the two versions are random samples of differing answers, and
        of no others.
        """
        one, other = self.verdicts
        differ = (
            (one != other)
            & (one != UNUSABLE)
            & (other != UNUSABLE)
            & (True if inside is None else inside)
        )
        return self.loaded.sample(
            self.rows[differ], by_group=False, also_in_random_order=self._in_queues
        )

    def compare(
        self,
        within: float = WITHIN,
        inside: BoolArray | None = None,
        left_out: Mapping[str, int] = MappingProxyType({}),
    ) -> Contrast:
        """Compare the versions on all answers, or on the rows ``inside`` (a mask)."""
        mask = np.ones(len(self.rows), dtype=np.bool_) if inside is None else inside
        rows, verdicts = self.rows[mask], (self.verdicts[0][mask], self.verdicts[1][mask])
        usable = (verdicts[0] != UNUSABLE) & (verdicts[1] != UNUSABLE)
        # Strata by the verdicts of the version by which more labels count: people may have labelled
        # all flagged answers of one version, and only some of the other. The order of the two
        # versions decides nothing.
        by_id = sorted(zip(self.versions, verdicts, strict=True), key=lambda each: each[0].id)
        of_all = max(
            (
                self.loaded.sample(rows[usable], by_group=False, by_verdicts=each[usable])
                for _, each in by_id
            ),
            key=lambda sample: (not sample.has_gap, int(sample.is_sampled.sum())),
        )
        has_label = self.loaded.labelled[rows]
        # Labels of all answers, or of a drawn share of all answers, need no weights.
        is_drawn = not of_all.waiting.any() and self.loaded.drawn[rows][has_label & usable].all()
        of_differing = None
        if (has_label & usable).any() and of_all.unlabelled.any() and not is_drawn:
            of_differing = self.sampled_where_they_differ(inside)
        return compare_verdicts(
            (self.versions[0].title, self.versions[1].title),
            verdicts,
            labelled=has_label,
            bad=self.loaded.values[rows] == 1,
            groups=self.loaded.answers.evidence_groups[rows],
            within=within,
            left_out=left_out,
            of_all=of_all,
            of_differing=of_differing,
            logged=self._logged if inside is None else None,
        )


def _even_labels(sample: SampledLabels) -> float:
    """Return the number of labels with equal chances that would be as precise as the labels of a sample."""
    counts = sample.counts
    if not sample.is_sampled.any() or sample.has_gap:
        return 0.0
    return sum(each.answers for each in counts) ** 2 / sum(
        each.answers**2 / each.labelled for each in counts
    )


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
    of_all: SampledLabels | None = None,
    of_differing: SampledLabels | None = None,
    logged: int | None = None,
) -> Contrast:
    """Compare the verdicts (``GOOD``, ``BAD``, ``UNUSABLE``) of two versions on the same answers, one row each.

    ``labelled`` and ``bad`` are people's labels: a random sample of the answers, or all of them.
    Otherwise labels that came by known chances count: ``of_all`` answers with usable verdicts, and
    ``of_differing`` answers, on which the verdicts differ. ``looks`` is the number of comparisons
    on these labels, this one included, for which the conclusion is corrected. ``logged`` is the
    number of answers in the log, if the two versions may judge more answers.
    """
    is_unusable = verdicts[0] == UNUSABLE, verdicts[1] == UNUSABLE
    unusable = {
        title: int((each & labelled).sum()) for title, each in zip(titles, is_unusable, strict=True)
    }
    usable = ~is_unusable[0] & ~is_unusable[1]
    judged_bad = verdicts[0] == BAD, verdicts[1] == BAD
    differ = usable & (judged_bad[0] != judged_bad[1])
    right = [
        (verdict == bad) & ~no_verdict
        for verdict, no_verdict in zip(judged_bad, is_unusable, strict=True)
    ]

    def shares(rows: BoolArray) -> PairedShares:
        by_group = grouping(groups[rows], int(rows.sum()))
        result = after_looks(
            paired_shares(right[0][rows], right[1][rows], by_group, within), by_group, looks
        )
        return (
            result
            if not result.n or by_group.count >= MIN_GROUPS
            else _without_interval(result, by_group.count)
        )

    has_gap = of_differing is not None and of_differing.has_gap
    rows = labelled & usable if of_differing is None else labelled & differ
    if of_differing is not None and not has_gap:
        rows[differ] = of_differing.is_sampled
    by_group = grouping(groups[rows], int(rows.sum()))
    enough = by_group.count >= MIN_GROUPS
    counts, changes = shares(rows), dict[str, Estimate]()
    if has_gap:
        # The labels came by no known chance, so other answers may differ.
        change = unmeasured(counts.n, "the labels are no random sample")
        counts = without_plan(replace(counts, change=change, p=None, p_mcnemar=None))
    elif of_differing is not None and differ.any():
        every = grouping(groups[usable], int(usable.sum()))
        strata, second_right = of_differing.stratum_of, right[1][differ]
        counts = weighted_by_stratum(
            counts,
            strata,
            rows[differ],
            second_right,
            every.at(differ[usable]),
            int(usable.sum()),
            within,
        )
        if not enough:
            counts = _without_interval(counts, by_group.count)
        elif of_all is not None and not of_all.has_gap:
            usable_verdicts = judged_bad[0][usable], judged_bad[1][usable]
            of_labels = of_all.stratum_of, of_all.is_sampled
            changes = weighted_changes_by_class(*usable_verdicts, *of_labels, bad[usable], every)
    elif enough and differ.any():
        changes = changes_by_class(judged_bad[0][rows], judged_bad[1][rows], bad[rows], by_group)
    answers, differing = int(usable.sum()), int(differ.sum())
    is_sampled = labelled & differ if of_differing is None else of_differing.is_sampled
    counting = int(is_sampled.sum())
    extras = 0 if of_differing is None else int((labelled & differ & ~rows).sum())
    even_labels = counting if of_differing is None else _even_labels(of_differing)
    left_out = {
        **left_out,
        "unusable": int((labelled & ~usable).sum()),
        "extras_of_differing": extras,
    }
    figures = [
        *_rows(counts, ALL),
        *(
            Row("unusable", title, n, n=int(labelled.sum()))
            for title, n in unusable.items()
            if any(unusable.values())
        ),
        *(Row.of(f"{name}_change", ALL, each) for name, each in changes.items()),
        Row("even_labels", ALL, even_labels, n=counting),
    ]
    apart = abs(unusable[titles[0]] - unusable[titles[1]]) > _UNUSABLE_APART * labelled.sum()
    if of_differing is None and apart:
        figures += _rows(shares(labelled), UNUSABLE_WRONG)
    about = About(
        judges=titles,
        counts={
            "answers": answers,
            "differing": differing,
            "unlabelled": differing - counting,
            "evidence_groups": by_group.count,
        },
        left_out=without_zeros(left_out),
    )
    outcome = conclusion(counts.change, within)
    contrast = Contrast(
        about=about,
        headline=_headline(titles, about, counts, outcome),
        rows=tuple(figures),
        sides=titles,
        within=within,
        conclusion=outcome,
    )
    if logged is not None and logged <= len(
        usable
    ):  # both versions judged all answers: only those counted have usable verdicts
        logged = answers
    return replace(
        contrast,
        caveats=tuple(_caveats(contrast, counts, is_weighted=of_differing is not None)),
        next=tuple(_next_steps(contrast, counts, logged)),
    )


def _headline(
    titles: tuple[str, str], about: About, counts: PairedShares, outcome: Conclusion
) -> Note:
    """Return what the change shows, or why labels cannot tell the versions apart."""
    sides, change = {"first": titles[0], "second": titles[1]}, counts.change
    if about.counts["answers"] and not about.counts["differing"]:
        return note("versions_alike", **sides, n=about.counts["answers"])
    if not counts.n:
        return note("versions_without_labels", **sides)
    if change.low is None and change.reason is not None:  # a change alone would pass for a result
        return note("contrast_unknown", **sides, reason=change.reason)
    return note(f"version_{outcome.value}", **sides, change=change)


def _rows(counts: PairedShares, slice_: str | None) -> Iterator[Row]:
    """Yield the figures of a comparison as rows of a slice."""
    yield Row.of("change", slice_, counts.change)
    for name in _COUNTS:
        yield Row(name, slice_, getattr(counts, name), n=counts.n)


def more_labels(contrast: Contrast, by_lot: int) -> int:
    """Return how many more labels of answers on which the versions differ are worth ``by_lot`` of all answers."""
    counts, even_labels = contrast.about.counts, contrast.figure("even_labels").value or 0.0
    more = round(by_lot * counts["differing"] / counts["answers"] - even_labels)
    return min(max(more, 0), counts["unlabelled"])


def queue_of_differing(titles: Sequence[str], n: int) -> str:
    """Return the command of a queue with a random sample of ``n`` answers on which two judge versions differ."""
    options = [word for title in titles for word in ("--judge-version", title)]
    words = ("queue", "create", "judges", "--plan", "judges", "--n", str(n), *options)
    return f"judgeboard {shlex.join(words)}"


def _without_interval(counts: PairedShares, groups: int) -> PairedShares:
    """Return a comparison of too few evidence groups: the counts remain, without an interval or a plan."""
    why = f"the labels are in {counted(groups, 'evidence group')}; at least {MIN_GROUPS} are needed"
    change = measured(counts.change.value or 0.0, counts.change.n, reason=why)
    return without_plan(replace(counts, change=change, p=None))


def _caveats(contrast: Contrast, counts: PairedShares, *, is_weighted: bool) -> Iterator[Note]:
    """Yield what the conclusion hides."""
    first, second = contrast.sides
    for name in ("sensitivity", "specificity"):
        change = contrast.figure(f"{name}_change") if contrast.has(f"{name}_change") else None
        if (
            contrast.conclusion.exit_code == 0
            and change is not None
            and change.high is not None
            and change.high < 0
        ):
            yield note(f"lower_{name}", first=first, second=second)
    if is_weighted and (counts.change.value or 0.0) * (counts.only_second - counts.only_first) < 0:
        yield note("unlike_counts")
    if is_weighted and counts.n:
        yield note("counts_of_differing")


def _next_steps(contrast: Contrast, counts: PairedShares, logged: int | None) -> Iterator[Note]:
    """Yield which labels would show the change, or how many answers the change needs and what fewer can show."""
    answers, differing, unlabelled = (
        contrast.about.counts[name] for name in ("answers", "differing", "unlabelled")
    )
    if contrast.conclusion is not Conclusion.NOT_SHOWN or not differing:
        return
    labels_needed, as_good = counts.labels_needed, counts.as_good_needed
    # The labels of all answers that show the change, or else that the second version is as good
    by_lot = next((each for each in (labels_needed, as_good) if each and each <= answers), None)
    can_decide = by_lot is not None or not (labels_needed or as_good)
    more = unlabelled if logged == answers else 0
    if can_decide:
        more = min(max(more_labels(contrast, by_lot), 1) if by_lot else _TO_LABEL, unlabelled)
    command = queue_of_differing(contrast.sides, more) if more else None
    if command is not None and can_decide:
        yield note("label_differing", n=more, command=command)
    elif labels_needed is None or labels_needed <= answers or logged == answers:
        # The change that all labels show with a power of 80 %: the error falls with the square root
        # of the number of labels.
        reach, by_lot = (
            (abs(counts.change.value or 0.0), labels_needed)
            if labels_needed
            else (contrast.within, as_good)
        )
        all_show = reach * math.sqrt(by_lot / answers) if by_lot else None
        if command is None:
            yield note("all_labelled", n=differing)
        elif all_show is None:
            yield note("label_all", n=differing, command=command)
        elif all_show >= differing / answers:  # the largest change that is possible
            yield note("labels_show_nothing", n=differing)
        else:
            change = max(round(100 * all_show), 1)
            yield note("labels_show", n=differing, change=change, command=command)
    elif logged is None or logged >= labels_needed:
        yield note("judge_more", needed=_rounded(labels_needed), answers=answers)
    else:
        yield note("larger_log", needed=_rounded(labels_needed), logged=logged)


def _rounded(count: int) -> int:
    """Return a count with two digits: 75,543 is 76,000."""
    return round(count, 2 - len(str(count)))
