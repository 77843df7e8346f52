"""Each sentence of an answer is beside the place in the passages that has most of it; notes for readers."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.domain import Claim, ClaimStatus
from judgeboard.judges import evidence_alignment
from judgeboard.judges.evidence_alignment import LONGEST_PIECE, Level, align, annotate
from judgeboard.judges.words import content_words, sentence_spans, sentences

PASSAGES = (
    "Granite is an intrusive rock. It cools slowly below the surface, and its crystals grow large.",
    "Basalt is an extrusive rock.\r\nIt cools fast.\n\n    Columns form as Basalt shrinks.",
)
ANSWER = "1. Granite cools slowly [1]. Marble was sold in Venice.\n- Columns of basalt form as it shrinks."


def said(sentence, passages=PASSAGES):
    return (
        None
        if sentence.passage is None
        else passages[sentence.passage - 1][sentence.passage_start : sentence.passage_end]
    )


def test_a_sentence_stands_beside_the_place_that_says_most_of_it():
    alignment = align(ANSWER, PASSAGES)
    granite = "It cools slowly below the surface, and its crystals grow large."
    assert [(ANSWER[one.start : one.end], said(one), one.passage, one.by) for one in alignment] == [
        ("Granite cools slowly [1].", granite, 1, "words"),
        ("Marble was sold in Venice.", None, None, None),
        ("Columns of basalt form as it shrinks.", "Columns form as Basalt shrinks.", 2, "words"),
    ]


def test_a_rare_word_outweighs_several_common_ones():
    passages = ("The river flows through the old town. " * 9, "A heron stood there.")
    [one] = align("In the old town a heron was seen.", passages)
    assert said(one, passages) == passages[1]


def test_of_equal_places_the_first_is_chosen():
    [one] = align("Slings melt early.", ("Slings melt.", "Slings melt."))
    assert one.passage == 1


def test_the_quote_of_a_judge_comes_before_what_the_words_find():
    quote = "Basalt is an extrusive rock.\r\nIt cools fast."
    claim = Claim(
        "cools slowly",
        ClaimStatus.CONTRADICTED,
        passage=2,
        answer_start=11,
        answer_end=23,
        passage_start=0,
        passage_end=len(quote),
    )
    first, *others = align(ANSWER, PASSAGES, [claim])
    assert (said(first), first.by, first.share) == (quote, "quote", None)
    assert others == list(align(ANSWER, PASSAGES))[1:]


def test_a_quote_that_does_not_stand_in_its_passage_is_no_evidence():
    for passage, start, end in ((3, 0, 5), (1, 0, 9999), (2, None, None), (None, 0, 5)):
        place = {"passage": passage, "passage_start": start, "passage_end": end}
        claim = Claim("x", ClaimStatus.SUPPORTED, answer_start=0, answer_end=20, **place)
        assert align(ANSWER, PASSAGES, [claim]) == align(ANSWER, PASSAGES)


def test_without_passages_or_words_there_is_no_evidence():
    assert [one.passage for one in align("It is so.", PASSAGES)] == [None]
    for passages in (None, (), ("",)):
        assert {one.passage for one in align(ANSWER, passages)} == {None}
    assert align("", PASSAGES) == ()


def test_a_table_without_sentences_is_cut_into_places_of_one_look():
    passage = ", ".join(f'"key{number}": "value number {number}"' for number in range(200))
    [one] = align("The value number of key150 was given.", (passage,))
    assert '"key150"' in said(one, (passage,))
    assert one.passage_end - one.passage_start <= LONGEST_PIECE


TEXT = st.text(alphabet=st.sampled_from("ab cD1.,!?\n\r[]()-2… 。 é\u0301中文"), max_size=120)


@given(TEXT, st.lists(TEXT, max_size=4))
def test_offsets_lie_in_the_texts_whatever_they_are(answer, passages):
    end = 0
    for one in align(answer, passages):
        assert end <= one.start < one.end <= len(answer)
        assert answer[one.start : one.end].strip() == answer[one.start : one.end]
        end = one.end
        if one.passage is not None:
            place = passages[one.passage - 1]
            assert 0 <= one.passage_start < one.passage_end <= len(place)
            assert 0 < one.share <= 1


@given(TEXT)
def test_sentences_with_offsets_hold_the_words_that_the_judge_by_words_reads(text):
    assert keys(text[start:end] for start, end in sentence_spans(text)) == keys(sentences(text))


def keys(parts):
    """The words of sentences, without numbers: those may be citations."""
    found = [word.key.lstrip("=") for part in parts for word in content_words(part)]
    return [key for key in found if not key.isdigit()]


def work(answer, passages):
    """How many lines the alignment runs, whatever the machine."""
    steps = 0

    def count(frame, event, _argument):
        nonlocal steps
        steps += event == "line"
        return count if frame.f_code.co_filename == evidence_alignment.__file__ else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        align(answer, passages)
    finally:
        sys.settrace(before)
    return steps


def prose(characters, seed):
    draw = random.Random(seed)
    words = [f"word{number}" for number in range(3000)]
    return "".join(
        f"{' '.join(draw.choices(words, k=12))}. ".capitalize() for _ in range(characters // 100)
    )


def test_the_work_grows_with_the_passages_and_with_the_answer_not_with_their_product():
    small, long_passages, long_answer = (
        work(prose(answer, 10), [prose(passage, seed) for seed in range(10)])
        for answer, passage in ((2_000, 2_000), (2_000, 8_000), (8_000, 2_000))
    )
    assert max(long_passages, long_answer) < 5 * small


def test_one_word_everywhere_is_no_square_of_work():
    small, large = (work("Same word. " * n, ["Same word here. " * n]) for n in (500, 2_000))
    assert large < 4.5 * small


def test_texts_without_an_end_or_a_break_are_no_square_of_work():
    words = [" ".join(f"v{number}" for number in range(n)) for n in (2_000, 8_000)]
    small, large = (work(text, [text]) for text in words)
    assert large < 5 * small
    assert work("x", ["y" * 100_000]) < 100_000 // 10


WARNING = "⚠️ Some content may go beyond available data\n\nThe answer."
DISCLAIMER = "❓ Insufficient data for this answer, use with caution\n\nThe answer."


@pytest.mark.parametrize(
    ("groundedness", "text", "level"),
    [
        (1, "The answer.", Level.FULL),
        (0.8, "The answer.", Level.FULL),
        (0.1 + 0.7, "The answer.", Level.FULL),  # 0.7999999999999999 in floats
        (0.79, WARNING, Level.WARNING),
        (0.6, WARNING, Level.WARNING),
        (0.59, DISCLAIMER, Level.DISCLAIMER),
        (0, DISCLAIMER, Level.DISCLAIMER),
        (None, "The answer.", Level.UNMEASURED),
    ],
)
def test_annotation_by_groundedness(groundedness, text, level):
    annotation = annotate("The answer.", groundedness)
    assert (annotation.text, annotation.level) == (text, level)


@pytest.mark.parametrize("value", [85, -0.1, True, float("nan")])
def test_what_is_no_groundedness_is_refused(value):
    with pytest.raises(ValueError, match="groundedness"):
        annotate("The answer.", value)
