"""Claims are marked where they quote, and marking changes no character."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from app_pages import plain
from judgeboard.domain import Claim, ClaimStatus
from judgeboard_dashboard.review.claims import (
    Span,
    answer_spans,
    marked,
    numbered,
    problems_first,
    split,
)


def claim(status, start, end, **more):
    return Claim("text", status, answer_start=start, answer_end=end, **more)


@st.composite
def texts_with_claims(draw):
    text = draw(
        st.text(st.characters(exclude_characters="\r"), max_size=60)
    )  # for \r, see test_evidence.py
    ends = st.integers(-2, len(text) + 3)
    statuses = st.sampled_from(list(ClaimStatus))
    return text, [
        claim(draw(statuses), draw(st.none() | ends), draw(st.none() | ends))
        for _ in range(draw(st.integers(0, 6)))
    ]


def marked_answer(text, claims):
    return marked(text, answer_spans(numbered(claims), text), here="a", there="q")


@given(texts_with_claims())
@settings(max_examples=200)
def test_the_text_content_is_the_stored_text(given_):
    text, claims = given_
    assert plain(marked_answer(text, claims)) == text


@given(texts_with_claims())
@settings(max_examples=100)
def test_ids_are_unique_and_each_number_is_shown_once(given_):
    markup = marked_answer(*given_)
    ids = re.findall(r' id="(a\d+)"', markup)
    assert len(ids) == len(set(ids)) == markup.count('class="jb-n"')


def test_in_an_overlap_the_worse_claim_wins_and_both_are_listed():
    claims = numbered([claim(ClaimStatus.SUPPORTED, 0, 10), claim(ClaimStatus.CONTRADICTED, 4, 6)])
    pieces = split(12, answer_spans(claims, "x" * 12))
    assert [(start, end, one.number if one else None) for start, end, one in pieces] == [
        (0, 4, 1),
        (4, 6, 2),
        (6, 10, 1),
        (10, 12, None),
    ]
    assert [one.number for one in problems_first(claims)] == [2, 1]


def test_a_quote_that_is_not_found_is_listed_as_such_and_never_marked():
    [lost] = numbered([claim(ClaimStatus.SUPPORTED, None, None)])
    assert lost.sign == "∅1"
    assert lost.status == "notfound"
    assert answer_spans([lost], "text") == []


def test_a_number_leads_to_the_quote_in_the_passages_and_back():
    [one] = numbered(
        [claim(ClaimStatus.SUPPORTED, 0, 3, passage=2, passage_start=5, passage_end=9)]
    )
    assert 'href="#q1"' in marked("abc", [Span(0, 3, one)], here="a", there="q")
    assert 'href="#a1"' in marked("0123456789", [Span(5, 9, one)], here="q", there="a")


def test_without_a_quote_the_number_leads_to_the_passage():
    [one] = numbered([claim(ClaimStatus.UNSUPPORTED, 0, 3, passage=2)])
    assert 'href="#p2"' in marked("abc", [Span(0, 3, one)], here="a", there="q")
