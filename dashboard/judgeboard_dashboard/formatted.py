"""Markdown, tables, code and JSON as elements of `evidence.tag`.

A parser reads the markup. Only the elements listed here are created, without attributes. Raw HTML, links and images are
shown as plain text, so nothing is fetched and nothing can be clicked.
"""

import json
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from judgeboard_dashboard.evidence import Html, escaped, join, tag

LONGEST = 50_000  # characters; longer texts are not formatted
_PLAIN = frozenset({"paragraph_open", "paragraph_close", "inline", "text", "softbreak"})
# The parser's tag name -> element. Headings become bold text, because only the page itself has heading elements.
_ELEMENTS = {"h1": "b", "h2": "b", "h3": "b", "h4": "b", "h5": "b", "h6": "b", "s": "del"} | {
    name: name
    for name in (*("p", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong"),)
}


@cache
def _parser() -> MarkdownIt:
    # Disabled: rules that remove text (references), make links of addresses, or read indented text as code.
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    return parser.disable(
        ["link", "image", "autolink", "html_block", "html_inline", "reference", "code", "entity", "lheading"]
    )


@lru_cache(maxsize=256)
def formatted(text: str) -> Html | None:
    """Return a text with its markup rendered; None if it has no markup or more than 50,000 characters."""
    if len(text) > LONGEST:
        return None
    if text.lstrip()[:1] in ("{", "["):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        if isinstance(content, dict | list):
            code = tag("pre", json.dumps(content, indent=2, ensure_ascii=False))
            return tag("div", code, cls="jb-formatted")
    tokens = _parser().parse(text)
    if all(token.type in _PLAIN for each in tokens for token in (each, *(each.children or ()))):
        return None
    return tag("div", _elements(tokens), cls="jb-formatted")


def _elements(tokens: list[Token]) -> Html:
    """Return the elements for a list of tokens. Each opening token must have its closing token."""
    open_parts: list[list[Html]] = [[]]
    for token in tokens:
        if token.nesting == 1:
            open_parts.append([])
        elif token.nesting == -1 and len(open_parts) > 1:
            content = join(open_parts.pop())
            name = _ELEMENTS.get(token.tag)
            open_parts[-1].append(content if name is None or token.hidden else tag(name, content))
        else:
            open_parts[-1].append(_leaf(token))
    return join(part for parts in open_parts for part in parts)


def _leaf(token: Token) -> Html:
    if token.type == "inline":
        return _elements(token.children or [])
    if token.type in ("fence", "code_block"):
        return tag("pre", token.content)
    if token.type == "code_inline":
        return tag("code", token.content)
    if token.type in ("softbreak", "hardbreak"):
        return tag("br")
    return tag("hr") if token.type == "hr" else escaped(token.content)
