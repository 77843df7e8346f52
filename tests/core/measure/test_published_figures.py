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


def rounded(estimate):
    return round(estimate["value"], 4)


def test_pandalms_people_agree_as_published(agreement):
    result = agreement(PANDALM, "--of", "people", "--unit", "pairs")
    pairs = lines(result, "rater_pairs")
    assert {name: (rounded(each["kappa"]), each["n"]["value"]) for name, each in pairs.items()} == {
        "annotator1 / annotator2": (0.8520, 999),
        "annotator1 / annotator3": (0.8789, 999),
        "annotator2 / annotator3": (0.8617, 999),
    }
    assert (
        figures(result)["n"]["value"],
        rounded(figures(result)["alpha"]),
        rounded(figures(result)["fleiss_kappa"]),
    ) == (
        999,
        0.8642,
        0.8642,
    )


def test_pandalm_7b_against_the_majority(agreement):
    result = agreement(PANDALM, "--unit", "pairs", "--judge-version", "pandalm-7b")
    names = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
    assert [rounded(figures(result)[name]) for name in names] == [0.6677, 0.5738, 0.5750, 0.5743]
    assert result["confusion"]["categories"] == ["a", "b", "tie"]
    assert [sum(row) for row in result["confusion"]["counts"]] == [422, 472, 105]
    assert (figures(result)["n"]["value"], result["about"]["left_out"]) == (999, {})


@pytest.mark.parametrize(
    ("unusable", "accuracy", "n", "left_out"),
    [("tie", 0.7107, 999, {}), ("wrong", 0.6977, 999, {}), ("drop", 0.7156, 974, {"unusable": 25})],
)
def test_its_25_unusable_verdicts_count_as_is_chosen(agreement, unusable, accuracy, n, left_out):
    result = agreement(
        PANDALM, "--unit", "pairs", "--judge-version", "gpt-3.5-turbo", "--unusable", unusable
    )
    assert (
        rounded(figures(result)["accuracy"]),
        figures(result)["n"]["value"],
        result["about"]["left_out"],
    ) == (
        accuracy,
        n,
        left_out,
    )
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
    assert (round(test["omega"]["value"], 4), rounded(test["rho"]), test["n"]) == (omega, rho, n)
    assert [each["name"] for each in test["people"]] == ["annotator1", "annotator2", "annotator3"]
    assert sum(each["rejected"] for each in test["people"]) == round(3 * omega)
    assert test["passed"] == (omega >= 0.5)


@pytest.mark.parametrize(
    ("aspect", "judge", "people"),
    [
        ("correctness", (49.66, 46.93), (63.67, 59.19)),
        ("completeness", (60.67, 58.08), (71.91, 68.36)),
        ("overall", (61.93, 60.90), (70.09, 68.89)),
    ],
)
def test_ragcheckers_scores_beside_both_annotators_stacked(agreement, aspect, judge, people):
    words = ("--unit", "pairs", "--aspect", aspect)
    result = agreement(RAGCHECKER, *words, "--judge-version", "ragchecker", "--human", "each")
    assert (figures(result)["n"]["value"], figures(result)["pearson"]["n"]) == (560, 560)
    assert (
        tuple(round(100 * figures(result)[name]["value"], 2) for name in ("pearson", "spearman"))
        == judge
    )
    result = agreement(RAGCHECKER, *words, "--of", "people")
    assert (
        tuple(round(100 * figures(result)[name]["value"], 2) for name in ("pearson", "spearman"))
        == people
    )
    assert (figures(result)["n"]["value"], len(lines(result, "rater_pairs"))) == (280, 1)


def test_prometheus_with_its_own_repeats(agreement):
    result = agreement(PROMETHEUS, "--of", "repeats")
    assert (figures(result)["n"]["value"], len(result["about"]["judges"])) == (640, 117)
    assert (
        rounded(figures(result)["alpha"]),
        round(figures(result)["self_consistency"]["value"], 3),
    ) == (
        0.8516,
        0.531,
    )


def test_ragtruths_detectors_with_people_and_with_each_other(agreement):
    result = agreement(RAGTRUTH, "--judge-version", "approach_1_modernbert", "--by", "query_type")
    assert (figures(result)["n"]["value"], result["about"]["left_out"]) == (
        1344,
        {"without_verdict": 1568},
    )
    assert result["confusion"]["counts"] == [[376, 117], [161, 690]]
    assert {
        row["slice"]: row["n"] for row in result["rows"] if row["figure"] == "n" and row["slice"]
    } == {
        "Data2txt": 450,
        "QA": 468,
        "Summary": 426,
    }
    assert len(result["calibration"]) == 10
    assert {each["code"] for each in result["caveats"]} >= {"correlated_judges"}
    result = agreement(RAGTRUTH, "--of", "judges")
    assert (
        figures(result)["n"]["value"],
        rounded(figures(result)["fleiss_kappa"]),
        len(lines(result, "rater_pairs")),
    ) == (
        1344,
        0.4260,
        21,
    )
    assert [each["code"] for each in result["caveats"]] == ["correlated_judges"]
