"""Proposes the fields of columns from names and first values. `mapping` tries the proposals."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from judgeboard.imports.dates import dates_of
from judgeboard.imports.fields import ColumnNames, Unusable, parsed_json, simple_name
from judgeboard.imports.grades import GradeImport
from judgeboard.imports.labels import label_of
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import thumbs_up
from judgeboard.imports.scales import USUAL, possible_scale, shown_scale
from judgeboard.imports.values import is_missing, python_list, spelled_number, word_of
from judgeboard.text import as_utc

# Words in the name of a column: one of the first group alone makes a proposal, the others need
# fitting values.
_HINTS: Mapping[str, tuple[str, str]] = {
    "query": (
        "question query frage anfrage pregunta consulta vraag domanda pergunta prompt utterance вопрос 質問 问题",
        "user usr customer client kunde visitor human message msg text input request inquiry asked",
    ),
    "answer": (
        "answer antwort respuesta reponse risposta resposta antwoord response reply completion ответ 回答 答案",
        "bot chatbot assistant ai gpt llm agent generated result output message msg text resolution",
    ),
    "context": (
        (
            "context contexts passage passages chunk chunks snippet snippets evidence document documents docs kontext "
            "textstelle textstellen articles kb sources knowledge fragmento fragmentos contexto contexte extraits "
            "fuentes documentos"
        ),
        "article source citation citations references retrieved nodes quellen wissen",
    ),
    "reference": ("reference gold golden truth expected ideal", "correct target best"),
    "external_id": ("id uuid uid guid номер", "ticket number nr no key case ref row item"),
    "asked_at": (
        "time timestamp ts date datetime datum zeit fecha data dato дата 日時 时间 created",
        "on at sent received day start",
    ),
    "thumbs": (
        (
            "thumb thumbs feedback rating vote helpful csat satisfaction satisfied reaction bewertung avis valoracion "
            "оценка 評価"
        ),
        "score",
    ),
    "stars": ("star stars feedback rating csat satisfaction bewertung", "score"),
    "generator_model": ("model llm engine", ""),
    "query_type": (
        "type category intent topic kategorie thema tema theme sujet anliegen categoria categorie rubrik тема",
        "department area",
    ),
    "generator_cost": ("cost kosten costo coste cout price preis", "eur usd amount"),
    "feedback": (
        "feedback rating satisfaction satisfied reaction bewertung zufriedenheit vote avis valoracion оценка 評価",
        "score",
    ),
}
_FEEDBACK = frozenset({"thumbs", "stars", "feedback"})
_ENOUGH = 2.0  # the smallest score of a proposal
_ACCENT = re.compile("[\u0300-\u036f]")
_SYLLABLE = re.compile(
    "[\u3040-\u30ff\u4e00-\u9fff]"
)  # Chinese and Japanese write no blanks; two are about a word
_PART = 5  # letters; a hint of this length also counts inside a longer word, as in "Kundenfrage"
_ASKS = re.compile("[?\uff1f]")  # U+FF1F is the question mark of Chinese and Japanese texts
_PASSAGE = 40  # words; a longer text is rather a passage than a question
_LONGEST_ID = 64  # characters
_EPOCH = 1e9  # seconds; smaller numbers are rather durations than times
# A text column with one of these words in the name is no answer and no question.
_GOLD = frozenset(
    {
        "gold",
        "golden",
        "truth",
        "expected",
        "ideal",
        "reference",
        "target",
        "correct",
        "title",
        "name",
    }
)
_CODE = re.compile(
    r"[A-Za-z]{1,10}[-_]?\d{2,}|[0-9a-f]{8}-?[0-9a-f-]{8,}"
)  # such values are ids under any name
FILE_NAME = re.compile(r"\S+\.\w{1,5}")
# An id column with one of these words in the name has no ids of answers.
_OTHER_IDS = frozenset(
    {
        "user",
        "customer",
        "client",
        "agent",
        "session",
        "conversation",
        "chat",
        "thread",
        "org",
        "tenant",
        "bot",
    }
)
_UNTELLING = frozenset(
    {"0", "1", "true", "false", "yes", "no"}
)  # columns of other meanings have these values


def propose(
    fields: ColumnNames,
    needed: Collection[str],
    free: Collection[str],
    columns: Mapping[str, Sequence[Any]],
) -> dict[str, str]:
    """Return the likely field of each column, ``{theirs: ours}``; columns without a likely field are absent.

    ``columns`` has the first values of the columns that are not used, ``free`` the fields that have
    no column. A field that is ``needed`` gets its best column even if the names say nothing. No
    values are changed or read as a field.
    """
    looks = {theirs: _Look.of(values) for theirs, values in columns.items()}
    scores: list[tuple[float, str, str]] = []
    has_feedback = not _FEEDBACK.intersection(fields) <= {*free}
    for ours in free:
        if has_feedback and ours in _FEEDBACK:
            continue
        # The words in names of columns that point to the field: words that suffice, and weaker
        # words.
        strong: Sequence[str] = ()
        weak: Sequence[str] = ()
        if ours in _HINTS:
            strong, weak = (words.split() for words in _HINTS[ours])
        elif ours in needed:
            strong = [name for name in fields[ours] if "_" not in name]
        else:
            continue
        for theirs, look in looks.items():
            words = _words(theirs)
            fit = _fit(ours, look, words)
            # The id of an answer is unique, and no part of a list.
            if (
                ours == "external_id"
                and "answer" in fields
                and (not look.distinct or re.search(r"\.\d", theirs))
            ):
                continue
            if fit is None:
                continue
            score = fit
            # Add 2 for a word that suffices or 1 for a weaker one, and 0.25 for each further one.
            of_strong, of_weak = (
                sum(
                    any(word == hint or (len(hint) >= _PART and hint in word) for hint in hints)
                    for word in words
                )
                for hints in (strong, weak)
            )
            if of_strong + of_weak:
                score += (2.0 if of_strong else 1.0) + 0.25 * (of_strong + of_weak - 1)
            if score > 0:
                scores.append((score, ours, theirs))
    matches: dict[str, str] = {}
    for score, ours, theirs in sorted(scores, key=lambda item: -item[0]):
        group = _FEEDBACK if ours in _FEEDBACK else {ours}  # one column of feedback is enough
        if (
            theirs not in matches
            and group.isdisjoint(matches.values())
            and (score >= _ENOUGH or ours in needed)
        ):
            matches[theirs] = ours
    return {theirs: matches[theirs] for theirs in columns if theirs in matches}


@dataclass(frozen=True, slots=True)
class _Look:
    """Features of the first values of a column; ``words`` is the median number of words, the others are shares."""

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
            median(map(_word_count, texts)) if texts else 0.0,
            _share(
                lambda value: isinstance(value, str) and _ASKS.search(value) is not None, present
            ),
            _share(_is_prose, present),
            1.0 if dates_of("", texts) is not None else _share(is_time, present),
            _share(_has_passages, present),
            len({*map(str, present)}) == len(present),
        )


def _share(holds: Callable[[Any], bool], values: Sequence[Any]) -> float:
    return sum(map(holds, values)) / len(values) if values else 0.0


def _word_count(text: str) -> int:
    return len(text.split()) + len(_SYLLABLE.findall(text)) // 2


def _is_prose(value: Any) -> bool:
    """Whether a value is a text that people read: no number, code, address, list or object."""
    if not isinstance(value, str) or value.lstrip()[:1] in {"[", "{"}:
        return False
    words = value.split()
    code = _word_count(value) == 1 and (
        re.search(r"\d|://|@", words[0]) or FILE_NAME.fullmatch(words[0])
    )
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


def objects_in(text: str) -> list[Any] | None:
    """Return the list in a JSON text, None for any other text."""
    try:
        value = parsed_json("", text) if text.lstrip().startswith("[") else None
    except Unusable:
        return None
    return value if isinstance(value, list) else None


def _has_passages(value: Any) -> bool:
    """Whether a value is a list of passages, or a text with several passages."""
    if isinstance(value, str):
        items = python_list(value) or objects_in(value)
        value = (
            items if items is not None else re.split(r"\n{2,}|\s*(?:\|+|-{3,}|;)\s*", value.strip())
        )
        if len(value) < 2 and items is None:
            return False
    texts = value if isinstance(value, list) else []
    return any(
        isinstance(each, dict) or (isinstance(each, str) and " " in each.strip()) for each in texts
    )


def _fit(ours: str, look: _Look, words: Collection[str]) -> float | None:
    """Return how well the values of a column fit a field (about -1 to 2); None if the values do not fit at all."""
    if not look.values:
        return None
    if ours in {"query", "answer", "reference"}:
        return (
            None
            if ours != "reference" and not _GOLD.isdisjoint(words)
            else _fit_of_text(ours, look)
        )
    if ours in _FEEDBACK:
        return _fit_of_feedback(ours, look)
    if ours == "context":
        is_list = any(isinstance(value, list) for value in look.values)
        list_score = 0.0 if look.passages <= 0.5 else 2.0 if is_list else 1.5
        is_text = (
            look.prose > 0.5 and look.words > 1
        )  # one word is rather the id or name of a passage
        return list_score + (look.words > _PASSAGE) if list_score or is_text else None
    if ours in _OF_GENERATOR and not _JUDGES.union(_PEOPLE).isdisjoint(words):
        return None
    texts = [
        str(value).strip()
        for value in look.values
        if isinstance(value, str | int) and not isinstance(value, bool)
    ]
    fits, fit = {
        "external_id": (
            (
                len(texts) == len(look.values)
                and all(len(text) <= _LONGEST_ID and len(text.split()) == 1 for text in texts)
            )
            and not _OTHER_IDS.intersection(words),
            2.0 if all(_CODE.fullmatch(str(value)) for value in look.values) else 1.0,
        ),
        "asked_at": (look.times > 0.8, 2.0),
        "generator_cost": (
            all(isinstance(_number(value), int | float) for value in look.values),
            0.0,
        ),
        "generator_model": (_are_names(look), 0.0),
        "query_type": (_are_names(look), 0.0),
    }.get(ours, (True, 0.0))
    return fit if fits else None


def _are_names(look: _Look) -> bool:
    return look.words <= 3 and all(isinstance(value, str) for value in look.values)


def _fit_of_text(ours: str, look: _Look) -> float | None:
    if look.prose <= 0.5:
        return None
    in_words = 0.5 if look.words >= 3 else 0.0
    # Short answers are often repeated. With less than -1, a text of several words is still a likely
    # answer.
    repetition = -0.75 if len({*map(str, look.values)}) * 2 <= len(look.values) else 0.0
    if ours == "query":
        return min(2.0, 3 * look.questions) + in_words + repetition - (look.words > _PASSAGE)
    if ours == "answer":
        return 2 * in_words + repetition - (look.questions > 0.5)
    return 0.0


def are_stars(values: Sequence[Any]) -> bool:
    """Whether values are numbers from 1 to 5 that are no thumbs."""
    words = {str(word_of(value)) for value in values if not is_missing(value)}
    return words <= set("12345") and not words.isdisjoint("2345")


def _fit_of_feedback(ours: str, look: _Look) -> float | None:
    words = {str(word_of(value)) for value in look.values}
    if ours == "feedback":
        return (
            0.0
            if all(word in set("12345") or thumbs_up(word) is not None for word in words)
            else None
        )
    if ours == "stars":
        return 0.0 if are_stars(look.values) else None
    if any(word not in {"-1", "0", "1"} and thumbs_up(word) is None for word in words):
        return None
    return 0.0 if words <= _UNTELLING or len(words) < 2 else 2.0


_OF_GENERATOR = frozenset({"generator_model", "query_type", "asked_at"})
_JUDGES = frozenset({"judge", "evaluator", "eval", "evaluation", "grader", "autorater", "critic"})
_PEOPLE = frozenset(
    {"human", "annotator", "rater", "reviewer", "expert", "labeler", "labeller", "manual"}
)
_METRICS = frozenset(
    {
        "faithfulness",
        "groundedness",
        "relevancy",
        "relevance",
        "correctness",
        "precision",
        "recall",
        "similarity",
        "coherence",
        "fluency",
        "completeness",
        "accuracy",
        "clarity",
        "conciseness",
        "toxicity",
        "helpfulness",
        "harmfulness",
    }
)
_OF_PASSAGES = frozenset(
    {"similarity", "similarity_score", "relevance_score", "retrieval_score", "rank"}
)
_LABEL_WORDS = frozenset({"label", "verdict", "decision", "passed", "outcome", "result"})
_SCORE_WORDS = frozenset({"score", "rating", "grade", "value", "points", "stars"})
_REASON_WORDS = frozenset(
    {"reason", "reasoning", "rationale", "explanation", "critique", "comment", "justification"}
)
_USERS = frozenset({"user", "customer", "thumbs", "thumb", "id", "ids"})
_WHO_WORDS = frozenset({"model", "name", "id", "llm"})


class Beside(NamedTuple):
    """Verdicts or grades beside answers: fields by column, values for all rows, and whether the scale is certain."""

    columns: dict[str, str]
    constants: dict[str, str]
    is_sure: bool


class _Judged(NamedTuple):
    """Who judged: the words for judges or people in names of columns, and the fields of the judgments."""

    kind: str
    words: frozenset[str]
    who: str
    note: str
    scores: str
    unnamed: str
    fields: ColumnNames


_JUDGED = (
    _Judged("verdicts", _JUDGES, "judge", "reasoning", "scores", "metrics", VerdictImport.columns),
    _Judged("grades", _PEOPLE, "annotator", "note", "aspects", "human", GradeImport.columns),
)


def judged_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Beside]:
    """Return the columns of a judge's verdicts (``verdicts``) and of people's grades (``grades``) beside answers.

    ``columns`` has the first values of each column. The names of columns tell the judge and the
    field; values must fit.
    """
    who = {
        each.kind: [
            name
            for name, values in columns.items()
            if each.words & _words(name)
            and simple_name(name) in each.fields[each.who]
            and _are_texts(values)
        ]
        for each in _JUDGED
    }
    # A metric is a judge's, unless only a person is named.
    owner = "grades" if who["grades"] and not who["verdicts"] else "verdicts"
    by_kind = {
        each.kind: _judged(each, columns, who[each.kind], owns=each.kind == owner)
        for each in _JUDGED
    }
    return {kind: beside for kind, beside in by_kind.items() if beside is not None}


def _judged(
    by: _Judged, columns: Mapping[str, Sequence[Any]], who: list[str], *, owns: bool
) -> Beside | None:
    present = {
        name: [value for value in values if not is_missing(value)]
        for name, values in columns.items()
    }
    own = {name: by.words & _words(name) for name in columns}
    parts: dict[str, str] = {}
    reasons: list[str] = []
    scores: dict[str, Sequence[Any]] = {}
    for name, values in present.items():
        words = _words(name) - by.words
        is_score = owns and (bool(words & _METRICS) or simple_name(name) in by.fields["quality"])
        if (
            not values
            or name in who
            or simple_name(name) in _OF_PASSAGES
            or words & _USERS
            or not (own[name] or who or is_score)
        ):
            continue
        if all(isinstance(_number(value), int | float) for value in values):
            if is_score or words & _SCORE_WORDS or (own[name] and words and not words & _WHO_WORDS):
                scores[name] = [_number(value) for value in values]
        elif words & _LABEL_WORDS and all(label_of(value, name) for value in values):
            parts.setdefault("label", name)
        elif words & _REASON_WORDS and _are_texts(values):
            reasons.append(name)
        elif own[name] and words & _WHO_WORDS and _are_texts(values):
            who.append(name)
    if len(reasons) == 1:  # of several columns, each belongs to one score
        parts[by.note] = reasons[0]
    fields, scale, is_sure = _scores(by, scores)
    if "label" not in parts and not fields:
        return None
    parts |= {by.who: who[0]} if who else {}
    constants = ({} if scale is None else {"scale": scale}) | ({} if who else {by.who: by.unnamed})
    return Beside(
        {
            name: f"{by.kind}.{ours}"
            for name, ours in (*((name, ours) for ours, name in parts.items()), *fields.items())
        },
        {f"{by.kind}.{ours}": value for ours, value in constants.items()},
        is_sure,
    )


def _scores(
    by: _Judged, scores: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, str], str | None, bool]:
    """Return the fields of scores on one scale, the scale (None: as in the fields), and whether it is certain."""
    scales = {
        name: str(usual)
        for name, numbers in scores.items()
        if (usual := possible_scale(numbers)) in USUAL
    }
    groundedness = [
        name
        for name in scales
        if simple_name(name) in by.fields["groundedness"] and scales[name] == "0-1"
    ]
    quality = [
        name
        for name in scores
        if simple_name(name) in by.fields["quality"]
        and all(float(number).is_integer() and 1 <= number <= 4 for number in scores[name])
    ]
    fields = dict.fromkeys(groundedness[:1], "groundedness") | dict.fromkeys(quality[:1], "quality")
    others = {name: scale for name, scale in scales.items() if name not in fields}
    if quality or not others:
        return fields, None, True
    # A row has one scale, and groundedness is on the scale from 0 to 1.
    scale = "0-1" if groundedness else Counter(others.values()).most_common(1)[0][0]
    same_scale = [name for name in others if others[name] == scale]
    for name in same_scale:
        plain = (
            bool(_SCORE_WORDS & _words(name))
            and not _METRICS & _words(name)
            and "quality" not in fields.values()
        )
        fields[name] = "quality" if plain else f"{by.scores}.{simple_name(name)}"
    is_certain = scale == "0-1" or all(shown_scale(scores[name]) is not None for name in same_scale)
    return fields, scale if same_scale else None, is_certain


def _words(name: str) -> frozenset[str]:
    """Return the words of a name without accents."""
    letters = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", name)))
    return frozenset(simple_name(letters).split("_"))


def _number(value: Any) -> Any:
    return (
        None
        if isinstance(value, bool)
        else spelled_number(value)
        if isinstance(value, str)
        else value
    )


def _are_texts(values: Sequence[Any]) -> bool:
    return all(
        is_missing(value) or (isinstance(value, str) and isinstance(_number(value), str))
        for value in values
    )
