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
    "flags": Column("Flags", "count"),
    "flagged": Column("Flagged", "share estimate"),
    "recall": Column("Recall", "share estimate"),
    "false_omission": Column("False omission rate", "share estimate"),
    "no_review_share": Column("Verdicts without review", "share estimate"),
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
    # What to label for figures of all answers
    "hidden_answers": "{hidden:,} of the {answers:answer} are hidden from you until you have reviewed them blind",
    "undecided_answers": "people did not decide {answers:,} of the {total:,} {words}",
    "uncounted_labels": "{n:,} of the {drawn:,} sampled {words} do not count yet: people labelled the worst ones first",
    "few_random_labels": "only {labelled:,} of the {total:,} {words} have a label of a random sample",
    "no_random_label": "none of the {answers:,} {words} has a label of a random sample",
    "not_available": "Not available: {why}.",
    "review_hidden": "Review them first, or ask somebody who is not assigned to their queue for this figure.",
    "label_sample": "Label the random sample: {waiting:,} of its answers have no label.",
    "label_open_queue": "Label the open answers of the queue “{queue}”.",
    "label_once_more": "Let one more person label them.",
    "label_some": "Label {labels:,} of the {answers:,} {words}.",
    # Thresholds: whether to keep the one in force
    "threshold_keep": "Keep {now}: with {confidence:%} confidence, this threshold reaches the goal.",
    "threshold_keep_or_change": "Keep {now}, or flag below {below}: both reach the goal ({confidence:%} confidence).",
    "threshold_change": "Flag groundedness below {below}: with {confidence:%} confidence, this reaches the goal.",
    "threshold_not_shown": "No threshold is shown to reach a {goal} by {n:label}; one may exist.",
    "threshold_few_labels": "The labels are too few to show a threshold for a {goal}.",
    "threshold_cheapest": "Keep {now}: on the labels that choose, no other threshold is cheaper.",
    "threshold_cheaper": "Flag groundedness below {below}: the cost per answer changes by {cost:.2} reviews.",
    "threshold_costs_more": "Keep {now}: below {below}, the cost per answer changes by {cost:.2} reviews.",
    "threshold_cost_not_shown": "Keep {now}: {below} is not shown to be cheaper (cost per answer, change: {cost:.2}).",
    "threshold_no_bad_label": "Not available, because no labelled answer is bad.",
    "threshold_no_label_chooses": "Not available, because no label is in the half that chooses a threshold.",
    # Thresholds: what limits them
    "threshold_halves_differ": "On the other half of the labels, the share is only {share:%}. Label more answers.",
    "threshold_decides_verdicts": "It also decides verdicts: agreement with people goes from {before:%} to {after:%}.",
    "threshold_label_differs": "These figures are of groundedness. `labels rate` measures the judge's label.",
    "threshold_excused": "The rule excuses {excuses}: {n:,} answers below the threshold in force have no flag.",
    "threshold_part_too_small": "Figures have no interval: a part of the answers needs {labels:more label}.",
    "uneven_labels": "Only {counting:,} of {labels:,} labels of {things} count: some kinds are labelled more often.",
    # What a threshold would change in the queue
    "queue_unchanged": "Nothing changes in the queue.",
    "fewer_flags": "In the queue: {flags:flag} fewer. Bad answers missed: {bad:count}.",
    "more_flags": "In the queue: {flags:flag} more. Bad answers found: {bad:count}.",
    # Verdicts that need no review
    "confidence_found": "Verdicts with confidence {confidence:g} or more need no review: {agreement:%} agreement.",
    "confidence_not_shown": "No confidence is shown to reach {agreement:%} agreement by {n:label}; one may exist.",
    "confidence_few_labels": "The labels are too few to show {agreement:%} agreement.",
    "no_random_labels": "Not available, because no answer has a label that was drawn at random.",
    # What to label for a threshold
    "label_queue": "Label {answers:more answer}, drawn at random: `{command}`",
    "log_more": "Log and judge more answers: the {left:,} without a label are too few.",
    "log_more_of": "Log and judge more answers: {more:,} more {things} must have a label ({counting:,} so far).",
    "labels_between": "{labels:more label} of answers between the two thresholds may show which one is cheaper.",
    # What a score means
    "map_helps": "A score of {score:g} means: people call {share:%} of such answers grounded.",
    "map_flat": "People and this score have nothing in common: the map is flat.",
    "map_one_score": "The judge gives all answers the same score, so the map is the share of grounded answers.",
    "map_worse": "Do not use this map ({how}): the scores predict people better, and are off by {ece:.2} only.",
    "map_worse_scores_off": "Do not use this map ({how}): the scores predict people better, but are off by {ece:.2}.",
    "map_unproven": "Do not use this map ({how}) yet: the labels do not show that it predicts people better.",
    "map_scores_off": "Only rank by these scores: at {score:g}, people call {share:%} of the answers grounded.",
    "map_part_too_small": "The labels do not show whether a map helps: a part needs {labels:more label}.",
    "map_few_labels": "No map: {n:label}, at least {least} needed.",
    "map_impossible": "No map: {reason}.",
    "map_judge_too_sure": "The judge is too sure: the slope of the map is {slope:.2}, where 1 is calibrated.",
    "map_tells_little": "Even calibrated, the score tells little: one probability for all is nearly as good.",
    "map_wrong_form": "This curve does not fit these scores. Try `judgeboard labels calibrate --how isotonic`.",
    "map_misfit": "After this map, the calibration error is still more than luck alone gives.",
    "map_few_for_steps": "platt is usually better than isotonic with fewer than {labels:label}.",
    "map_uneven_labels": "The {labels:label} tell only as much as {even:,} of a random sample.",
}
