"""What must be known before a file can be imported: which column is which field, and the order of day and month.

`propose` guesses the fields of columns whose names are not known, from their names and first values.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.imports.dates import DateOrder, DatesOfColumn, dates_of
from judgeboard.imports.fields import ColumnNames, Columns, ColumnUse, nested_names, simple_name
from judgeboard.imports.kinds import KINDS, ImportKind, kind_meant
from judgeboard.imports.responses import thumbs_up
from judgeboard.imports.values import is_missing, python_list, spelled_number, word_of
from judgeboard.store.filters import metadata_path, value_at
from judgeboard.text import as_utc

TIMES = frozenset({"asked_at", "at"})
_TEXTS = frozenset({"query", "answer"})  # an object in these fields has the text inside
_TEXTS_OF_LOG = frozenset({"query", "answer", "context"})
_NAMED = 30  # columns in a message
_EXAMPLES = 50  # rows from which fields are guessed


@dataclass(frozen=True, slots=True)
class Question:
    """What a file leaves open.

    ``fields`` has all fields of the kind of file, ``missing`` the required ones without a column, ``columns`` how the
    columns are read so far. ``proposed``,
    ``{theirs: ours}``, has the likely fields of the other columns. ``other_kind`` is the kind of file that the columns
    belong to, if all its required fields are there. ``dates`` is a column whose dates may have day or month first.
    ``rows`` are the first rows of the file, at most 3. ``other_step`` is what to do with such a file in place of an
    import.
    """

    file: str
    fields: tuple[str, ...]
    missing: tuple[str, ...]
    columns: tuple[ColumnUse, ...]
    proposed: Mapping[str, str]
    other_kind: str | None
    dates: DatesOfColumn | None
    rows: Sequence[Mapping[str, Any]]
    other_step: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file, and the paths of values inside them that have a likely field."""
        names = [use.theirs for use in self.columns if use.theirs is not None]
        return (*names, *(theirs for theirs in self.proposed if theirs not in names))

    @property
    def unproposed(self) -> tuple[str, ...]:
        """The required fields that no column fits."""
        return tuple(ours for ours in self.missing if ours not in self.proposed.values())

    @property
    def kind_alone(self) -> str | None:
        """The other kind of file, if only this kind fits: the other columns cannot have all the required texts."""
        texts = sum(ours in _TEXTS_OF_LOG for ours in self.proposed.values())
        return self.other_kind if self.unproposed and texts < len(self.missing) else None

    @property
    def sentence(self) -> str:
        """What is not clear, in one sentence."""
        if self.other_step is not None:
            return f"{self.file}: {self.other_step}. Nothing was stored."
        if self.kind_alone is not None:
            title = KINDS[self.kind_alone].title.lower()
            return f"{self.file}: the rows look like another kind of file: {title}. Nothing was stored."
        if self.missing:
            return f"{self.file}: no column was recognised as {' or '.join(self.missing)}. Nothing was stored."
        column = "" if self.dates is None else f" of {self.dates.column!r}"
        return f"{self.file}: the dates{column} may have the day or the month first. Nothing was stored."


class UnclearFile(BadInput):
    """A file cannot be imported before its `question` is answered; nothing was stored."""

    def __init__(self, question: Question) -> None:
        answers = [f"--map {theirs}={ours}" for theirs, ours in question.proposed.items()]
        answers += [f"--map COLUMN={ours}" for ours in question.unproposed]
        answers += ["--dates day-first"] if question.dates is not None else []
        names = ", ".join(name or "(no name)" for name in question.names[:_NAMED])
        answer = f"It has {names}. Use for example {' '.join(answers)}"
        if question.kind_alone is not None:
            answer = f"To import them, use --kind {question.kind_alone}"
        super().__init__(question.sentence if question.other_step is not None else f"{question.sentence} {answer}")
        self.question = question


class FirstRows:
    """Collects from the first rows of a file what shows how to read it.

    With an ``order``, the order of day and month is known. ``decided`` is the column whose dates showed it.
    """

    def __init__(self, kind: type[ImportKind[Any]], columns: Columns, order: DateOrder | None) -> None:
        self._kind = kind
        self._columns = columns
        self._order = order
        self._rows: list[Mapping[str, Any]] = []
        self._taken: dict[str, str] = {}
        self._undecided: DatesOfColumn | None = None
        self._has_other_dates = False  # with the year first, or numbers
        self.decided: DatesOfColumn | None = None

    @property
    def order(self) -> DateOrder | None:
        """The order of day and month in dates with the year last; None if it is not known."""
        return self._order if self.decided is None else self.decided.order

    @property
    def is_clear(self) -> bool:
        """Whether all required fields have a column, and the order of day and month is known or not needed.

        A first row without a date, or with a date that has the year first, does not show which dates come later.
        """
        return bool(self._rows) and not self._missing and (self.order is not None or TIMES.isdisjoint(self._taken))

    @property
    def _open_dates(self) -> DatesOfColumn | None:
        return self._undecided if self.order is None else None

    @property
    def _missing(self) -> tuple[str, ...]:
        return tuple(ours for ours in self._kind.required(self._taken) if ours not in self._taken)

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a row."""
        taken, _ = self._columns.plan(values, counts=False)
        if len(self._rows) < _EXAMPLES:
            self._rows.append(values)
        self._taken |= {
            ours: theirs
            for ours, theirs in taken.items()
            if not (ours in _TEXTS and self._kind.brings_answers and isinstance(values[theirs], dict))
        }
        self.add_dates(values)

    def add_dates(self, values: Mapping[str, Any]) -> None:
        """Add the dates of a row."""
        for theirs in {self._taken[ours] for ours in TIMES & self._taken.keys()}:
            value = values.get(theirs)
            dates = dates_of(theirs, [value]) if self.order is None else None
            if dates is not None and dates.order is not None:
                self.decided = dates
            # If the file has other dates, a later one that may be either is one rejected row: the file is not refused.
            self._has_other_dates = self._has_other_dates or (dates is None and is_time(value))
            if not self._has_other_dates:
                self._undecided = self._undecided or dates

    def proposed(self, needed: Collection[str]) -> dict[str, str]:
        """Return the likely fields of columns that are not read, ``{theirs: ours}``."""
        if not self._kind.brings_answers and not needed:
            return {}
        used = {use.theirs for use in self._columns.report() if use.ours in self._taken or use.how.startswith("--map")}
        names: dict[str, list[Any]] = {}
        for values in self._rows:
            for name in [*values, *nested_names(values)]:
                with suppress(BadInput):  # a name that --map cannot give
                    path = (name,) if name in values else metadata_path(name)
                    if path[0] not in used:
                        names.setdefault(name, []).append(value_at(values, path))
        free = [ours for ours in self._kind.columns if ours not in self._taken]
        return propose(self._kind.columns, needed, free, names)

    def question(self, file: str) -> Question | None:
        """Return what is open; None if nothing is."""
        missing, dates = self._missing, self._open_dates
        if not self._rows or not (missing or dates):
            return None
        proposed = self.proposed(missing) if missing else {}
        for theirs in [theirs for theirs, ours in proposed.items() if ours in TIMES and self._order is None]:
            shown = dates_of(theirs, [values.get(theirs) for values in self._rows])
            dates = dates or (shown if shown is not None and shown.order is None else None)
        return Question(
            file,
            tuple(self._kind.columns),
            missing,
            self._columns.report(),
            proposed,
            kind_meant(self._kind, self._taken, self._rows[0]) if missing else None,
            dates,
            self._rows[:3],
            self._kind.other_step(self._taken) if missing else None,
        )


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
