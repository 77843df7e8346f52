"""Agreement beside the judge with people: people, judges and repeats by themselves, a stand-in, what a report holds."""

from app_pages import charts, labels, table, text_with, texts
from graded_log import labels_where
from judgeboard.domain import Status, Verdict
from judgeboard.formats.output import to_plain
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.cells import ALL, Cell
from judgeboard.measure.choice import CountedGrades
from judgeboard.reports.agreement import report_results
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from judgeboard_dashboard.widgets.navigation import cell_rows
from stored_rows import read, write_to

PEOPLE, REPEATS = "People and people", "Judge and its repeats"


def chips(app):
    """Return the chips of a list of answers, which narrow it."""
    return [each for each in labels(app) if each.endswith(" ✕")]


def test_people_with_people_pair_by_pair_and_by_slice(open_page, figures):
    app = open_page("agreement", compare=PEOPLE)
    (words,) = texts(app, "jb-say")
    assert words.startswith("On 19 items")
    [pair] = table(app, "Raters").to_dict("records")
    assert pair["Raters"] == "Mara / Jon"
    assert pair["n"] == 19
    assert "By query type" in texts(app, "jb-part")
    assert len(charts(app)) == 1
    assert app.selectbox(key="people").disabled


def test_a_slice_of_people_opens_its_rows(open_page, figures, sqlite_store):
    result = measure_agreement(sqlite_store, of="people", by="query_type")
    largest = max(result.slices, key=lambda each: result.figure("n", each).n)
    cell = Cell("label", ALL, ALL, "people", by="query_type", slice=largest)
    opened = open_page("responses", **cell_rows(cell).query)
    [chip] = chips(opened)
    assert chip.startswith("label · ")
    assert f" {largest}: {result.figure('n', largest).n} answers" in chip


def test_a_judge_with_its_repeats(open_page, log, sqlite_store):
    assert "--repeats 3" in texts(open_page("agreement", compare=REPEATS), "jb-empty")[0]
    version = log.version("again")
    said = [
        NewJudgment(each, 0, number, Verdict(Status.OK, quality=3 + (number == place % 3)))
        for place, each in enumerate(log.answers(12))
        for number in range(2)
    ]
    write_to(sqlite_store, store_judgments, version, None, said)
    app = open_page("agreement", compare=REPEATS, grade="Quality")
    assert "33 % [" in texts(app, "jb-say")[0]
    assert [each.split(" / ") for each in table(app, "Raters")["Raters"]] == [["ask 1", "ask 2"]]
    for other in ("label", "groundedness"):
        app = open_page("agreement", compare=REPEATS, grade=other.capitalize())
        [words] = texts(app, "jb-empty")
        assert version.title in words
        assert f"no {other}, only quality" in words


def test_reviews_without_the_grade_are_told_where_nothing_can_be_shown(open_page, log):
    log.review_all(log.answers(6), quality=2, groundedness=0.5)
    assert text_with(open_page("agreement"), "6 reviews", "label")


def test_slices_by_another_field(open_page, figures):
    app = open_page("agreement", by="Length", tables="true", all="true")
    slices = table(app, "Length")
    assert slices["Length"].tolist() == ["under 200", "all answers"]
    assert slices["n"].nunique() == 1


def test_a_stand_in_is_tested_at_the_chosen_price_of_people(open_page, log):
    ids = log.answers(40)
    truth = labels_where(ids, lambda place: place % 3)
    log.say(log.version(), truth)
    for reviewer in ("Mara", "Jon", "Lee"):
        log.reviews(truth, reviewer)
    app = open_page("agreement", epsilon="0.1: a crowd", all="true")
    assert text_with(app, "ε = 0.1", cls="jb-cap")
    assert table(app, "Passed")["Passed"].tolist() == ["yes"] * 3


def test_the_report_holds_judge_people_and_judges(open_page, figures, sqlite_store):
    app = open_page("agreement")
    downloads = " ".join(each.label for each in app.get("download_button"))
    assert all(kind in downloads for kind in ("HTML", "JSON", "CSV"))
    results = read(sqlite_store, report_results, "label", figures.rag.id, CountedGrades())
    assert [each["of"] for each in to_plain(results)] == ["judge", "people", "judges"]
