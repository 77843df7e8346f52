"""Answers questions with a query engine of LlamaIndex. One line of code turns on its traces.

With the environment of the section *Connect your assistant* in the README::

    opentelemetry-instrument --metrics_exporter none python examples/assistants/with_llamaindex.py

It needs OPENAI_API_KEY; with OPENAI_BASE_URL, any compatible endpoint answers.
"""

import os
import sys

from llama_index.core import QueryBundle
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from passages import QUESTION, search

LlamaIndexInstrumentor().instrument()


class SampleRetriever(BaseRetriever):
    """Retrieves passages of the sample log."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=text)) for text in search(query_bundle.query_str)]


model = OpenAI(
    "gpt-4o-mini", temperature=0, max_tokens=200, api_base=os.environ.get("OPENAI_BASE_URL")
)
engine = RetrieverQueryEngine.from_args(SampleRetriever(), llm=model)

for question in sys.argv[1:] or [QUESTION]:
    print(engine.query(question))
