"""Recognises the language of a text by its script and its most frequent words."""

import re
from collections import Counter

_FREQUENT = {
    "en": "the of and to in is that it for was on are with as be this have from or by not you which but they has were",
    "de": "der die und das ist nicht ein eine den von mit sich auf für dem zu im auch es werden wird bei sind oder aus",
    "fr": "le la les des est et une dans que pour qui sur pas avec du au sont par ce plus ne il elle cette vous nous",
    "es": "el los las que en una del por con para es se su como más pero sus este esta son fue hay también muy sin",
    "it": "il che di non una per sono con è del della nel anche più gli alla le come questo ma dei si da ha viene",
    "pt": "o os que não uma para com em do da dos das é mais por como mas foi ao são se pelo pela também você isso",
    "nl": "de het een en van is dat niet op te zijn voor met die aan er om ook als bij naar wordt maar door deze",
    "sv": "och att det som en är av för på inte med den till har ett om de var från kan vid eller så ska detta",
    "da": "og at det som en er af for på ikke med den til har et om de var fra kan ved eller så skal dette hvor",
    "pl": "i w nie na się z do że jest to jak o po za od przez dla ale tego są być może oraz jego które lub czy",
    "tr": "ve bir bu için ile da de çok olarak daha olan gibi ne en kadar sonra ama her değil var ki veya",
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in _FREQUENT.items():
    for _word in _words.split():
        _LANGUAGES_OF.setdefault(_word, []).append(_language)

# Japanese before Chinese: it also uses Han characters.
_SCRIPTS = {
    "ja": "\u3040-\u30ff",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
}
_SCRIPT = {language: re.compile(f"[{characters}]") for language, characters in _SCRIPTS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_SHARE = {"ja": 0.1}  # of the letters; a Japanese text may have few kana
LANGUAGES: tuple[str, ...] = tuple(sorted({*_FREQUENT, *_SCRIPTS}))
"""The codes of the languages that can be recognised. Cyrillic texts count as ``ru``, whatever their language."""
_FEWEST, _LEAD = 2, 1.3


def language_of(text: str) -> str | None:
    """Return the code of a text's language; None if it is too short or too mixed to tell."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPT.items():
        if letters and len(script.findall(text)) >= letters * _LEAST_SHARE.get(language, 0.5):
            return language
    counts = Counter(
        language for word in _WORD.findall(text.lower()) for language in _LANGUAGES_OF.get(word, ())
    ).most_common(2)
    if not counts or counts[0][1] < _FEWEST:
        return None
    if len(counts) > 1 and counts[0][1] < counts[1][1] * _LEAD:
        return None
    return counts[0][0]
