"""Long lists of raters are shortened to the lines with the most items, and are complete on request."""

import json

import pytest

from graded_log import labels_where
from judgeboard.cli.app import run
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import shortened
from judgeboard.measure.notes import note
from judging_log import address


@pytest.fixture
def crowd(sqlite_log):
    """Twelve people on twelve answers; each next person graded one answer less, so that there are 66 pairs."""
    ids = sqlite_log.answers(22)
    for person in range(12):
        labels = labels_where(ids[: 22 - person], lambda place, odd=person % 2: (place + odd) % 3)
        sqlite_log.reviews(labels, f"person {person:02}")
    return sqlite_log


def test_a_long_list_keeps_the_pairs_with_the_most_items_and_counts_the_others(crowd):
    whole = measure_agreement(crowd.store, of="people")
    (pairs,), (short,) = whole.parts, shortened(whole).parts
    assert (len(pairs.slices), len(short.slices)) == (66, 50)
    assert [each for each in pairs.slices if each in short.slices] == short.slices
    left_out = [pairs.figure("n", each).n for each in pairs.slices if each not in short.slices]
    assert max(left_out) <= min(short.figure("n", each).n for each in short.slices)
    kappas = [pairs.figure("kappa", each).value for each in pairs.slices]
    listed, spread = short.caveats
    assert listed == note("shortened", n=50, lines=66)
    assert (spread.values["lowest"], spread.values["highest"]) == (min(kappas), max(kappas))
    assert shortened(whole).statistics == whole.statistics
    assert shortened(whole, 66) == whole
    # Of all lines.
    assert [each.code for each in shortened(whole, 1).parts[0].caveats] == ["shortened", "range"]


def test_the_command_lists_50_and_with_full_all(crowd, capsys):
    words = ["agreement", "--of", "people", "--db", address(crowd.store)]
    for more, listed in (([], 50), (["--full"], 66)):
        assert run([*words, "--json", *more]) == 0
        result = json.loads(capsys.readouterr().out)
        (part,) = result["parts"]
        assert len({row["slice"] for row in part["rows"]}) == listed
