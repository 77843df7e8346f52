"""The value types of Judgeboard: immutable, validated on construction, without I/O."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Self, TypeVar

from judgeboard.text import number_words


class Action(StrEnum):
    """An action that needs a permission. The value is stored in the event of a refused attempt.

    ``words`` are the action as the subject of a sentence.
    """

    words: str

    def __new__(cls, value: str, words: str = "") -> Self:
        """Make a member with words."""
        action = str.__new__(cls, value)
        action._value_ = value
        action.words = words
        return action

    SEE_PAGES = "see_pages", "Seeing all pages"
    SEE_MANAGED = (
        "see_managed",
        "Seeing the pages of settings, rules, imports, keys, people and events",
    )
    REVIEW = "review", "Reviewing"
    REJUDGE_ONE = "rejudge_one", "Rejudging an answer"
    MAKE_QUEUES = "make_queues", "Creating and closing queues"
    ASSIGN = "assign", "Assigning answers to people"
    KEEP_ISSUES = "keep_issues", "Opening and changing issues"
    ACKNOWLEDGE_ALARMS = "acknowledge_alarms", "Acknowledging alarms"
    ADJUDICATE = "adjudicate", "Adjudicating"
    CHANGE_SETTINGS = "change_settings", "Changing thresholds, rules and the primary judge"
    REJUDGE_MANY = "rejudge_many", "Judging more than one answer"
    CHOOSE_JUDGE = "choose_judge", "Using a new judge, or another address of a judge,"
    CANCEL_JOBS = "cancel_jobs", "Cancelling another person's job"
    KEEP_RULES = "keep_rules", "Adding, changing and testing rules that workers follow"
    IMPORT = "import", "Importing"
    MANAGE_KEYS = "manage_keys", "Creating and revoking keys"
    MANAGE_PEOPLE = "manage_people", "Adding people and changing their roles"
    RETIRE_VERSIONS = "retire_versions", "Retiring judge versions"


OF_ONE_ANSWER = frozenset({Action.SEE_PAGES, Action.REVIEW, Action.REJUDGE_ONE, Action.ADJUDICATE})
"""What people with limited sources may do, if the role allows this; all else reaches the answers of all sources."""
_REVIEWING = frozenset({Action.SEE_PAGES, Action.REVIEW, Action.REJUDGE_ONE})
_OF_ADMINS = frozenset({Action.MANAGE_PEOPLE, Action.RETIRE_VERSIONS})


class Role(StrEnum):
    """A person's role, with the allowed actions. Removed people have ``none``."""

    actions: frozenset[Action]

    def __new__(cls, value: str, actions: frozenset[Action] = frozenset()) -> Self:
        """Make a member with actions."""
        role = str.__new__(cls, value)
        role._value_ = value
        role.actions = actions
        return role

    NONE = "none"
    VIEWER = "viewer", frozenset({Action.SEE_PAGES})
    AUDITOR = "auditor", frozenset({Action.SEE_PAGES, Action.SEE_MANAGED})
    REVIEWER = "reviewer", _REVIEWING
    LEAD = "lead", frozenset(Action) - _OF_ADMINS
    ADMIN = "admin", frozenset(Action)


ROLES = tuple(role for role in Role if role is not Role.NONE)
"""The roles that an admin gives to people."""


class Stage(StrEnum):
    """When a review was made: before or after the author saw the judgment, or to adjudicate a conflict."""

    BLIND = "blind"
    REVEALED = "revealed"
    ADJUDICATION = "adjudication"


class WhyDiffers(StrEnum):
    """Why a person's grade differs from the judge's grade."""

    MISSED_SUPPORT = "missed_support"
    FLUENT_TEXT = "fluent_text"
    REFUSAL = "refusal"
    PARTIAL_SUPPORT = "partial_support"
    RUBRIC_UNCLEAR = "rubric_unclear"
    PERSON = "person"
    OTHER = "other"


class QueueState(StrEnum):
    """The state of a queue. A closed queue gives no leases, and open items of a closed queue do not keep flags open."""

    OPEN = "open"
    CLOSED = "closed"


class RuleState(StrEnum):
    """The state of a judging rule, a push target or an alert rule. A removed rule is kept; the name is free again."""

    ACTIVE = "active"
    PAUSED = "paused"
    REMOVED = "removed"


class AlertCondition(StrEnum):
    """What an alert rule watches."""

    ALARM = "alarm"
    OLD_FLAGS = "old_flags"
    OPEN_FLAGS = "open_flags"
    WAITING_ANSWERS = "waiting_answers"
    UNUSABLE_VERDICTS = "unusable_verdicts"
    SPEND = "spend"
    SILENT_SOURCE = "silent_source"
    MISSING_WORKER = "missing_worker"
    LEVEL = "level"


MODEL_CHANGED = "model_changed"
"""The measure of alarms of models. ``direction`` names the judge version and both models, ``query_type`` is empty."""


class MessageKind(StrEnum):
    """Why an alert rule sends a message."""

    OPENED = "opened"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    TEST = "test"


class QueueOrder(StrEnum):
    """The order of the items of a queue; all but ``oldest`` and ``random`` use judges' scores."""

    SEVERITY = "severity"
    OLDEST = "oldest"
    DISAGREEMENT = "disagreement"
    INSTABILITY = "instability"
    RANDOM = "random"


class ItemState(StrEnum):
    """The state of a queue item; ``left`` items stopped matching before any review."""

    OPEN = "open"
    AGREED = "agreed"
    CONFLICT = "conflict"
    ADJUDICATED = "adjudicated"
    LEFT = "left"


class ResponseKind(StrEnum):
    """The origin of a response; pages and statistics read ``log`` by default."""

    LOG = "log"
    CONTROL = "control"
    REGENERATED = "regenerated"
    CANDIDATE = "candidate"
    PAIR_SIDE = "pair_side"


class Status(StrEnum):
    """The result of one request to a judge; only ``ok`` has a verdict."""

    OK = "ok"
    UNPARSABLE = "unparsable"
    REFUSED = "refused"
    ERROR = "error"


class Label(StrEnum):
    """A verdict with two values, stored as given and never computed from a score."""

    GROUNDED = "grounded"
    HALLUCINATED = "hallucinated"


class ClaimStatus(StrEnum):
    """Whether the passages support a statement of an answer."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"


class FeedbackKind(StrEnum):
    """The scale of user feedback: thumbs (1 up, 0 down) or stars (1 to 5)."""

    THUMBS = "thumbs"
    STARS = "stars"


class IssueState(StrEnum):
    """The state of an issue; closed issues are hidden from the list."""

    OPEN = "open"
    FIXED = "fixed"
    CLOSED = "closed"


class FlagState(StrEnum):
    """The state of a flag, derived from reviews and from newer judgments or feedback."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    DISMISSED = "dismissed"
    SUPERSEDED = "superseded"


class Decision(StrEnum):
    """A reviewer's decision on a flag; ``withdrawn`` undoes an earlier review."""

    CONFIRM = "confirm"
    DISMISS = "dismiss"
    UNSURE = "unsure"
    WITHDRAWN = "withdrawn"


class RunState(StrEnum):
    """The state of a run; a ``running`` run without a live process can be resumed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class Preference(StrEnum):
    """Which of the two stored answers is better, independent of the order shown."""

    A = "a"
    B = "b"
    TIE = "tie"


class Shown(StrEnum):
    """The order in which a pair was shown: stored answer A first, or B first."""

    AB = "ab"
    BA = "ba"


def checked_groundedness(value: float | None) -> float | None:
    """Return a number from 0 to 1, or None (not measured). Raises ValueError for other values, also for ``True``."""
    if value is None:
        return None
    infinite = isinstance(value, float) and not math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or infinite:
        raise ValueError(f"groundedness must be a number from 0 to 1, not {value!r}")
    if not 0 <= value <= 1:
        raise ValueError(
            f"groundedness {number_words(value)} is {'above 1' if value > 1 else 'below 0'}"
        )
    return float(value)


def checked_quality(value: int | None) -> int | None:
    """Return an integer from 1 to 4, or None (not measured). Raises ValueError for other values, also for 3.0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"quality must be an integer from 1 to 4, not {value!r}")
    if not 1 <= value <= 4:
        raise ValueError(
            f"quality {number_words(value)} is {'above 4' if value > 4 else 'below 1'}"
        )
    return value


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback from a user of the assistant. ``value`` is 0 or 1 for thumbs, 1 to 5 for stars; ``at`` is UTC."""

    kind: FeedbackKind
    value: float
    user: str | None = None
    at: datetime | None = None
    comment: str | None = None

    def __post_init__(self) -> None:
        low, high = (0, 1) if self.kind is FeedbackKind.THUMBS else (1, 5)
        if isinstance(self.value, bool) or not low <= self.value <= high:
            raise ValueError(
                f"{self.kind} feedback must lie from {low} to {high}, not {number_words(self.value)}"
            )
        if self.kind is FeedbackKind.THUMBS and self.value not in {0, 1}:
            raise ValueError(f"thumbs feedback is 0 (down) or 1 (up), not {self.value!r}")

    @property
    def quality(self) -> float:
        """The feedback on the quality scale: thumbs up 4, down 1; stars 1 + (stars - 1) * 0.75."""
        if self.kind is FeedbackKind.THUMBS:
            return 4.0 if self.value == 1 else 1.0
        return 1 + (self.value - 1) * 0.75

    @property
    def stars(self) -> float:
        """The feedback in stars: thumbs up 5, down 1."""
        return self.value if self.kind is FeedbackKind.STARS else 1 + 4 * self.value

    @property
    def words(self) -> str:
        """The feedback in words: "thumbs down", "1 star", "3.5 stars"."""
        if self.kind is FeedbackKind.THUMBS:
            return "thumbs up" if self.value == 1 else "thumbs down"
        return f"{self.value:g} star{'' if self.value == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class TextFilter:
    """How answers are filtered by a text of the log.

    ``name`` is the name in --where and in addresses, ``help`` the description there. ``words``
    stand before a value in the description of a filter, and label the field of pages. Without
    ``words``, too many values occur for a choice. Raises ValueError if the plural of the name is
    not the name with an s.
    """

    name: str
    help: str
    words: str = ""

    def __post_init__(self) -> None:
        if re.search(r"(?:s|x|z|ch|sh|[^aeiou]y)\Z", self.name):
            raise ValueError(
                f"the filter {self.name!r} needs a name whose plural is {self.plural!r}"
            )

    @property
    def plural(self) -> str:
        """The name of the values in `judgeboard.store.filters.RowFilter` and in JSON."""
        return f"{self.name}s"


@dataclass(frozen=True, slots=True)
class LogField:
    """How a text of the log is imported and shown.

    ``names`` are the names in logs, the most specific first. *Item* shows the text as ``label``. If
    the text ``tells_the_generator`` of the answer, blind reviewers do not see the text. A
    ``listed`` text is a column of the lists of open flags and of answers.
    """

    label: str
    names: tuple[str, ...]
    tells_the_generator: bool = False
    listed: bool = False


def log_field(
    label: str,
    *names: str,
    tells_the_generator: bool = False,
    listed: bool = False,
    filtered: TextFilter | None = None,
) -> Any:
    """A text of the log in `Response`: imported, stored, exported, and shown on *Item* and in lists, without more code.

    If answers are ``filtered`` by the text, the filter needs no more code either, and the column
    needs an index.
    """
    of_log = LogField(label, names, tells_the_generator, listed)
    return field(default=None, metadata={"log": of_log, "filter": filtered})


@dataclass(frozen=True, slots=True)
class Response:
    """A logged answer with query and passages, before or after it is stored.

    ``passages`` is None if none were logged, and empty if nothing was retrieved. If the answer was
    made from another response, ``derived_from`` is the id of that response. The query is empty if
    none was logged. If the texts are forgotten, query and answer are empty.
    """

    source: str = field(metadata={"filter": TextFilter("source", "source of the log", "source")})
    external_id: str = field(metadata={"filter": TextFilter("id", "external id of the answer")})
    query: str
    answer: str
    passages: tuple[str, ...] | None = None
    query_type: str = field(
        default="unspecified",
        metadata={"filter": TextFilter("query_type", "type of the question", "query type")},
    )
    generator_model: str | None = log_field(
        "model",
        *(
            "generator_model",
            "model",
            "generator",
            "model_name",
            "generator_name",
            "llm_model",
            "llm",
        ),
        *(
            "model_id",
            "llm_model_name",
            "attributes_llm_model_name",
            "engine",
            "ai_model",
            "model_used",
        ),
        *("llm_used", "llm_name", "model_identifier", "generation_model"),
        tells_the_generator=True,
        filtered=TextFilter("model", "model that wrote the answer", "written by"),
    )
    generator_cost: float | None = None
    messages: tuple[dict[str, Any], ...] | None = None
    reference: str | None = None
    asked_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    kind: ResponseKind = ResponseKind.LOG
    feedback: tuple[Feedback, ...] = ()
    derived_from: int | None = None


LOG_FIELDS: Mapping[str, LogField] = {
    each.name: each.metadata["log"] for each in fields(Response) if "log" in each.metadata
}
"""The texts of the log that need no own code, by the name of the field in `Response`."""
LISTED = tuple(name for name, each in LOG_FIELDS.items() if each.listed)
"""The names of the texts in lists."""

# The order in help, descriptions and printed filters; the filters of other fields follow.
_FIRST = ("query_type", "source", "generator_model", "external_id")
_FILTERS = {each.name: each.metadata.get("filter") for each in fields(Response)}
TEXT_FILTERS: Mapping[str, TextFilter] = {
    name: text_filter
    for name in dict.fromkeys((*_FIRST, *_FILTERS))
    if (text_filter := _FILTERS[name])
}
"""The texts of the log by which answers are filtered, by the name of the field in `Response`."""

Class = TypeVar("Class", bound=type)


def with_fields(names: Iterable[str], type_: object, default: object) -> Callable[[Class], Class]:
    """A decorator below `dataclass`, which adds a field for each of these names that the class does not have."""

    def add(to: Class) -> Class:
        for name in names:
            if name not in to.__annotations__:
                to.__annotations__[name] = type_
                setattr(to, name, default)
        return to

    return add


class Turn(NamedTuple):
    """A message of a dialogue: the role (user or assistant) and the text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """The part of a stored response that a judge sees; ``turns`` are the turns before the question."""

    response_id: int
    query: str
    answer: str
    passages: tuple[str, ...] | None
    query_type: str = "unspecified"
    reference: str | None = None
    external_id: str = ""
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A judge's finding on one statement of an answer.

    ``passage`` is the number of a passage, from 1. Starts and ends are character offsets into the
    stored texts, None if the text does not contain the quote.
    """

    text: str
    status: ClaimStatus
    answer_quote: str | None = None
    passage: int | None = None
    passage_quote: str | None = None
    answer_start: int | None = None
    answer_end: int | None = None
    passage_start: int | None = None
    passage_end: int | None = None


MENDED = "mended: "
"""How the detail of an attempt begins whose reply was not quite in the requested form."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call to a model: reason, result, raw text, tokens and duration."""

    why: str  # first | retry | repair | format | parameter
    status: (
        str  # ok | http_<code> | timeout | connection | unparsable | refused | truncated | raised
    )
    raw: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: int | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The record of one request to a model, including the repair request.

    ``raw`` is the model's last text; ``cost_micro`` is in millionths of the price file's currency,
    None if unknown.
    """

    status: Status
    raw: str | None = None
    model_reported: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_micro: int | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()
    reply_format: str | None = None
    dropped_parameters: tuple[str, ...] = ()
    error: str | None = None


NO_QUESTION = "no question was logged: this judge needs one"
LONGEST_KEY = 200  # characters of the key of a request, and of the name of a dimension


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """A score on a dimension. ``value`` is None if the dimension was not scored; ``scale`` is like "1-5"."""

    dimension: str
    value: float | None
    scale: str
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict(StepRecord):
    """The result of one request to a judge: a usable verdict (status ok), or the reason why there is none."""

    groundedness: float | None = None
    quality: int | None = None
    label: Label | None = None
    reasoning: str | None = None
    claims: tuple[Claim, ...] | None = None
    scores: tuple[DimensionScore, ...] = ()

    @classmethod
    def of(
        cls,
        record: StepRecord,
        *,
        groundedness: float | None = None,
        quality: int | None = None,
        label: Label | None = None,
        reasoning: str | None = None,
        claims: tuple[Claim, ...] | None = None,
        scores: tuple[DimensionScore, ...] = (),
    ) -> "Verdict":
        """Return a verdict with the fields of ``record`` and these."""
        account: dict[str, Any] = {
            name: getattr(record, name) for name in StepRecord.__dataclass_fields__
        }
        return cls(
            **account,
            groundedness=groundedness,
            quality=quality,
            label=label,
            reasoning=reasoning,
            claims=claims,
            scores=scores,
        )

    def __post_init__(self) -> None:
        checked_groundedness(self.groundedness)
        checked_quality(self.quality)
        if self.status is not Status.OK and any(score.value is not None for score in self.scores):
            raise ValueError(f"a judgment that is {self.status} has no score")
        if self.status is not Status.OK and (self.groundedness, self.quality, self.label) != (
            None,
            None,
            None,
        ):
            raise ValueError(f"a judgment that is {self.status} has no verdict")


VERDICT_SCALE = "groundedness 0-1, quality 1-4"


@dataclass(frozen=True, slots=True)
class JudgeVersion:
    """A judge with all settings that affect the verdicts. Immutable; `judges.judge.fingerprint` identifies it.

    ``kind`` is the kind of judge (rag, lexical, replay, …). Each ``name`` has its own version
    numbers; the primary judge is chosen by name. ``params`` are temperature, maximum output, domain
    and so on.
    """

    name: str
    kind: str
    model: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    scale: str = VERDICT_SCALE


@dataclass(frozen=True, slots=True)
class ClaimMark:
    """A person's mark on a judge's claim or on a sentence of an answer.

    ``start`` and ``end`` are character offsets into the stored answer, None if the answer does not
    contain the quote. A mark on a claim has ``judgment_id`` and ``number``, the position of the
    claim in that judgment, from 1.
    """

    status: ClaimStatus
    text: str = ""
    start: int | None = None
    end: int | None = None
    judgment_id: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class GradeText:
    """How a text of a grade is imported and shown.

    ``names`` are other names in files, the most specific first. Pages show the text as ``label``. A
    text that ``edits`` the answer is kept with all blanks, has a separate field on pages, and is
    not in reviews of pairs. Every other text is one of the `NOTES`.
    """

    label: str
    names: tuple[str, ...]
    edits: bool = False


def grade_text(label: str, *names: str, edits: bool = False) -> Any:
    """A text in `Grade`: typed on pages, stored, shown, exported, imported, and in bundles, without more code."""
    return field(default=None, metadata={"text": GradeText(label, names, edits)})


@dataclass(frozen=True, slots=True)
class Grade:
    """A person's grade of an answer; every part can be missing.

    ``scores`` are on the dimensions of a rubric or the scales of a label schema, ``claim_marks`` on
    single statements. ``choices`` and ``texts`` have the values of a label schema by field;
    ``spans`` has the spans of the schema. If ``in_suite``, the corrected answer becomes a case of a
    suite. If ``label_implied``, the label follows from the decision; the person did not give it.
    ``modes`` are the names of failure modes.
    """

    label: Label | None = None
    groundedness: float | None = None
    quality: int | None = None
    spans: tuple[dict[str, Any], ...] | None = None
    note: str | None = grade_text("note", "notes", "comment", "comments", "explanation", "reason")
    corrected_answer: str | None = grade_text(
        "corrected answer", "correction", "edited_answer", edits=True
    )
    scores: tuple[DimensionScore, ...] = ()
    claim_marks: tuple[ClaimMark, ...] = ()
    why_differs: WhyDiffers | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    in_suite: bool = False
    label_implied: bool = False
    modes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked_groundedness(self.groundedness)
        checked_quality(self.quality)

    @property
    def by_dimension(self) -> dict[str, float]:
        """The scores that have a value, by dimension."""
        return {score.dimension: score.value for score in self.scores if score.value is not None}

    @property
    def notes(self) -> dict[str, str]:
        """The note and the other texts of the grade beside the note, by name."""
        return {name: text for name in NOTES if (text := getattr(self, name)) is not None}

    @property
    def labelled_texts(self) -> dict[str, str]:
        """The texts of the grade by label, without the note, which pages show without a label."""
        labels = {name: each.label for name, each in GRADE_TEXTS.items() if name != "note"}
        return {label: text for name, label in labels.items() if (text := getattr(self, name))}

    @property
    def graded(self) -> frozenset[str]:
        """The names of what a person grades. A text, a span or a mark belongs to the grade."""
        plain = {name for name in _GRADED if getattr(self, name) not in (None, ())}
        return frozenset(
            {*plain, *self.choices, *self.texts, *(score.dimension for score in self.scores)}
        )

    def updated(self, later: "Grade") -> "Grade":
        """Return this grade with all values of a later grade; other values are kept. Scores are sorted."""
        values: dict[str, Any] = {
            name: value for name in _REPLACED if (value := getattr(later, name)) not in (None, ())
        }
        scores = {score.dimension: score for score in (*self.scores, *later.scores)}
        values["scores"] = tuple(score for _, score in sorted(scores.items()))
        values |= {
            name: {**getattr(self, name), **getattr(later, name)} for name in ("choices", "texts")
        }
        values["label_implied"] = (later if later.label else self).label_implied
        return replace(self, **values, in_suite=self.in_suite or later.in_suite)

    def only_notes(self) -> "Grade":
        """Return a grade that has only the notes: all that a review of a pair can have."""
        notes: dict[str, Any] = {**self.notes}
        return Grade(**notes)


GRADE_TEXTS: Mapping[str, GradeText] = {
    each.name: each.metadata["text"] for each in fields(Grade) if each.metadata
}
"""The texts of a grade that need no own code, by the name of the field in `Grade`."""
_GRADED = ("label", "groundedness", "quality", "modes")
_REPLACED = (*_GRADED, *GRADE_TEXTS, "spans", "claim_marks", "why_differs")
NOTES = tuple(name for name, text in GRADE_TEXTS.items() if not text.edits)
"""The note and the texts of a grade that are typed beside the note, by name."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a file that cannot be stored: the line, the field, the reason, and the row."""

    line: int
    field: str | None
    reason: str
    row: Any
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with an interval. An undefined ``value`` is None, and ``reason`` says why.

    ``n`` is the number of responses (or rows), ``method`` the kind of interval, ``unit`` what was
    resampled, ``level`` the confidence level. ``left_out`` lists (reason, number of responses or
    rows that were not counted).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str | None = None
    unit: str | None = None
    reason: str | None = None
    level: float = 0.95
    left_out: tuple[tuple[str, int], ...] = ()


OVERALL = "overall"
"""The default aspect of a preference, and the name of the total score of a rubric."""
EXPECTED = "expected "
"""Prefix of the name under which the expected score of a dimension is stored. No dimension's name starts with it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question, before storing.

    A pair without answers is a question for which answers were sampled. ``response_a`` and
    ``response_b`` are external ids of logged responses with these answers. If ``sides`` has the ids
    of two stored responses, these are the answers, and no copies are stored.
    """

    source: str
    external_id: str
    question: str
    answer_a: str | None = None
    answer_b: str | None = None
    query_type: str = "unspecified"
    options: tuple[str, ...] | None = None
    reference: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    response_a: str | None = None
    response_b: str | None = None
    gold: Preference | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    sides: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if (self.answer_a is None) != (self.answer_b is None):
            raise ValueError(
                "a pair needs two answers, or none if only sampled answers were recorded"
            )


@dataclass(frozen=True, slots=True)
class PairItem:
    """A stored pair with both answers. A forgotten or never recorded text is None.

    ``passages`` are the passages of both answers, None if different or unknown. ``turns`` are the
    earlier turns of the dialogue that both answers continue.
    """

    id: int
    source: str
    external_id: str
    query_type: str
    question: str | None
    options: tuple[str, ...] | None
    reference: str | None
    answer_a: str | None
    answer_b: str | None
    model_a: str | None
    model_b: str | None
    response_a_id: int | None
    response_b_id: int | None
    gold: Preference | None
    passages: tuple[str, ...] | None = None
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class AspectPreference:
    """A person's preference on one aspect: A, B or tie, a grade on a scale (above 0: B is better), or both."""

    preference: Preference | None = None
    value: float | None = None
    scale: str | None = None

    def __post_init__(self) -> None:
        if self.preference is None and self.value is None:
            raise ValueError("no preference: give A, B, tie or a grade")
        if (self.value is None) != (self.scale is None):
            raise ValueError("a grade needs its scale")


@dataclass(frozen=True, slots=True)
class GivenPreference:
    """A person's preferences from a file, by aspect; ``shown`` is the order of the answers, ``grade`` has the notes."""

    annotator: str
    aspects: Mapping[str, AspectPreference]
    shown: Shown | None = None
    grade: Grade = field(default_factory=Grade)
    at: datetime | None = None


RECORDED = "replay"
"""The kind of imported judges."""
PAIRWISE, SELF_REFERENCE = "pairwise", "ssr"
"""The kinds of judges that compare pairs; the second kind first samples answers."""
JURY = "jury"
"""The kind of juries: several judges' combined judgment."""
REPEATS = "repeats"
"""The kind of a judge's combined repeats."""
AUDIT = "audit"
"""The kind of supreme judges, which review judgments."""
