"""A figure of agreement is the same, to the last bit, on the page, in the command, its JSON, the report and `stats`."""

import json
import re
from html import unescape
from operator import attrgetter

import pytest

from graded_log import BAD, GOOD, GradedLog, read
from judgeboard.cli.app import run
from judgeboard.domain import Status
from judgeboard.formats.output import to_plain
from judgeboard.measure.agreement import agreement_of, measure_agreement
from judgeboard.measure.agreement_page import agreement_details, agreement_page
from judgeboard.measure.agreement_result import (
    headline_name,
    shown_statistics,
    statistics_of_slice,
)
from judgeboard.measure.choice import GRADES, CountedGrades
from judgeboard.measure.ratings import PairSource
from judgeboard.reports.agreement import all_and_alone, report_page, report_results
from judgeboard.reports.front_page import log_summary
from judgeboard.reports.stats import stats
from judgeboard.stats.estimates import number_words, percent, percent_words, two_decimals
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.stats.ratings import HUMANS, SCALES
from judgeboard.store.judge_versions import get_version
from judgeboard.store.opening import open_store
from judging_log import address

SHOWN = tuple(
    human for human in HUMANS if human != "mean"
)  # the page does not offer the mean of people
SLICES = (None, "query_type", "time")
IN_ORDER = list(zip(GRADES, SHOWN, SLICES, strict=True))
SHIFTED = list(zip(GRADES, (*SHOWN[1:], SHOWN[0]), (*SLICES[2:], *SLICES[:2]), strict=True))
"""Every grade, every way to count people and every slice once, each with another one than in `IN_ORDER`."""


@pytest.fixture(scope="module")
def demo(demo):
    store = open_store(demo)
    yield store
    store.close()


@pytest.fixture(scope="module")
def uneven(new_store):
    """Two judges and three people on 72 answers in shared evidence groups, with ties, gaps, failures and gold."""
    store = new_store()
    log = GradedLog(store)
    first, second = log.version("one"), log.version("two")
    ids = log.answers_of(
        {"query_type": ("sql", "plain", "rare")[min(four % 7, 2)], "group": four // 2, "day": four}
        for four in range(18)
        for _ in range(4)
    )
    of_first, of_mara = {}, {}

    def scores(place, good_every, levels, groundedness):
        return {
            "label": BAD if place % good_every else GOOD,
            "quality": 1 + place % levels,
            "groundedness": groundedness,
        }

    for place, each in enumerate(ids):
        given = scores(place, 3, 4, place % 11 / 10)
        of_first[each] = given if place % 9 else {"status": Status.UNPARSABLE}
        of_mara[each] = scores(place, 4, 3, place % 7 / 7)
    log.say(first, of_first)
    log.say_scores(second, ids[1::2], [place % 5 / 5 for place in range(1, len(ids), 2)])
    log.reviews(of_mara)
    log.review_all(ids[1::2], "jon", label=GOOD, quality=2, groundedness=0.5)
    log.review_all(ids[::5], "lee", label=BAD)
    log.review_all(ids[::12], "lead", label=GOOD, quality=4, groundedness=1.0, stage="adjudication")
    return store


@pytest.fixture(scope="module")
def pandalm(public_database):
    store = open_store(public_database(("pandalm.pairwise", "pairs")))
    yield store
    store.close()


@pytest.mark.parametrize(
    ("log", "version", "grade", "human", "by"),
    [
        *(("demo", "lexical v1", *each) for each in IN_ORDER),
        *(("uneven", "one v1", *each) for each in SHIFTED),
    ],
)
def test_every_output_gives_the_same_figures(request, capsys, log, version, grade, human, by):
    store = request.getfixturevalue(log)
    result = measure_agreement(store, judge_versions=[version], grade=grade, human=human, by=by)
    assert result.n
    the_command_agrees(store, result, human, capsys)
    the_page_agrees(store, result, human)
    the_report_agrees(store, result, human)


def test_stats_gives_the_figures_of_every_grade(demo, uneven):
    stats_agree(demo, "lexical v1")
    stats_agree(uneven, "one v1")


@pytest.mark.shared
@pytest.mark.parametrize("human", SHOWN)
def test_the_figures_of_published_pairs_are_those_of_the_command(pandalm, human, capsys):
    result = measure_agreement(pandalm, unit="pairs", judge_versions=["pandalm-7b"], human=human)
    the_command_agrees(pandalm, result, human, capsys)


def the_command_agrees(store, result, human, capsys):
    words = ["agreement", "--db", address(store)]
    words += ["--judge-version", result.title, "--human", human, "--unit", result.unit]
    words += ["--grade", result.about.grade] if result.unit == "responses" else []
    words += [] if result.about.by is None else ["--by", result.about.by]
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == to_plain(result)
    assert run(words) == 0
    lines = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    parts = all_and_alone(result)
    for name in shown_statistics(result.statistics | result.graded):
        figures = [line for line in lines if line[0] == STATISTICS[name].name]
        words = percent_words if STATISTICS[name].share else number_words
        shown = [each[name] for each in map(shown_statistics, parts) if name in each]
        for figure, each in zip(figures, shown, strict=True):
            assert " ".join(figure[1:3]).replace("– ", "").startswith(words(each))


def the_page_agrees(store, result, human):
    """The page's result is that of the command but for the other statistics of its slices."""
    shown = the_page(store, result, human)
    whole = attrgetter("statistics", "graded", "parts", "headline")
    assert whole(shown.result) == whole(result)
    if result.about.by is not None:
        figures = ("n", headline_name(SCALES[result.about.grade]))
        of_page, of_command = (
            [row for row in each.rows if row.figure in figures and row.slice]
            for each in (shown.result, result)
        )
        assert of_page == of_command
        assert shown.result.caveats == result.caveats
    # What the CSV file holds.
    assert read(store, agreement_of, shown.choice).statistics == result.statistics
    the_same_answers_agree(store, shown)


def the_same_answers_agree(store, shown):
    """A version beside the others has the figures that the same answers give by themselves."""
    with store.reading() as connection:
        same = agreement_details(PairSource(connection, shown.choice.counted), shown).same_answers
    title = shown.result.title
    is_same = same.has("n", title) and (
        same.has("answers", title)
        if shown.result.graded
        else same.figure("n", title).n == shown.result.n
    )
    if is_same and not shown.result.graded:
        own = shown.result.statistics
        assert statistics_of_slice(same, title).items() <= (shown_statistics(own) | own).items()


def the_report_agrees(store, result, human):
    with store.reading() as connection:
        counted = CountedGrades(human=human)
        results = report_results(
            connection, result.about.grade, version_id(store, result.title), counted
        )
        html = report_page(results, log_summary(connection, results))
    data = re.search(
        r'<script type="application/json" id="agreement">(.*?)</script>', html, re.DOTALL
    )
    stored = json.loads(data[1])
    assert stored == to_plain(results)
    whole = [row for row in to_plain(result)["rows"] if row["slice"] is None]
    assert [row for row in stored[0]["rows"] if row["slice"] is None] == whole
    text = unescape(html.replace(data[1], ""))
    for name, each in shown_statistics(result.statistics).items():
        if each.value is not None:
            shown = percent(each.value) if STATISTICS[name].share else two_decimals(each.value)
            assert f"<td>{STATISTICS[name].name}</td><td>{shown}</td>" in text


def stats_agree(store, title):
    rows = read(store, stats).agreement
    fingerprint = read(store, get_version, title).fingerprint
    for grade in GRADES:
        result = measure_agreement(store, judge_versions=[title], grade=grade, by="query_type")
        figures = {each: statistics_of_slice(result, each) for each in (None, *result.slices)}
        mine = [row for row in rows if (row.judge_version, row.grade) == (fingerprint, grade)]
        assert {row.query_type for row in mine} == figures.keys()
        for row in mine:
            assert row.statistics
            assert row.statistics.items() <= figures[row.query_type].items()


def the_page(store, result, human):
    with store.reading() as connection:
        return agreement_page(
            PairSource(connection, CountedGrades(human=human)),
            version_id=version_id(store, result.title),
            grade=result.about.grade,
            by=result.about.by or "query_type",
        )


def version_id(store, title):
    return read(store, get_version, title).id
