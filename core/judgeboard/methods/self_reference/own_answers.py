"""A judge's own answers: which answers are equal, the majority, and pairs made from questions."""

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Unreadable, find_format
from judgeboard.judges.replies import lettered, letters_of
from judgeboard.stats.arrays import TIE

_LONE = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
_DIGITS = r"\d{1,40}"  # longer than any number that people write
_NUMBER = re.compile(
    rf"(?<![\w.,])[+-]?(?:(?:\d{{1,3}}(?:,\d{{3}})+|{_DIGITS})(?:\.{_DIGITS})?|\.{_DIGITS})(?![\w.,]*\w)"
)


def answer_key(answer: str | None, options: Sequence[str] | None) -> str | None:
    """Return a key that equal answers share; None if there is no answer.

    With options the key is the option's letter; any other text counts as no answer. Without options
    the key is the text in NFC and lower case, with single spaces, one form of numbers (1000.5 for
    1,000.50) and no final full stop.
    """
    if answer is None:
        return None
    if options and letters_of(options):
        match = _LONE.fullmatch(answer.strip())
        return match[1].upper() if match and match[1].upper() in letters_of(options) else None
    text = " ".join(
        unicodedata.normalize("NFC", answer).casefold().replace("\N{MINUS SIGN}", "-").split()
    )
    return _NUMBER.sub(lambda match: _spelled(match[0]), text.removesuffix(".").rstrip()) or None


def reference_key(reference: str | None, options: Sequence[str] | None) -> str | None:
    """Return the key of a correct answer, which may be given as the option's letter or text."""
    key = answer_key(reference, options)
    if key is not None or reference is None or not options:
        return key
    text_key = answer_key(reference, None)
    letters = [
        letter
        for letter, option in zip(letters_of(options), options, strict=False)
        if text_key is not None and answer_key(option, None) == text_key
    ]
    return letters[0] if len(letters) == 1 else None


def as_reference(answer: str, options: Sequence[str] | None) -> str:
    """Return an answer as a judge sees it; an option is shown with letter and text."""
    letter = answer_key(answer, options)
    if not options or letter not in letters_of(options):
        return answer
    return lettered(options)[letters_of(options).index(letter)]


def _spelled(number: str) -> str:
    value = Decimal(number.replace(",", "")).normalize()
    return str(value) if value else "0"


TAU = 0.8
SAMPLES = 5


def samples_needed(tau: float, of: int) -> int:
    """Return the number of ``of`` samples that must agree: a share of at least ``tau`` (above 0, at most 1)."""
    if not 0 < tau <= 1:
        raise BadInput(f"--tau must be above 0 and at most 1, not {tau:g}")
    return max(1, math.ceil(tau * of - TIE))  # 0.55 * 20 is above 11 in floats


@dataclass(frozen=True, slots=True)
class Majority:
    """The most common answer of ``of`` samples. ``agree`` samples gave this answer.

    ``answer`` is the text of the first of the agreeing samples. ``answer`` and ``key`` are None if
    no sample has an answer. If ``tie``, another answer is equally common.
    """

    answer: str | None
    key: str | None
    agree: int
    of: int
    tie: bool = False


def majority(answers: Sequence[str | None], options: Sequence[str] | None = None) -> Majority:
    """Return the most common answer, the first if several are equally common. Missing answers never agree."""
    keys = [answer_key(answer, options) for answer in answers]
    counts = Counter(key for key in keys if key is not None)
    if not counts:
        return Majority(None, None, 0, len(answers))
    (key, agree), *other_counts = counts.most_common()  # equal counts keep the order of the samples
    tie = bool(other_counts) and other_counts[0][1] == agree
    return Majority(answers[keys.index(key)], key, agree, len(answers), tie)


class NoPair(ValueError):
    """Raised with the reason if a question makes no pair."""


def pair_of_question(row: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return a row of a pair file: the correct option and a wrong one. Seed and id decide the wrong one and the order.

    ``row`` has ``id`` or ``question_id``, ``question``, ``options`` (a list), the correct option as
    ``reference`` or ``answer`` (letter or text) or ``answer_index`` (from 0), and optionally
    ``category`` or ``query_type``. Rows of MMLU-Pro have this form. Raises NoPair if the question
    makes no pair.
    """
    external_id = row.get("id") if row.get("id") is not None else row.get("question_id")
    question, options = row.get("question"), row.get("options")
    if isinstance(external_id, bool) or not isinstance(external_id, str | int) or external_id == "":
        raise NoPair("it has no id")
    if not isinstance(question, str) or not question.strip():
        raise NoPair("it has no question")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise NoPair("its options are not a list of texts")
    # The position of the correct option: by its letter or text, or by its number.
    correct_option = row.get("reference") if row.get("reference") is not None else row.get("answer")
    index = row.get("answer_index")
    if index is not None and (
        isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(options)
    ):
        raise NoPair(
            f"its answer_index {str(index)[:60]} is not the number of one of its {len(options)} options"
        )
    if correct_option is None and index is not None:
        right = index
    else:
        if not isinstance(correct_option, str):
            raise NoPair("its correct option (reference or answer) is not a text")
        letter = reference_key(correct_option, options)
        if letter not in letters_of(options):
            raise NoPair(
                f"its correct option {correct_option[:60]!r} is not one of its {len(options)} options"
            )
        right = letters_of(options).index(letter)
        if index not in (None, right):
            raise NoPair(
                f"its correct option {correct_option[:60]!r} and its answer_index {index} are different options"
            )
    same = {
        option for option in options if answer_key(option, None) == answer_key(options[right], None)
    }
    wrong = [place for place, option in enumerate(options) if option not in same]
    if not wrong:
        raise NoPair("it has no wrong option")
    digest = hashlib.sha256(f"{seed}:{external_id}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    wrong_place = wrong[(number >> 1) % len(wrong)]
    a, b = (right, wrong_place) if number & 1 else (wrong_place, right)
    answers = lettered(options)
    pair = {
        "id": str(external_id),
        "question": question,
        "options": options,
        "reference": letters_of(options)[right],
        "answer_a": answers[a],
        "answer_b": answers[b],
        "gold": "a" if a == right else "b",
    }
    category = row.get("category") or row.get("query_type")
    return pair | {"query_type": category} if isinstance(category, str) else pair


def pairs_of_questions(
    questions: str | Path | BinaryIO, *, seed: int = 0
) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    """Return a row of a pair file for each question, and line and reason of each question without a pair.

    ``questions`` is a file with rows for `pair_of_question`. Raises BadInput if the file is
    unreadable or gives no pair.
    """
    pairs: list[dict[str, Any]] = []
    left_out: list[tuple[int, str]] = []
    with ByteSource(questions) as source:
        try:
            for row in find_format(source).read(source):
                try:
                    if isinstance(row, Rejected):
                        raise NoPair(row.reason)
                    pairs.append(pair_of_question(row.values, seed))
                except NoPair as error:
                    left_out.append((row.line, str(error)))
        except Unreadable as error:
            raise BadInput(f"{source.name} cannot be read to the end: {error}") from error
    if not pairs:
        why = "line {}: {}".format(*left_out[0]) if left_out else "it has no rows"
        raise BadInput(f"{source.name}: no question makes a pair ({why})")
    return pairs, left_out


def pair_line(pair: Mapping[str, Any]) -> str:
    """Return a row as a line of a pair file, as `import --kind pairs` reads it."""
    return json.dumps(pair, ensure_ascii=False) + "\n"
