"""Trends as tables: what the evidence of a detector says."""

from judgeboard.reports.trends import evidence_words


def test_evidence_is_capped_because_more_makes_nobody_surer():
    assert [evidence_words(each) for each in (None, 4.149, 1_000.0, 1_000.4, 304_865.45)] == [
        None,
        "4.15",
        "1000.00",
        "over 1,000",
        "over 1,000",
    ]
