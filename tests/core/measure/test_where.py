"""Figures of the answers that match a filter: the same as those of the slice with these answers."""

import json

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, read
from judgeboard.cli.app import run
from judgeboard.domain import Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import statistics_of_slice
from judgeboard.methods.juries.run import judge_by_jury
from judgeboard.methods.repeats.run import repeats_report
from judgeboard.store.filters import RowFilter
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.pairs import matching_pairs
from judgeboard.store.storing import store_judgments
from judging_log import address
from pair_log import add_pairs, people_say, record
from stored_rows import write_to

ONE_TYPE = RowFilter(query_types=("sql",))


@pytest.fixture
def graded(graded_once):
    """Two judges and two people on 30 answers; every second answer has the query type sql."""
    return graded_once("two judges and two people", fill)[0]


def fill(log):
    ids = log.answers_of({"query_type": "sql" if place % 2 else "plain"} for place in range(30))

    def grades(every, step):
        return {
            id_: {"label": BAD if place % every else GOOD, "groundedness": place % step / step}
            for place, id_ in enumerate(ids)
        }

    for name, every in (("one", 3), ("two", 5)):
        log.say(log.version(name), grades(every, 7))
    for person, every in (("mara", 4), ("jon", 6)):
        log.reviews(grades(every, every), person)


@on_sqlite
@pytest.mark.parametrize("grade", ["label", "groundedness"])
@pytest.mark.parametrize("of", ["judge", "people", "judges"])
def test_a_filter_gives_the_figures_of_the_slice(graded, of, grade):
    chosen = {"of": of, "grade": grade, "judge_versions": ("one",) if of == "judge" else ()}
    everything = measure_agreement(graded.store, by="query_type", **chosen)
    result = measure_agreement(graded.store, where=ONE_TYPE, **chosen)
    assert everything.n > result.n == everything.figure("n", "sql").n
    part = statistics_of_slice(everything, "sql")
    assert {name: result.statistics[name] for name in part} == part
    assert (everything.about.where, result.about.where) == ({}, {"query_types": ["sql"]})


def test_a_jury_and_repeats_name_their_filter(graded):
    jury = judge_by_jury(graded.store, ["one", "two"], where=ONE_TYPE)
    assert (jury.answers, jury.where) == (15, {"query_types": ["sql"]})
    version = graded.version("again")
    ids = graded.answers(12, query_type="sql") + graded.answers(12, query_type="plain")
    verdicts = [
        NewJudgment(each, 0, number, Verdict(Status.OK, groundedness=each % 5 / 5))
        for each in ids
        for number in (0, 1)
    ]
    write_to(graded.store, store_judgments, version, None, verdicts)

    def repeated(**where):
        return graded.read(repeats_report, version=version.id, **where)

    assert repeated().answers == 24
    report = repeated(where=ONE_TYPE)
    assert (report.answers, report.where) == (12, {"query_types": ["sql"]})
    with pytest.raises(NotFound, match="source x"):
        repeated(where=RowFilter(sources=("x",)))
    assert measure_agreement(graded.store, of="repeats", where=ONE_TYPE).n == 12


@pytest.fixture
def compared(store, fill_once):
    fill_once("pairs of two types", store, fill_pairs)
    return store


def fill_pairs(store):
    pairs = [
        *add_pairs(store, 12, query_type="sql"),
        *add_pairs(store, 12, query_type="plain", first=12),
    ]
    record(store, pairs, {"ab": "abt" * 8, "ba": "abb" * 8})
    for place, pair in enumerate(pairs):
        people_say(store, pair, *("ab" if place % 4 == 0 else "aa"))


@on_sqlite
@pytest.mark.parametrize("of", ["judge", "people", "judges", "repeats"])
def test_pairs_are_filtered_by_their_own_fields(compared, of):
    every, result = (
        measure_agreement(compared, of=of, unit="pairs", where=where) for where in (None, ONE_TYPE)
    )
    assert every.n == 2 * result.n
    with pytest.raises(BadInput, match="query_type, source, model"):
        measure_agreement(compared, of=of, unit="pairs", where=RowFilter(graded=True))


@pytest.mark.parametrize(
    ("models", "n"), [(("m1",), 12), (("m2",), 18), (("m3",), 6), (("m1", "m3"), 18), (("m4",), 0)]
)
def test_pairs_are_filtered_by_the_model_of_either_answer(store, models, n):
    pairs = [
        pair
        for place, (a, b) in enumerate((("m1", "m2"), ("m2", "m1"), ("m2", "m3"), (None, None)))
        for pair in add_pairs(store, 6, first=6 * place, model_a=a, model_b=b)
    ]
    record(store, pairs, {"ab": "ab" * 12, "ba": "ab" * 12})
    for pair in pairs:
        people_say(store, pair, *"aa")
    where = RowFilter(models=models)
    assert len(read(store, matching_pairs, where)) == n
    if n:
        assert measure_agreement(store, unit="pairs", where=where).n == n


@on_sqlite
def test_the_commands_take_the_filter_and_their_json_names_it(compared, capsys):
    def printed(*words):
        assert run([*words, "--where", "query_type=sql", "--db", address(compared)]) == 0
        return capsys.readouterr().out

    agreement = json.loads(printed("agreement", "--unit", "pairs", "--json"))
    words = ("compare", "--recorded", "--judge-version", agreement["title"], "--json")
    (result,) = json.loads(printed(*words))["aspects"]
    assert agreement["about"]["where"] == result["about"]["where"] == {"query_types": ["sql"]}
    assert [row["value"] for row in result["rows"] if row["figure"] == "pairs"] == [12]
    assert "Filter: sql." in printed("agreement", "--unit", "pairs")
