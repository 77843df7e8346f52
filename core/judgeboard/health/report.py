"""The health report of a judge version: every check with its figure, for page, command and JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection

from judgeboard.health.calls import cost, position, self_consistency, unusable
from judgeboard.health.family import family, self_enhancement, weaker
from judgeboard.health.models import ModelTable, model_table
from judgeboard.health.record import (
    Check,
    JudgeRecord,
    LevelCounts,
    State,
    TitledCheck,
    effect_words,
    read_record,
)
from judgeboard.health.scores import (
    collapse,
    least_even,
    user_feedback,
    verbosity,
    verbosity_at_equal_grades,
)
from judgeboard.measure.notes import Note, note
from judgeboard.measure.samples import scored_version
from judgeboard.registry.methods import load_object, with_methods
from judgeboard.settings.model import load_settings
from judgeboard.stats.estimates import percent_words, with_n
from judgeboard.store.engine import Readable
from judgeboard.store.health import not_reached, versions_in_use
from judgeboard.store.responses import AnswerStart, answer_starts
from judgeboard.store.runs import AskCounts
from judgeboard.store.settings import primary_judge
from judgeboard.store.tables import StoredVersion

_BEFORE_METHODS: Mapping[str, Callable[[JudgeRecord], Check]] = {
    "family": family,
    "self_enhancement": self_enhancement,
    "weaker": weaker,
    "collapse": collapse,
}
_AFTER_METHODS: Mapping[str, Callable[[JudgeRecord], Check]] = {
    "verbosity": verbosity,
    "verbosity_at_equal_grades": verbosity_at_equal_grades,
    "position": position,
    "self_consistency": self_consistency,
    "user_feedback": user_feedback,
    "unusable": unusable,
    "cost": cost,
}


# The checks of methods, each with the place that shows how to make the data of the check.
_OF_METHODS = with_methods(
    "check",
    dict[str, tuple[str | None, TitledCheck]](),
    lambda method: (
        {}
        if method.checks is None
        else {
            name: (method.checks_maker, check) for name, check in load_object(method.checks).items()
        }
    ),
    reserved=(*_BEFORE_METHODS, *_AFTER_METHODS),
)
CHECKS: Mapping[str, Callable[[JudgeRecord], Check]] = MappingProxyType(
    {
        **_BEFORE_METHODS,
        **{name: check.measure for name, (_, check) in _OF_METHODS.items()},
        **_AFTER_METHODS,
    }
)
"""Checks by name, in the order of command and page. To add a check, write its function and add a line above."""

EMPTY = (
    "This page checks a judge for typical faults, such as position bias, or one score for nearly all answers.",
    "No judgments yet. To judge without a model: `judgeboard judge --judge lexical`",
)
MOST_SHOWN = 20  # answers per check in the list of answers that show a fault

# Titles that differ from the name of the check.
_TITLES = {
    **{name: check.title for name, (_, check) in _OF_METHODS.items()},
    "family": "Family of judge and generator",
    "self_enhancement": "Self-enhancement",
    "weaker": "Weaker than the generator",
    "collapse": "Score collapse",
    "verbosity": "Scores and length",
    "verbosity_at_equal_grades": "Preference for longer or shorter answers",
    "position": "Position bias in pairs",
    "self_consistency": "Self-consistency",
    "unusable": "Unusable replies",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport(AskCounts):
    """Every check of one judge version, in the order of ``CHECKS``.

    The counts cover the version's calls in all methods. ``not_reached`` counts calls that
    unfinished runs of the version have yet to make. ``warnings`` counts the checks that warn.
    """

    judge: str
    fingerprint: str
    model: str | None
    not_reached: int
    warnings: int
    checks: tuple[Check, ...]

    def in_state(self, state: State) -> tuple[Check, ...]:
        """Return the checks in a state, without checks that do not apply."""
        return tuple(check for check in self.checks if check.state is state and check.applies)

    @property
    def idle(self) -> tuple[Check, ...]:
        """The checks that do not apply to a judge of this kind."""
        return tuple(check for check in self.checks if not check.applies)


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The report on one judge version, its data, and ``answers`` that show a fault, each with the failed check."""

    report: HealthReport
    record: JudgeRecord
    answers: tuple[tuple[Check, AnswerStart], ...] = ()

    @property
    def levels(self) -> Mapping[str, LevelCounts]:
        """Counts of each level of each score in the log, the score of the collapse check first."""
        levels, first = self.record.levels, least_even(self.record)
        return levels if first is None else {first: levels[first], **levels}


def measure_health(
    store: Readable, judge_version: int | str | None = None, *, families: Path | None = None
) -> HealthReport:
    """Check a judge version (default: the primary judge) for faults, from stored judgments only; makes no model calls.

    ``families`` is a table of models (TOML, as ``models.toml``; default: JUDGEBOARD_FAMILIES).
    """
    with store.reading() as connection:
        version = scored_version(connection, judge_version)
        record = read_record(connection, version, model_table(families or load_settings().families))
        return report_on(record, not_reached(connection, version.id))


def report_on(record: JudgeRecord, remaining: int = 0) -> HealthReport:
    """Return the report on the data of a judge version; ``remaining`` calls are yet to be made."""
    checks = tuple(check(record) for check in CHECKS.values())
    return HealthReport(
        **AskCounts.of(record.asked).by_status,
        judge=record.version.title,
        fingerprint=record.version.fingerprint,
        model=record.version.model,
        not_reached=remaining,
        warnings=sum(check.state is State.WARNING for check in checks),
        checks=checks,
    )


def judges_in_use(connection: Connection) -> tuple[StoredVersion, ...]:
    """Return the versions with judgments: the newest version of the primary judge, then all others, newest first."""
    primary = primary_judge(connection)
    newest = sorted(versions_in_use(connection), key=lambda version: -version.id)
    first = next((version for version in newest if version.name == primary), None)
    return tuple(sorted(newest, key=lambda version: version is not first))


def health_page(
    connection: Connection,
    version: StoredVersion,
    read: Callable[[Connection, StoredVersion, ModelTable], JudgeRecord] = read_record,
) -> HealthPage:
    """Return the page of a version; ``read`` may return the data of an earlier page of the same database."""
    record = read(connection, version, model_table(load_settings().families))
    report = report_on(record, not_reached(connection, version.id))
    pairs = [
        (check, id_)
        for check in report.in_state(State.WARNING)
        for id_ in check.response_ids[:MOST_SHOWN]
    ]
    starts = answer_starts(connection, {id_ for _, id_ in pairs})
    return HealthPage(
        report, record, tuple((check, starts[id_]) for check, id_ in pairs if id_ in starts)
    )


def by_maker(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Return the checks of methods with a command, by the place that shows how to make the data of the check."""
    of_makers: dict[str, list[Check]] = {}
    for check in checks:
        maker, _ = _OF_METHODS.get(check.name, (None, None))
        if maker is not None and check.command:
            of_makers.setdefault(maker, []).append(check)
    return of_makers


def check_title(check: Check) -> str:
    """Return the title of a check, for example "Weaker than the generator"."""
    if check.name == "verbosity_at_equal_grades" and check.state is State.WARNING:
        return f"Preference for {'longer' if (check.statistic.value or 0.0) > 0 else 'shorter'} answers"
    return _TITLES.get(check.name, check.name.replace("_", " ").capitalize())


def check_words(check: Check) -> str:
    """Return the title of a check within a sentence, for example "score collapse"."""
    title = check_title(check)
    return f"{title[0].lower()}{title[1:]}"


def figure_words(check: Check) -> str | None:
    """Return for example "58 % [54, 61], n = 400"; None if nothing is measured."""
    estimate = check.statistic
    if estimate.value is None:
        return None
    return with_n(percent_words(estimate) if check.share else effect_words(estimate), estimate.n)


def health_notes(report: HealthReport) -> tuple[Note, ...]:
    """Return which checks found faults; checks that do not apply do not count."""
    warnings = report.in_state(State.WARNING)
    count = sum(
        len(report.in_state(each)) for each in (State.WARNING, State.OK, State.NOT_CONCLUSIVE)
    )
    if not count:
        return (note("health_unknown", judge=report.judge, calls=report.asked),)
    scope = note("health_scope")
    if not warnings:
        return note("no_fault", judge=report.judge, checks=count), scope
    faults = [check_words(each) for each in warnings]
    return note("faults", judge=report.judge, checks=count, faults=faults), scope
