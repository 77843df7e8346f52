"""The bundled sample log: what it promises, and that its script makes it."""

import gzip
import importlib
import json
from collections import Counter, defaultdict
from datetime import date
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from judgeboard.cli.demo import RANDOM_SHARE, SOURCE, sample_folder
from judgeboard.flags.rules import sampling_number
from judgeboard.settings.model import Thresholds

DATA = Path(__file__).parents[2] / "data"
FILES = (
    "responses",
    "grades",
    "verdicts",
    "pairs",
    "samples",
    "suite_answers",
    "queue_reviews",
    "replays",
    "random_grades",
)
SEED = Thresholds().random_seed
FIRST_MONDAY = date(2026, 8, 24)
WEEKS = 10
WEEKS_BEFORE = range(7)
WEEKS_AFTER = range(7, WEEKS)


def unpacked(path):
    return gzip.decompress(path.read_bytes()).decode()


def rows(name):
    return [
        json.loads(line) for line in unpacked(sample_folder() / f"{name}.jsonl.gz").splitlines()
    ]


RESPONSES = rows("responses")
GRADES = rows("grades")
VERDICTS = rows("verdicts")
REPLAYS = rows("replays")
RANDOM_GRADES = rows("random_grades")
BY_ID = {row["id"]: row for row in RESPONSES}


def week_of(row):
    return (date.fromisoformat(row["asked_at"][:10]) - FIRST_MONDAY).days // 7


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DATA)
        yield importlib.import_module("make_sample")


@pytest.fixture(scope="module")
def answers(script):
    """The answers with what only their generator knows."""
    return script.Log(script.SEED).answers()


def test_the_script_makes_the_files_that_are_in_the_repository(script, tmp_path):
    script.main(tmp_path / "once")
    script.main(tmp_path / "twice")

    for name in FILES:
        file = f"{name}.jsonl.gz"
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "twice" / file).read_bytes()
        # Not the packed bytes: another zlib packs the same rows differently.
        assert unpacked(tmp_path / "once" / file) == unpacked(DATA / "sample" / file)


def test_about_400_answers_to_different_queries_over_ten_whole_weeks():
    weeks = Counter(week_of(row) for row in RESPONSES)
    complex_ = Counter(week_of(row) for row in RESPONSES if row["query_type"] == "complex")

    assert len(BY_ID) == len(RESPONSES) == 400
    assert len({row["query"] for row in RESPONSES}) >= 300
    assert {row["query_type"] for row in RESPONSES} == {"simple", "complex", "sql"}
    assert sorted(weeks) == list(range(WEEKS))
    assert min(complex_.values()) >= 15
    assert max(row["asked_at"] for row in RESPONSES) <= "2026-11-01T23:59:59Z"


def test_no_two_answers_share_more_than_half_of_their_five_grams():
    grams = {row["id"]: five_grams(row["answer"]) for row in RESPONSES}
    shares = [
        len(one & other) / min(len(one), len(other))
        for one, other in combinations(grams.values(), 2)
        if not one.isdisjoint(other)
    ]

    assert max(shares) <= 0.5
    assert len({row["answer"] for row in RESPONSES}) == len(RESPONSES)


def five_grams(text):
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)} or {tuple(words)}


def test_all_quality_levels_and_both_labels_occur():
    for rows in (GRADES, VERDICTS):
        assert {row["quality"] for row in rows if "quality" in row} == {1, 2, 3, 4}
        assert {row["label"] for row in rows if "label" in row} == {"grounded", "hallucinated"}
    assert all(0 <= row["groundedness"] <= 1 for row in GRADES + VERDICTS if "groundedness" in row)


def test_a_third_of_the_users_speak_by_thumbs_or_stars():
    feedbacks = [row["feedback"] for row in RESPONSES if "feedback" in row]
    kinds = Counter(next(iter(feedback)) for feedback in feedbacks)

    assert 0.25 <= len(feedbacks) / len(RESPONSES) <= 0.45
    assert set(kinds) == {"thumbs", "stars"}
    assert {feedback["thumbs"] for feedback in feedbacks if "thumbs" in feedback} == {"up", "down"}
    assert {feedback["stars"] for feedback in feedbacks if "stars" in feedback} <= {1, 2, 3, 4, 5}


def test_three_reviewers_grade_150_answers_and_share_40():
    graded = Counter(row["response_id"] for row in GRADES)

    assert {row["annotator"] for row in GRADES} == {"mara", "jon", "ines"}
    assert len({(row["response_id"], row["annotator"]) for row in GRADES}) == len(GRADES)
    assert len(graded) == 150
    assert sum(count > 1 for count in graded.values()) == 40
    assert set(graded) <= set(BY_ID)


def test_every_answer_of_the_random_sample_has_a_grade_and_so_has_every_replay():
    drawn = {
        row["id"] for row in RESPONSES if sampling_number(SEED, SOURCE, row["id"]) < RANDOM_SHARE
    }
    more = [row["response_id"] for row in RANDOM_GRADES]

    assert 0.4 <= len(drawn) / len(RESPONSES) <= 0.6
    assert drawn <= {row["response_id"] for row in GRADES} | set(more)
    assert set(more) - drawn == {row["id"] for row in REPLAYS}
    assert len(more) == len(set(more))


def test_a_replay_answers_the_same_question_from_the_same_passages_with_the_model_before_the_drop():
    for row in REPLAYS:
        asked = BY_ID[row["metadata"]["replay_of"]]
        assert (row["query"], row["context"]) == (asked["query"], asked["context"])
        assert (asked["model"], row["model"]) == ("tarn-large-3-preview", "tarn-large-2")
        assert row["answer"] != asked["answer"]
    assert len(REPLAYS) == 48


def test_reviewers_of_the_same_answer_mostly_agree_and_sometimes_differ():
    labels = defaultdict(set)
    qualities = defaultdict(set)
    for row in GRADES:
        labels[row["response_id"]].add(row.get("label"))
        qualities[row["response_id"]].add(row["quality"])

    assert 0 < sum(len(grades) > 1 for grades in labels.values()) <= 10
    assert 0 < sum(len(grades) > 1 for grades in qualities.values()) <= 20


def test_marked_spans_are_parts_of_the_answer():
    spans = [
        (BY_ID[row["response_id"]]["answer"], span)
        for row in GRADES
        for span in row.get("spans", ())
    ]

    assert len(spans) > 50
    assert all(answer[span["start"] : span["end"]] == span["text"] for answer, span in spans)


def test_the_second_judge_saw_half_of_the_answers_and_every_verdict_is_usable():
    assert {row["judge"] for row in VERDICTS} == {"climb-judge-8b"}
    assert len({row["response_id"] for row in VERDICTS}) == len(VERDICTS) == 200
    assert {row["response_id"] for row in VERDICTS} <= set(BY_ID)
    assert all({"label", "groundedness", "quality"} & set(row) for row in VERDICTS)
    assert all(row["reasoning"] and row["raw"] for row in VERDICTS)


def test_hard_cases_occur():
    lengths = [len(row["answer"].split()) for row in RESPONSES]
    contexts = Counter(len(row["context"]) if "context" in row else None for row in RESPONSES)

    assert contexts[0] >= 3
    assert contexts[None] >= 3
    assert sum(contexts[count] for count in (6, 7, 8)) >= 10
    assert min(lengths) <= 2
    assert max(lengths) >= 150
    assert all(
        any(text in row["answer"] for row in RESPONSES)
        for text in ("Fontainebleau", "Céüse", "°C", "6b+")
    )


def weekly_intervals(values, query_type):
    """95 % t intervals of the mean by week."""
    weeks = defaultdict(list)
    for response_id, value in values.items():
        if BY_ID[response_id]["query_type"] == query_type:
            weeks[week_of(BY_ID[response_id])].append(value)
    intervals = []
    for week in range(WEEKS):
        grades = np.array(weeks[week])
        half = stats.t.ppf(0.975, len(grades) - 1) * grades.std(ddof=1) / len(grades) ** 0.5
        intervals.append((grades.mean() - half, grades.mean() + half))
    return intervals


def drop(values, query_type):
    """Lowest end of a week before minus highest end of a week after: above 0 no two intervals overlap."""
    intervals = weekly_intervals(values, query_type)
    return min(intervals[week][0] for week in WEEKS_BEFORE) - max(
        intervals[week][1] for week in WEEKS_AFTER
    )


def test_groundedness_of_complex_answers_drops_in_the_last_three_weeks_alone(answers):
    truth = {answer.id: answer.draft.groundedness for answer in answers}

    logged = [row["answer"].removeprefix("I think ").casefold() for row in RESPONSES]
    assert [answer.draft.answer.casefold() for answer in answers] == logged
    assert drop(truth, "complex") > 0.2
    for query_type in ("simple", "sql"):
        assert drop(truth, query_type) < 0


def test_people_and_the_second_judge_see_the_drop():
    people = defaultdict(list)
    for row in GRADES:
        if "groundedness" in row:
            people[row["response_id"]].append(row["groundedness"])
    judge = {row["response_id"]: row["groundedness"] for row in VERDICTS if "groundedness" in row}

    assert drop({key: float(np.mean(grades)) for key, grades in people.items()}, "complex") > 0
    assert drop(judge, "complex") > 0


def test_the_second_judge_is_informed_but_not_perfect():
    pairs = defaultdict(list)
    for row in GRADES:
        pairs[row["response_id"]].append(row)
    both = [
        (verdict, pairs[verdict["response_id"]][0])
        for verdict in VERDICTS
        if verdict["response_id"] in pairs and {"label", "groundedness"} <= set(verdict)
    ]
    agreement = np.mean([verdict["label"] == grade["label"] for verdict, grade in both])

    assert len(both) >= 50
    assert 0.7 <= agreement < 1


def test_supported_sentences_stand_on_words_of_the_passages_and_unsupported_ones_less_so(answers):
    shares = {True: [], False: []}
    for answer in answers:
        if answer.draft.passages and answer.draft.mood in {
            "grounded",
            "gap",
            "made_up",
            "mixed",
            "slip",
            "padded",
        }:
            known = set(" ".join(answer.draft.passages).casefold().split())
            for sentence in answer.draft.sentences:
                words = sentence.text.casefold().split()
                shares[sentence.supported].append(sum(word in known for word in words) / len(words))

    assert np.mean(shares[True]) - np.mean(shares[False]) > 0.3
