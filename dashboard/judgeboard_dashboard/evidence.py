"""Renders untrusted text. Only this module escapes text and sends it to the browser as HTML.

Texts from logs, models and people are untrusted. Such texts reach a page only as children of `tag`,
which escapes texts: the page then has each stored character. `show` accepts only markup that `tag`
built. Streamlit's markdown would render maths, links and remote images, so Streamlit gets untrusted
texts only through `as_label`.

`formatted` renders Markdown where a reviewer switches Markdown on. A parser reads the text, and only
the elements listed here are created, without attributes. Raw HTML, links and images stay plain text,
so nothing is fetched and nothing can be clicked. `difference` shows what changed between two texts,
word by word.
"""

import difflib
import html
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Elements without content; all others get a closing tag.
_VOID = frozenset({"br", "hr", "input"})
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@/])")


class Html(str):
    """Markup from `tag` or `join`, with all texts escaped."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | None) -> Html:
    """Return an element. Texts among the children are escaped; children and attributes that are None are skipped.

    ``name`` must be a constant in our code. The attribute ``cls`` becomes class, ``data_n`` becomes
    data-n.
    """
    attribute_text = "".join(
        f' {"class" if key == "cls" else key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{attribute_text}>")
    return Html(f"<{name}{attribute_text}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    """Return texts and elements as one piece of markup, with the texts escaped."""
    return Html(
        "".join(child if isinstance(child, Html) else escaped(child) for child in children if child)
    )


def escaped(text: str) -> Html:
    """Return a text as markup; the browser shows exactly the text, with a carriage return as a line feed."""
    # Streamlit removes the blanks of blank lines (`textwrap.dedent`), so line ends are written as
    # entities.
    return Html(
        html.escape(text, quote=True)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\n", "&#10;")
    )


def beginning(text: str, most: int) -> Html:
    """Return the first ``most`` characters of a text; if there are more, a line says how many."""
    left = len(text) - most
    if left <= 0:
        return escaped(text)
    return join(
        (
            text[:most],
            tag(
                "div",
                f"{size(left)} more. `judgeboard export` writes the whole text.",
                cls="jb-cap",
            ),
        )
    )


def show(markup: Html, *, width: Literal["stretch", "content"] = "stretch") -> None:
    """Show markup on the page; raises TypeError for a plain text, which must be wrapped in `tag`."""
    if not isinstance(markup, Html):
        raise TypeError("only markup built by evidence.tag may be shown")
    if markup:
        st.html(markup, width=width)


def show_div(
    cls: str,
    *content: str | None,
    width: Literal["stretch", "content"] = "stretch",
    **attributes: str | None,
) -> None:
    """Show a line or a block of one class."""
    show(tag("div", *content, cls=cls, **attributes), width=width)


def as_label(text: str) -> str:
    """Return a text for labels that Streamlit renders as markdown (metric, chip, button), with markdown escaped.

    Not for choices of a selectbox or multiselect, which are plain text.
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def size(characters: int) -> str:
    """Return a number of characters in words: "387 characters", "50 kB", "1.2 MB"."""
    if characters < 10_000:
        return "1 character" if characters == 1 else f"{characters:,} characters"
    if characters < 1_000_000:
        return f"{round(characters / 1000)} kB"
    return f"{characters / 1_000_000:.1f} MB"


LONGEST_FORMATTED = 50_000  # characters
_QUOTED_CODE = re.compile(r"^(```|~~~).*?(^\1|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
# What prose does not have. A text that is taken for code by mistake is shown as stored, which is
# never wrong.
_CODE = re.compile(
    r"\(\*|\*\)|\*\*\w+[,)]|\w\*\w|\b__\w+__\b"  # signs that would become emphasis
    r"|[;{}]\s*$|^\s*[\[{<]|[=!<>]=|=>|->|&&|\|\||::|\w\(\)"
    r"|^\s*(?:def|class|import|from|public|private|static|function|func|fn|var|let|const|return|#include)\b.*[(;{:=.]"
    r"|(?i:\bselect\b.*?\bfrom\b|\binsert\s+into\b|\bcreate\s+table\b|\bdelete\s+from\b|\b(?:group|order)\s+by\b)",
    re.DOTALL | re.MULTILINE,
)
_PLAIN = frozenset({"paragraph_open", "paragraph_close", "inline", "text", "softbreak"})
# The parser's tag name -> element. Headings become bold text, because only the page itself has
# heading elements.
_ELEMENTS = {"h1": "b", "h2": "b", "h3": "b", "h4": "b", "h5": "b", "h6": "b", "s": "del"} | {
    name: name
    for name in (
        *(
            "p",
            "ul",
            "ol",
            "li",
            "blockquote",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "em",
            "strong",
        ),
    )
}


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # Disabled: rules that remove text (references), make links of addresses, or read indented text
    # as code.
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )
    return parser.disable(
        [
            "link",
            "image",
            "autolink",
            "html_block",
            "html_inline",
            "reference",
            "code",
            "entity",
            "escape",
            "lheading",
        ]
    )


@lru_cache(maxsize=256)
def formatted(text: str) -> Html | None:
    """Return a text with rendered Markdown.

    None for a text without Markdown or of more than 50,000 characters. None also for possible code
    or SQL, where signs are no Markdown. Code in a fence or between backticks is rendered as code.
    """
    if len(text) > LONGEST_FORMATTED or _CODE.search(_QUOTED_CODE.sub("", text)):
        return None
    tokens = _parser().parse(text)
    if all(token.type in _PLAIN for each in tokens for token in (each, *(each.children or ()))):
        return None
    return tag("div", _elements(tokens), cls="jb-formatted")


def _elements(tokens: "list[Token]") -> Html:
    """Return the elements for a list of tokens. Each opening token must have a closing token."""
    open_parts: list[list[Html]] = [[]]
    for token in tokens:
        if token.nesting == 1:
            open_parts.append([])
        elif token.nesting == -1 and len(open_parts) > 1:
            content = join(open_parts.pop())
            name = _ELEMENTS.get(token.tag)
            open_parts[-1].append(content if name is None or token.hidden else tag(name, content))
        elif token.type == "inline":
            open_parts[-1].append(_elements(token.children or []))
        elif token.type in ("fence", "code_block"):
            open_parts[-1].append(tag("pre", token.content))
        elif token.type == "code_inline":
            open_parts[-1].append(tag("code", token.content))
        elif token.type in ("softbreak", "hardbreak"):
            open_parts[-1].append(tag("br"))
        else:
            open_parts[-1].append(tag("hr") if token.type == "hr" else escaped(token.content))
    return join(part for parts in open_parts for part in parts)


LONGEST_SHOWN = 100_000  # characters
_WORDS = re.compile(r"\S+\s*|\s+")
MOST_WORDS = (
    1_200  # of one text; the time of a comparison grows with the square, and texts may be hostile
)


@lru_cache(maxsize=64)
def word_difference(old: str, new: str) -> tuple[tuple[str, str], ...] | None:
    """Return the pieces in order, as (HTML element, words); None if a text is too long to compare.

    The pieces without "ins" make up ``old``; the pieces without "del" make up ``new``.
    """
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_WORDS:
        return None
    pieces: list[tuple[str, str]] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, before, after
    ).get_opcodes():
        if kind == "equal":
            pieces.append(("span", "".join(before[start:end])))
        else:
            pieces += [
                ("del", "".join(before[start:end])),
                ("ins", "".join(after[new_start:new_end])),
            ]
    return tuple((element, words) for element, words in pieces if words)


def difference(old: str, new: str) -> Html:
    """Return both texts as one, with removed and added words marked."""
    pieces = word_difference(old, new)
    if pieces is None:
        note = tag(
            "div", "The texts are too long to compare. This is the later text.", cls="jb-cap"
        )
        return tag("div", note, tag("div", beginning(new, LONGEST_SHOWN), cls="jb-evidence"))
    return tag("div", *(tag(*piece) for piece in pieces), cls="jb-evidence jb-difference")


def both_sides(old: str, new: str) -> tuple[Html, Html]:
    """Return the texts for two columns. The first has the removed words marked, the second the added words."""
    pieces = word_difference(old, new) or ()
    old_text, new_text = (
        tag(
            "div",
            *(tag(*piece) for piece in pieces if piece[0] in ("span", own)),
            cls="jb-evidence jb-difference",
        )
        for own in ("del", "ins")
    )
    if pieces:
        return old_text, new_text
    first, second = (
        tag("div", beginning(text, LONGEST_SHOWN), cls="jb-evidence") for text in (old, new)
    )
    return first, second
