"""The published figures of recorded comparisons, out of the product's own command."""

import gzip
import io
import json
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from judgeboard.imports.importing import import_file
from judgeboard.stats.pair_orders import INCONSISTENT_AS

pytestmark = pytest.mark.shared

LLMBAR = ("GPT-4/Vanilla_NoRules", "PaLM2/CoT")


@pytest.fixture(scope="module")
def llmbar_lines(shared):
    """The recorded pairs of two judges of llmbar."""
    with gzip.open(shared / "data" / "llmbar.pairwise.jsonl.gz", "rb") as file:
        return [line for line in map(json.loads, file) if line["judge"] in LLMBAR]


def import_pairs(store, name, lines):
    summary = import_file(store, io.BytesIO(lines), kind="pairs", source=name, name=f"{name}.jsonl")
    assert (summary.rejected, summary.new) == (0, len(lines.splitlines()))


@pytest.fixture(scope="module")
def llmbar(llmbar_lines, new_store):
    """A database with these pairs alone: the others are many, and each command reads what people prefer of all."""
    store = new_store()
    import_pairs(store, "llmbar", "\n".join(map(json.dumps, llmbar_lines)).encode())
    store.close()
    return Path(str(store.engine.url.database))


@pytest.fixture(scope="module")
def recorded(public_database):
    """A database with the recorded pairs of pandalm and of cragc25."""
    return public_database(("pandalm.pairwise", "pairs"), ("cragc25.pairwise", "pairs"))


@pytest.fixture
def printed(recorded, llmbar, capsys):
    """Runs a command on what is recorded of a judge, and returns its JSON."""

    def command(judge, *words):
        database = llmbar if judge in LLMBAR else recorded
        assert run([*words, "--json", "--judge-version", judge, "--db", str(database)]) == 0
        return json.loads(capsys.readouterr().out)

    return command


@pytest.fixture
def compare(printed):
    """Compares both orders of a judge, and returns the JSON."""
    return lambda judge, *more: printed(judge, "compare", "--recorded", *more)


def rows_of(result):
    """The figures on all pairs."""
    return {row["figure"]: row for row in result["rows"] if row["slice"] is None}


def test_llmbar_comes_out_to_the_printed_digit(compare):
    (result,) = compare("GPT-4/Vanilla_NoRules", "--by", "query_type")["aspects"]
    shares = {(row["slice"], row["figure"]): row["value"] for row in result["rows"]}
    digits = {
        name.split("/")[-1]: tuple(
            round(100 * shares[name, each], 1)
            for each in ("accuracy_orders_mean", "self_consistency")
        )
        for name, _ in shares
        if name is not None
    }
    assert digits == {
        "Natural": (93.5, 97.0),
        "Neighbor": (64.2, 89.6),
        "GPTInst": (76.6, 90.2),
        "GPTOut": (76.6, 87.2),
        "Manual": (75.0, 89.1),
    }


def test_pairs_with_an_absent_order_are_unmeasured_and_counted_apart(compare):
    content = compare("PaLM2/CoT")
    (result,) = content["aspects"]
    rows, account = rows_of(result), content["account"]
    counts = [rows[name]["value"] for name in ("pairs", "unmeasured", "both_usable")]
    assert counts == [734, 11, 723]
    assert (account["asked"], account["unparsable"]) == (1468, 17)
    assert rows["self_consistency"]["n"] == rows["accuracy_orders_mean"]["n"] == 723


@pytest.mark.parametrize(
    ("judge", "aspect", "consistency", "first"),
    [
        ("gpt-4o-combined", "quality_overall", 0.8021, 0.5196),
        ("gpt-4o-individual", "quality_overall", 0.9167, 0.5082),
        ("gpt-4o-combined", "coverage_deep", 0.7083, 0.6302),
        ("gpt-4o-individual", "coverage_deep", 0.7135, 0.6414),
    ],
)
def test_cragc25_comes_out_by_aspect(compare, judge, aspect, consistency, first):
    (result,) = compare(judge, "--aspect", aspect)["aspects"]
    rows = rows_of(result)
    assert (rows["pairs"]["value"], rows["both_usable"]["value"]) == (192, 192)
    assert round(rows["self_consistency"]["value"], 4) == consistency
    assert round(rows["first_position"]["value"], 4) == first


@pytest.mark.parametrize("judge", LLMBAR)
@pytest.mark.parametrize("inconsistent", INCONSISTENT_AS)
def test_the_agreement_of_llmbar_by_each_option_is_that_of_its_lines(
    llmbar_lines, printed, compare, judge, inconsistent
):
    votes = [
        (line.get("verdict_order_ab"), line.get("verdict_order_ba"), line["human"])
        for line in llmbar_lines
        if line["judge"] == judge
    ]
    votes = [(ab, ba, gold) for ab, ba, gold in votes if ab and ba]
    counted = [each for each in votes if inconsistent != "drop" or each[0] == each[1]]
    # Gold and votes are A or B, so A and B make a wrong tie.
    right = sum(ab == ba == gold for ab, ba, gold in counted)
    option = ("--inconsistent", inconsistent)
    result = printed(judge, "agreement", "--unit", "pairs", "--by", "query_type", *option)
    of_all = rows_of(result)
    accuracy, changed = of_all["accuracy"], of_all["changed_with_order"]
    assert (accuracy["n"], accuracy["value"]) == (len(counted), pytest.approx(right / len(counted)))
    assert changed["value"] == pytest.approx(sum(ab != ba for ab, ba, _ in votes) / len(votes))
    assert [each["code"] for each in result["caveats"][:1]] == [f"orders_{inconsistent}"]
    of_slices = [row["n"] for row in result["rows"] if row["figure"] == "n" and row["slice"]]
    assert sum(of_slices) == of_all["n"]["n"] == len(counted)
    (compared,) = compare(judge, *option)["aspects"]
    rows = rows_of(compared)
    for name, figures in (
        ("accuracy", ("value", "n")),
        ("changed_with_order", ("low", "high", "n")),
    ):
        assert [rows[name][each] for each in figures] == [of_all[name][each] for each in figures]
