"""Content words in any script."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.judges.lexical import lexical_verdict
from judgeboard.judges.words import (
    content_words,
    only_declines,
    sentence_spans,
    sentences,
    without_tags,
    word_keys,
)


def keys(text):
    return [word.key for word in content_words(text)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("costs 1,200 euro", "costs 1200.0 euro"),
        ("costs 1.234,50 euro", "costs 1,234.5 euro"),
        ("grade 7", "grade 007"),
        ("the climbers' ropes", "climber rope"),
        ("doesn\u2019t matter", "matter"),
        ("Cafe\u0301", "caf\u00e9"),
        ("\uff11\uff12 m\u00b2 rock", "12 m2 rock"),
        ("STRASSE", "stra\u00dfe"),
    ],
)
def test_the_same_said_otherwise_has_the_same_keys(one, other):
    assert keys(one) == keys(other)


def test_numbers_are_compared_by_value():
    assert keys("30 m and 31 m") == ["30", "31"]
    assert keys("3.5") != keys("35")


def test_names_are_compared_whole():
    known = word_keys("Alex Honnold climbed here, said James.")
    found = {
        word.written: word.key in known for word in content_words("Then Alex Honnolds met James")
    }
    assert found == {"Alex": True, "Honnolds": False, "met": False, "James": True}


def test_scripts_without_spaces_give_pairs_of_characters():
    assert keys("富士山は高い") == ["富士", "士山", "山は", "は高", "高い"]
    assert set(keys("ภูเขา")) <= word_keys("ภูเขาสูง")


def test_words_with_combining_marks_stay_whole():
    assert keys("हिमालय पर्वत") == ["हिमालय", "पर्वत"]


def test_stop_words_say_nothing():
    assert keys("It was not there, and so are the others; the passages do not have it.") == []
    assert keys("und das ist nicht so") == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_every_content_word_of_a_text_is_found_in_that_text(text):
    known = word_keys(text)
    assert all(word.key in known for word in content_words(text))


def test_sentences_leave_layout_out():
    text = "Do this [1]:\n1. Tie in (see passage 2).\n2) Check!\n- Climb. Enjoy…\n\n富士山は高い。海は青い。"
    assert list(sentences(text)) == [
        "Do this  :",
        "Tie in (see  ).",
        "Check!",
        "Climb.",
        "Enjoy…",
        "富士山は高い。",
        "海は青い。",
    ]


HTML = """<p class="a">A <b>rope</b>&nbsp;of 60 m.</p><ul><li>Take a helmet</li><LI>Go.<br/>Rest</li></ul>"""


def test_tags_of_html_are_no_words_and_no_part_of_a_sentence():
    spans = [HTML[start:end] for start, end in sentence_spans(HTML)]
    assert spans == ["A <b>rope</b>&nbsp;of 60 m.", "Take a helmet", "Go.", "Rest"]
    bare = ["A rope of 60 m.", "Take a helmet", "Go.", "Rest"]
    assert [" ".join(sentence.split()) for sentence in sentences(HTML)] == bare
    assert content_words(HTML) == content_words("\n".join(bare))
    assert lexical_verdict("Which rope?", HTML, ("\n".join(bare),)).groundedness == 1


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "x<b and c>d", "List<str>, <think>", "1 <2> 3", "<p", "</ p>", "<p x>"],
)
def test_signs_of_plain_text_are_no_tags(text):
    assert without_tags(text) == text
    assert list(sentences(text)) == [text]


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("My sources are silent on how a helmet should fit, so I would rather not guess.", True),
        (
            "Could you rephrase? With these words I get no page that covers which caves dry first.",
            True,
        ),
        ("I am afraid I cannot help with that today.", True),
        ("Sorry, I could not find anything. You could ask the front desk.", True),
        ("Leider kann ich das nicht beantworten.", True),
        ("You need a rope of 50 m at Cala Ferrera.", False),
        ("I could not find the price. The car park has 18 places.", False),
        ("Is it open? Ask the warden.", False),
        ("", False),
    ],
)
def test_a_refusal_states_nothing_else(answer, refuses):
    assert only_declines(answer) is refuses
    query = "What does the car park at Kite Scar cost?"
    assert is_right_refusal(query, answer, ()) is refuses
    assert (
        is_right_refusal(query, answer, ("Dogs are kept on a lead. The hut opens at nine.",))
        is refuses
    )
    assert not is_right_refusal(
        query, answer, ("Dogs are kept on a lead. The car park at Kite Scar costs 5 euros.",)
    )
    assert not is_right_refusal(query, answer, None)
