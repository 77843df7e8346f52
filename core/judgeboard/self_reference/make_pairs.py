"""Pairs from a set of questions with options: the right one against a wrong one (methods.md §5)."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.judges.option_letters import lettered, letters_of
from judgeboard.self_reference.answers import answer_key, reference_key


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
