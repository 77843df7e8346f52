"""The filter of answers that pages, commands, jobs and exports share, and its description."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any, Literal, NamedTuple, get_args

from judgeboard.domain import TEXT_FILTERS, FlagState, ResponseKind, Status, with_fields
from judgeboard.errors import BadInput, check_known
from judgeboard.text import EPOCH, counted, day_words, number_words, unstorable, utc_day

USER_SIDES = ("down", "middle", "up", "none")
JUDGE_SIDES = ("low", "high", "none")
ScoreName = Literal["groundedness", "quality"]
LevelMeasure = Literal["groundedness", "quality", "low_share"]
MeasureName = Literal[LevelMeasure, "flagged_share", "failed_check_share"]
"""The measures of trends. Alerts watch the level of a judge's measures."""

METADATA = "metadata."  # prefix of the name of a metadata field, in --where and in URLs
METADATA_FIELD = f"{METADATA}KEY"
OWN_LABEL = "own_label"

# Every field of --where with the help. If a field is repeated, any of the values matches.
WHERE_FIELDS: dict[str, str] = {
    **{each.name: each.help for each in TEXT_FILTERS.values()},
    "rule": "rule that flagged the answer (low_groundedness, feedback_gap, ...)",
    "state": "state of the answer's flag: open, confirmed, dismissed, superseded",
    "status": "status of the judge's latest judgment: ok, unparsable, refused, error",
    "judge": "name of a judge that scored the answer",
    "from": "first day (UTC), for example 2026-03-01",
    "to": "last day (UTC)",
    "min_score": "lowest groundedness, 0 to 1",
    "max_score": "highest groundedness, 0 to 1",
    "min_quality": "lowest quality, 1 to 4",
    "max_quality": "highest quality, 1 to 4",
    "text": "text in question, answer or id",
    "failure_mode": "failure mode that a person tagged the answer with",
    OWN_LABEL: "value that a person gave to a field of a label schema, for example "
    "own_label=verdict=fix; own_label=tone>=3 or own_label=tone<=3 compares numbers; "
    "own_label=verdict matches any value",
    "graded": "whether a person graded the answer: yes or no",
    "user": "feedback of the user: down, middle, up, none",
    "judge_side": "score of the judge: low (bad by the thresholds of the flag rules), high, or none (no "
    "usable verdict)",
    "unscored": "score that the judge's verdict lacks: groundedness or quality",
    "time": "use the value none to select answers without a time",
    METADATA_FIELD: "value of a metadata field, for example metadata.tenant=acme or metadata.user.plan=free; "
    "metadata.tenant=none selects answers without the field; metadata.tokens>=100 or "
    "metadata.tokens<=100 compares numbers",
}
MANY_FIELDS = {
    **{each.name: each.plural for each in TEXT_FILTERS.values()},
    "rule": "rules",
    "state": "states",
    "status": "statuses",
    "failure_mode": "failure_modes",
    OWN_LABEL: "own_labels",
}
PARTS = {column: each for column, each in TEXT_FILTERS.items() if each.words}
"""The texts that divide the log into parts. Pages offer the values as choices."""
SCORE_FIELDS = {"min_score": float, "max_score": float, "min_quality": int, "max_quality": int}
DAY_FIELDS = {"from": "day_from", "to": "day_to"}

MISSING = "none"
_STEP = r'"(?:[^"\\]|\\.)+"|[^".=<>]+'
_STEPS = re.compile(_STEP)
_METADATA_PATH = re.compile(rf"(?:{_STEP})(?:\.(?:{_STEP}))*")
_METADATA_CONDITION = re.compile(rf"({_METADATA_PATH.pattern})(>=|<=|=)(.+)", re.DOTALL)
_OWN_LABEL_CONDITION = re.compile(r"([^=<>]{1,60})(?:(>=|<=|=)(.+))?", re.DOTALL)
_LONGEST_METADATA = 200  # characters of a path, and of a value that is compared
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Facets:
    """Values that occur in a list, sorted: of the `PARTS` by name, names of judges, and rules of flags."""

    parts: Mapping[str, tuple[str, ...]]
    judges: tuple[str, ...]
    rules: tuple[str, ...] = ()


class FieldCondition(NamedTuple):
    """A condition on one field of metadata or of a label schema.

    ``values`` are the allowed values, or the end of a range. Without values, the field is missing;
    without an operator, the field has any value.
    """

    field: str
    operator: str
    text: str
    values: tuple[Scalar, ...]


def metadata_path(field: str) -> tuple[str | int, ...]:
    """Return the keys to a metadata field: ``user.plan`` is ("user", "plan"), ``tags.0`` ("tags", 0).

    A key needs double quotes if it has a dot, or if it is a number but not a position in a list.
    Raises BadInput if the name is not valid.
    """
    if not _METADATA_PATH.fullmatch(field) or len(field) > _LONGEST_METADATA or unstorable(field):
        raise BadInput(
            f"{field[:60]!r} is not a metadata field: separate keys with dots, for example user.plan. "
            'Write a key that contains a dot in double quotes, for example "llm.model".'
        )
    steps = _STEPS.findall(field)
    try:
        keys = [
            json.loads(step) if step[0] == '"' else int(step) if _POSITION.fullmatch(step) else step
            for step in steps
        ]
    except ValueError:
        raise BadInput(
            f"{field[:60]!r} is not a metadata field: write a key in double quotes as in JSON"
        ) from None
    if unstorable("".join(map(str, keys))):
        raise BadInput(f"{field[:60]!r} is not a metadata field: a database cannot store this text")
    return tuple(keys)


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path in objects and lists, None if there is none."""
    for key in path:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif isinstance(value, dict):
            value = value.get(str(key))
        else:
            return None
    return value


_POSITION = re.compile(r"\d{1,9}", re.ASCII)


def metadata_field(path: Iterable[str | int]) -> str:
    """Return the name of the field at a path; `metadata_path` is the inverse."""
    return ".".join(
        json.dumps(key, ensure_ascii=False)
        if isinstance(key, str)
        and (not re.fullmatch(r'[^".=<>]+', key) or _POSITION.fullmatch(key))
        else str(key)
        for key in path
    )


def metadata_condition(condition: str) -> FieldCondition:
    """Return the condition in a text like ``tenant=acme``, ``tokens>=100`` or ``tenant=none``, or raise BadInput.

    ``3`` matches the number and the text, ``true`` the boolean and the text, ``"3"`` only the text.
    """
    parts = _METADATA_CONDITION.fullmatch(condition)
    if parts is None:
        metadata_path(re.split("[<>]?=", condition)[0])
        raise BadInput(f"{METADATA}{condition}: write {METADATA}KEY=VALUE")
    field, operator, text = parts.groups()
    metadata_path(field)
    if len(text) > _LONGEST_METADATA:
        raise BadInput(f"{METADATA}{field}: a value has at most {_LONGEST_METADATA} characters")
    if operator != "=":
        return FieldCondition(field, operator, text, (_number(f"{METADATA}{condition}", text),))
    if text == MISSING:
        return FieldCondition(field, operator, text, ())
    value = _json_value(text)
    if isinstance(value, str):
        if unstorable(value):
            raise BadInput(f"nothing stored matches this filter: it contains a {unstorable(value)}")
        return FieldCondition(field, operator, text, (value,))
    return FieldCondition(field, operator, text, (text,) if value is None else (text, value))


def own_label_condition(condition: str) -> FieldCondition:
    """Return the condition in a text like ``verdict=fix``, ``tone>=3`` or ``verdict`` (any value), or raise BadInput.

    ``yes`` and ``no`` match a yes/no field too, and ``3`` matches the number and the text.
    """
    parts = _OWN_LABEL_CONDITION.fullmatch(condition)
    if parts is None:
        raise BadInput(
            f"{OWN_LABEL}={condition}: write {OWN_LABEL}=FIELD=VALUE or {OWN_LABEL}=FIELD"
        )
    field, operator, text = (part.strip() for part in parts.groups(""))
    if not operator:
        return FieldCondition(field, "", "", ())
    if operator != "=":
        return FieldCondition(field, operator, text, (_number(f"{OWN_LABEL}={condition}", text),))
    more = {"yes": True, "no": False}.get(text.casefold(), _json_value(text))
    return FieldCondition(
        field, operator, text, (text,) if more is None or isinstance(more, str) else (text, more)
    )


def _number(condition: str, text: str) -> float:
    number = _json_value(text)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadInput(f"{condition}: not a number")
    return number


def _json_value(text: str) -> Scalar | None:
    """Return the value of a JSON text if the value is a text, number or boolean, otherwise None."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= 2**63:
        return None
    return value if isinstance(value, str | int | float) else None


@dataclass(frozen=True, slots=True)
@with_fields((each.plural for each in TEXT_FILTERS.values()), tuple[str, ...], ())
class RowFilter:
    """A filter of answers. All fields must match; a tuple matches by any value, an empty tuple or None always matches.

    Scores come from the current verdict of ``judge`` or ``judge_version`` (default: the primary
    judge); in the queue, scores come from the flag's own copy. Ranges include both ends. Days count
    from 1970-01-01 in UTC. ``response_ids`` are internal ids: None matches everything, an empty
    tuple nothing. Without ``kinds`` the filter selects logged answers. ``metadata`` has texts for
    `metadata_condition`; of several equalities on one field, one must match. ``own_labels`` has
    texts for `own_label_condition`, which combine in the same way; each condition on another field
    may be met by another person. Raises BadInput if a value is invalid for its field.
    """

    rules: tuple[str, ...] = ()
    query_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    judge: str | None = None
    judge_version: int | None = None
    min_score: float | None = None
    max_score: float | None = None
    min_quality: int | None = None
    max_quality: int | None = None
    day_from: int | None = None
    day_to: int | None = None
    text: str | None = None
    ids: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    graded: bool | None = None
    user: str | None = None
    judge_side: str | None = None
    unscored: ScoreName | None = None
    no_time: bool = False
    response_ids: tuple[int, ...] | None = None
    kinds: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    failure_modes: tuple[str, ...] = ()
    own_labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts = (*MANY_FIELDS.values(), "metadata", "kinds")
        for name in texts:
            object.__setattr__(
                self, name, tuple(sorted({str(value) for value in getattr(self, name)}))
            )
        if self.response_ids is not None:
            object.__setattr__(self, "response_ids", tuple(sorted(set(self.response_ids))))
        object.__setattr__(self, "text", (self.text or "").strip() or None)
        for value in (
            self.judge,
            self.text,
            *(text for name in texts for text in getattr(self, name)),
        ):
            if value is not None and (reason := unstorable(value)):
                raise BadInput(f"nothing stored matches this filter: it contains a {reason}")
        for condition in self.metadata:
            metadata_condition(condition)
        for condition in self.own_labels:
            own_label_condition(condition)
        for status in self.statuses:
            check_known("status", status, tuple(Status))
        for state in self.states:
            check_known("state", state, tuple(FlagState))
        for kind in self.kinds:
            check_known("kind", kind, tuple(ResponseKind))
        check_known("user", self.user, USER_SIDES)
        check_known("judge_side", self.judge_side, JUDGE_SIDES)
        check_known("unscored", self.unscored, get_args(ScoreName))
        _check_range("score", self.min_score, self.max_score, 0, 1)
        _check_range("quality", self.min_quality, self.max_quality, 1, 4)
        if self.day_from is not None and self.day_to is not None and self.day_from > self.day_to:
            raise BadInput(
                f"from {day_words(self.day_from)} to {day_words(self.day_to)} contains no day"
            )

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """The values of the `TEXT_FILTERS` that are set, by column of the log."""
        return {
            column: values
            for column, each in TEXT_FILTERS.items()
            if (values := getattr(self, each.plural))
        }

    def without(self, *names: str) -> "RowFilter":
        """Return the filter without these fields."""
        values = {name: value for name, value in self.as_dict().items() if name not in names}
        return from_dict(values)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are set as JSON values; equal filters give equal dicts."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
            and (value is not False or name == "graded")
            and (value != () or name == "response_ids")
        }


def from_dict(stored_values: dict[str, Any]) -> RowFilter:
    """Return the filter that `RowFilter.as_dict` wrote; raise BadInput if a field or a value is unknown."""
    field_names = {field.name for field in fields(RowFilter)}
    unknown = sorted(set(stored_values) - field_names)
    if unknown:
        raise BadInput(f"this filter has an unknown field: {unknown[0]}")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored_values.items()
    }
    return RowFilter(**values)


def parse_where(conditions: Sequence[str]) -> RowFilter:
    """Return the filter for ``field=value`` texts (a repeated field matches any value), or raise BadInput."""
    many: dict[str, Any] = {}
    single: dict[str, Any] = {}
    for condition in conditions:
        field, equals, value = condition.partition("=")
        field, value = field.strip(), value.strip()
        if equals and value and field.startswith(METADATA):
            many["metadata"] = (
                *many.get("metadata", ()),
                f"{field.removeprefix(METADATA)}={value}",
            )
            continue
        if not equals or field not in WHERE_FIELDS:
            raise BadInput(
                f"--where {condition}: write FIELD=VALUE with one of the fields {', '.join(WHERE_FIELDS)}"
            )
        if not value:
            raise BadInput(f"--where {field}= needs a value")
        if field in MANY_FIELDS:
            many[MANY_FIELDS[field]] = (*many.get(MANY_FIELDS[field], ()), value)
            continue
        # The field of `RowFilter` and its value.
        name = field
        parsed: Any = value
        if field in DAY_FIELDS:
            try:
                day = date.fromisoformat(value)
            except ValueError:
                raise BadInput(
                    f"--where {field}={value}: not a day; write it as 2026-03-01"
                ) from None
            name = DAY_FIELDS[field]
            parsed = utc_day(datetime(day.year, day.month, day.day, tzinfo=UTC))
        elif field == "time":
            check_known("time", value, ("none",))
            name, parsed = "no_time", True
        elif field == "graded":
            check_known("graded", value, ("yes", "no"))
            parsed = value == "yes"
        elif field in SCORE_FIELDS:
            try:
                parsed = SCORE_FIELDS[field](value)
            except ValueError:
                raise BadInput(f"--where {field}={value}: not a number") from None
        if name in single and single[name] != parsed:
            raise BadInput(f"--where {field} can be given once")
        single[name] = parsed
    return RowFilter(**many, **single)


def where_options(where: RowFilter) -> list[str]:
    """Return the options ``--where`` of a command for a filter."""
    return [word for condition in conditions_of(where) for word in ("--where", condition)]


def conditions_of(where: RowFilter) -> list[str]:
    """Return the filter as ``field=value`` texts for `parse_where`, without fields that texts cannot express."""
    texts = [
        f"{field}={value}" for field, name in MANY_FIELDS.items() for value in getattr(where, name)
    ]
    texts += [f"{METADATA}{condition}" for condition in where.metadata]
    for field, name in DAY_FIELDS.items():
        if (day := getattr(where, name)) is not None:
            texts.append(f"{field}={(EPOCH + timedelta(days=day)).date().isoformat()}")
    for field in ("judge", *SCORE_FIELDS, "text", "user", "judge_side", "unscored"):
        if (value := getattr(where, field)) is not None:
            texts.append(f"{field}={value}")
    if where.graded is not None:
        texts.append(f"graded={'yes' if where.graded else 'no'}")
    return [*texts, "time=none"] if where.no_time else texts


def _check_range(name: str, low: float | None, high: float | None, least: int, most: int) -> None:
    for field, value in ((f"min_{name}", low), (f"max_{name}", high)):
        if value is not None and not least <= value <= most:
            raise BadInput(
                f"{field} must be a number from {least} to {most}, not {number_words(value)}"
            )
    if low is not None and high is not None and low > high:
        raise BadInput(f"no {name} is both at least {low:g} and at most {high:g}")


def filter_sentence(where: RowFilter) -> str:
    """Return the sentence that tells which rows figures are about."""
    return f"Filter: {describe(where)}."


def describe(where: RowFilter, titles: Mapping[int, str] | None = None) -> str:
    """Return a filter in words ("all answers" for an empty filter); ``titles`` are judge versions' titles by id."""
    alternatives = (
        where.query_types,
        tuple(rule.replace("_", " ") for rule in where.rules),
        tuple(f"flag {state}" for state in where.states),
        *(
            tuple(f"{each.words} {value}" for value in getattr(where, each.plural))
            for column, each in PARTS.items()
            if column != "query_type"
        ),
        tuple(f"latest judgment {status}" for status in where.statuses),
        tuple(f"kind {kind.replace('_', ' ')}" for kind in where.kinds),
        tuple(f"failure mode {mode}" for mode in where.failure_modes),
    )
    words = [" or ".join(values) for values in alternatives if values]
    version = None
    if where.judge_version is not None:
        version = (titles or {}).get(where.judge_version, f"judge version {where.judge_version}")
    # A missing verdict is described with the judge; a separate "judged by" would contradict this.
    whose = version or where.judge or "the primary judge"
    judge_words = []
    if where.judge_side == "none":
        judge_words.append(f"without a usable verdict of {whose}")
    if where.unscored is not None:
        judge_words.append(f"judged by {whose} without a {where.unscored}")
    words += judge_words or [f"judged by {name}" for name in (where.judge, version) if name]
    for name, low, high in (
        ("score", where.min_score, where.max_score),
        ("quality", where.min_quality, where.max_quality),
    ):
        ends = (None if end is None else f"{end:g}" for end in (low, high))
        words += [f"{name} {limits}" for limits in _range_words(*ends)]
    days = (None if day is None else day_words(day) for day in (where.day_from, where.day_to))
    words += ["without a time"] if where.no_time else _range_words(*days)
    words += _field_words(metadata_conditions(where))
    words += _field_words(own_label_conditions(where))
    if where.judge_side not in {None, "none"}:
        words.append(f"judge {where.judge_side}")
    if where.user is not None:
        words.append(_USER_WORDS[where.user])
    if where.graded is not None:
        words.append("graded" if where.graded else "not graded")
    if where.text is not None:
        words.append(f"“{where.text}”")
    if where.ids:
        words.append(f"id {where.ids[0]}" if len(where.ids) == 1 else f"{len(where.ids)} ids")
    if where.response_ids is not None:
        words.append(counted(len(where.response_ids), "chosen answer"))
    return ", ".join(words) or "all answers"


def metadata_conditions(where: RowFilter) -> list[list[FieldCondition]]:
    """Return groups of conditions on metadata: in every group, at least one condition must match."""
    return _grouped(metadata_condition(each) for each in where.metadata)


def own_label_conditions(where: RowFilter) -> list[list[FieldCondition]]:
    """Return groups of conditions on own labels: in every group, at least one condition must match."""
    return _grouped(own_label_condition(each) for each in where.own_labels)


def _grouped(conditions: Iterable[FieldCondition]) -> list[list[FieldCondition]]:
    ordered = sorted(conditions, key=lambda each: (each.field, each.operator))
    groups = groupby(ordered, key=lambda each: each.field if each.operator == "=" else each)
    return [list(same) for _, same in groups]


_COMPARED = {"=": "", ">=": "at least ", "<=": "at most "}


def _field_words(groups: Iterable[Iterable[FieldCondition]]) -> list[str]:
    return [" or ".join(map(_condition_words, same)) for same in groups]


def _condition_words(condition: FieldCondition) -> str:
    field, operator, text, values = condition
    if not values:
        return f"without {field}" if operator else f"with {field}"
    return f"{field} {_COMPARED[operator]}{text}"


_USER_WORDS = {
    "down": "user thumbs down",
    "middle": "user in between",
    "up": "user thumbs up",
    "none": "no user feedback",
}


def _range_words(low: str | None, high: str | None) -> list[str]:
    if low is None or high is None:
        return [] if low == high else [f"up to {high}" if low is None else f"from {low}"]
    return [low if low == high else f"{low} to {high}"]
