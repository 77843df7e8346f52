"""All English of figures: one sentence per code. `judgeboard.measure.notes` fills in the numbers.

A sentence has no condition and at most three values. Where two sentences fit, the figure chooses the code.
`judgeboard.measure.notes` lists the formats of values: ``{share:%}``, ``{kappa:.2}``, ``{n:answer}``.
"""

from judgeboard.formats.output import Column
from judgeboard.stats.pair_statistics import STATISTICS

FIGURES: dict[str, Column] = {
    "bad_answers": Column("Bad answers", "share estimate"),
    "mean": Column("Mean grade", "estimate"),
    "judge_alone": Column("Judge alone", "share estimate"),
    "labels_alone": Column("Labels alone", "share estimate"),
    **{name: Column(each.name, "share estimate" if each.share else "estimate") for name, each in STATISTICS.items()},
}
"""The column of each figure in tables."""

WORDS: dict[str, str] = {
    # Caveats of a share of bad answers, or of a mean grade
    "picked_labels": "{n:label} of chosen answers: not counted.",
    "picked_labels_bounds": "{n:label} of chosen answers: counted only for the two bounds.",
    "undecided": "People did not decide {n:,} of {answers:,} answers. These may be harder than the others.",
    "undecided_bounds": "People did not decide {n:,} of the answers. All good: {low:%}. All bad: {high:%}.",
    "people_differ": "People agree with each other by alpha {alpha:.2} only (n = {n:,}). The rate is their majority.",
    "waiting": "{waiting:,} of {drawn:answer} of the random sample still wait for a review.",
    "few_of_rarer": "Labels “{label}”: {n:,} of {labels:,}. The interval is rough.",
    "few_groups": "The labels are in only {n:evidence group}, so the interval is rough.",
}
