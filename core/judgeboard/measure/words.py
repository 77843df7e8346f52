"""All English of figures: one sentence per code. `judgeboard.measure.notes` fills in the numbers.

A sentence has no condition and at most three values. Where two sentences fit, the figure chooses the code.
`judgeboard.measure.notes` lists the formats of values: ``{share:%}``, ``{kappa:.2}``, ``{n:answer}``.
"""

from judgeboard.formats.output import Column
from judgeboard.stats.pair_statistics import STATISTICS

FIGURES: dict[str, Column] = {
    "answers": Column("Answers", "count"),
    "labels": Column("Labels", "count"),
    "bad_answers": Column("Bad answers", "share estimate"),
    "bounds": Column("Least and most", "share estimate"),
    "mean": Column("Mean grade", "estimate"),
    "judge_alone": Column("Judge alone", "share estimate"),
    "labels_alone": Column("Labels alone", "share estimate"),
    "judge_mean": Column("Judge alone", "estimate"),
    "labels_mean": Column("Labels alone", "estimate"),
    "people_alpha": Column("Alpha among people", "estimate"),
    "design_effect": Column("Design effect", "number"),
    **{name: Column(each.name, "share estimate" if each.share else "estimate") for name, each in STATISTICS.items()},
    **{
        f"graded_{name}": Column(f"{each.name}, graded answers", "share estimate" if each.share else "estimate")
        for name, each in STATISTICS.items()
    },
}
"""The column of each figure in tables."""

WORDS: dict[str, str] = {
    # The share of bad answers, or the mean grade, of all answers
    "rate": "About {share:%} of {answers} are bad (n = {share:n} labels).",
    "rate_exact": "{share:%} of {answers} are bad (n = {share:n} labels).",
    "rate_since": "About {now:%} of the answers since {day:day} are bad; over the whole time {all:%}.",
    "rate_elsewhere": "About {share:%} of {answers} are bad, if the judge errs as often on them as on {others}.",
    "rate_interval": "{share:%} of {answers} are bad (95 % CI): {missing}.",
    "rate_bounds": "Between {low:%} and {high:%} of the answers are bad, whatever the unlabelled ones are: {missing}.",
    "rate_unknown": "The share of bad answers in {answers} is not known yet: {missing}.",
    "mean": "The mean {grade} of {answers} is about {mean:.2} (n = {mean:n} labels).",
    "mean_unknown": "The mean {grade} of {answers} is not known yet: {missing}.",
    "no_answers": "No answer matches.",
    "to_label": "{advice} `{command}`",
    "alarm": "The share changed on {day:day} (alarm {alarms:list}). These figures are of the whole time.",
    "picked_labels": "{n:label} of chosen answers: not counted.",
    "picked_labels_bounds": "{n:label} of chosen answers: counted only for the two bounds.",
    "undecided": "People did not decide {n:,} of {answers:,} answers. These may be harder than the others.",
    "undecided_bounds": "People did not decide {n:,} answers. If all are good: {low:%}. If all are bad: {high:%}.",
    "people_differ": "People agree with each other by alpha {alpha:.2} only (n = {n:,}).",
    "waiting": "{waiting:,} of {drawn:,} answers of the random sample still wait for a review.",
    "few_labels_of": "Only {n:,} of {labels:label} are “{label}”, so the interval is rough.",
    "few_groups": "The labels are in only {n:evidence group}, so the interval is rough.",
    "types_differ": "These query types differ from all answers: {types:list}.",
    "types_alike": "No query type clearly differs from all answers: the intervals overlap.",
    "types_without_interval": "No query type has enough labels for an interval.",
    "missed_types": "Query types that differ in this: {types:list}.",
    "judge_share": "According to {judge} alone, {share:%} of {share:n} answers are bad. No label corrected this share.",
    # Two judge versions on the same answers
    "versions_alike": "{first} and {second} give the same verdict on all {n:answer}: no label can tell them apart.",
    "versions_without_labels": "No answer has a label of people and usable verdicts of both {first} and {second}.",
    "versions_unknown": "Not shown yet whether {second} is better than {first}: {reason}.",
    "version_better": "{second} is better than {first}: the share of right verdicts changes by {change:points}.",
    "version_worse": "{second} is worse than {first}: the share of right verdicts changes by {change:points}.",
    "version_as_good": "{second} is as good as {first}: the share of right verdicts changes by {change:points}.",
    "version_not_shown": "No difference shown from {first} to {second}: right verdicts change by {change:points}.",
    "lower_sensitivity": "{second} finds fewer bad answers than {first}.",
    "lower_specificity": "{second} raises more false alarms than {first}.",
    "unlike_counts": "Some labels stand for more answers than others, so counts and change have different signs.",
    "label_differing": "Next: {n:label} of answers on which they differ. `{command}`",
    "judge_more": "A change of this size needs about {needed:,} answers that both judged; both judged {answers:,}.",
    "larger_log": "A change of this size needs about {needed:,} answers; the log has {logged:,}.",
    "all_labelled": "All {n:,} are labelled. Log more.",
    "label_all": "Label all {n:,}: `{command}`",
    "labels_show": "Labels on all {n:,} can show a change of {change:point} or more: `{command}`",
    "labels_show_nothing": "Labels on all {n:,} would show nothing. Log more.",
    # Two sources on the same questions
    "too_few_questions": "Too few questions that both answered (n = {n:,}, at least {needed} needed).",
    "sources_unknown": "Not shown yet whether {b} is better than {a}: {reason}.",
    "source_better": "{b} is better than {a}: the share of bad answers changes by {change:points}.",
    "source_worse": "{b} is worse than {a}: the share of bad answers changes by {change:points}.",
    "source_as_good": "{b} is as good as {a}: the share of bad answers changes by {change:points}.",
    "source_not_shown": "No difference shown from {a} to {b}: the share of bad answers changes by {change:points}.",
    "questions_without_verdict": "On {n:question} the judge has no usable verdict on both answers.",
    "questions_not_sampled": "The labels on {n:question} do not count: these are no part of the random sample.",
    "judge_alone_better": "The judge alone would find {b} better than {a}.",
    "judge_alone_worse": "The judge alone would find {b} worse than {a}.",
    "judge_alone_as_good": "The judge alone would find {b} as good as {a}.",
    "rates_of_sources": "These labels can be weighted for the share of bad answers of each: `{command}`",
    "label_first": "For a first figure: `{command}`",
    "label_questions": "About {n:more question} with labels on both answers show a change of this size: `{command}`",
}
