"""A row becomes what a judge said of a pair in one order."""

import pytest

from judgeboard.domain import Preference, Shown, Status
from judgeboard.imports.recorded import RecordedJudge

ROW = {"pair_id": "p", "judge": "j", "order": "BA"}


def said(one, **more):
    return one({**ROW, **more}, kind="comparisons")


def test_a_verdict_in_one_order(one):
    got = said(one, verdict="n", raw={"x": 1}, reasoning="why", reference="42", condition="reference", ask=2)
    comparison = got.comparison
    assert (got.pair_id, got.judge, comparison.shown, comparison.preferences) == (
        *("p", RecordedJudge("j"), Shown.BA),
        {"overall": Preference.TIE},
    )
    record = comparison.record
    assert (record.status, record.raw, comparison.reasoning) == (Status.OK, '{"x": 1}', "why")
    assert (comparison.condition, comparison.reference, comparison.ask) == ("reference", "42", 2)


def test_a_verdict_on_an_aspect(one):
    assert said(one, verdict="A", aspect="depth").comparison.preferences == {"depth": Preference.A}
    assert said(one, verdict={"depth": "a"}).comparison.preferences == {"depth": Preference.A}


@pytest.mark.parametrize(
    ("given", "status"), [({}, "unparsable"), ({"verdict": None}, "unparsable"), ({"status": "refused"}, "refused")]
)
def test_none_is_asked_and_unusable(one, given, status):
    got = said(one, raw="I cannot", **given).comparison
    assert (got.record.status, got.preferences, got.record.raw) == (status, {}, "I cannot")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"pair_id": None}, "external_id"),
        ({"judge": ""}, "judge"),
        ({"order": None}, "order"),
        ({"order": "first"}, "order"),
        ({"verdict": "maybe"}, "verdict"),
        ({"verdict": "a", "status": "error"}, "status"),
        ({"status": "ok"}, "status"),
        ({"verdict": {"x": "a"}, "aspect": "y"}, "aspect"),
        ({"verdict": "a", "condition": "blind"}, "condition"),
        ({"verdict": "a", "ask": -1}, "ask"),
    ],
)
def test_what_is_no_comparison_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="comparisons")[0] == field
