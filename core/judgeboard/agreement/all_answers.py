"""Agreement of a judge and people in all answers, from labels that came by known chances, and what to label for it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.choice import By, slices_of
from judgeboard.agreement.samples import JudgeVerdict, LabelledAnswers, Picked, SampledLabels
from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.rates import Target, unweighted_agreement, weighted_agreement
from judgeboard.store.strata import UNUSABLE

_WANTED = 60  # labels that narrow a share near 20 % to about 10 points either way


@dataclass(frozen=True, slots=True)
class StratumCount:
    """A stratum: N answers, of which n have a sampled label, k of them bad (None: the grade is not a label)."""

    picked: Picked
    verdict: JudgeVerdict | None
    N: int
    n: int
    k: int | None


@dataclass(frozen=True, slots=True)
class ToLabel:
    """What to label so that the rate becomes available: ``labels`` of the ``answers`` that have none.

    ``waiting`` counts answers of the random sample that nobody has reviewed. If they are fewer than ``labels``, a queue
    of ``queue`` answers in random order has about ``labels`` of ``answers``. ``command`` creates the queue.
    """

    words: str
    answers: int
    labels: int
    waiting: int
    queue: int | None
    command: str


def counts_of(sample: SampledLabels) -> tuple[StratumCount, ...]:
    """Return the strata of a sample with their labels."""
    if sample.grade == "label":
        rows = zip(sample.strata, sample.counts, strict=True)
        return tuple(StratumCount(*name, each.answers, each.labelled, each.bad) for name, each in rows)
    labelled = np.bincount(sample.labels.strata, minlength=sample.population.count).tolist()
    answers = sample.population.answers.tolist()
    return tuple(
        StratumCount(*name, round(total), n, None)
        for name, total, n in zip(sample.strata, answers, labelled, strict=True)
    )


@dataclass(frozen=True, slots=True)
class InAllAnswers:
    """Agreement, kappa, sensitivity, specificity and precision of a judge in all ``answers`` with a usable verdict.

    ``statistics`` weight the ``labels`` by the chance that their answers had to get one; ``graded`` are the same
    figures on the answers that people graded, unweighted. ``to_label`` says which answers without any label are missing
    for a figure of all answers, None if none are.
    """

    statistics: Mapping[str, Estimate] = field(default_factory=dict)
    graded: Mapping[str, Estimate] = field(default_factory=dict)
    answers: int = 0
    labels: int = 0
    to_label: ToLabel | None = None

    @property
    def is_complete(self) -> bool:
        """Whether people graded all answers."""
        return self.labels == self.answers

    @property
    def is_weighted(self) -> bool:
        """Whether enough labels came by known chances, and they are not all that there could be."""
        has_values = any(each.value is not None for each in self.statistics.values())
        return has_values and not self.is_complete


def in_all_answers(
    loaded: LabelledAnswers,
    inside: BoolArray | None = None,
    target: Target = "app",
    sample: SampledLabels | None = None,
) -> InAllAnswers:
    """Return the agreement in all answers, or in those ``inside``, whose ``sample`` may be known already."""
    if loaded.version is None or loaded.grade != "label":
        return InAllAnswers()
    sample = sample or loaded.sample(inside)
    if np.isnan(sample.verdicts).any() or sample.judged < sample.population.total:
        usable = loaded.answers.verdicts != UNUSABLE
        sample = loaded.sample(usable if inside is None else usable & inside)
    judged = ~np.isnan(sample.all_verdicts)
    return InAllAnswers(
        weighted_agreement(sample.population, sample.labels, sample.verdicts, target, judged_bad=sample.judged_bad),
        unweighted_agreement(sample.all_values[judged], sample.all_verdicts[judged]),
        round(sample.population.total),
        len(sample.response_ids),
        what_to_label(sample),
    )


def slices_of_answers(connection: Connection, loaded: LabelledAnswers, by: By) -> Iterator[tuple[str, BoolArray]]:
    """Yield each slice of all answers as a mask of the loaded ones."""
    types = loaded.answers.query_types
    if by == "query_type":
        yield from ((name, types.codes == code) for code, name in enumerate(types.names))
    elif len(loaded.answers.response_ids):
        yield from slices_of(connection, "responses", by, loaded.answers.response_ids)


def what_to_label(sample: SampledLabels) -> ToLabel | None:
    """Return what to label so that figures of all answers become available; None if every stratum has a label."""
    counts = counts_of(sample)
    missing = [each for each in counts if not each.n]
    if not missing:
        return None
    answers, total = sum(each.N for each in missing), sum(each.N for each in counts)
    labels = min(answers, _WANTED)
    size = None
    if sample.waiting < labels:
        step = 10 if answers > _WANTED else 1
        size = min(math.ceil(labels * total / answers / step) * step, total)
    kind = "--where rule=random_sample --order random" if size is None else f"--plan rate --n {size} --assign NAMES"
    command = f"judgeboard queue create sample {kind}"
    return ToLabel(_words_of(missing, counts), answers, labels, sample.waiting, size, command)


def _words_of(missing: Sequence[StratumCount], counts: Sequence[StratumCount]) -> str:
    """Return "answers that no rule flagged", "flagged answers that the judge calls good", "answers"."""
    classes, verdicts = {each.picked for each in missing}, {each.verdict for each in missing}
    picked_too = any(each.picked != "no" for each in counts)
    words = "answers"
    if classes == {"no"} and picked_too:
        words = "answers that no rule flagged"
    elif "no" not in classes:
        words = "flagged answers"
    if len(verdicts) == 1 and any(each.picked in classes and each.n for each in counts):
        (verdict,) = verdicts
        of_judge = {"good": "that the judge calls good", "bad": "that the judge calls bad"}
        words += f" {of_judge.get(str(verdict), 'without a usable verdict')}"
    return words
