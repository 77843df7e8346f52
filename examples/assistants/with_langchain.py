"""Answers questions with a chain of LangChain, which needs no code for its traces.

With the environment of the section *Connect your assistant* in the README::

    opentelemetry-instrument --metrics_exporter none python examples/assistants/with_langchain.py

It needs OPENAI_API_KEY; with OPENAI_BASE_URL, any compatible endpoint answers.
"""

import sys

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_openai import ChatOpenAI
from passages import QUESTION, search


class SampleRetriever(BaseRetriever):
    """Retrieves passages of the sample log."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return [Document(text) for text in search(query)]


def numbered(documents: list[Document]) -> str:
    """Return the passages as a part of the prompt."""
    return "\n".join(
        f"[{number}] {each.page_content}" for number, each in enumerate(documents, start=1)
    )


prompt = ChatPromptTemplate(
    [
        ("system", "Answer from the numbered passages only."),
        ("user", "Passages:\n{passages}\n\nQuestion: {question}"),
    ]
)
model = ChatOpenAI(model="gpt-4o-mini", temperature=0, max_tokens=200)
chain = (
    {"passages": SampleRetriever() | numbered, "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)

for question in sys.argv[1:] or [QUESTION]:
    print(chain.invoke(question))
