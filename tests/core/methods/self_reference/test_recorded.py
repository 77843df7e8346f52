"""Published figures from recorded samples: the four slices of the method's source, and MMLU-Pro's seven models."""

import io
import json
from contextlib import closing

import pytest

from engines import on_sqlite
from graded_log import read
from judgeboard.domain import JudgeVersion, Pair, Preference, Shown, Status, StepRecord
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.methods.self_reference.command import result_lines
from judgeboard.methods.self_reference.queries import NewSample, store_samples
from judgeboard.methods.self_reference.report import measure_self_reference
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.export import exports
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.opening import open_store
from judgeboard.store.pairs import store_pairs
from recordings import records
from result_fields import check_fields

# Items of each slice, right verdicts of A and of B on them, samples and the correct answer:
# "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma), as counts.
SLICES = (
    (647, 406, 552, "CCCCC", "C"),
    (246, 112, 62, "CCDCC", "D"),
    (160, 80, 116, "CDCDC", "C"),
    (347, 131, 85, "BDBCA", "C"),
)


def recorded_slices():
    lines = []
    for n, right_a, right_b, samples, reference in SLICES:
        for number in range(n):
            verdicts = {
                name: dict.fromkeys(("ab", "ba"), "a" if number < right else "b")
                for name, right in (("A", right_a), ("B", right_b))
            }
            lines.append(
                {
                    "id": f"q{len(lines)}",
                    "question": f"Question {len(lines)}?",
                    "options": ["w", "x", "y", "z"],
                    "category": "law" if len(lines) % 2 else "math",
                    "reference": reference,
                    "samples": list(samples),
                    "judge": "paper",
                    "verdicts": verdicts,
                    "gold": "a",
                }
            )
    return lines


def percents(result, *names, part=None):
    return [round(100 * result.figure(name, part).value, 2) for name in names]


def imported(store, lines):
    """Import these lines of samples."""
    content = "\n".join(map(json.dumps, lines)).encode()
    return import_file(store, io.BytesIO(content), kind="samples", name="samples.jsonl")


def test_the_slices_of_the_source_give_its_figures(sqlite_store):
    imported(sqlite_store, recorded_slices())
    result = measure_self_reference(sqlite_store)
    for part, shares in (
        (None, [52.07, 58.21, 58.93]),
        ("Gate on", [58.01, 68.76, 68.76]),
        ("Gate off", [41.62, 39.64, 41.62]),
    ):
        assert percents(result, "without", "always", "selective", part=part) == shares
    assert percents(result, "gate_on", "right_if_on") == [63.79, 72.45]
    for name, (n, right_a, right_b, *_) in zip(result.slices[2:], SLICES, strict=True):
        figures = [result.figure(figure, name) for figure in ("without", "always", "share")]
        shares = pytest.approx([right_a / n, right_b / n, n / 1400])
        assert [each.value for each in figures] == shares
        assert result.figure("n", name).n == n
    assert (result.figure("n").n, result.caveats) == (1400, ())
    check_fields(result.account, asked=1400 * 9, ok=1400 * 9)
    *_, categories, tuned = result.parts
    assert categories.slices == ["law", "math"]
    assert not tuned.caveats
    rows = [line.split() for line in result_lines(result)]
    on_and_right = next(row for row in rows if row[:2] == ["Gate", "on,"] and "right" in row)
    assert on_and_right[on_and_right.index("right") + 1 :][:2] == ["647", "46"]


@pytest.mark.shared
def test_mmlu_pro_by_its_first_five_models(public_database, shared):
    with closing(open_store(public_database(("mmlu_pro.samples", "samples")))) as store:
        result = measure_self_reference(store, k=5)
    counts = [(63, 224), (733, 1590), (1367, 2255), (1864, 2352), (3557, 3905)]
    assert [(row.value, row.n) for row in result.parts[1].rows if row.figure == "own_right"] == [
        (pytest.approx(right / n), n) for right, n in counts
    ]
    assert percents(result, "gate_on", "right_if_on") == [60.59, 86.64]
    check_fields(result.account, asked=72_282, unparsable=2_866)
    assert (result.headline.code, result.has("selective")) == ("own_answer_unknown", False)
    rights = [row["correct"][:5] for row in records(shared / "data" / "mmlu_pro.samples.jsonl.gz")]
    assert result.figure("sample_right").value == pytest.approx(
        sum(map(sum, rights)) / (5 * len(rights))
    )
    assert result.figure("sample_best").value == pytest.approx(sum(map(any, rights)) / len(rights))
    assert result.figure("sample_majority").value == pytest.approx(
        (3557 + 1864 + 1367 + 733 + 63) / len(rights)
    )


def add(store, samples, *, shown=None, reference="B", n=1):
    """Store ``n`` questions with these samples and agreeing verdicts; the judge was shown ``shown`` as correct."""
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("kept", "replay"))
        asked = {"options": ("x", "y", "z"), "reference": reference, "gold": Preference.A}
        pairs = [Pair("s", f"q{number}", "?", **asked) for number in range(n)]
        for pair_id in store_pairs(connection, pairs).new:
            tries = [
                NewSample(pair_id, number, said, StepRecord(Status.OK))
                for number, said in enumerate(samples)
            ]
            store_samples(connection, version, None, tries)
            verdicts = [
                NewComparison(
                    pair_id,
                    order,
                    StepRecord(Status.OK),
                    {"overall": Preference.A},
                    condition,
                    reference=given,
                )
                for condition, given in (("plain", None), ("reference", shown))
                for order in Shown
            ]
            store_comparisons(connection, version, None, verdicts)


def test_a_verdict_shown_another_answer_than_this_majority_does_not_count_as_b(sqlite_store):
    add(sqlite_store, ["B", "B", "C", "C", "C"], shown="C. z")
    whole, first = measure_self_reference(sqlite_store), measure_self_reference(sqlite_store, k=2)
    assert (codes(whole), whole.figure("always").value) == (set(), 1)
    assert (codes(first), first.has("always")) == ({"other_reference"}, False)


def codes(result):
    return {each.code for each in result.caveats}


def test_questions_with_fewer_samples_are_left_out_and_counted(sqlite_store):
    add(sqlite_store, ["B", "B", "C"])
    with pytest.raises(BadInput, match="--k 3"):
        measure_self_reference(sqlite_store)
    assert measure_self_reference(sqlite_store, k=3).figure("n").n == 1


def test_without_a_correct_answer_there_are_accuracies_but_no_slices(sqlite_store):
    add(sqlite_store, ["B"] * 5, reference=None)
    result = measure_self_reference(sqlite_store)
    assert (codes(result), result.figure("selective").value) == ({"no_correct_answer"}, 1)
    assert result.figure("right_if_on").reason
    assert [result.figure("n", part).n for part in result.slices] == [1, 0, 0, 0, 0, 0]


def test_a_database_without_samples_says_what_to_do(sqlite_store):
    with pytest.raises(NotFound, match="--kind samples"):
        measure_self_reference(sqlite_store)


def test_only_questions_of_one_source_where_that_is_asked_for(sqlite_store):
    add(sqlite_store, ["B"] * 5, n=3)
    assert measure_self_reference(sqlite_store, source="s").figure("n").n == 3
    with pytest.raises(BadInput, match="no samples of these questions"):
        measure_self_reference(sqlite_store, source="other")


@on_sqlite
def test_a_file_may_say_which_samples_are_right(store):
    rows = [
        (["1/2", "0.5", "2"], [True, True, False]),
        (["3", "4", None], [0, 1, 0]),
        (["5", "5", "6"], [False, False, False]),
        (["7", "7", "8"], [True, None, False]),
        (["7", "7", "8"], None),
        (["9"], ["yes"]),
        (["9"], {"0": True}),
    ]
    lines = [
        {"id": f"q{n}", "question": f"Question {n}?", "samples": samples, "correct": correct}
        for n, (samples, correct) in enumerate(rows)
    ]
    lines[4]["reference"] = "8"
    check_fields(imported(store, lines), new=5, rejected=2)
    assert imported(store, lines).new == 0
    result = measure_self_reference(store, k=3)
    mean, best = result.figure("sample_right"), result.figure("sample_best")
    check_fields(mean, value=pytest.approx((2 / 3 + 1 / 3 + 0 + 1 / 3) / 4), n=4)  # not known on q4
    check_fields(best, value=0.75, n=4)
    exported = read(store, exports()["samples"].rows)
    assert [row["correct"] for row in exported] == [
        [True, True, False],
        [False, True, False],
        [False, False, False],
        [True, None, False],
        None,
    ]


def test_pairs_with_one_question_are_resampled_together(sqlite_store):
    """Ten copies of a question tell no more than the question."""
    lines = []
    for number in range(40):
        right = "a" if number % 3 else "b"
        for copy in range(10):
            verdicts = {name: {"ab": right, "ba": right} for name in ("A", "B")}
            line = {
                "id": f"q{number}-{copy}",
                "judge": "paper",
                "question": f"Question {number}?",
                "samples": ["x"] * 5,
                "reference": "x" if number % 2 else "y",
                "answer_a": f"yes {copy}",
                "answer_b": f"no {copy}",
                "gold": "a",
                "verdicts": verdicts,
            }
            lines.append(line)
    imported(sqlite_store, lines)
    result = measure_self_reference(sqlite_store)
    for name in ("without", "right_if_on", "sample_right"):
        estimate = result.figure(name)
        assert estimate.n == 400
        assert estimate.high - estimate.low > 0.25  # 400 independent pairs would have less than 0.1
