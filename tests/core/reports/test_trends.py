"""Trends as tables: what the evidence of a detector says."""

from judgeboard.reports.trends import evidence_sentence, evidence_words


def test_evidence_is_capped_because_more_makes_nobody_surer() -> None:
    assert [evidence_words(each) for each in (None, 4.149, 1_000.0, 1_000.4, 304_865.45)] == [
        None,
        "4.15",
        "1000.00",
        "over 1,000",
        "over 1,000",
    ]


def test_evidence_is_explained_as_how_rarely_chance_reaches_it() -> None:
    assert evidence_sentence("day") == (
        "Evidence of 100: while nothing changes, a detector reaches it at most once in 100 days on average."
    )
