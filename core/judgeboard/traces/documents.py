"""Passages in the values that retrievers return: texts, documents of frameworks, rows of vector stores."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from judgeboard.traces.attributes import (
    DEEPEST,
    as_number,
    first,
    first_scalar,
    is_repr,
    parsed,
    parsed_object,
    without_none,
)
from judgeboard.traces.spans import Passage

_TEXT_KEYS = (
    "page_content",
    "pageContent",
    "text",
    "content",
    "document",
    "chunk",
    "passage",
    "snippet",
    "body",
)
_LIST_KEYS = (
    "documents",
    "source_documents",
    "retrieved_documents",
    "docs",
    "passages",
    "contexts",
    "retrieved_contexts",
    "chunks",
    "nodes",
    "source_nodes",
    "results",
    "matches",
    "hits",
    "points",
    "retrieval_results",
    "output",
    "outputs",
    "result",
    "context",
    "data",
)
_BESIDE = (  # names of passages among arguments and results of functions
    "source_documents",
    "retrieved_documents",
    "retrieved_contexts",
    "documents",
    "docs",
    "contexts",
    "context",
    "passages",
    "chunks",
    "source_nodes",
)
_ARGUMENTS = ("kwargs", "inputs", "outputs")
_INNER_KEYS = (
    "payload",
    "entity",
    "fields",
    "_source",
    "document",
)  # where vector stores put the columns of a row
_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "node_id", "id_", "_id", "uuid")
_SCORE_KEYS = (
    "score",
    "relevance_score",
    "relevanceScore",
    "similarity",
    "similarity_score",
    "_score",
    "rerank_score",
)
_SOURCE_KEYS = (
    "source",
    "doc_uri",
    "uri",
    "url",
    "file_name",
    "file_path",
    "filename",
    "file",
    "path",
    "title",
)
_NEAR = {"metadata", "distance", *_ID_KEYS, *_SCORE_KEYS, *_SOURCE_KEYS}
# The repr of an object without content, which OpenInference writes for the inner steps of
# LlamaIndex.
_OBJECT = re.compile(r"<[\w.]+(?:\(.*\)| object at 0x[0-9a-f]+)>", re.DOTALL)
_LEFT_OUT = {  # of the metadata of a passage: fields of `Passage`, and vectors
    *_TEXT_KEYS,
    *_ID_KEYS,
    *_SCORE_KEYS,
    "source",
    "type",
    "lc",
    "class_name",
    "embedding",
    "vector",
    "values",
    "relationships",
}


def passages_in(value: Any, *, retriever: bool = True) -> tuple[Passage, ...] | None:
    """Return the passages of a list of texts or documents, or of an object with such a list; None for other values.

    Set ``retriever`` to False if the span may be no retriever. Then only documents count, and no
    lists of plain texts or objects with more than documents.
    """
    return _passages(parsed(value), 0, retriever=retriever)


def passages_beside(value: Any) -> tuple[Passage, ...] | None:
    """Return the passages that a function took or returned under a name such as ``contexts``, else None."""
    value = parsed(value)
    if not isinstance(value, dict):
        return None
    for fields in (value, *(parsed(value.get(name)) for name in _ARGUMENTS)):
        for name in _BESIDE if isinstance(fields, dict) else ():
            inner = parsed(fields.get(name))
            if isinstance(inner, list) and (passages := _passages(inner, 0, retriever=True)):
                return passages
    return None


def is_document(value: Any) -> bool:
    """Whether the value is a document: a text with an id, a score or metadata, in the form of any framework."""
    value = unwrapped(value)
    if _is_scored(value):
        return True
    if not isinstance(value, dict) or "role" in value or "tool_calls" in value:
        return False
    if (
        isinstance(value.get("node"), dict)
        or isinstance(value.get("document"), dict)
        or value.get("type") == "Document"
    ):
        return True
    bodies = [value, *(value[key] for key in _INNER_KEYS if isinstance(value.get(key), dict))]
    texts = {key for key in _TEXT_KEYS for body in bodies if isinstance(body.get(key), str)}
    return bool(texts & {"page_content", "pageContent"}) or bool(texts and _NEAR & value.keys())


def unwrapped(value: Any) -> Any:
    """Return the fields of an object that LangChain serialized; anything else is returned unchanged."""
    if isinstance(value, dict) and value.get("lc") and isinstance(value.get("kwargs"), dict):
        names = value.get("id")
        name = names[-1] if isinstance(names, list) and names else ""
        return {"type": name, **value["kwargs"]}
    return value


def _passages(value: Any, depth: int, *, retriever: bool) -> tuple[Passage, ...] | None:
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return _passages_of_object(unwrapped(value), depth, retriever=retriever)
    return (
        _passages_of_list(value, depth, retriever=retriever)
        if isinstance(value, list | tuple)
        else None
    )


def _passages_of_list(
    value: Sequence[Any], depth: int, *, retriever: bool
) -> tuple[Passage, ...] | None:
    if value and all(isinstance(each, str) and is_repr(each) for each in value):
        return None  # documents without text
    if all(is_document(each) or (retriever and _is_passage(each)) for each in value):
        return tuple(_document(each) for each in value) if value or retriever else None
    if retriever and _is_scored(value):
        return (_document(value),)
    # Several queries, or a function that returns documents and other values.
    lists = [each for each in value if isinstance(each, list | tuple)]
    groups = [_passages(each, depth + 1, retriever=False) for each in lists]
    if any(groups):
        return tuple(chain.from_iterable(group for group in groups if group))
    return (
        _passages(lists[0], depth + 1, retriever=True)
        if retriever and lists and lists[0] is value[0]
        else None
    )


def _passages_of_object(
    value: dict[str, Any], depth: int, *, retriever: bool
) -> tuple[Passage, ...] | None:
    # A vector store that returns columns: ids, documents, metadatas (Chroma).
    if isinstance(value.get("ids"), list) and {"documents", "metadatas"} & value.keys():
        lists = [value.get(name) for name in ("ids", "documents", "metadatas", "distances")]
        lists_by_column = [each if isinstance(each, list) else [] for each in lists]
        # With several queries, each column is a list of lists: the first query counts.
        names, *columns = (
            each[0] if each and isinstance(each[0], list) else each for each in lists_by_column
        )
        rows = (
            (name, *(each[at] if at < len(each) else None for each in columns))
            for at, name in enumerate(names)
        )
        return tuple(
            _document({"id": name, "text": text, "metadata": metadata, "distance": distance})
            for name, text, metadata, distance in rows
        )
    if not retriever and value.keys() - {"documents", "outputs", "output", "count", "kwargs"}:
        return None
    if retriever and is_document(value):
        return (_document(value),)
    for key in _LIST_KEYS if retriever else ("documents", "outputs", "output"):
        inner = parsed(value.get(key))
        if isinstance(inner, list | dict) and (
            (passages := _passages(inner, depth + 1, retriever=retriever)) is not None
        ):
            return passages
    return None


def _is_passage(value: Any) -> bool:
    """Whether the value can be a passage of a retriever: a text, or an object with a text, an id or a score."""
    if isinstance(value, str):
        return _OBJECT.fullmatch(value.strip()) is None
    return (
        isinstance(value, dict)
        and "role" not in value
        and first_scalar(value, (*_TEXT_KEYS, *_ID_KEYS, *_SCORE_KEYS)) is not None
    )


def _is_scored(value: Any) -> bool:
    """Whether the value is a document with a score, as from ``similarity_search_with_score``."""
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[1], int | float)
        and (isinstance(value[0], str) or (isinstance(value[0], dict) and is_document(value[0])))
    )


def _document(value: Any, depth: int = 0) -> Passage:
    value = unwrapped(value)
    if isinstance(value, str):
        return Passage(value)
    if isinstance(value, list | tuple):
        passage = _document(value[0])
        return passage if passage.score is not None else replace(passage, score=as_number(value[1]))
    if isinstance(value.get("node"), dict) and depth < DEEPEST:  # LlamaIndex
        passage = _document(value["node"], depth + 1)
        score = as_number(first(value, _SCORE_KEYS))
        return passage if score is None else replace(passage, score=score)
    fields = without_none(value)
    for key in _INNER_KEYS:
        if isinstance(fields.get(key), dict):
            fields = {**fields.pop(key), **fields}
    fields = parsed_object(fields.pop("metadata", None) or fields.pop("extra_info", None)) | fields
    return Passage(
        next((fields[key] for key in _TEXT_KEYS if isinstance(fields.get(key), str)), None),
        id=first_scalar(fields, _ID_KEYS),
        score=as_number(first(fields, _SCORE_KEYS)),
        source=first_scalar(fields, _SOURCE_KEYS),
        metadata={name: each for name, each in fields.items() if name not in _LEFT_OUT},
    )
