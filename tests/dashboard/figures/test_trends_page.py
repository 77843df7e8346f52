"""Trends: the sentence first, one panel a query type, everything in the address, nothing where nothing is."""

import re

import pytest

from app_pages import charts, chips, labels, texts, with_label
from figures_log import FELL, HOSTILE
from judgeboard.domain import DimensionScore
from judgeboard.measure.trend import trend
from stored_rows import read


def only_filter(app, answers):
    """Return the words of the only filter of a list with so many answers, which is a chip too."""
    n, words, _ = texts(app, "jb-say")[0].split(" · ")
    assert n == answers
    assert [chip.lower() for chip in chips(app)] == [f"{words} ✕"]
    return words


def test_the_worst_change_and_its_panel_come_first(open_page, figures):
    app = open_page("trends", show="Mood", last="3 years", verdicts="nobody")
    assert [field.value for field in app.segmented_control] == ["groundedness", "week"]
    assert "30 Mar 2026" in texts(app, "jb-say")[0]
    parts = texts(app, "jb-part")
    assert parts[:2] == ["All answers", FELL]
    assert HOSTILE in parts
    assert len(charts(app)) == 1 + 3
    assert "Left out:" in texts(app, "jb-cap")
    [without_time] = [label for label in labels(app) if label.startswith("5 ")]
    assert without_time


def test_answers_without_a_score_are_said_and_open(open_page, log):
    version = log.version()
    log.say_all(version, log.answers(5, day=20_000), groundedness=0.5)
    refused = log.answers(2, day=20_000)
    log.say_all(version, refused, quality=4)
    log.answers(1, day=20_000)
    app = open_page("trends")
    assert [label.split(" ")[0] for label in labels(app)] == ["2", "1"]
    opened = open_page("responses", unscored="groundedness", judge="rag")
    without = only_filter(opened, "2 answers")
    assert re.fullmatch("judged by rag .* groundedness", without)
    assert len(opened.dataframe[0].value) == 2
    assert "Rejudge 2 answers" in labels(opened)
    of_version = open_page("responses", unscored="quality", judge_version=str(version.id))
    without = only_filter(of_version, "5 answers")
    assert re.search(f"{version.title}.* quality$", without)


def test_one_version_of_another_judge_can_be_chosen(open_page, figures):
    app = open_page("trends", verdicts="second, current", tables="true")
    table = app.dataframe[-1].value
    assert table[table["Query type"] == FELL]["Groundedness"].tolist()[0] == pytest.approx(1 - 0.85)


def test_without_any_time_there_is_a_sentence_and_no_axis(open_page, log):
    log.say_all(log.version(), log.answers(12), groundedness=0.5)
    app = open_page("trends")
    assert any("asked_at" in text for text in texts(app, "jb-empty"))
    [label] = labels(app)
    assert label.startswith("12 ")
    assert charts(app) == []


def test_a_metadata_field_splits_the_panels(open_page, log):
    version = log.version()
    for tenant, score in (("acme", 0.25), ("globex", 0.75)):
        ids = log.answers(4, day=20_000, metadata={"tenant": tenant})
        log.say_all(version, ids, groundedness=score)
    app = open_page("trends", split="metadata.tenant", tables="true")
    table = app.dataframe[-1].value
    assert dict(zip(table["metadata.tenant"], table["Groundedness"], strict=True)) == {
        "All answers": 0.5,
        "acme": 0.25,
        "globex": 0.75,
    }
    app = open_page("trends", split="metadata.tenant")
    assert texts(app, "jb-part") == ["All answers", "acme", "globex"]


def test_fields_that_differ_in_each_answer_are_no_split(open_page, log):
    for number in range(8):
        fields = {"span_id": f"s{number}", "latency_ms": number / 7, "tenant": f"t{number % 2}"}
        log.say_all(log.version(), log.answers(1, day=20_000, metadata=fields), groundedness=0.5)
    split = with_label(open_page("trends").selectbox, "Split by")
    assert split.options == ["Query type", "Source", "Generator model", "metadata.tenant"]


def test_more_than_six_types_show_the_six_with_most_answers(open_page, log):
    version = log.version()
    for place in range(8):
        log.say_all(
            version,
            log.answers(place + 1, day=20_000, query_type=f"type {place}"),
            groundedness=0.5,
        )
    app = open_page("trends")
    assert len(charts(app)) == 1 + 6
    assert app.multiselect[0].value == [f"type {place}" for place in (7, 6, 5, 4, 3, 2)]
    assert len(charts(open_page("trends", type=["type 0", "type 1"]))) == 1 + 2


def test_without_sampled_labels_the_page_tells_how_to_get_them(open_page, figures):
    page = open_page("trends", show="Bad, corrected")
    assert any("random_share" in each for each in texts(page, "jb-empty"))


def test_a_criterion_of_a_rubric_judge_is_drawn_on_its_own_scale(open_page, log, sqlite_store):
    ids = log.answers(12, day=20_000)
    log.say_all(log.version(), ids, groundedness=0.5)
    assert "Criterion" not in open_page("trends").segmented_control(key="show").options
    scores = {
        each: {"scores": (DimensionScore("tone", 1 + place % 5, "1-5"),)}
        for place, each in enumerate(ids[:10])
    }
    log.say(
        log.version("rubric"),
        scores | {ids[10]: {"scores": (DimensionScore("tone", None, "1-5"),)}},
    )
    app = open_page("trends", show="Criterion")
    assert app.selectbox(key="criterion").options == ["tone (rubric)"]
    assert [each for each in texts(app, "jb-cap") if "without" in each] == ["1 without tone"]
    drawn = read(sqlite_store, trend, criterion="tone")
    (point,) = drawn.panels[0].points
    assert drawn.judge == "rubric"
    assert point.estimate.value == 3.0
    assert point.estimate.n == 10
    left_out = [(each.reason, each.n) for each in drawn.left_out]
    assert left_out == [("no_score", 1), ("no_verdict", 1)]
