"""Finds the words and sentences of a text, and refusals."""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

_ENGLISH = """
a about above after again against all also although am among an and any are around as at be because been before being
below between both but by can cannot could did do does doing done down during each either else even every few for from
further had has have having he her here hers herself him himself his how however i if in into is it its itself just let
may me might more most much must my myself neither no nor not now of off often on once only onto or other others our
ours ourselves out over own per quite rather same shall she should since so some such than that the their theirs them
themselves then there therefore these they this those though through thus to too toward towards under until up upon us
very via was we well were what when where whether which while who whom whose why will with within without would yet you
your yours yourself
isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't can't couldn't shouldn't
it's he's she's that's there's i'm you're we're they're i've you've we've they've i'll you'll we'll they'll
additionally overall including based according following given yes ok okay sure
"""

_ABOUT_THE_TASK = """
answer article context describe document documents explain give information list mentioned news overview passage
passages provided question state states summarise summarize summary tell text write
"""

_GERMAN = """
aber alle als am auf aus bei bin bis das dass dem den der des dich dir doch du durch ein eine einem einen einer eines er
es euch für hat hatte ich ihm ihn ihr ihre im ist ja kann kein keine man mich mir mit nach nicht noch nur ob oder ohne
sehr sein seine sich sie sind so über um und uns unter vom von vor wenn werden wie wir wird wurde zu zum zur zwischen
nein
"""

_FRENCH = """
au aux avec ce ces cette dans de des du elle elles en est et eux il ils je la le les leur leurs lui ma mais mes moi mon
même ne nos notre nous ont où par pas pour qu que qui sa sans se ses si sont sur ta te tes toi ton tu un une vos votre
vous été être oui non
"""

_SPANISH = """
al como con cuando del desde donde el ella ellas ellos entre era es esa ese esta este esto estos fue ha han hasta hay
las lo los más mi muy nos o para pero por porque que se ser si sin sobre son su sus también tiene un una uno y ya sí
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_ABOUT_THE_TASK} {_GERMAN} {_FRENCH} {_SPANISH}".split())
"""Case-folded: English words, words about the task, and the most common German, French and Spanish words."""


class Word(NamedTuple):
    """A content word: ``key`` is compared, ``written`` is shown to people."""

    key: str
    written: str


def _combining_marks() -> str:
    # Python's \w does not match combining marks. Without them, every Devanagari or Thai word would
    # be split.
    blocks = (*range(0x300, 0x1E00), *range(0x20D0, 0x2100))
    return "".join(
        re.escape(chr(c)) for c in blocks if unicodedata.category(chr(c)).startswith("M")
    )


_THAI_TO_KHMER = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_KANA_AND_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


@cache
def _token() -> re.Pattern[str]:
    """Return the pattern of a token. Compiled at the first use, because compiling takes several milliseconds."""
    later = rf"[\w{_combining_marks()}]"
    return re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_]{later}*(?:['\u2019]{later}+)*")


_ASCII_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[A-Za-z]\w*(?:'\w+)*", re.ASCII)
_UNSPACED = re.compile(rf"[{_THAI_TO_KHMER}{_KANA_AND_HAN}]+")
_THOUSANDS = re.compile(r",\d{3}$")


_ENDINGS = ("ing", "ed", "es", "ly", "s", "e")


def _folded(word: str) -> str:
    return word.casefold().replace("\u2019", "'").removesuffix("'s").replace("'", "").rstrip("_")


@lru_cache(maxsize=1 << 16)
def _keys(word: str) -> tuple[str, ...]:
    """Return the keys of one token: none for a stop word, several for text in a script without spaces."""
    if word[0].isdigit():
        # One key for 1,200 and 1200.0. A single comma is decimal unless exactly three digits
        # follow.
        commas, points = word.count(","), word.count(".")
        if commas and points:
            decimal = max(word.rfind(","), word.rfind("."))
            integer, fraction = re.sub(r"[.,]", "", word[:decimal]), word[decimal + 1 :]
        elif commas + points == 1 and (points or not _THOUSANDS.search(word)):
            integer, _, fraction = word.replace(",", ".").partition(".")
        else:
            integer, fraction = re.sub(r"[.,]", "", word), ""
        fraction = fraction.rstrip("0")
        integer = integer.lstrip("0") or "0"
        return (f"{integer}.{fraction}" if fraction else integer,)
    folded = _folded(word)
    if not folded or folded in STOP_WORDS or word.casefold().replace("\u2019", "'") in STOP_WORDS:
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
def _keys_and_name(word: str) -> tuple[str, ...]:
    return (*_keys(word), f"={_folded(word)}")


# Names of elements alone, so that `a < b` and `List<str>` are no tags. The group has the elements
# that end a line.
_TAG = re.compile(
    r"</?+(?:(p|br|hr|div|h[1-6]|[uod]l|li|d[td]|table|thead|tbody|tfoot|t[rdh]|pre|blockquote|section|article)"
    r"|[abiusq]|em|strong|span|code|small|su[bp]|mark|del|ins|font|img|cite|abbr|kbd)"
    r"""(?:\s++[\w:-]++\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=]++))*\s*+/?+>|&nbsp;""",
    re.IGNORECASE,
)


def without_tags(text: str) -> str:
    """Return a text of the same length with blanks for each tag of HTML, or line breaks if the tag ends a line."""
    if "<" not in text and "&" not in text:
        return text
    return _TAG.sub(lambda tag: ("\n" if tag[1] else " ") * len(tag[0]), text)


def _tokens(text: str) -> list[str]:
    text = without_tags(text)
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return _token().findall(unicodedata.normalize("NFKC", text))


LONGEST_READ = 500_000
"""Characters of an answer, of a query, and of all passages that are compared."""


def first_characters(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts with the first 500,000 characters of all texts together."""
    if sum(map(len, texts)) <= LONGEST_READ:
        return texts
    ends = itertools.accumulate(map(len, texts))
    return tuple(
        text[: max(0, LONGEST_READ - end + len(text))]
        for text, end in zip(texts, ends, strict=True)
    )


def content_words(sentence: str) -> list[Word]:
    """Return the content words of one sentence in order, with repeats.

    Stop words are left out. Numbers are compared by value (1,200 = 1200.0), and names (a capital
    inside the sentence) as written. Other words are case-folded and lose the most common English
    endings. Text in a script without spaces gives overlapping pairs of characters. Characters are
    normalized first (NFKC).
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
    """Return the distinct keys of the content words of ``text``: both as names and as other words."""
    return frozenset[str]().union(*map(_keys_and_name, set(_tokens(text))))


_LIST_MARKER = re.compile(r"(?m)^[ \t]*(?:\(?\d{1,3}[.)]|[-*\u2022\u2013])[ \t]+")
# The first character is in one set, which an expression finds fast. The group is what stands
# between two sentences.
_END = re.compile(
    r"[.!?\u2026\u3002\uff01\uff1f\u0964\u0965\n]"
    r"((?<=[.!?\u2026])[\"'\u201d\u2019)\]]*\s+|(?<=[\u3002\uff01\uff1f\u0964\u0965])|(?<=\n)\n*)"
)
_NUMBERS = r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*"
_CITATION = re.compile(
    rf"\[{_NUMBERS}\]|\b(?:passages?|documents?|sources?)\s+{_NUMBERS}\b", re.IGNORECASE
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of ``text`` in order, without blank lines.

    Tags of HTML are left out, as are list markers (``2.``) and citations (``[3]``, "passage 3"):
    passages do not contain their numbers.
    """
    bare = without_citations(_LIST_MARKER.sub("", without_tags(text)))
    start = 0
    ends = (end.span(1) for end in _END.finditer(bare))
    for end, following in itertools.chain(ends, [(len(bare), len(bare))]):
        if sentence := bare[start:end].strip():
            yield sentence
        start = following


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence or line of ``text``, in characters. Blank lines are left out.

    A list marker or a tag of HTML around a sentence is not part of the sentence; a citation in a
    sentence is part of the sentence.
    """
    bare = _LIST_MARKER.sub(lambda marker: " " * len(marker[0]), without_tags(text))
    edges = [0, *(edge for end in _END.finditer(bare) for edge in end.span(1)), len(bare)]
    spans = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        part = bare[start:end]
        tidy = part.strip()
        if tidy:
            first = start + len(part) - len(part.lstrip())
            spans.append((first, first + len(tidy)))
    return spans


def cited_numbers(text: str) -> set[int]:
    """Return the numbers of the passages that a text cites, as in "[3]" or "passage 3"."""
    return {
        int(number)
        for citation in _CITATION.findall(text)
        for number in re.findall(r"\d+", citation)
    }


def without_citations(text: str) -> str:
    """Return a text without citations: the numbers of citations must not be searched for in the passages."""
    folded = text.casefold()
    # Most texts cite nothing, and these looks take a tenth of the time of the expression.
    if not any(start in folded for start in ("[", "passage", "document", "source")):
        return text
    return _CITATION.sub(" ", text)


_CANNOT = (
    r"(?:can(?:no|')?t|can not|could(?: not|n't)|unable to|not able to|am not "
    r"able to|impossible to|not possible to)"
)
_FIND = r"(?:answer|find|determine|locate|provide|give|tell|identify|say|confirm|help|specify|know|offer)"
_HAVE_NOT = r"(?:do(?:es)?(?: not|n't)|did(?: not|n't)|doesn't seem to)"
_HAVE = (
    r"have (?:(?:any|enough|sufficient|specific|that|the|more) )*(?:information"
    r"|data|details|records?|context|access)"
)
_VERBS = "contain|include|provide|mention|specify|state|cover|address|discuss|give|describe|offer|list|say|know"
_HOLD = rf"(?:{_VERBS}|{_HAVE})"
_GIVEN = r"(?:mentioned|found|provided|specified|stated|given|available|included|covered|listed)"
_THING = r"(?:information|data|mention|statement|records?|results?|details|answer|entry|entries|documents?|rows?)"
_HERE = r"(?:found|available|provided|given|in|about|on|for|regarding|match(?:e[sd])?|exists?)"
_ENGLISH_REFUSALS = (
    rf"{_CANNOT} (?:\w+ ){{0,2}}{_FIND}\b",
    rf"{_HAVE_NOT} (?:\w+ ){{0,2}}{_HOLD}",
    rf"(?:is|are|was|were) not (?:\w+ ){{0,2}}{_GIVEN}\b",
    rf"no (?:\w+ ){{0,3}}{_THING}\b.{{0,40}}\b{_HERE}\b",
    r"(?:not enough|insufficient) (?:information|context|data)\b",
    r"(?:no|zero|0|without any) (?:match(?:es)?|hits?|luck|results?)\b",
    r"empty (?:result|table|set|list)\b",
    r"(?:return(?:s|ed)? nothing|nothing (?:\w+ ){0,2}(?:found|about|on|matche[sd]))\b",
    r"(?:outside|beyond) (?:of )?(?:what i (?:can|know)|my (?:knowledge|scope|reach))",
    r"i (?:do not|don't) know\b",
)
_OTHER = (
    r"keine (?:angaben?|informationen?|antwort|daten)\b",
    r"kann (?:\w+ ){0,4}nicht (?:beantwort|find|sagen)",
    r"weiß (?:\w+ ){0,2}nicht\b",
    r"ne (?:peux|peut|sais|trouve|contien\w+|mentionn\w+|fourni\w+)(?: \w+){0,2} pas\b",
    r"pas d'(?:information|élément)",
    r"no (?:puedo|se puede|encuentro|encontré|contiene|menciona|hay (?:información|datos))\b",
    r"no (?:lo )?sé\b",
    r"не (?:знаю|могу|найден\w*|указан\w*|упомина\w*)\b",
)
_WITHOUT_BLANKS = (
    "分かりません|わかりません|見つかりません|ありません|无法|無法|没有(?:找到|提供|提及)|找不到"
)
_HINTS = (
    *("no", "n't", "unable", "insufficient", "impossible", "kein", "nich", "pas", "ne ", "не "),
    *("りません", "法", "没有", "不到"),
)


@cache
def _refusal() -> re.Pattern[str]:
    # One `\b` for all: most positions of a text begin no word, and such a position costs one look.
    return re.compile(rf"\b(?:{'|'.join((*_ENGLISH_REFUSALS, *_OTHER))})|{_WITHOUT_BLANKS}")


def says_not_found(sentence: str) -> bool:
    """Return whether one sentence only says that something is not known, not given or cannot be answered.

    The function uses a list of phrases, mostly English. Unusual wordings are missed, and the result
    is also True for a factual statement like "the lease does not include heating".
    """
    text = sentence.replace("\u2019", "'").lower()
    return any(hint in text for hint in _HINTS) and _refusal().search(text) is not None


# Separate from `says_not_found`, whose phrases are part of the lexical judge's version.
_DECLINES = re.compile(
    r"\b(?:silent (?:on|about)|rather not (?:guess|say)|none of (?:which|them|these) (?:answers?|mentions?|covers?)"
    r"|no (?:\w+ )?(?:pages?|sources?|passages?|articles?|documents?|results?|hits?)"
    r"|nothing (?:i have|in my|in the)|(?:cannot|can't|unable to) (?:help|assist))\b"
)
_COURTESY = re.compile(
    r"(?:i'?m |i am )?(?:sorry|afraid|please|try|ask|contact|check|consult|let me know|feel free|"
    r"you (?:could|can|may|might|should)|(?:could|can|would) you|if you)\b"
)


def only_declines(answer: str) -> bool:
    """Return whether an answer only declines (`says_not_found`), apart from questions back and offers of help."""
    declined = False
    for sentence in sentences(answer):
        text = sentence.replace("\u2019", "'").lower()
        if says_not_found(sentence) or _DECLINES.search(text):
            declined = True
        elif not (text.endswith("?") or _COURTESY.match(text)):
            return False
    return declined
