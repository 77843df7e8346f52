import numpy as np
import pytest

from estimates import width
from judgeboard.stats.detection import auroc
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import Scale
from judgeboard.stats.significance import mcnemar
from rating_tables import ungrouped
from shared_answers import shared_answers

pytestmark = pytest.mark.shared


def test_evidence_groups_widen_real_intervals(shared):
    answers = shared_answers(shared / "data")
    scores = 1 - answers.badness["approach_1_modernbert"]
    alone, clustered = (
        auroc(scores, answers.bad, groups) for groups in (ungrouped(len(scores)), answers.groups)
    )
    assert clustered.value == alone.value
    assert width(clustered) > width(alone)


def test_an_audit_counts_as_published(shared):
    answers = shared_answers(shared / "data")
    first, second = (answers.judged_bad[name] for name in ("track_a_deberta", "track_b_large"))
    wrong = np.where(first == answers.bad, "right", "wrong")
    marked = np.where(first == second, "right", "wrong")
    got = pair_statistics(marked, wrong, Scale("audit", ("wrong", "right"), bad=0), answers.groups)
    assert got.confusion.counts == ((155, 115), (77, 997))
    assert round(got.precision.value, 4) == 0.6681
    assert round(got.sensitivity.value, 4) == 0.5741
    assert mcnemar(115, 77) < 0.01
