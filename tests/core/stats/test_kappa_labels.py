"""How many more labels narrow kappa, and whether the labels then show what was planned."""

import numpy as np

from judgeboard.stats.kappa_labels import labels_for_weighted_kappa
from judgeboard.stats.rates import summed, weighted_agreement

REACH, ANSWERS, GROUP, DRAWS = 0.07, 1_344, 6, 40


def labelled(bad, judged_bad, groups, rows):
    return summed(
        judged_bad.astype(np.int64),
        judged_bad.astype(np.float64),
        groups,
        2,
        rows,
        bad[rows].astype(np.float64),
    )


def planned(bad, judged_bad, groups, rows):
    made = labelled(bad, judged_bad, groups, rows)
    plan = labels_for_weighted_kappa(*made, judged_bad[rows].astype(np.float64), REACH, least=5)
    assert plan is not None
    return plan


def test_a_pilot_without_labels_in_common_groups_assumes_that_errors_are_alike():
    """Errors of one group correlate with 0.1, which 60 labels cannot show. So eight of ten plans keep their word."""
    rng, kept, enough = np.random.default_rng(33), 0, 0
    groups = np.arange(ANSWERS) // GROUP
    for _ in range(DRAWS):
        bad = rng.random(ANSWERS) < rng.beta(0.7, 1.63, groups[-1] + 1)[groups]
        judged_bad = bad ^ (rng.random(ANSWERS) < rng.beta(1.35, 7.65, groups[-1] + 1)[groups])
        rows = np.zeros(ANSWERS, dtype=np.bool_)
        rows[rng.choice(ANSWERS, 60, replace=False)] = True
        plan = planned(bad, judged_bad, groups, rows)
        if plan.shows > REACH:
            continue
        rows[rng.choice(np.flatnonzero(~rows), plan.more, replace=False)] = True
        kappa = weighted_agreement(
            *labelled(bad, judged_bad, groups, rows), judged_bad[rows].astype(np.float64)
        )["kappa"]
        enough += 1
        kept += (kappa.high or 1.0) - (kappa.low or 0.0) <= 2 * 1.1 * REACH
    assert enough > DRAWS / 2
    assert kept >= 0.8 * enough
