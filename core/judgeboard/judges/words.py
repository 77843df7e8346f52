"""Content words of a text in any script: words, numbers by value, names, character pairs."""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from judgeboard.judges.stop_words import STOP_WORDS


class Word(NamedTuple):
    """A content word: as it is compared, and as it was written (for people)."""

    key: str
    written: str


def _combining_marks() -> str:
    # Python's \w knows no combining marks, and without them every Devanagari or Thai word falls to pieces.
    blocks = (*range(0x300, 0x1E00), *range(0x20D0, 0x2100))
    return "".join(re.escape(chr(c)) for c in blocks if unicodedata.category(chr(c)).startswith("M"))


_THAI_TO_KHMER = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_KANA_AND_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATER = rf"[\w{_combining_marks()}]"
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_]{_LATER}*(?:['\u2019]{_LATER}+)*")
_ASCII_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[A-Za-z]\w*(?:'\w+)*", re.ASCII)
_UNSPACED = re.compile(rf"[{_THAI_TO_KHMER}{_KANA_AND_HAN}]+")
_THOUSANDS = re.compile(r",\d{3}$")


def _number(written: str) -> str:
    """The same key for 1,200 and 1200.0; a lone comma before exactly three digits groups thousands, else is decimal."""
    commas, points = written.count(","), written.count(".")
    if commas and points:
        decimal = max(written.rfind(","), written.rfind("."))
        whole, fraction = re.sub(r"[.,]", "", written[:decimal]), written[decimal + 1 :]
    elif commas + points == 1 and (points or not _THOUSANDS.search(written)):
        whole, _, fraction = written.replace(",", ".").partition(".")
    else:
        whole, fraction = re.sub(r"[.,]", "", written), ""
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


_ENDINGS = ("ing", "ed", "es", "ly", "s", "e")


def _folded(written: str) -> str:
    return written.casefold().replace("\u2019", "'").removesuffix("'s").replace("'", "").rstrip("_")


@lru_cache(maxsize=1 << 16)
def _keys(written: str) -> tuple[str, ...]:
    """The keys of one token; none for a stop word, several for a run of a script without spaces."""
    if written[0].isdigit():
        return (_number(written),)
    folded = _folded(written)
    if not folded or folded in STOP_WORDS or written.casefold().replace("\u2019", "'") in STOP_WORDS:
        return ()
    if _UNSPACED.search(folded):
        return tuple(folded[i : i + 2] for i in range(max(len(folded) - 1, 1)))
    if len(folded) == 1 and folded.isascii():
        return ()
    for ending in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= 3:
            return (folded.removesuffix(ending),)
    return (folded,)


@lru_cache(maxsize=1 << 16)
def _keys_and_name(written: str) -> tuple[str, ...]:
    return (*_keys(written), f"={_folded(written)}")


def _tokens(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def content_words(sentence: str) -> list[Word]:
    """Return the content words of one sentence in order, repeated as often as they stand there.

    Stop words are left out. Numbers are compared by value (1,200 = 1200.0), words case-folded and without the
    commonest English endings, names (a capital inside the sentence) whole; a run in a script that puts no spaces
    between words gives its overlapping pairs of characters. Width and composition of characters do not count (NFKC).
    """
    words: list[Word] = []
    for position, token in enumerate(_tokens(sentence)):
        keys = _keys(token)
        if position and len(keys) == 1 and token[0].isupper():
            words.append(Word(f"={_folded(token)}", token))
        else:
            words += [Word(key, token if len(keys) == 1 else key) for key in keys]
    return words


def word_keys(text: str) -> frozenset[str]:
    """Return the distinct keys under which the content words of ``text`` can be found, names or not."""
    return frozenset[str]().union(*map(_keys_and_name, set(_tokens(text))))
