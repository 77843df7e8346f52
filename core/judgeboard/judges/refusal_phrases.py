"""Recognises a sentence that says the answer could not be found."""

import re

_CANNOT = (
    r"(?:can(?:no|')?t|can not|could(?: not|n't)|unable to|not able to|am not able to|impossible to|not possible to)"
)
_FIND = r"(?:answer|find|determine|locate|provide|give|tell|identify|say|confirm|help|specify|know|offer)"
_HAVE_NOT = r"(?:do(?:es)?(?: not|n't)|did(?: not|n't)|doesn't seem to)"
_HAVE = (
    r"have (?:(?:any|enough|sufficient|specific|that|the|more) )*(?:information|data|details|records?|context|access)"
)
_VERBS = "contain|include|provide|mention|specify|state|cover|address|discuss|give|describe|offer|list|say|know"
_HOLD = rf"(?:{_VERBS}|{_HAVE})"
_GIVEN = r"(?:mentioned|found|provided|specified|stated|given|available|included|covered|listed)"
_THING = r"(?:information|data|mention|statement|records?|results?|details|answer|entry|entries|documents?|rows?)"
_HERE = r"(?:found|available|provided|given|in|about|on|for|regarding|match(?:e[sd])?|exists?)"
_ENGLISH = (
    rf"\b{_CANNOT} (?:\w+ ){{0,2}}{_FIND}\b",
    rf"\b{_HAVE_NOT} (?:\w+ ){{0,2}}{_HOLD}",
    rf"\b(?:is|are|was|were) not (?:\w+ ){{0,2}}{_GIVEN}\b",
    rf"\bno (?:\w+ ){{0,3}}{_THING}\b.{{0,40}}\b{_HERE}\b",
    r"\b(?:not enough|insufficient) (?:information|context|data)\b",
    r"\b(?:no|zero|0|without any) (?:match(?:es)?|hits?|luck|results?)\b",
    r"\bempty (?:result|table|set|list)\b",
    r"\b(?:return(?:s|ed)? nothing|nothing (?:\w+ ){0,2}(?:found|about|on|matche[sd]))\b",
    r"\b(?:outside|beyond) (?:of )?(?:what i (?:can|know)|my (?:knowledge|scope|reach))",
    r"\bi (?:do not|don't) know\b",
)
_OTHER = (
    r"\bkeine (?:angaben?|informationen?|antwort|daten)\b",
    r"\bkann (?:\w+ ){0,4}nicht (?:beantwort|find|sagen)",
    r"\bweiß (?:\w+ ){0,2}nicht\b",
    r"\bne (?:peux|peut|sais|trouve|contien\w+|mentionn\w+|fourni\w+)(?: \w+){0,2} pas\b",
    r"\bpas d'(?:information|élément)",
    r"\bno (?:puedo|se puede|encuentro|encontré|contiene|menciona|hay (?:información|datos))\b",
    r"\bno (?:lo )?sé\b",
    r"(?:分かりません|わかりません|見つかりません|ありません|无法|無法|没有(?:找到|提供|提及)|找不到)",
    r"\bне (?:знаю|могу|найден\w*|указан\w*|упомина\w*)\b",  # noqa: RUF001  Russian
)
_HINTS = (
    "no",
    "n't",
    "unable",
    "insufficient",
    "impossible",
    "kein",
    "nich",
    "pas",
    "ne ",
    "не ",
    "りません",
    "法",
    "没有",
    "不到",
)
_REFUSAL = re.compile("|".join((*_ENGLISH, *_OTHER)))


def says_not_found(sentence: str) -> bool:
    """Return whether one sentence only says that something is not known, not given or cannot be answered.

    A word list, mostly of English phrases: it misses unusual wordings, and it takes a true statement like "the lease
    does not include heating" for one.
    """
    text = sentence.replace("\u2019", "'").lower()
    return any(hint in text for hint in _HINTS) and _REFUSAL.search(text) is not None
