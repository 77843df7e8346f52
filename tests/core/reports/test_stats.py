import json
import math
from dataclasses import fields
from itertools import product

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog, labels_in, labels_where
from judgeboard.domain import Decision, Estimate, Status
from judgeboard.formats.output import to_plain
from judgeboard.measure.agreement import every_judge
from judgeboard.reports.stats import (
    agreement_tables,
    judgments_table,
    left_out_table,
    measure_log,
    stats,
    stats_notes,
)
from result_parts import codes

KEYS = [
    "responses",
    "reviews",
    "labels",
    "judgments",
    "judge_versions",
    "flags",
    "graders",
    "agreement",
    "masks",
    "forgotten",
]


def notes_of(store):
    return codes(stats_notes(measure_log(store)))


def report(log):
    return to_plain(log.read(stats))


def busy_log(store):
    """Two judges, two people, every status, every kind of review."""
    log = GradedLog(store)
    first, second = log.version("rag"), log.version("nli")
    ids = log.answers(12, query_type="sql", group=3) + log.answers(12, query_type="simple", group=0)
    log.say(
        first,
        {
            each: {"groundedness": index / 30, "quality": 1 + index % 4, "cost_micro": 150}
            for index, each in enumerate(ids)
        },
    )
    log.say(second, labels_where(ids[:20], lambda index: index % 3))
    for status in (Status.UNPARSABLE, Status.REFUSED, Status.ERROR):
        log.say_all(second, log.answers(1), status=status)
    for index, each in enumerate(ids):
        label = BAD if index < 14 else GOOD
        log.review(each, label=label, quality=1 + index % 3, groundedness=index / 25)
    replaced = log.review(ids[0], "jon", label=GOOD)
    log.review(ids[0], "jon", label=BAD, replaces=replaced)
    log.withdraw(log.review(ids[1], "jon", label=GOOD), ids[1], "jon")
    log.decide(ids[2], "low_groundedness", Decision.CONFIRM, "jon", seconds=12.0)
    log.decide(ids[3], "low_groundedness", Decision.DISMISS, "jon")
    return log


@on_sqlite
def test_it_has_exactly_these_keys_and_counts(store):
    reported = report(busy_log(store))
    assert list(reported) == KEYS
    assert (reported["responses"], reported["reviews"]) == (27, 27)
    assert reported["labels"] == {"grounded": 10, "hallucinated": 15}
    assert reported["judgments"] == {"ok": 44, "unparsable": 1, "refused": 1, "error": 1}
    assert reported["graders"] == [{"name": "jon", "reviews": 3}, {"name": "mara", "reviews": 24}]
    nli, rag = reported["judge_versions"]
    assert list(rag) == [
        "fingerprint",
        "name",
        "number",
        "kind",
        "model",
        "counts",
        "cost",
        "without_groundedness",
        "ties",
    ]
    assert (rag["name"], rag["number"], rag["cost"]) == ("rag", 1, 0.0036)
    assert nli["counts"] == {"ok": 20, "unparsable": 1, "refused": 1, "error": 1}
    assert nli["cost"] is None
    by_rule, by_state = (reported["flags"][name] for name in ("by_rule", "by_state"))
    assert by_rule["low_groundedness"]["confirmed"] == 1
    states = ("open", "confirmed", "dismissed", "superseded")
    assert by_rule["random_sample"] == dict.fromkeys(states, 0)
    for state, n in by_state.items():
        assert n == sum(each[state] for each in by_rule.values())


@on_sqlite
def test_agreement_has_every_version_grade_and_query_type_and_equals_the_page(store):
    log = busy_log(store)
    rows = report(log)["agreement"]
    keys = [
        "judge",
        "judge_version",
        "grade",
        "query_type",
        "n",
        "statistics",
        "answers",
        "graded",
        "left_out",
    ]
    assert list(rows[0]) == keys
    assert [(row["judge"], row["grade"], row["query_type"]) for row in rows] == [
        *product(("nli", "rag"), ("label", "groundedness", "quality"), (None, "simple", "sql"))
    ]
    shown = [(found, part) for found in log.read(every_judge) for part in (None, *found.slices)]
    for row, (found, part) in zip(rows, shown, strict=True):
        assert row["n"] == found.figure("n", part).n
        for name, estimate in row["statistics"].items():
            assert estimate == to_plain(found.figure(name, part))
    leading = {"agreement", "kappa", "weighted_kappa", "pearson", "spearman"}
    names = {row["grade"]: leading & row["statistics"].keys() for row in rows}
    assert names == {
        "label": {"agreement", "kappa"},
        "groundedness": {"pearson", "spearman"},
        "quality": leading,
    }


@on_sqlite
def test_an_undefined_statistic_has_a_reason_and_no_number_is_nan(store):
    reported = report(busy_log(store))
    for row in reported["agreement"]:
        for estimate in row["statistics"].values():
            assert list(estimate) == [field.name for field in fields(Estimate)]
            if estimate["value"] is None:
                assert estimate["reason"]
    assert all(math.isfinite(number) for number in _numbers(reported))


@pytest.mark.postgres
def test_both_engines_and_every_call_give_the_same_bytes(sqlite_store, postgres_store):
    logs = [busy_log(store) for store in (sqlite_store, postgres_store)]
    texts = {json.dumps(report(log), allow_nan=False) for log in logs for _ in range(2)}
    assert len(texts) == 1


@on_sqlite
def test_an_empty_database_is_counted_as_empty(store):
    reported = report(GradedLog(store))
    assert (reported["responses"], reported["reviews"]) == (0, 0)
    assert (reported["judge_versions"], reported["agreement"]) == ([], [])
    assert reported["judgments"] == {"ok": 0, "unparsable": 0, "refused": 0, "error": 0}


def _numbers(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int | float):
        yield value


@on_sqlite
def test_rows_of_chosen_labels_are_said_to_compare_no_judges(store):
    log = GradedLog(store)
    ids = log.answers(60)
    for name in ("rag", "nli"):
        log.say(log.version(name), labels_in(ids, ids[:30]))
    log.flag(ids[:30], "low_groundedness")
    log.reviews(labels_in(ids[:30], ids[::3]))
    assert notes_of(store) == ["open_graded", "no_sample", "compare_versions"]
    log.reviews(labels_in(ids[30:], ids[::3]))
    assert notes_of(store) == ["open_graded", "compare_versions"]


@on_sqlite
def test_versions_of_a_judge_have_titles_and_say_what_they_leave_out(store):
    log = GradedLog(store)
    ids = log.answers(30)
    first, second = log.version("rag"), log.version("rag", prompt="new")
    log.say_all(first, ids, label=GOOD)
    log.say_all(second, ids[:20], label=GOOD)
    log.review_all(ids, label=GOOD)
    shown = measure_log(store)
    [table] = agreement_tables(shown)
    assert [row[:3] for row in table.rows] == [("rag v1", "all 30", 30), ("rag v2", "all 20", 20)]
    (compared,) = stats_notes(shown)
    assert compared.values["command"] == "judgeboard compare versions 'rag v1' 'rag v2'"
    ((version, grade, _reason, left_out),) = left_out_table(shown).rows
    assert (version, grade, left_out) == ("rag v2", "label", 10)


def test_a_grade_without_figures_of_all_answers_says_so(sqlite_store):
    log = GradedLog(sqlite_store)
    ids = log.answers(60)
    log.say_all(log.version("rag"), ids, groundedness=0.9)
    log.flag(ids, "random_sample")
    log.review_all(ids[:40], label=GOOD, groundedness=0.8)
    assert "no_sample" in notes_of(sqlite_store)


@on_sqlite
def test_answers_without_groundedness_are_counted_where_figures_leave_them_out(store):
    log = GradedLog(store)
    ids = log.answers(40)
    scored, rated = log.version("rag"), log.version("rating")
    log.say_all(scored, ids[:33], groundedness=0.9, quality=3)
    log.say_all(scored, ids[33:], quality=3)  # no passages: other scores only
    log.say_all(rated, ids, quality=3)  # a judge of quality alone leaves nothing out
    log.review_all(ids, label=GOOD, quality=3)
    shown = measure_log(store)
    without = {each.name: each.without_groundedness for each in shown.judge_versions}
    assert without == {"rag": 7, "rating": 0}
    table = judgments_table(shown)
    place = [column.title for column in table.columns].index("no score")
    assert [row[place] for row in table.rows] == [7, None]
