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
    "bad_before": Column("Bad before", "share estimate"),
    "bad_since": Column("Bad since", "share estimate"),
    "share_before": Column("Before", "share estimate"),
    "share_since": Column("Since", "share estimate"),
    "accounts": Column("Of the change", "share estimate", help="Part of the change that it accounts for"),
    **{name: Column(each.name, "share estimate" if each.share else "estimate") for name, each in STATISTICS.items()},
}
"""The column of each figure in tables."""

WORDS: dict[str, str] = {
    # The latest change of the share of bad answers
    "more_bad": "A larger share of {part} is bad since about {day:day}.",
    "more_bad_with": "A larger share of {part} is bad since about {day:day}, and since then more of them have "
    "{coincidence}.",
    "fewer_bad": "A smaller share of {part} is bad since about {day:day}.",
    "fewer_bad_with": "A smaller share of {part} is bad since about {day:day}, and since then more of them have "
    "{coincidence}.",
    "coincidences": "Coincidences, not causes: the one that accounts for most of the change comes first.",
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
