"""The question of the user in a prompt that also has passages: it is taken only where it is certain."""

import pytest

from judgeboard.traces.prompts import bare_question

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
        f"**Documents:**\n{PASSAGES}\n\n**User question:** {ASKED}\n\n**Answer:**",
        f"<context>{PASSAGES}\n\nQuestion: no?</context>\n<question>\n{ASKED}\n</question>\nAnswer in one sentence.",
    ],
)
def test_the_question_of_a_usual_prompt_is_taken_alone(prompt: str) -> None:
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
    ],
)
def test_a_prompt_that_is_not_certain_is_kept_whole(prompt: str) -> None:
    assert bare_question(prompt, []) == prompt
