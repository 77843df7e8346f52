"""A statistic is a function and one row of ``STATISTICS``: page, command, JSON and report then show it."""

import json
from html import unescape

from graded_log import labels_where, read
from judgeboard.cli.app import run
from judgeboard.formats.output import to_plain
from judgeboard.measure.agreement import measure_agreement
from judgeboard.reports.agreement import LEADING, figures_table, report_page
from judgeboard.reports.front_page import log_summary
from judgeboard.stats.estimates import measured
from judgeboard.stats.pair_statistics import STATISTICS, Statistic
from judgeboard_dashboard.widgets.tables import table_frame
from judging_log import address


def pairs_per_group(pairs):
    """The mean number of pairs per evidence group."""
    return measured(pairs.n / pairs.groups.count, pairs.n, reason="no interval: a count")


def test_a_row_of_statistics_appears_everywhere(sqlite_log, monkeypatch, capsys):
    row = Statistic("Pairs per group", of_pairs=pairs_per_group, leads=True)
    monkeypatch.setitem(STATISTICS, "pairs_per_group", row)
    monkeypatch.setattr("judgeboard.reports.stats.LEADING", (*LEADING, "pairs_per_group"))
    log = sqlite_log
    ids = log.answers(20)
    labels = labels_where(ids, lambda place: place % 3)
    log.say(log.version(), labels)
    log.reviews(labels, "mara")

    result = measure_agreement(log.store, by="query_type")
    assert result.statistics["pairs_per_group"].value == 1
    rows = [
        row
        for row in to_plain(result)["rows"]
        if (row["figure"], row["slice"]) == ("pairs_per_group", None)
    ]
    assert [row["value"] for row in rows] == [1]
    assert "Pairs per group" in unescape(
        report_page([result], read(log.store, log_summary, [result]))
    )
    page = table_frame(figures_table(result.statistics))
    assert page[page["Figure"] == "Pairs per group"]["Value"].tolist() == ["1.00"]

    assert run(["agreement", "--db", address(log.store)]) == 0
    assert "Pairs per group" in capsys.readouterr().out
    assert run(["stats", "--db", address(log.store), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["agreement"]
    assert all("pairs_per_group" in each["statistics"] for each in rows)
