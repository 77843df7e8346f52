"""Corrected shares of recorded answers in eight weeks, against the published counts and shares."""

import json
from datetime import date, timedelta

import pytest

import judgeboard
from graded_log import read
from judgeboard.flags.rules import sampling_number
from judgeboard.imports.importing import import_file
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.people.roster import change_settings
from recordings import records
from shared_answers import published

pytestmark = pytest.mark.shared

MONDAY = date(2026, 3, 2)
EARLY = {"gpt-3.5-turbo-0613", "gpt-4-0613", "llama-2-70b-chat"}
SHARE = 0.15


def eight_weeks(store, shared, folder, *, app_changed):
    """Store the answers, the verdicts of one detector, and the labels of the random sample.

    If the app changed, the answers of the first four weeks come from three generators, later ones
    from the others.
    """
    data = shared / "data"
    verdicts = [
        each
        for each in records(data / "ragtruth.judgements.jsonl.gz")
        if each["judge"] == "track_b_modernbert"
    ]
    judged, answers = {each["response_id"] for each in verdicts}, []
    for each in records(data / "ragtruth.responses.jsonl.gz"):
        week = int(8 * sampling_number("weeks", "ragtruth", str(each["source_id"])))
        if each["id"] in judged and not (app_changed and (each["model"] in EARLY) != (week < 4)):
            asked_at = (MONDAY + timedelta(weeks=week)).isoformat()
            answers.append(each | {"query_type": "all", "asked_at": asked_at})
    ids = {each["id"] for each in answers}
    sampled = {id_ for id_ in ids if sampling_number("judgeboard", "default", id_) < SHARE}
    labels = [
        each for each in records(data / "ragtruth.human.jsonl.gz") if each["response_id"] in sampled
    ]
    # Without a threshold no rule picks an answer: the strata are the verdicts, as published.
    change_settings(store, {"random_share": SHARE, "low_groundedness": 0.0}, "test")
    of_answers = [each for each in verdicts if each["response_id"] in ids]
    for kind, rows in (("responses", answers), ("verdicts", of_answers), ("grades", labels)):
        file = folder / f"{kind}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        assert not import_file(store, file, kind=kind).rejected
    judgeboard.raise_flags(store)


@pytest.mark.parametrize(
    ("name", "app_changed", "evidence"),
    [("nothing_changed", False, 6.339), ("app_changed_in_week_4", True, 82.536)],
)
def test_each_week_has_the_published_share(
    sqlite_store, shared, tmp_path, name, app_changed, evidence
):
    """The published detector takes answers as independent; the product does not."""
    rows = published(shared / "data", "e2_trend")[name]["rows"]
    eight_weeks(sqlite_store, shared, tmp_path, app_changed=app_changed)
    (panel,) = read(sqlite_store, corrected_trend).panels
    for point, row in zip(panel.points, rows, strict=True):
        assert point.share.value == pytest.approx(row["value"], abs=1e-6)
        assert point.judge_share == pytest.approx(row["judged_bad"] / row["N"])
        assert [stratum.labelled for stratum in point.strata] == row["n"]
    # Each evidence group has about three answers or more here, so two labels of a group tell less
    # than two others.
    assert panel.points[-1].rose == pytest.approx(evidence, abs=5e-3)
