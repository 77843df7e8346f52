"""The word-overlap baseline."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.cli.demo import sample_folder
from judgeboard.domain import JudgeInput, Status
from judgeboard.judges.lexical import lexical_verdict
from judgeboard.runs.judging import make_judge
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import spearman
from judgeboard.stats.detection import auroc
from judging_log import judge_once
from recordings import records

PASSAGES = (
    "El Capitan is a granite monolith in Yosemite, about 914 metres high.",
    "The Nose was first climbed in 1958 by Warren Harding.",
)
QUERY = "Who first climbed the Nose on El Capitan, and when?"
GOOD = "The Nose on El Capitan was first climbed in 1958 by Warren Harding."
INVENTED = "Lynn Hill soloed Half Dome during a thunderstorm in 1993, breaking every known record."


def score(answer, passages=PASSAGES):
    return lexical_verdict(QUERY, answer, passages)


def grounded(answer, passages=PASSAGES):
    return score(answer, passages).groundedness


def test_what_stands_in_the_passages_is_grounded_and_what_does_not_is_not():
    assert grounded(GOOD) == 1.0
    assert grounded(INVENTED) < 0.2
    assert grounded(INVENTED) < grounded(f"{GOOD} {INVENTED}") < grounded(GOOD)


def test_a_wrong_number_and_a_wrong_name_count():
    assert grounded(GOOD.replace("1958", "1985")) < 1
    assert grounded(GOOD.replace("Harding", "Hardings")) < 1


def test_the_reasoning_names_what_was_not_found_and_says_what_it_is():
    reasoning = score("The Nose was first climbed in 1962 by Royal Robbins.").reasoning
    for part in ("Method: word overlap", "Not found: 1962, Royal, Robbins"):
        assert part in reasoning


def test_an_answer_without_any_content_word_claims_nothing():
    for answer in ("", "Yes, it is.", "…", "?!"):
        assert (grounded(answer), grounded(answer, ()), score(answer).quality) == (1.0, 1.0, 1)


def test_absent_passages_leave_groundedness_unmeasured():
    verdict = score(GOOD, passages=None)
    assert (verdict.status, verdict.groundedness, verdict.quality) == (Status.OK, None, 4)
    assert "Passages: not logged" in verdict.reasoning


def test_nothing_retrieved_supports_nothing():
    assert grounded(GOOD, ()) == 0.0


@pytest.mark.parametrize(
    "refusal",
    [
        "I could not find that in the documents.",
        "I'm unable to answer the question based on the given passages.",
        "The provided passages do not mention who climbed it.",
        "There is no information about the first ascent in the context.",
        "I don\u2019t know.",
        "Dazu gibt es keine Informationen.",
        "No se puede responder con los documentos.",
        "該当する情報は見つかりませんでした。見つかりません。",
    ],
)
def test_a_refusal_serves_nobody_but_invents_nothing(refusal):
    verdict = score(refusal)
    assert verdict.quality == 1
    assert verdict.groundedness >= 0.5


def test_quality_falls_with_what_is_missing():
    partly = f"{GOOD} The passages do not mention how long it took."
    cut_off = "The Nose on El Capitan was first climbed in 1958 by Warren Harding and the"
    beside = "Granite holds gear well and rewards careful footwork on long pitches."
    answers = (GOOD, partly, cut_off, beside, "I don't know.")
    assert [score(answer).quality for answer in answers] == [4, 3, 3, 2, 1]


def test_other_scripts_are_judged_alike():
    passages = ("富士山は日本で最も高い山で、高さは3776メートルです。",)
    good, bad = (
        lexical_verdict("富士山の高さは?", answer, passages)
        for answer in ("富士山の高さは3776メートルです。", "東京駅には毎日多くの電車が到着します。")
    )
    assert bad.groundedness < 0.4
    assert good.groundedness > 0.8
    assert good.quality > bad.quality


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=60),
    st.text(max_size=120),
    st.none() | st.lists(st.text(max_size=60), max_size=3).map(tuple),
)
def test_any_text_gets_a_verdict_and_always_the_same(query, answer, passages):
    verdict = lexical_verdict(query, answer, passages)
    assert (verdict.status is Status.OK) == bool(query or passages is not None)
    assert (verdict.groundedness is None) == (passages is None)
    assert verdict.quality in ({1, 2, 3, 4} if query else {None})
    assert lexical_verdict(query, answer, passages) == verdict


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_an_answer_copied_from_the_passages_is_grounded(answer):
    assert lexical_verdict("q", answer, (answer,)).groundedness == 1.0


def test_the_judge_gives_what_the_formula_gives():
    judge = make_judge("lexical")
    assert (judge.address, judge.priced, judge.version.kind) == (None, True, "lexical")
    assert judge_once(judge, JudgeInput(1, QUERY, GOOD, PASSAGES)) == score(GOOD)


def test_its_quality_goes_with_peoples_on_the_sample():
    given = {}
    for grade in records(sample_folder() / "grades.jsonl.gz"):
        if grade.get("quality") is not None:
            given.setdefault(grade["response_id"], []).append(grade["quality"])
    rows = [row for row in records(sample_folder() / "responses.jsonl.gz") if row["id"] in given]
    judge = [
        lexical_verdict(r["query"], r["answer"], r.get("context") and tuple(r["context"])).quality
        for r in rows
    ]
    people = [sum(given[row["id"]]) / len(given[row["id"]]) for row in rows]
    estimate = spearman(np.array(judge, dtype=float), np.array(people), grouping(None, len(rows)))
    assert len(set(judge)) >= 3
    assert estimate.low > 0


@pytest.mark.shared
def test_it_tells_hallucinated_answers_from_grounded_ones(shared):
    labels = {
        row["response_id"]: row["label"]
        for row in records(shared / "data" / "ragtruth.human.jsonl.gz")
    }
    rows = records(shared / "data" / "ragtruth.responses.jsonl.gz")[::2]
    scores = [
        lexical_verdict(row["query"], row["answer"], tuple(row["context"])).groundedness
        for row in rows
    ]
    bad = np.array([labels[row["id"]] == "hallucinated" for row in rows])
    estimate = auroc(np.array(scores, dtype=float), bad, grouping(None, len(rows)))
    assert (estimate.n, int(bad.sum())) == (1456, 618)
    assert estimate.value >= 0.75
