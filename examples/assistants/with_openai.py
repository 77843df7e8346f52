"""Answers questions with the OpenAI client. Its own spans have the question and the passages, which the client lacks.

With the environment of the section *Connect your assistant* in the README::

    opentelemetry-instrument --metrics_exporter none python examples/assistants/with_openai.py "Is rust bad for bolts?"

It needs OPENAI_API_KEY; with OPENAI_BASE_URL, any compatible endpoint answers.
"""

import sys

from openai import OpenAI
from opentelemetry import trace
from passages import QUESTION, search

tracer = trace.get_tracer("assistant")


@tracer.start_as_current_span("retrieve")
def retrieve(question: str) -> list[str]:
    """Return the passages for a question."""
    passages = search(question)
    trace.get_current_span().set_attribute("documents", passages)
    return passages


@tracer.start_as_current_span("answer")
def answer(question: str) -> str | None:
    """Return the answer of the model to a question, from its passages."""
    trace.get_current_span().set_attribute("question", question)
    passages = "\n".join(
        f"[{number}] {text}" for number, text in enumerate(retrieve(question), start=1)
    )
    reply = OpenAI().chat.completions.create(
        model="gpt-4o-mini",
        messages=[
            {"role": "system", "content": "Answer from the numbered passages only."},
            {"role": "user", "content": f"Passages:\n{passages}\n\nQuestion: {question}"},
        ],
        temperature=0,
        max_tokens=200,
    )
    return reply.choices[0].message.content


for each in sys.argv[1:] or [QUESTION]:
    print(answer(each))
