"""`propose` guesses the fields of columns whose names are not known, from their names and first values."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from judgeboard.imports.dates import dates_of
from judgeboard.imports.fields import ColumnNames, simple_name
from judgeboard.imports.responses import thumbs_up
from judgeboard.imports.values import is_missing, python_list, spelled_number, word_of
from judgeboard.text import as_utc

# Words in the name of a column: one of the first group alone makes a proposal, the others need fitting values.
_HINTS: Mapping[str, tuple[str, str]] = {
    "query": (
        "question query frage anfrage pregunta consulta vraag domanda pergunta prompt utterance",
        "user usr customer client kunde visitor human message msg text input request inquiry asked",
    ),
    "answer": (
        "answer antwort respuesta reponse risposta resposta antwoord response reply completion",
        "bot chatbot assistant ai gpt llm agent generated result output message msg text resolution",
    ),
    "context": (
        (
            "context contexts passage passages chunk chunks snippet snippets evidence document documents docs kontext "
            "articles kb sources knowledge"
        ),
        "article source citation citations references retrieved nodes quellen wissen",
    ),
    "reference": ("reference gold golden truth expected ideal", "correct target best"),
    "external_id": ("id uuid guid", "ticket number nr no key case ref row"),
    "asked_at": ("time timestamp ts date datetime datum zeit fecha created", "on at sent received day start"),
    "thumbs": ("thumb thumbs feedback rating vote helpful csat satisfaction satisfied reaction bewertung", "score"),
    "stars": ("star stars feedback rating csat satisfaction bewertung", "score"),
    "generator_model": ("model llm engine", ""),
    "query_type": ("type category intent topic kategorie", ""),
}
_FEEDBACK = frozenset({"thumbs", "stars", "feedback"})
_ENOUGH = 2.0  # the smallest score of a proposal
_PART = 5  # letters; a hint of this length also counts inside a longer word, as in "Kundenfrage"
_ASKS = re.compile("[?\uff1f]")  # U+FF1F is the question mark of Chinese and Japanese texts
_PASSAGE = 40  # words; a longer text is rather a passage than a question
_LONGEST_ID = 64  # characters
_EPOCH = 1e9  # seconds; smaller numbers are rather durations than times
# With these words in its name, an id is not that of an answer.
_OTHER_IDS = frozenset(
    {"user", "customer", "client", "agent", "session", "conversation", "chat", "thread", "org", "tenant", "bot"}
)
_UNTELLING = frozenset({"0", "1", "true", "false", "yes", "no"})  # columns of other meanings have these values


def propose(
    fields: ColumnNames, needed: Collection[str], free: Collection[str], columns: Mapping[str, Sequence[Any]]
) -> dict[str, str]:
    """Return the likely field of each column, ``{theirs: ours}``; columns without a likely field are absent.

    ``columns`` has the first values of the columns that are not used, ``free`` the fields that have no column. A field
    that is ``needed`` gets its best column even if the names say nothing. No values are changed or read as a field.
    """
    looks = {theirs: _Look.of(values) for theirs, values in columns.items()}
    scores: list[tuple[float, str, str]] = []
    has_feedback = not _FEEDBACK.intersection(fields) <= {*free}
    for ours in free:
        if has_feedback and ours in _FEEDBACK:
            continue
        hints = _hints_of(ours, fields) if ours in _HINTS or ours in needed else None
        for theirs, look in looks.items() if hints is not None else ():
            words = simple_name(theirs).split("_")
            fit = _fit(ours, look, words)
            if fit is not None and (score := _name_score(words, *(hints or ((), ()))) + fit) > 0:
                scores.append((score, ours, theirs))
    proposed: dict[str, str] = {}
    for score, ours, theirs in sorted(scores, key=lambda item: -item[0]):
        taken = _FEEDBACK if ours in _FEEDBACK else {ours}  # one column of feedback is enough
        if theirs not in proposed and taken.isdisjoint(proposed.values()) and (score >= _ENOUGH or ours in needed):
            proposed[theirs] = ours
    return {theirs: proposed[theirs] for theirs in columns if theirs in proposed}


@dataclass(frozen=True, slots=True)
class _Look:
    """What the first values of a column look like; ``words`` is the median of their words, the others are shares."""

    values: Sequence[Any]
    words: float
    questions: float
    prose: float
    times: float
    passages: float
    distinct: bool

    @classmethod
    def of(cls, values: Sequence[Any]) -> "_Look":
        present = [value for value in values if not is_missing(value)]
        texts = [value for value in present if isinstance(value, str)]
        return cls(
            present,
            median(len(text.split()) for text in texts) if texts else 0.0,
            _share(lambda value: isinstance(value, str) and _ASKS.search(value) is not None, present),
            _share(_is_prose, present),
            1.0 if dates_of("", texts) is not None else _share(is_time, present),
            _share(_has_passages, present),
            len({*map(str, present)}) == len(present),
        )


def _share(holds: Callable[[Any], bool], values: Sequence[Any]) -> float:
    return sum(map(holds, values)) / len(values) if values else 0.0


def _is_prose(value: Any) -> bool:
    """Whether a value is a text that people read: no number, code, address, list or object."""
    if not isinstance(value, str) or value.lstrip()[:1] in {"[", "{"}:
        return False
    words = value.split()
    code = len(words) == 1 and re.search(r"\d|://|@", words[0])
    return not code and re.search(r"[^\W\d_]{2}", value) is not None and not is_time(value)


def is_time(value: Any) -> bool:
    """Whether a value is a time with the year first, or a number of seconds or milliseconds since 1970."""
    number = spelled_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or (isinstance(number, int | float) and number < _EPOCH):
        return False
    try:
        as_utc(value)
    except ValueError:
        return False
    return True


def _has_passages(value: Any) -> bool:
    """Whether a value is a list of passages, or a text with several of them."""
    if isinstance(value, str):
        listed = python_list(value)
        value = listed if listed is not None else re.split(r"\n{2,}|\s*(?:\|+|-{3,}|;)\s*", value.strip())
        if len(value) < 2 and listed is None:
            return False
    texts = value if isinstance(value, list) else []
    return any(isinstance(each, dict) or (isinstance(each, str) and " " in each.strip()) for each in texts)


def _hints_of(ours: str, fields: ColumnNames) -> tuple[Collection[str], Collection[str]]:
    """Return the words in names of columns that point to a field: those that suffice, and weaker ones."""
    if ours in _HINTS:
        strong, weak = _HINTS[ours]
        return strong.split(), weak.split()
    return [name for name in fields[ours] if "_" not in name], ()


def _name_score(words: Sequence[str], strong: Collection[str], weak: Collection[str]) -> float:
    """Return 2 for a word that suffices, 1 for a weaker one, and 0.25 for each further one."""

    def count(hints: Collection[str]) -> int:
        return sum(any(word == hint or (len(hint) >= _PART and hint in word) for hint in hints) for word in words)

    of_strong, of_weak = count(strong), count(weak)
    if not of_strong + of_weak:
        return 0.0
    return (2.0 if of_strong else 1.0) + 0.25 * (of_strong + of_weak - 1)


def _fit(ours: str, look: _Look, words: Sequence[str]) -> float | None:
    """Return how well the values of a column fit a field (about -1 to 2); None if they do not fit at all."""
    if not look.values:
        return None
    if ours in {"query", "answer", "reference"}:
        return _fit_of_text(ours, look)
    if ours in _FEEDBACK:
        return _fit_of_feedback(ours, look)
    if ours == "context":
        is_list = any(isinstance(value, list) for value in look.values)
        listed = 0.0 if look.passages <= 0.5 else 2.0 if is_list else 1.5
        is_text = look.prose > 0.5 and look.words > 1  # one word is rather the id or name of a passage
        return listed + (look.words > _PASSAGE) if listed or is_text else None
    fits, fit = {
        "external_id": (look.distinct and _are_ids(look.values) and not _OTHER_IDS.intersection(words), 1.0),
        "asked_at": (look.times > 0.8, 1.0),
        "generator_model": (_are_names(look), 0.0),
        "query_type": (_are_names(look), 0.0),
    }.get(ours, (True, 0.0))
    return fit if fits else None


def _are_ids(values: Sequence[Any]) -> bool:
    texts = [str(value).strip() for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    return len(texts) == len(values) and all(len(text) <= _LONGEST_ID and len(text.split()) == 1 for text in texts)


def _are_names(look: _Look) -> bool:
    return look.words <= 3 and all(isinstance(value, str) for value in look.values)


def _fit_of_text(ours: str, look: _Look) -> float | None:
    if look.prose <= 0.5:
        return None
    in_words = 0.5 if look.words >= 3 else 0.0
    # Short answers are often repeated. With less than -1, a text of several words is still a likely answer.
    repeated = -0.75 if len({*map(str, look.values)}) * 2 <= len(look.values) else 0.0
    if ours == "query":
        return min(2.0, 3 * look.questions) + in_words + repeated - (look.words > _PASSAGE)
    if ours == "answer":
        return 2 * in_words + repeated - (look.questions > 0.5)
    return 0.0


def _fit_of_feedback(ours: str, look: _Look) -> float | None:
    words = {str(word_of(value)) for value in look.values}
    if ours == "stars":
        return 0.0 if words <= set("12345") and words & set("2345") else None
    if any(word not in {"-1", "0", "1"} and thumbs_up(word) is None for word in words):
        return None
    return 0.0 if words <= _UNTELLING else 2.0
