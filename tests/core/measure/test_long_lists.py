"""Long lists of raters are shortened to the lines with the most items, and are complete on request."""

import json
from itertools import combinations

import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import Shortened, shortened
from judging_log import address


@pytest.fixture
def crowd(sqlite_log: GradedLog) -> GradedLog:
    """Twelve people on twelve answers; each next person graded one answer less, so that there are 66 pairs."""
    ids = sqlite_log.answers(22)
    for person in range(12):
        labels = {each: {"label": BAD if (place + person % 2) % 3 else GOOD} for place, each in enumerate(ids)}
        sqlite_log.reviews(dict(list(labels.items())[: 22 - person]), f"person {person:02}")
    return sqlite_log


def test_a_long_list_keeps_the_pairs_with_the_most_items_and_counts_the_others(crowd: GradedLog) -> None:
    whole = measure_agreement(crowd.store, of="people")
    assert len(whole.rater_pairs) == 66
    short = shortened(whole)
    assert len(short.rater_pairs) == 50
    assert [each for each in whole.rater_pairs if each in short.rater_pairs] == list(short.rater_pairs)
    left_out = [each for each in whole.rater_pairs if each not in short.rater_pairs]
    assert max(each.n for each in left_out) <= min(each.n for each in short.rater_pairs)
    kappas = [each.statistics["kappa"].value for each in whole.rater_pairs]
    cut = short.shortened["rater_pairs"]
    assert (cut.lines, cut.left_out, cut.statistic) == (66, 16, "kappa")
    assert (cut.lowest, cut.highest) == (min(kappas), max(kappas))
    assert short.statistics == whole.statistics
    assert shortened(whole, 66) == whole
    assert shortened(whole, 1).shortened["rater_pairs"] != Shortened(66, 65), "the range is over all lines"


def test_the_command_lists_50_and_with_full_all(crowd: GradedLog, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["agreement", "--of", "people", "--db", address(crowd.store)]
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert "50 of 66 lines are listed: those with the most items. To list all, add --full." in printed
    assert "All lines: lowest " in printed
    pairs = [f"person {a:02}  person {b:02}" for a, b in combinations(range(12), 2)]
    assert sum(pair in printed for pair in pairs) == 50
    assert run([*words, "--full"]) == 0
    printed = capsys.readouterr().out
    assert "lines are listed" not in printed
    assert sum(pair in printed for pair in pairs) == 66
    for more, listed in (([], 50), (["--full"], 66)):
        assert run([*words, "--json", *more]) == 0
        result = json.loads(capsys.readouterr().out)
        assert len(result["rater_pairs"]) == listed
        assert result["shortened"].get("rater_pairs", {}).get("left_out", 0) == 66 - listed
