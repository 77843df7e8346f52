"""A judge's own answers to a question: when two are the same, what they agree on, and pairs made from questions."""

import hashlib
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row, Unreadable
from judgeboard.formats.table import find_format
from judgeboard.judges.reply_forms import letter_in, lettered, letters_of
from judgeboard.stats.arrays import TIE

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


TAU = 0.8
SAMPLES = 5


def samples_needed(tau: float, of: int) -> int:
    """Return how many of ``of`` samples must agree for the gate to be on: agreement >= ``tau`` (above 0, up to 1).

    Raises:
        BadInput: ``tau`` is outside its range.
    """
    if not 0 < tau <= 1:
        raise BadInput(f"--tau must lie above 0 and be at most 1, not {tau:g}")
    return max(1, math.ceil(tau * of - TIE))  # 0.55 * 20 is above 11 in floats


@dataclass(frozen=True, slots=True)
class Majority:
    """What ``of`` samples agree on: ``agree`` of them gave ``answer``, in the words of the first that did.

    ``answer`` and ``key`` are None where no sample has an answer; ``tie`` tells that another answer is as common, and
    the one seen first was taken.
    """

    answer: str | None
    key: str | None
    agree: int
    of: int
    tie: bool = False


def majority(answers: Sequence[str | None], options: Sequence[str] | None = None) -> Majority:
    """Return the most common of ``answers``, in the order in which they were sampled.

    A sample without an answer counts as one of its own: it lowers the agreement and never joins another.
    """
    keys = [answer_key(answer, options) for answer in answers]
    counted = Counter(key for key in keys if key is not None)
    if not counted:
        return Majority(None, None, 0, len(answers))
    (key, agree), *others = counted.most_common()  # equal counts stand in the order of their first sample
    tie = bool(others) and others[0][1] == agree
    return Majority(answers[keys.index(key)], key, agree, len(answers), tie)


class NoPair(ValueError):
    """Why a question makes no pair."""


def pair_of_question(row: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return a row of a file of pairs: the right option against a wrong one, on sides drawn by seed and id.

    Args:
        row: ``id``, ``question``, ``options`` (a list), the right one as ``reference`` or ``answer`` (its letter or
            its text), and ``category`` or ``query_type`` where it is known.
        seed: Equal seeds give equal pairs, whatever else the file holds and in whatever order.

    Raises:
        NoPair: A field is missing, the right option is not among the options, or there is no wrong one.
    """
    external_id, question, options = row.get("id"), row.get("question"), row.get("options")
    if isinstance(external_id, bool) or not isinstance(external_id, str | int) or external_id == "":
        raise NoPair("it has no id")
    if not isinstance(question, str) or not question.strip():
        raise NoPair("it has no question")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise NoPair("its options are no list of texts")
    right = _right(row, options)
    same = {option for option in options if answer_key(option, None) == answer_key(options[right], None)}
    wrong = [place for place, option in enumerate(options) if option not in same]
    if not wrong:
        raise NoPair("it has no wrong option")
    drawn = _draw(f"{seed}:{external_id}")
    other = wrong[(drawn >> 1) % len(wrong)]
    a, b = (right, other) if drawn & 1 else (other, right)
    said = lettered(options)
    pair = {
        "id": str(external_id),
        "question": question,
        "options": options,
        "reference": letters_of(options)[right],
        "answer_a": said[a],
        "answer_b": said[b],
        "gold": "a" if a == right else "b",
    }
    category = row.get("category") or row.get("query_type")
    return pair | {"query_type": category} if isinstance(category, str) else pair


def _right(row: Mapping[str, Any], options: Sequence[str]) -> int:
    given = row.get("reference") if row.get("reference") is not None else row.get("answer")
    if not isinstance(given, str):
        raise NoPair("its right option (reference or answer) is no text")
    letter = reference_key(given, options)
    if letter not in letters_of(options):
        raise NoPair(f"its right option {given[:60]!r} is none of its {len(options)} options")
    return letters_of(options).index(letter)


def _draw(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8], "big")


LISTED = 5


@dataclass(slots=True)
class MadePairs:
    """How many questions became pairs, and how many did not; the first of these with line and reason."""

    made: int = 0
    left_out: int = 0
    first_left_out: list[tuple[int, str]] = field(default_factory=list)


def make_pairs(questions: str | Path | BinaryIO, write: Callable[[str], object], *, seed: int = 0) -> MadePairs:
    """Turn each question into a line of a file of pairs, as `import --kind pairs` reads it.

    Args:
        questions: A file of rows as `pair_of_question` takes them; JSON lines, JSON, CSV or Parquet, gzipped or not.
        write: Given each line, with its end.
        seed: Equal seeds give equal pairs.

    Raises:
        BadInput: The file cannot be read, or no question makes a pair.
    """
    made = MadePairs()
    with ByteSource(questions) as source:
        for line, reason, text in _lines(source, seed):
            if text is not None:
                write(text)
                made.made += 1
                continue
            made.left_out += 1
            if len(made.first_left_out) < LISTED:
                made.first_left_out.append((line, reason))
    if not made.made:
        why = f"line {made.first_left_out[0][0]}: {made.first_left_out[0][1]}" if made.left_out else "it has no rows"
        raise BadInput(f"{source.name}: no question makes a pair ({why})")
    return made


def _lines(source: ByteSource, seed: int) -> Iterator[tuple[int, str, str | None]]:
    """Give line, reason and text of each row; one of the last two is empty."""
    try:
        for row in find_format(source).read(source):
            if isinstance(row, Rejected):
                yield row.line, row.reason, None
            else:
                yield _line(row, seed)
    except Unreadable as error:
        raise BadInput(f"{source.name} cannot be read to its end: {error}") from error


def _line(row: Row, seed: int) -> tuple[int, str, str | None]:
    try:
        pair = pair_of_question(row.values, seed)
    except NoPair as error:
        return row.line, str(error), None
    return row.line, "", json.dumps(pair, ensure_ascii=False) + "\n"
