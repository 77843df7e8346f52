"""Cuts an answer into sentences."""

import re

_LIST_MARKER = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)]|[-*\u2022\u2013])[ \t]+")
_END = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]]*\s+|(?<=[\u3002\uff01\uff1f\u0964\u0965])|\n+")
_NUMBERS = r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*"
_CITATION = re.compile(rf"\[{_NUMBERS}\]|\b(?:passages?|documents?|sources?)\s+{_NUMBERS}\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of ``text`` in order, none of them blank.

    List markers (``2.`` at the start of a line) and citations (``[3]``, "passage 3") are left out: they are layout,
    and as numbers they would be looked for in the passages.
    """
    bare = without_citations(_LIST_MARKER.sub("", text))
    return [sentence for part in _END.split(bare) if (sentence := part.strip())]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences and lines of ``text`` stand: (start, end) in characters, in order, none blank.

    A list marker at the start of a sentence is not part of it; a citation inside one is.
    """
    bare = _LIST_MARKER.sub(_blank, text)
    edges = [0, *(edge for end in _END.finditer(bare) for edge in end.span()), len(bare)]
    spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        part = bare[start:end]
        tidy = part.strip()
        if tidy:
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(tidy)))
    return spans


def without_citations(text: str) -> str:
    """Return a sentence without its citations, which as numbers would be looked for in the passages."""
    return _CITATION.sub(" ", text)


def _blank(marker: re.Match[str]) -> str:
    return " " * (marker.end() - marker.start())
