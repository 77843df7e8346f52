"""Judges, checks and evidence take a time that grows with a text, not with its square, whatever the text contains."""

import time
from contextlib import suppress

import pytest

from judgeboard.judges.evidence_alignment import align, is_right_refusal
from judgeboard.judges.grade import GRADE_FORM
from judgeboard.judges.lexical import lexical_verdict
from judgeboard.judges.pairwise import solution_form
from judgeboard.judges.rag import VerdictForm
from judgeboard.judges.rating import rating_form
from judgeboard.judges.words import (
    LONGEST_READ,
    cited_numbers,
    only_declines,
    sentence_spans,
    sentences,
    word_keys,
)
from judgeboard.llm.asking import UnusableReply
from judgeboard.traces.prompts import bare_question, passages_in_prompt

TEXTS = {
    "one word": "cat ",
    "no space": "a",
    "full stops": ".",
    "punctuation": "!?.,;:",
    "short sentences": "I am ok. ",
    "equal sentences": "The lease ends in May. ",
    "digits": "1",
    "numbers": "1, 2 ",
    "commas": "1,",
    "brackets": "[",
    "open citations": "[1, ",
    "white space": " ",
    "line feeds": "\n",
    "tabs": "\t",
    "quotes": "'",
    "stops and quotes": ".'",
    "characters of Chinese": "東京都",
    "combining marks": "e\u0301",
    "no": "no a a a ",
    "refusals": "do not have any any ",
    "passages": "passage 1, ",
    "braces": '{"a":',
    "fences": "```",
    "tags": "<context>",
    "hash marks": "# ",
    "labels": "Question:\n",
    "thoughts": "<think>",
    "elements": '<p a="b" ',
    "open elements": "<p ",
    "names": "quality: ",
    "objects": '{"quality":3}',
    "broken objects": "{quality:3 ",
    "keys": '{"',
    "tagged": "<score>",
    "comments": "// quality: 3,",
}


def reading(form, start=""):
    """Read a reply that begins so, whether or not it is usable."""

    def read(text):
        with suppress(UnusableReply):
            form.parse(start + text)

    return read


READERS = {
    "lexical judge": lambda text: lexical_verdict("What is it?", text, ("It is a cat.",)),
    "lexical judge, passage": lambda text: lexical_verdict("What is it?", "It is a cat.", (text,)),
    "lexical judge, query": lambda text: lexical_verdict(text, "It is a cat.", ("It is a cat.",)),
    "sentences": sentences,
    "spans": sentence_spans,
    "citations": cited_numbers,
    "refusal": only_declines,
    "words": word_keys,
    "evidence": lambda text: align(text, ("It is a cat.", text)),
    "right refusal": lambda text: is_right_refusal(text, "I do not know.", ("It is a cat.",)),
    "verdict": reading(VerdictForm(claims=True)),
    "broken verdict": reading(VerdictForm(), "{quality: "),
    "broken text": reading(VerdictForm(), '{"quality": "'),
    "grade": reading(GRADE_FORM),
    "rating": reading(rating_form()),
    "solution": reading(solution_form(("6 m", "60 m"))),
    "question in a prompt": lambda text: bare_question(text, ()),
    "passages in a prompt": lambda text: passages_in_prompt(
        [{"role": "user", "content": text}], None, ["1", "2"]
    ),
}
CHARACTERS = 2_500
TIMES = 8  # a cost that grows with the square grows 64 times


def _cost(read, text):
    start = time.process_time()
    read(text)
    return time.process_time() - start


@pytest.mark.parametrize("reader", READERS)
def test_the_cost_grows_with_the_text_and_not_with_its_square(reader):
    read = READERS[reader]
    slow = []
    for name, piece in TEXTS.items():
        short, long = (
            piece * (characters // len(piece)) for characters in (CHARACTERS, TIMES * CHARACTERS)
        )
        cost = _cost(read, long)
        # The margins are wide, because another process may slow one of the two down; the garbage
        # collector slows the long one down once at most.
        if cost > 0.1 and min(cost, _cost(read, f"{long}b")) > 0.1 + 4 * TIMES * min(
            _cost(read, f"{short}{end}") for end in "ab"
        ):
            slow.append(name)
    assert not slow


def test_the_lexical_judge_cuts_a_very_long_answer_and_says_so():
    passage = "It is a cat."
    kept = f"{passage} " * (LONGEST_READ // 13 + 1)
    verdict = lexical_verdict("What?", kept[:LONGEST_READ] + " dogs" * 1_000, (passage,))
    assert verdict.groundedness == 1.0
    assert f"{LONGEST_READ:,}" in verdict.reasoning
    assert f"{LONGEST_READ:,}" not in lexical_verdict("What?", passage, (passage,)).reasoning
