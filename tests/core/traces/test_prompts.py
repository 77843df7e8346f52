"""The question of the user in a prompt that also has passages: it is taken only where it is certain."""

import pytest

from judgeboard.traces.prompts import bare_question, passages_in_prompt

ASKED = "How long does the battery last?"
PASSAGES = "[1] The battery lasts ten hours.\n[2] It charges in two hours."
FAQ = f"{PASSAGES}\n\nQuestion: Is it waterproof?"


@pytest.mark.parametrize(
    "prompt",
    [
        f"Context:\n{PASSAGES}\n\nQuestion: {ASKED}",
        f"Answer from the passages only.\n\nPassages:\n{PASSAGES}\n\nQuestion: {ASKED}\nAnswer:",
        f"Use these pieces of context to answer the question.\n\n{PASSAGES}\n\nQuestion: {ASKED}\nHelpful Answer:",
        f"Context information is below.\n---\n{PASSAGES}\n---\nAnswer the query.\nQuery: {ASKED}\nAnswer: ",
        f"You are an assistant.\nQuestion: {ASKED} \nContext: {PASSAGES} \nAnswer:",
        f"## Context\n{PASSAGES}\n\n## Question\n{ASKED}\n",
        f"<context>{PASSAGES}\n\nQuestion: no?</context>\n<question>\n{ASKED}\n</question>\nAnswer in one sentence.",
    ],
)
def test_the_question_of_a_usual_prompt_is_taken_alone(prompt):
    assert bare_question(prompt, []) == ASKED


@pytest.mark.parametrize(
    "prompt",
    [
        ASKED,
        f"Context:\n{PASSAGES}\n\n{ASKED}",
        f"You are helpful.\n\nQuestion: {ASKED}",  # no passages
        f"Context:\n{FAQ}\n\nQuestion: {ASKED}",  # two questions: one is of a passage
        f"Context:\n{FAQ}\nAnswer: No.\n\n{ASKED}",
        f"Context:\n{FAQ}\n[3] It is blue.\n\n{ASKED}",
        f"{ASKED}\n\nContext:\n{FAQ}",  # the question has no label, the passage has one
        f"Context:\n{PASSAGES}\nQuestion: Is it waterproof?",  # a line of the passage
        f"Context:\n{PASSAGES}\n\nQuestion: {ASKED}\nIt is for a flight.",  # perhaps more of the question
        f"Context:\n{PASSAGES}\n\nQuestion: {ASKED}\nAnswer: Ten hours.\n\nIs the answer grounded?",
        f"Context:\n{PASSAGES}\n\nQuestion:",
        f"<context>{PASSAGES}</context><question>no?</question><question>{ASKED}</question>",
        f"Answer what stands in <question>.\n<context>{PASSAGES}</context>\n<question>{ASKED}</question>",
        f"<context>{PASSAGES}\n<query>SELECT 1</query> counts.</context>\n\n{ASKED}",
    ],
)
def test_a_prompt_that_is_not_certain_is_kept_whole(prompt):
    assert bare_question(prompt, []) == prompt


def test_a_line_that_another_span_has_is_the_question_only_beside_passages_or_a_label():
    more = f"{ASKED}\nI bought it 40 days ago in Spain."
    assert bare_question(more, [ASKED]) == more
    for prompt in (
        f"Context:\n{PASSAGES}\n\n{ASKED}",
        f"Be brief.\nCustomer: {ASKED}",
        f"{PASSAGES}\n{ASKED}\nThanks!",
    ):
        assert bare_question(prompt, [ASKED]) == ASKED


ASK = f"\n\nQuestion: {ASKED}"


@pytest.mark.parametrize(
    ("prompt", "passages"),
    [
        (f"{PASSAGES}{ASK}", ["The battery lasts ten hours.", "It charges in two hours."]),
        (f"Passages:\n1. One.\n2. Two.{ASK}", ["One.", "Two."]),
        (f"Use the context information below.\n---\n1. One.\n\n2. Two.{ASK}", ["One.", "Two."]),
        (
            f"1. Use only the context.\n2. Be brief.\n\nDocument 1: One.\nDocument 2: Two.{ASK}",
            ["One.", "Two."],
        ),
        (f"Rules:\n1. Use only the context.\n2. Be brief.{ASK}", None),
        (f"Rules for the context:\n1. Cite.\n2. Be brief.{ASK}", None),
        (f"Context:\nOne.\nTwo.{ASK}", ["One.", "Two."]),
        (f"Context:\nOne.\nTwo.\n\n{ASKED}", ["One.", "Two."]),
        (f"Context:\nOne.\nOne more.\n\nTwo.{ASK}", None),  # three lines of two passages
        (
            f"[1] One.\n\nOne more.\n[2] Two.\n\nTwo more.{ASK}",
            None,
        ),  # the end of the last is not known
    ],
)
def test_texts_of_two_passages_are_taken_only_where_the_prompt_surely_has_them(prompt, passages):
    for role in ("user", "system"):
        assert passages_in_prompt([{"role": role, "content": prompt}], None, ["a", "b"]) == passages
