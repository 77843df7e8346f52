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
    "changed": Column("Changed about", "day"),
    "mean_before": Column("Before", "estimate"),
    "mean_since": Column("Since", "estimate"),
    "detectable": Column("Smallest detectable change", "points"),
    "mean_detectable": Column("Smallest detectable change", "estimate"),
    **{
        f"{name.lower()}_{when}": Column(f"{name} {when}", "share estimate")
        for name in ("Sensitivity", "Specificity")
        for when in ("before", "since")
    },
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
    # Changes over time of all answers
    "bad_rose": "The share of bad answers rose about {day:day}, from {before:%} to {since:%}.",
    "bad_fell": "The share of bad answers fell about {day:day}, from {before:%} to {since:%}.",
    "share_rose": "All answers: a rise about {day:day}, from {before:%} to {since:%}.",
    "share_fell": "All answers: a fall about {day:day}, from {before:%} to {since:%}.",
    "mean_rose": "All answers: a rise about {day:day}, from {before:.2} to {since:.2}.",
    "mean_fell": "All answers: a fall about {day:day}, from {before:.2} to {since:.2}.",
    "no_change": "All answers: no clear change of {figure} in {span}. A change of {size} would have been found.",
    "change_unclear": "All answers: too few to tell whether {figure} changed in {span}. Only a change of {size} would "
    "have been found.",
    "change_unfindable": "All answers: too few to find any change of {figure} in {span}.",
    "windows_rose": "The share of bad answers rose from {before:%} to {since:%}, by {size}.",
    "windows_fell": "The share of bad answers fell from {before:%} to {since:%}, by {size}.",
    "windows_unknown": "The change of all answers is not available: {reason}.",
    # Caveats of changes
    "acknowledged": "{part}: alarm {alarm} is acknowledged, so the detectors begin about {day:day}.",
    "detectable": "Smallest detectable change: it would have been found in 8 of 10 cases.",
    "version_changed": "The judge version changed on {day:day}, to {judge}.",
    "judge_errs_differently": "{part}: the judge errs differently since about {day:day}.",
    "judge_errs_alike": "{part}: the judge's share of bad answers moved away from the corrected one about {day:day}, "
    "but it is not shown to err differently.",
    "unusable_rose": "{part}: more verdicts are unusable since about {day:day}.",
    "unusable_fell": "{part}: fewer verdicts are unusable since about {day:day}.",
    "judge_alone": "These figures come from the judge {judge} alone, and are not corrected by labels.",
    "z": "z: distance from all points before, in standard errors.",
    "evidence": "{part}: a change is found when the evidence reaches {limit:,.0f}.",
    "panel": "{n:,} {counts}.",
    # Why there is no trend
    "no_times": "No answer has a time. To import a column of times: `--map YOURS=asked_at`",
    "no_plausible_date": "No answer has a plausible date.",
    "no_own_label": "No answer has the own label {field} yet.",
    "not_judged": "No answer is judged yet. Judge them: `judgeboard judge --judge lexical`",
    "no_score": "No answer has a score of {score} from the judge {judge}.",
    "no_labels_over_time": "The corrected share needs two periods with sampled labels. Labels count if their answers "
    "were drawn at random: raise `random_share`, run `judgeboard flags apply`, and review the flags of the rule "
    "`random_sample`.",
    # Alarms
    "false_alarms": "While nothing changes, each figure of all answers raises at most 1 false alarm a year on average, "
    "and all query types together raise at most 1 more.",
    "left_out": "Left out: {parts:list}.",
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
