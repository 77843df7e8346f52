"""The answer sentence by sentence beside its passages: links both ways, every text as stored, nothing acted on."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app_pages import markup, plain, press
from judgeboard.judges.evidence_alignment import align
from judgeboard.store.items import load_item
from judgeboard_dashboard.review.texts import MOST_SENTENCES, sentence_pane
from page_rows import HOSTILE
from stored_rows import read

IDS = re.compile(r' id="([^"]+)"')
GOALS = re.compile(r' href="#([^"]+)"')


@pytest.fixture
def pane(page_rows, sqlite_store):
    """The pane of an answer by its outside id."""

    def made(name, *, whole=False, forgotten_at=None, **changes):
        item = read(sqlite_store, load_item, page_rows.responses[name])
        item = replace(item, response=replace(item.response, **changes), forgotten_at=forgotten_at)
        claims = item.currents[0].claims or () if item.currents else ()
        return str(
            sentence_pane(
                item, align(item.response.answer, item.response.passages, claims), [], whole=whole
            )
        )

    return made


def test_each_sentence_leads_to_its_place_and_back(pane):
    shown = pane("claims")
    ids, goals = IDS.findall(shown), GOALS.findall(shown)
    assert len(ids) == len(set(ids))
    # Every link has its goal.
    assert set(goals) <= set(ids)
    assert {"l1", "e1"} <= set(goals)
    assert "passage 1quoted" in plain(shown)
    assert "67 % of" in plain(shown)


def test_what_stands_nowhere_is_said(pane):
    for name in ("no-passages", "nothing-found"):
        assert plain(pane(name)).count("no passage contains") == 3
    assert "has no passages" in plain(pane("no-passages"))


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "long"])
def test_hostile_texts_are_text(pane, name):
    shown = pane(f"hostile-{name}")
    left = re.sub(r"</?(div|span|mark|a|i|input)\b[^>]*>", "", shown)
    assert "<" not in left
    assert 'href="http' not in shown
    assert 'href="javascript' not in shown


def test_a_very_long_answer_is_sent_in_part_until_it_is_asked_for(pane):
    long = "A stone is hard. " * (MOST_SENTENCES + 5)
    part = pane("good", answer=long)
    assert "5 more sentences" in plain(part)
    assert part.count('class="jb-sentence"') == MOST_SENTENCES
    assert pane("good", answer=long, whole=True).count('class="jb-sentence"') == MOST_SENTENCES + 5


def test_a_forgotten_answer_is_said(pane):
    shown = pane(
        "good", forgotten_at=datetime(2026, 3, 12, tzinfo=UTC), query="", answer="", passages=None
    )
    # The question, the answer and the passages are removed.
    assert plain(shown).count("was removed") == 3


def test_one_key_switches_and_the_way_is_kept_for_the_next_item(open_flag):
    page = open_flag("claims")
    for key, by_sentence in (("switch_", True), ("next_", True), ("switch_", False)):
        assert ('class="jb-sentence"' in markup(press(page, key))) is by_sentence
