"""The published figures of public sets, out of the product's own command after its own import."""

import json

import pytest

from judgeboard.cli.app import run

pytestmark = pytest.mark.shared

PANDALM = (("pandalm.pairwise", "pairs"),)
PROMETHEUS = (("prometheus.samples", "repeats"),)
RAGCHECKER = (
    ("ragchecker.responses", "responses"),
    ("ragchecker.pairwise", "pairs"),
    ("ragchecker.human", "grades"),
    ("ragchecker.judgements", "verdicts"),
)
RAGTRUTH = (
    ("ragtruth.responses", "responses"),
    ("ragtruth.judgements", "verdicts"),
    ("ragtruth.human", "grades"),
)


@pytest.fixture
def agreement(public_database, capsys):
    """Runs the command on a public set, and returns its JSON."""

    def measured(files, *words):
        assert run(["agreement", "--json", "--db", str(public_database(*files)), *words]) == 0
        return json.loads(capsys.readouterr().out)

    return measured


def figures(result, slice_=None):
    return {row["figure"]: row for row in result["rows"] if row["slice"] == slice_}


def lines(result, code):
    """The figures of each line of a part."""
    (part,) = (each for each in result["parts"] if each["headline"]["code"] == code)
    return {
        name: figures(part, name) for name in dict.fromkeys(row["slice"] for row in part["rows"])
    }


def values(result, *names, digits=4):
    """The figures of all answers with these names, rounded."""
    of_all = figures(result)
    return tuple(round(of_all[name]["value"], digits) for name in names)


def test_pandalms_people_agree_as_published(agreement):
    result = agreement(PANDALM, "--of", "people", "--unit", "pairs")
    pairs = lines(result, "rater_pairs")
    assert {name: round(each["kappa"]["value"], 4) for name, each in pairs.items()} == {
        "annotator1 / annotator2": 0.8520,
        "annotator1 / annotator3": 0.8789,
        "annotator2 / annotator3": 0.8617,
    }
    assert {each["n"]["value"] for each in pairs.values()} == {999}
    assert values(result, "n", "alpha", "fleiss_kappa") == (999, 0.8642, 0.8642)


def test_pandalm_7b_against_the_majority(agreement):
    result = agreement(PANDALM, "--unit", "pairs", "--judge-version", "pandalm-7b")
    names = ("n", "accuracy", "macro_precision", "macro_recall", "macro_f1")
    assert values(result, *names) == (999, 0.6677, 0.5738, 0.5750, 0.5743)
    assert result["confusion"]["categories"] == ["a", "b", "tie"]
    assert [sum(row) for row in result["confusion"]["counts"]] == [422, 472, 105]
    assert result["about"]["left_out"] == {}


@pytest.mark.parametrize(
    ("unusable", "accuracy", "n", "left_out"),
    [("tie", 0.7107, 999, {}), ("wrong", 0.6977, 999, {}), ("drop", 0.7156, 974, {"unusable": 25})],
)
def test_its_25_unusable_verdicts_count_as_is_chosen(agreement, unusable, accuracy, n, left_out):
    result = agreement(
        PANDALM, "--unit", "pairs", "--judge-version", "gpt-3.5-turbo", "--unusable", unusable
    )
    assert values(result, "accuracy", "n") == (accuracy, n)
    assert result["about"]["left_out"] == left_out
    assert sum(map(sum, result["confusion"]["counts"])) == n


@pytest.mark.parametrize(
    ("judge", "epsilon", "omega", "rho", "n"),
    [
        ("gpt-3.5-turbo", "0.2", 0, 0.7580, 974),
        ("gpt-3.5-turbo", "0.3", 1, 0.7580, 974),
        ("pandalm-7b", "0.2", 0, 0.7147, 999),
        ("pandalm-7b", "0.3", 0.6667, 0.7147, 999),
    ],
)
def test_whether_a_judge_may_stand_in_for_a_person(agreement, judge, epsilon, omega, rho, n):
    words = ("--unit", "pairs", "--judge-version", judge, "--alt-test", "--epsilon", epsilon)
    test = agreement(PANDALM, *words)["alt_test"]
    shares = [round(test[name]["value"], 4) for name in ("omega", "rho")]
    assert (shares, test["n"]) == ([omega, rho], n)
    assert [each["name"] for each in test["people"]] == ["annotator1", "annotator2", "annotator3"]
    assert sum(each["rejected"] for each in test["people"]) == round(3 * omega)
    assert test["passed"] == (omega >= 0.5)


@pytest.mark.parametrize(
    ("aspect", "judge", "people"),
    [
        ("correctness", (0.4966, 0.4693), (0.6367, 0.5919)),
        ("completeness", (0.6067, 0.5808), (0.7191, 0.6836)),
        ("overall", (0.6193, 0.6090), (0.7009, 0.6889)),
    ],
)
def test_ragcheckers_scores_beside_both_annotators_stacked(agreement, aspect, judge, people):
    words = ("--unit", "pairs", "--aspect", aspect)
    result = agreement(RAGCHECKER, *words, "--judge-version", "ragchecker", "--human", "each")
    assert figures(result)["pearson"]["n"] == 560
    assert values(result, "n", "pearson", "spearman") == (560, *judge)
    result = agreement(RAGCHECKER, *words, "--of", "people")
    assert values(result, "n", "pearson", "spearman") == (280, *people)
    assert len(lines(result, "rater_pairs")) == 1


def test_prometheus_with_its_own_repeats(agreement):
    result = agreement(PROMETHEUS, "--of", "repeats")
    assert len(result["about"]["judges"]) == 117
    assert values(result, "n", "alpha") == (640, 0.8516)
    assert values(result, "self_consistency", digits=3) == (0.531,)


def test_ragtruths_detectors_with_people_and_with_each_other(agreement):
    result = agreement(RAGTRUTH, "--judge-version", "approach_1_modernbert", "--by", "query_type")
    assert result["about"]["left_out"] == {"without_verdict": 1568}
    assert result["confusion"]["counts"] == [[376, 117], [161, 690]]
    sizes = {row["slice"]: row["n"] for row in result["rows"] if row["figure"] == "n"}
    assert sizes == {None: 1344, "Data2txt": 450, "QA": 468, "Summary": 426}
    assert len(result["calibration"]) == 10
    assert "correlated_judges" in [each["code"] for each in result["caveats"]]
    result = agreement(RAGTRUTH, "--of", "judges")
    assert values(result, "n", "fleiss_kappa") == (1344, 0.4260)
    assert len(lines(result, "rater_pairs")) == 21
    assert [each["code"] for each in result["caveats"]] == ["correlated_judges"]
