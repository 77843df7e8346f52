"""The report is one file that needs nothing else, and shows hostile texts as what they are."""

import json
import re
from html import unescape
from html.parser import HTMLParser

from graded_log import GOOD, labels_in
from judgeboard.formats.output import to_plain
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.words import WORDS
from judgeboard.reports.agreement import report_page
from judgeboard.reports.front_page import log_summary

HOSTILE = "</script><script>alert(1)</script>"


class Tags(HTMLParser):
    """Counts tags, and keeps what they load."""

    def __init__(self):
        super().__init__()
        self.names = []
        self.loads = []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.loads += [value or "" for name, value in attrs if name in {"src", "href"}]


def test_it_says_first_how_good_the_answers_are(sqlite_log):
    ids = sqlite_log.answers(200)
    sqlite_log.say_all(sqlite_log.version(), ids, groundedness=0.9)
    sqlite_log.review_all(ids[:40], label=GOOD)
    results = [measure_agreement(sqlite_log.store)]
    now = sqlite_log.read(log_summary, results).now
    assert now == measure_rate(sqlite_log.store).headline


def test_it_contains_every_figure_as_text_and_as_json(sqlite_log):
    log = sqlite_log
    version = log.version(HOSTILE)
    ids = [
        each for day in (20_003, 20_010) for each in log.answers(20, day=day, query_type=HOSTILE)
    ]
    bad = {*ids} - {*ids[::3]}
    log.say(version, labels_in(ids, bad, groundedness=0.2))
    for reviewer in ("mara", HOSTILE, "jon"):
        log.reviews(labels_in(ids, bad), reviewer)
    results = [
        measure_agreement(log.store, by="query_type", epsilon=0.2),
        measure_agreement(log.store, of="people"),
    ]
    page = report_page(results, log.read(log_summary, results))
    first, statistics = page.split("Appendix: all statistics")
    assert first.count("<svg") == 2
    assert first.count("<td>Same grade</td>") == 1
    assert "<td>log</td><td class=n>40</td>" in first
    text = unescape(first).replace("\N{NO-BREAK SPACE}", " ")
    assert results[0].sentence in text
    assert results[0].caveats[0].text in text
    assert "Cohen&#x27;s kappa</td>" in statistics
    tags = Tags()
    tags.feed(page)
    assert (tags.names.count("script"), tags.loads) == (1, [])
    data = re.search(
        r'<script type="application/json" id="agreement">(.*?)</script>', page, re.DOTALL
    )
    assert json.loads(data[1]) == to_plain(results)
    for said in ("Cohen&#x27;s kappa", "By query type", WORDS["rater_pairs"]):
        assert said in page
    assert "None" not in page.replace(data[1], "")
    assert "nan" not in page.lower().replace(data[1].lower(), "").split()
