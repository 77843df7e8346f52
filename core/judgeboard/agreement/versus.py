"""Two judge versions on the answers that people labelled: is the second one better?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import people_values
from judgeboard.agreement.result import left_out_sentence
from judgeboard.agreement.samples import LabelledAnswers
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.stats.arrays import BoolArray, IntArray, grouping
from judgeboard.stats.estimates import Z, measured, percent, points_words
from judgeboard.stats.paired import (
    MIN_GROUPS,
    WITHIN,
    Conclusion,
    PairedShares,
    after_looks,
    changes_by_class,
    conclusion,
    paired_shares,
)
from judgeboard.stats.ratings import SCALES
from judgeboard.store.grades import graded_reviews
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.strata import BAD, UNUSABLE
from judgeboard.store.verdicts import answers_of_prompts
from judgeboard.text import counted

_UNUSABLE_APART = 0.01  # a larger difference between the shares of unusable verdicts has a line of its own
_SURELY = 3.29  # standard errors that chance exceeds in 1 of 1,000 cases


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsCompared:
    """Two judge versions on the same labelled answers; changes are the second version's value minus the first's.

    ``counts`` are the answers on which both have a usable verdict. ``changes`` are those of kappa, sensitivity
    (recall of bad answers) and specificity. ``unusable`` counts the labelled answers with an unusable verdict of each
    version, by title. ``as_wrong`` counts unusable verdicts as wrong; None if both versions have about as many.
    ``differing`` is the number of all answers, labelled or not, on which the verdicts differ. If people labelled these
    answers more or less often than others, ``counts`` are of them ``alone``, and the change is weighted by their share
    of all answers; how often each version is right is then not known. ``left_out`` counts labelled answers by reason.
    JSON has the same fields.
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
    differing: int
    alone: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def left_out_sentence(self) -> str | None:
        """What was left out: "Left out: people tied (3)."."""
        return left_out_sentence(self.left_out)


def compare_versions(
    connection: Connection, first: int | str, second: int | str, *, within: float = WITHIN
) -> VersionsCompared:
    """Compare the current verdicts of two judge versions with the labels of people.

    People's label of an answer is the adjudication, otherwise the majority; ties are left out. ``within`` (0 to 1) is
    the loss of the share right that still counts as good. Raises NotFound for an unknown version, and BadInput if both
    are the same.
    """
    versions = get_version(connection, first), get_version(connection, second)
    if versions[0].id == versions[1].id:
        raise BadInput(f"{versions[0].title} cannot be compared with itself: name two judge versions")
    loaded = [LabelledAnswers(connection, version) for version in versions]
    one, other = (each.answers.response_ids for each in loaded)
    _, *places = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    sides = [each.answers.verdicts[at] for each, at in zip(loaded, places, strict=True)]
    groups = loaded[0].answers.evidence_groups[places[0]]
    return compare_verdicts(
        (versions[0].title, versions[1].title),
        (sides[0], sides[1]),
        labelled=loaded[0].labelled[places[0]],
        bad=loaded[0].values[places[0]] == 1,
        groups=groups,
        within=within,
        left_out=_left_out(connection, versions, loaded, places[0]),
    )


def _left_out(
    connection: Connection, versions: Sequence[StoredVersion], loaded: Sequence[LabelledAnswers], both: IntArray
) -> dict[str, int]:
    """Count the answers with grades that are not compared; ``both`` are the first version's rows that both judged."""
    ties = loaded[0].sample(np.sort(both), by_group=False).left_out.get("ties", 0) if len(both) else 0
    graded = people_values(graded_reviews(connection), SCALES["label"]).response_ids
    made = answers_of_prompts(connection, [each.id for each in versions])
    labelled = [each.answers.response_ids[each.labelled] for each in loaded]
    of_one = np.setdiff1d(np.union1d(*labelled), loaded[0].answers.response_ids[both])
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
) -> VersionsCompared:
    """Compare the verdicts (``GOOD``, ``BAD``, ``UNUSABLE``) of two versions on the same answers, one row each.

    ``labelled`` and ``bad`` are people's labels. ``looks`` is the number of comparisons on these labels, with this one:
    the conclusion is corrected for it.
    """
    failed = verdicts[0] == UNUSABLE, verdicts[1] == UNUSABLE
    usable = ~failed[0] & ~failed[1]
    called_bad = verdicts[0] == BAD, verdicts[1] == BAD
    differ = usable & (called_bad[0] != called_bad[1])
    alone = _labelled_apart(labelled[differ], labelled[usable & ~differ])
    rows = labelled & (differ if alone else usable)
    part = float(differ.sum() / usable.sum()) if alone else 1.0
    right = [(called == bad) & ~no_verdict for called, no_verdict in zip(called_bad, failed, strict=True)]

    def shares(rows: BoolArray, within: float) -> PairedShares:
        by_group = grouping(groups[rows], int(rows.sum()))
        made = after_looks(paired_shares(right[0][rows], right[1][rows], by_group, within), by_group, looks)
        return made if not made.n or by_group.count >= MIN_GROUPS else _without_interval(made, by_group.count)

    counts = shares(rows, within / part)
    by_group = grouping(groups[rows], counts.n)
    if alone:
        counts = _weighted(counts, part, int(usable.sum()))
    unusable = {title: int((each & labelled).sum()) for title, each in zip(titles, failed, strict=True)}
    asked = int(labelled.sum())
    apart = not alone and abs(unusable[titles[0]] - unusable[titles[1]]) > _UNUSABLE_APART * asked
    changes = {}
    enough = by_group.count >= MIN_GROUPS
    if counts.n and not alone and enough and differ.any():
        changes = changes_by_class(called_bad[0][rows], called_bad[1][rows], bad[rows], by_group)
    reached = conclusion(counts.change, within) if enough else Conclusion.NOT_SHOWN
    if failed[0].any() or failed[1].any():
        left_out = {**left_out, "unusable": int((labelled & ~usable).sum())}
    if alone:
        left_out = {**left_out, "verdicts_are_equal": int((labelled & usable & ~differ).sum())}
    judged = int(usable.sum()), int(differ.sum())
    return VersionsCompared(
        first=titles[0],
        second=titles[1],
        within=within,
        conclusion=reached,
        exit_code=reached.exit_code,
        sentence=_sentence(titles, counts, by_group.count, reached, within, judged, alone=alone),
        evidence_groups=by_group.count,
        counts=counts,
        changes=changes,
        unusable=unusable,
        as_wrong=shares(labelled, within) if apart else None,
        differing=int(differ.sum()),
        alone=alone,
        left_out={reason: n for reason, n in left_out.items() if n},
        warnings=tuple(_warnings(titles, reached, changes, called_bad, usable, labelled)),
    )


def _weighted(counts: PairedShares, part: float, answers: int) -> PairedShares:
    """Return the comparison of answers on which versions differ, as a change in all ``answers`` (``part`` differ).

    On the other answers both versions are right or both wrong, so that they add nothing to the change.
    """
    change = counts.change
    if change.value is None:
        return counts
    value, ends = change.value * part, None
    if change.low is not None and change.high is not None:
        of_part = Z * abs(change.value) * math.sqrt(part * (1 - part) / answers)
        below, above = (math.hypot(part * (end - change.value), of_part) for end in (change.low, change.high))
        ends = (value - below, value + above)
    weighted = measured(
        value, change.n, ends, method=f"{change.method}, weighted by the share that differs", unit=change.unit
    )
    return replace(counts, change=weighted, differing_needed=counts.labels_needed)


def _without_interval(counts: PairedShares, groups: int) -> PairedShares:
    """Return a comparison of too few evidence groups: its counts stand, but no interval or plan rests on them."""
    change = measured(counts.change.value or 0.0, counts.change.n, reason=_few_groups(groups))
    return replace(counts, change=change, p=None, labels_needed=None, differing_needed=None, as_good_needed=None)


def _few_groups(groups: int) -> str:
    return f"the labels are in {counted(groups, 'evidence group')}; at least {MIN_GROUPS} are needed"


def _warnings(
    titles: tuple[str, str],
    reached: Conclusion,
    changes: Mapping[str, Estimate],
    called_bad: tuple[BoolArray, BoolArray],
    usable: BoolArray,
    labelled: BoolArray,
) -> list[str]:
    warnings = []
    for name, words in (("sensitivity", "finds fewer bad answers"), ("specificity", "raises more false alarms")):
        change = changes.get(name)
        if reached.exit_code == 0 and change is not None and change.high is not None and change.high < 0:
            warnings.append(f"{titles[1]} {words} than {titles[0]}, although it is right as often in all.")
    only = [usable & called_bad[one] & ~called_bad[other] for one, other in ((0, 1), (1, 0))]
    if _labelled_apart(*(labelled[rows] for rows in only)):
        shares = [percent(float(labelled[rows].mean())) for rows in only]
        warnings.append(
            f"People labelled {shares[0]} of the answers that only {titles[0]} calls bad, and {shares[1]} of those "
            f"that only {titles[1]} calls bad. The change may be biased: label an equal share of both."
        )
    return warnings


def _labelled_apart(first: BoolArray, second: BoolArray) -> bool:
    """Return whether one of two kinds of answers is labelled more often than chance explains (p below 0.001)."""
    if not len(first) or not len(second):
        return False
    share = float(np.concatenate([first, second]).mean())
    error = math.sqrt(share * (1 - share) * (1 / len(first) + 1 / len(second)))
    return abs(float(first.mean()) - float(second.mean())) > _SURELY * error


def start_words(reached: Conclusion, first: str, second: str, within: float) -> str:
    """Return the conclusion about the second of two things, as the start of a sentence."""
    words = {
        Conclusion.BETTER: f"{second} is better than {first}",
        Conclusion.WORSE: f"{second} is worse than {first}",
        Conclusion.AS_GOOD: f"{second} is as good as {first}, within {100 * within:g} points",
        Conclusion.NOT_SHOWN: f"Not shown yet whether {second} is better or worse than {first}",
    }
    return words[reached]


def _sentence(
    titles: tuple[str, str],
    counts: PairedShares,
    groups: int,
    reached: Conclusion,
    within: float,
    judged: tuple[int, int],
    *,
    alone: bool,
) -> str:
    """Return the conclusion; ``judged`` are the answers with usable verdicts of both, and those that differ."""
    both, differing = judged
    if both and not differing:
        every = "the 1 answer" if both == 1 else f"all {both:,} answers"
        return (
            f"{titles[0]} and {titles[1]} give the same verdict on {every} that both judged, so no label can tell them "
            "apart."
        )
    if not counts.n:
        nothing = f"No answer has a label of people and usable verdicts of both {titles[0]} and {titles[1]}."
        same = f" They give the same verdict on {both - differing:,} of {counted(both, 'answer')} that both judged."
        return nothing + (same if both else "")
    change = points_words(counts.change, sign=True)
    start = (
        f"{start_words(reached, *titles, within)}: the share of right verdicts changes by {change}, on "
        f"{counted(counts.n, 'labelled answer')}{' on which they differ' if alone else ''}."
    )
    if alone:
        start += " How often each version is right is not known from these answers."
    if reached is not Conclusion.NOT_SHOWN:
        return start
    if groups < MIN_GROUPS:
        few = _few_groups(groups)
        return f"{start} {few[0].upper()}{few[1:]}."
    if counts.labels_needed is not None:
        where = "on such answers" if alone else f"in all, {counts.differing_needed:,} of them where the two differ"
        are = "is" if counts.labels_needed == 1 else "are"
        start += f" To show a change of this size, about {counted(counts.labels_needed, 'label')} {are} needed {where}."
    if counts.as_good_needed is not None and counts.as_good_needed < (counts.labels_needed or math.inf):
        start += (
            f" If this is the true change, about {counted(counts.as_good_needed, 'label')} would show that {titles[1]} "
            f"is as good, within {100 * within:g} points."
        )
    return start if counts.labels_needed or counts.as_good_needed else f"{start} Label answers on which the two differ."
