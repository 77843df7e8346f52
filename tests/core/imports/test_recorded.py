"""Files of pairs, samples and repeats come in once; every asked order and every person is counted once."""

import re
from functools import partial

import pytest
from sqlalchemy import select

from engines import on_sqlite
from judgeboard.imports.importing import BATCH_ROWS
from judgeboard.methods.self_reference.queries import load_samples
from judgeboard.reports.stats import stats
from judgeboard.store.comparisons import load_comparisons
from judgeboard.store.day_sums import flagged_sums, score_sums
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import get_version, list_versions
from judgeboard.store.open_flags import open_counts
from judgeboard.store.overview import count_log
from judgeboard.store.pairs import load_pairs
from judgeboard.store.preferences import load_preferences
from judgeboard.store.tables import COMPARISON, JUDGMENT, JUDGMENT_SCORE, PAIR, RESPONSE, RUN
from stored_rows import read, rows_of, values_of, write_to
from tool_files import counts


def row(name="p", **more):
    return {
        "id": name,
        "question": f"which {name}?",
        "answer_a": "left",
        "answer_b": "right",
        **more,
    }


@pytest.fixture
def bring_samples(bring):
    return partial(bring, kind="samples")


@pytest.fixture
def bring_repeats(bring):
    return partial(bring, kind="repeats")


def version_of(store, judge):
    return read(store, get_version, judge).id


def pair_in(store):
    (pair,) = read(store, load_pairs, [1])
    return pair


def samples_of(store):
    return read(store, load_samples, version_of(store, "m"))


def answers(question):
    return [sample.answer for sample in question.samples]


def verdicts(store, judge):
    rows = read(store, load_comparisons, [version_of(store, judge)])
    return [(each.aspect, each.ab, each.ba, each.asked_ab, each.asked_ba) for each in rows]


@on_sqlite
def test_a_pair_told_for_every_judge_is_one_pair(store, bring):
    summary = bring(
        row(judge="x", verdict_order_ab="A", verdict_order_ba="B", human="B"),
        row(judge="y", verdict_order_ab="n", verdict_order_ba="tie", human="B"),
    )
    assert counts(summary) == (2, 0, 0)
    pair = pair_in(store)
    assert (pair.answer_a, pair.answer_b, pair.gold) == ("left", "right", "b")
    assert verdicts(store, "x") == [("overall", "a", "b", True, True)]
    assert verdicts(store, "y") == [("overall", "tie", "tie", True, True)]


def test_a_judge_that_speaks_in_both_orders_was_asked_in_both_everywhere(store, bring):
    bring(
        row("p1", judge="both", verdict_order_ab="A"),
        row("p2", judge="both", verdict_order_ba="A", raw_ab="no idea"),
        row("p3", judge="both"),
    )
    assert verdicts(store, "both") == [
        ("overall", "a", None, True, True),
        ("overall", None, "a", True, True),
        ("overall", None, None, True, True),
    ]
    assert values_of(store, COMPARISON.c.raw, COMPARISON.c.raw.is_not(None)) == ["no idea"]


def test_a_judge_that_speaks_in_one_order_was_asked_in_that_one(store, bring):
    bring(
        row("p1", judge="one", verdict_order_ba="A"),
        row("p2", judge="one"),
        row("p3", judge="dumb"),
    )
    assert verdicts(store, "one") == [
        ("overall", None, "a", False, True),
        ("overall", None, None, False, True),
    ]
    assert verdicts(store, "dumb") == [("overall", None, None, True, False)]


def test_a_row_whose_only_news_is_an_order_in_vain_is_new(store, bring):
    bring(row("p1"))
    summary = bring(row("p1", judge="j"), row("p2", judge="j", verdict_order_ab="A"))
    assert counts(summary) == (2, 0, 0)


def test_other_texts_under_a_known_id_are_rejected_with_the_line(bring, nothing_changes):
    bring(row())
    human = [{"annotator": "x", "d": "a"}]
    with nothing_changes():
        summary = bring(row(), row(answer_b="else", judge="j", verdict_order_ab="a", human=human))
    (problem,) = summary.first_rejected
    assert (summary.differing, problem.line, problem.field) == (1, 2, "answer_a")
    assert problem.row["answer_b"] == "else"


@on_sqlite
def test_another_verdict_of_a_judge_is_rejected_and_a_further_aspect_is_not(store, bring):
    bring(row(judge="j", verdict_order_ab={"depth": "a"}))
    summary = bring(
        row(judge="j", verdict_order_ab={"depth": "b"}),
        row(judge="j", verdict_order_ab={"depth": "a", "style": "b"}),
    )
    assert (summary.new, summary.differing, summary.first_rejected[0].line) == (1, 1, 1)
    assert verdicts(store, "j") == [
        ("depth", "a", None, True, False),
        ("style", "b", None, True, False),
    ]


@on_sqlite
def test_a_batch_of_refused_rows_leaves_nothing_behind_that_a_later_one_stumbles_over(
    bring_samples,
):
    bring_samples(sampled(samples=["A"]))
    wrong = sampled(samples=["A", "B"], verdicts={"A": {"ab": "a", "ba": "b"}})
    bring_samples(wrong)
    verdicts = {"A": {"ab": "b", "ba": "b"}}
    refused = wrong | {"samples": ["A", "B", "C"], "verdicts": verdicts}
    summary = bring_samples(*[refused] * BATCH_ROWS, wrong | {"id": "q2"})
    assert (summary.new, summary.differing) == (1, BATCH_ROWS)


@on_sqlite
def test_answers_of_the_log_stay_where_they_are_and_sides_are_derived_from_them(
    store, bring, bring_answers
):
    bring_answers({"id": "r1", "query": "which p?", "answer": "left"})
    bring(row(response_a="r1", response_b="r2"))
    stored = {each["external_id"]: each for each in rows_of(store, RESPONSE)}
    assert {name: each["derived_from"] for name, each in stored.items()} == {
        "r1": None,
        "pair:p:a": stored["r1"]["id"],
        "pair:p:b": None,
    }


@on_sqlite
def test_people_in_two_files_are_counted_once(store, bring, bring_grades):
    bring(row(human=[{"annotator": "ada", "depth": 1, "preference": "B"}]))
    grade = {"pair_id": "p", "annotator": "ada", "scale": "-2..2 (positive: answer 2 better)"}
    assert bring_grades({**grade, "depth": 1}).unchanged == 1
    summary = bring_grades({**grade, "depth": -1}, {**grade, "pair_id": "gone", "depth": 1})
    assert (summary.new, "'gone'" in summary.first_rejected[0].reason) == (1, True)
    preferences = read(store, load_preferences)
    assert [(each.aspect, each.value) for each in preferences] == [("depth", -1)]


@on_sqlite
def test_grades_of_pairs_and_of_answers_share_a_file(bring, bring_answers, bring_grades):
    bring_answers({"id": "r1", "query": "?", "answer": "a"})
    bring(row())
    summary = bring_grades(
        {"response_id": "r0", "annotator": "ada", "quality": 3},
        {"pair_id": "p", "annotator": "ada", "preference": "tie"},
        {"response_id": "r1", "annotator": "ada", "quality": 3},
    )
    assert (summary.new, [problem.line for problem in summary.first_rejected]) == (2, [1])


@on_sqlite
def test_comparisons_come_beside_the_pairs_they_name(store, bring, nothing_changes):
    bring(row("p1"), row("p2"))
    bring(row("p2"), source="other")
    said = {"judge": "j", "order": "ab", "verdict": "B"}
    rows = [
        {**said, "pair_id": "p1", "verdict": "A", "raw": "[[A]]"},
        {**said, "pair_id": "p1", "order": "ba", "verdict": None, "raw": "neither"},
        {**said, "pair_id": "p2"},
        {**said, "pair_id": "p3"},
    ]
    summary = bring(*rows, kind="comparisons")
    ambiguous, unknown = (problem.reason for problem in summary.first_rejected)
    assert summary.new == 2
    assert re.findall(r"'(\w+)'", ambiguous) == ["p2", "default", "other"]
    assert re.findall(r"'(\w+)'", unknown) == ["p3"]
    assert verdicts(store, "j") == [("overall", "a", None, True, True)]
    with nothing_changes():
        assert bring(*rows[:2], kind="comparisons").unchanged == 2
    assert bring({**rows[0], "verdict": "B"}, kind="comparisons").differing == 1


def test_a_dry_run_counts_orders_in_vain_as_the_import_does(bring, nothing_changes):
    rows = [
        row("p1", judge="j", verdict_order_ab="a"),
        row("p1", judge="k"),
        row("p2"),
        row("p2", judge="j"),
    ]
    with nothing_changes():
        tried = bring(*rows, dry_run=True)
    assert counts(tried) == (4, 0, 0)
    assert bring(*rows).new == 4
    assert bring(*rows, dry_run=True).unchanged == 4


def test_missing_orders_of_an_import_that_broke_off_come_in_with_the_next(store, bring):
    rows = [row("p1", judge="j", verdict_order_ab="a"), row("p2", judge="j")]
    bring(rows[0], row("p2"))  # as far as it came: the end, with the order in vain, was not reached
    assert counts(bring(*rows)) == (1, 1, 0)
    assert verdicts(store, "j") == [
        ("overall", "a", None, True, False),
        ("overall", None, None, True, False),
    ]


@on_sqlite
def test_a_run_of_each_judge_says_where_its_verdicts_are_from(store, bring):
    bring(row(judge="x", verdict_order_ab="A"), row(judge="y", verdict_order_ab="A"))
    assert [(run["kind"], run["state"]) for run in rows_of(store, RUN)] == [("import", "done")] * 2


@on_sqlite
def test_what_was_forgotten_does_not_come_back_with_its_file(
    store, bring, bring_samples, nothing_changes
):
    human = [{"annotator": "ada", "d": "a", "note": "hers"}]
    rows = [
        row(judge="j", verdict_order_ab="a", raw_ab="[[A]]", human=human),
        row(judge="k", verdict_order_ab="a", raw_ab="hm"),
    ]
    tries = sampled("p", question="which p?", samples=["left", None])
    bring(*rows)
    bring_samples(tries)
    write_to(store, forget_response, "pair:p:a", actor="me")
    with nothing_changes():
        assert bring(*rows).unchanged == 2
        assert bring_samples(tries).unchanged == 1


@on_sqlite
def test_no_figure_of_the_log_moves(store, bring, bring_answers, bring_grades):
    verdict = {"response_id": "r1", "judge": "rag", "groundedness": 0.1, "quality": 1}
    grade = {"response_id": "r1", "annotator": "ada", "quality": 2}
    bring_answers({"id": "r1", "query": "which?", "answer": "left", "feedback": "up"})
    bring(verdict, kind="verdicts")
    bring_grades(grade)
    before = figures(store)
    assert all(before.values())
    human = [{"annotator": "bo", "preference": "a"}]
    bring(row(judge="j", verdict_order_ab="a", response_a="r1", human=human))
    bring({"id": "q", "question": "?", "samples": ["A"]}, kind="samples")
    bring(scored(samples=[1, 1]), kind="repeats")
    bring(verdict | {"response_id": "pair:p:a"}, kind="verdicts")
    bring_grades(grade | {"response_id": "pair:p:b"})
    assert figures(store) == before


def figures(store):
    with store.reading() as connection:
        whole = stats(connection)
        return {
            "responses": count_log(connection),
            "queue": open_counts(connection),
            "flagged": flagged_sums(connection),
            "groundedness": score_sums(connection, "rag", "groundedness"),
            "agreement": [each for each in whole.agreement if each.judge.startswith("rag")],
            "flags": whole.flags,
        }


@on_sqlite
def test_a_verdict_finds_an_answer_that_no_log_holds_in_its_pair(store, bring):
    bring(row(answer_a="", response_a="silent", response_b="spoken"))
    verdict = {"judge": "x", "quality": 0.5, "scale": "0-1"}
    summary = bring(
        {"response_id": "silent", **verdict},
        {"response_id": "elsewhere", **verdict},
        kind="verdicts",
    )
    assert (summary.new, summary.rejected) == (1, 1)
    assert pair_in(store).answer_a == ""
    assert values_of(store, JUDGMENT.c.response_id) == values_of(store, PAIR.c.response_a_id)


def sampled(name="q", **more):
    return {
        "id": name,
        "question": f"how many {name}?",
        "samples": ["A", None, "B"],
        "model": "m",
        **more,
    }


def scored(name="r", **more):
    return {
        "id": name,
        "question": "?",
        "answer": "yes",
        "rubric": "by care",
        "scale": "1-5",
        "model": "m",
        "samples": [5, 4],
        **more,
    }


@on_sqlite
def test_samples_and_verdicts_by_condition_are_of_one_version(
    store, bring_samples, nothing_changes
):
    told = {"A": {"ab": "a", "ba": None}, "B": {"ab": "b", "ba": "b"}}
    rows = [sampled(verdicts=told, gold="B", category="math"), sampled("q2")]
    assert bring_samples(*rows).new == 2
    one, two = samples_of(store)
    assert (answers(one), one.query_type, one.gold) == (["A", None, "B"], "math", "b")
    assert answers(two) == answers(one)
    comparisons = read(store, load_comparisons, [version_of(store, "m")])
    assert [(each.condition, each.ab, each.ba) for each in comparisons] == [
        ("plain", "a", None),
        ("reference", "b", "b"),
    ]
    with nothing_changes():
        assert bring_samples(*rows).unchanged == 2


@on_sqlite
def test_another_answer_in_the_same_try_is_rejected_and_a_further_try_is_not(store, bring_samples):
    bring_samples(sampled())
    summary = bring_samples(sampled(samples=["A", "A"]), sampled(samples=["A", None, "B", "C"]))
    assert (summary.new, summary.differing, summary.first_rejected[0].line) == (1, 1, 1)
    (one,) = samples_of(store)
    assert answers(one) == ["A", None, "B", "C"]


@on_sqlite
def test_samples_join_the_pair_that_has_the_answers(bring, bring_samples):
    bring({"id": "q", "question": "how many q?", "answer_a": "1", "answer_b": "2"})
    assert bring_samples(sampled()).new == 1
    assert bring_samples(sampled(question="how few?")).differing == 1


def test_repeats_are_judgments_by_one_version_per_rubric(store, bring_repeats, nothing_changes):
    rows = [
        scored(),
        scored("r2", rubric="by speed", samples=[1, None, 3], raw=["slow", "?", "so so"]),
    ]
    assert bring_repeats(*rows).new == 2
    versions = read(store, list_versions)
    assert [(each.title, each.prompt, each.scale, each.params) for each in versions] == [
        ("m v1", "by care", "1-5", {"scale": "1-5"}),
        ("m v2", "by speed", "1-5", {"scale": "1-5"}),
    ]
    judgment = JUDGMENT.c
    query = (
        select(judgment.repeat, judgment.status, judgment.quality, JUDGMENT_SCORE.c.value)
        .outerjoin(JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == judgment.id)
        .order_by(judgment.judge_version_id, judgment.repeat)
    )
    with store.reading() as connection:
        assert [tuple(row) for row in connection.execute(query)] == [
            (0, "ok", None, 5),
            (1, "ok", None, 4),
            (0, "ok", None, 1),
            (1, "unparsable", None, None),
            (2, "ok", None, 3),
        ]
    assert {*values_of(store, RESPONSE.c.kind)} == {"candidate"}
    with nothing_changes():
        assert bring_repeats(*rows).unchanged == 2


@on_sqlite
def test_other_content_or_another_score_is_rejected(bring_repeats):
    bring_repeats(scored())
    summary = bring_repeats(scored(answer="no"), scored("r3"))
    assert (summary.new, summary.differing, summary.first_rejected[0].field) == (
        1,
        1,
        "external_id",
    )
    summary = bring_repeats(scored(samples=[5, 3]))
    assert (summary.differing, "repeat 2" in summary.first_rejected[0].reason) == (1, True)
