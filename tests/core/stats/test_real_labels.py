import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.detection import auroc
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import Scale
from judgeboard.stats.significance import mcnemar
from recordings import records

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def ragtruth(shared):
    people = {row["response_id"]: row for row in records(shared / "data/ragtruth.human.jsonl.gz")}
    group = {
        row["id"]: row["source_id"] for row in records(shared / "data/ragtruth.responses.jsonl.gz")
    }
    judges = {}
    for row in records(shared / "data/ragtruth.judgements.jsonl.gz"):
        judges.setdefault(row["judge"], []).append(row)
    detectors = {}
    for judge, rows in judges.items():
        detectors[judge] = {
            "judge": np.array([row["label"] for row in rows]),
            "people": np.array([people[row["response_id"]]["label"] for row in rows]),
            "groups": np.array([str(group[row["response_id"]]) for row in rows]),
            "scores": np.array([row.get("groundedness", np.nan) for row in rows], dtype=float),
            "people_scores": np.array([people[row["response_id"]]["groundedness"] for row in rows]),
        }
    return detectors


def test_evidence_groups_widen_real_intervals(ragtruth):
    rows = ragtruth["approach_1_modernbert"]
    bad = rows["people"] == "hallucinated"
    alone, clustered = (
        auroc(rows["scores"], bad, grouping(ids, 1344)) for ids in (None, rows["groups"])
    )
    assert clustered.value == alone.value
    assert clustered.high - clustered.low > alone.high - alone.low


def test_an_audit_counts_as_published(ragtruth):
    first, second = ragtruth["track_a_deberta"], ragtruth["track_b_large"]
    wrong = np.where(first["judge"] == first["people"], "right", "wrong")
    marked = np.where(first["judge"] == second["judge"], "right", "wrong")
    got = pair_statistics(marked, wrong, Scale("audit", ("wrong", "right"), bad=0), first["groups"])
    assert got.confusion.counts == ((155, 115), (77, 997))
    assert round(got.precision.value, 4) == 0.6681
    assert round(got.sensitivity.value, 4) == 0.5741
    assert mcnemar(115, 77) < 0.01
