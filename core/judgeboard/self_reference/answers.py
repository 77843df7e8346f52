"""When two answers are the same: by option letter, or as free text after normalisation (methods.md §5)."""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from judgeboard.judges.option_letters import letter_in, lettered, letters_of

_DIGITS = r"\d{1,40}"  # no number that people write is longer
_NUMBER = re.compile(
    rf"(?<![\w.,])[+-]?(?:(?:\d{{1,3}}(?:,\d{{3}})+|{_DIGITS})(?:\.{_DIGITS})?|\.{_DIGITS})(?![\w.,]*\w)"
)


def answer_key(answer: str | None, options: Sequence[str] | None) -> str | None:
    """Return what equal answers have in common, None where there is no answer.

    With options that is the option's letter: what is no letter of theirs is no answer. Without options it is the text
    after NFC, casefold, single blanks, numbers in one spelling (1,000.50 is 1000.5), without a full stop at the end.
    """
    if answer is None:
        return None
    if options and letters_of(options):
        return letter_in(answer, options)
    text = " ".join(unicodedata.normalize("NFC", answer).casefold().replace("\N{MINUS SIGN}", "-").split())
    return _NUMBER.sub(lambda found: _spelled(found[0]), text.removesuffix(".").rstrip()) or None


def reference_key(reference: str | None, options: Sequence[str] | None) -> str | None:
    """Return the same of a correct answer, which may also be given as the text of its option."""
    key = answer_key(reference, options)
    if key is not None or reference is None or not options:
        return key
    wanted = answer_key(reference, None)
    said = [letter for letter, option in zip(letters_of(options), options, strict=False) if _same(option, wanted)]
    return said[0] if len(said) == 1 else None


def as_reference(answer: str, options: Sequence[str] | None) -> str:
    """Return an answer as a judge is shown it: an option with its letter and its text."""
    letter = answer_key(answer, options)
    if not options or letter not in letters_of(options):
        return answer
    return lettered(options)[letters_of(options).index(letter)]


def _same(option: str, wanted: str | None) -> bool:
    return wanted is not None and answer_key(option, None) == wanted


def _spelled(number: str) -> str:
    value = Decimal(number.replace(",", "")).normalize()
    return str(value) if value else "0"
