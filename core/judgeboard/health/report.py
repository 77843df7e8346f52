"""The health report of a judge version: every check with its figure, for page, command and JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import Connection

from judgeboard.domain import Status
from judgeboard.health.collapse import collapse, least_even
from judgeboard.health.commands import cost, make_and_judge, unusable
from judgeboard.health.control_answers import KNOWN_BAD, NAMES, NEUTRAL, known_bad, neutral
from judgeboard.health.family import family, self_enhancement, weaker
from judgeboard.health.models import model_table
from judgeboard.health.position import position
from judgeboard.health.reading import KeptRecords, read_record
from judgeboard.health.record import Check, JudgeRecord, LevelCounts, State, effect_words
from judgeboard.health.self_consistency import self_consistency
from judgeboard.health.user_feedback import user_feedback
from judgeboard.health.verbosity import verbosity, verbosity_at_equal_grades
from judgeboard.methods.control_answers import CONTROL_KINDS
from judgeboard.settings import load_settings
from judgeboard.stats.estimates import percent_words
from judgeboard.store.engine import Readable
from judgeboard.store.health import not_reached, versions_in_use
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.responses import AnswerStart, answer_starts
from judgeboard.store.settings import primary_judge

CHECKS: Mapping[str, Callable[[JudgeRecord], Check]] = MappingProxyType(
    {
        "family": family,
        "self_enhancement": self_enhancement,
        "weaker": weaker,
        "collapse": collapse,
        **{kind.name: partial(known_bad, kind=kind) for kind in KNOWN_BAD},
        **{NAMES.get(kind.name, kind.name): partial(neutral, kind=kind) for kind in NEUTRAL},
        "verbosity": verbosity,
        "verbosity_at_equal_grades": verbosity_at_equal_grades,
        "position": position,
        "self_consistency": self_consistency,
        "user_feedback": user_feedback,
        "unusable": unusable,
        "cost": cost,
    }
)
"""Name to check, in the order in which they are shown."""


EMPTY = ("Nothing has judged yet.", "`judgeboard judge --judge lexical` needs no model.")
MOST_SHOWN = 20
"""Answers of one check in the list of those that show a fault."""


_TITLES = {
    "family": "Family of judge and generator",
    "self_enhancement": "Self-enhancement",
    "weaker": "Weaker than the generator",
    "collapse": "Score collapse",
    "passages_removed": "Control: passages removed",
    "other_answer": "Control: another question's answer",
    "truncated": "Control: answer broken off",
    "numbers_changed": "Control: numbers changed",
    "passage_order": "Passage order",
    "confidence": "Confidence of tone",
    "verbosity_at_equal_grades": "Verbosity at equal grades",
    "position": "Position in pairs",
    "self_consistency": "Self-consistency",
    "user_feedback": "User feedback",
    "unusable": "Unusable verdicts",
}

_KINDS = {NAMES.get(kind, kind): kind for kind in CONTROL_KINDS}
"""Check -> the kind of control that it is made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """Every check of one judge version, in the order of ``CHECKS``.

    ``asked`` counts its requests of any method, of which ``ok`` to ``error`` ended so; ``not_reached`` is what its
    unfinished runs have still to ask. ``warnings`` counts the checks that warn.
    """

    judge: str
    fingerprint: str
    model: str | None
    asked: int
    ok: int
    unparsable: int
    refused: int
    error: int
    not_reached: int
    warnings: int
    checks: tuple[Check, ...]

    def in_state(self, state: State) -> tuple[Check, ...]:
        """Return the checks that came to this; those that do not apply came to nothing."""
        return tuple(check for check in self.checks if check.state is state and check.applies)

    @property
    def idle(self) -> tuple[Check, ...]:
        """The checks of faults that a judge of this kind cannot have."""
        return tuple(check for check in self.checks if not check.applies)


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer that shows a fault, and the check that it shows."""

    check: Check
    answer: AnswerStart


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The report on one judge version, what it was made of, and ``answers`` that show what is warned of."""

    report: HealthReport
    record: JudgeRecord
    answers: tuple[ShownAnswer, ...] = ()

    @property
    def levels(self) -> Mapping[str, LevelCounts]:
        """How often each level of each score was given in the log, first the score that the collapse check is of."""
        levels, first = self.record.levels, least_even(self.record)
        return levels if first is None else {first: levels[first], **levels}

    def controls_command(self, checks: Sequence[Check]) -> str:
        """Return the commands that make the controls of these checks and ask about all of them."""
        return make_and_judge(self.record, *(_KINDS[check.name] for check in checks))


def measure_health(store: Readable, judge_version: int | str, *, families: Path | None = None) -> HealthReport:
    """Look for a judge's own faults in what is stored; no model is called.

    Args:
        store: Where its verdicts are.
        judge_version: Name (its newest version), "name v3", fingerprint or id.
        families: The user's own table of models (TOML, as ``models.toml``); JUDGEBOARD_FAMILIES by default.

    Raises:
        NotFound: There is no such judge version.
        BadInput: The table of models cannot be used.
    """
    with store.reading() as connection:
        version = get_version(connection, judge_version)
        record = read_record(connection, version, model_table(families or load_settings().families))
        return report_on(record, not_reached(connection, version.id))


def report_on(record: JudgeRecord, left: int = 0) -> HealthReport:
    """Return every check of what is known of a judge version, whose runs have ``left`` requests still to make."""
    checks = tuple(check(record) for check in CHECKS.values())
    by_status = {status.value: record.asked.get(status.value, 0) for status in Status}
    return HealthReport(
        judge=record.version.title,
        fingerprint=record.version.fingerprint,
        model=record.version.model,
        asked=sum(record.asked.values()),
        **by_status,
        not_reached=left,
        warnings=sum(check.state is State.WARNING for check in checks),
        checks=checks,
    )


def judges_in_use(connection: Connection) -> tuple[StoredVersion, ...]:
    """Return the judge versions with anything to check: the primary judge's newest first, then the newest."""
    primary = primary_judge(connection)
    newest = sorted(versions_in_use(connection), key=lambda version: -version.id)
    first = next((version for version in newest if version.name == primary), None)
    return tuple(newest) if first is None else (first, *(version for version in newest if version is not first))


def health_page(connection: Connection, version: StoredVersion, records: KeptRecords | None = None) -> HealthPage:
    """Return the page of a version; ``records`` keeps what was read for earlier pages of the same database."""
    models = model_table(load_settings().families)
    read = read_record if records is None else records.read
    record = read(connection, version, models)
    report = report_on(record, not_reached(connection, version.id))
    picked = [(check, id_) for check in report.in_state(State.WARNING) for id_ in check.response_ids[:MOST_SHOWN]]
    known = answer_starts(connection, {id_ for _, id_ in picked})
    return HealthPage(report, record, tuple(ShownAnswer(check, known[id_]) for check, id_ in picked if id_ in known))


def of_controls(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return those of the checks that controls are made for."""
    return tuple(check for check in checks if check.name in _KINDS)


def check_title(check: Check) -> str:
    """Return what a check is called on a page: "Weaker than the generator"."""
    return _TITLES.get(check.name, check.name.replace("_", " ").capitalize())


def figure_words(check: Check) -> str | None:
    """Return "58 % [54, 61], n 400" or None where nothing is measured; small numbers with three digits."""
    estimate = check.statistic
    if estimate.value is None:
        return None
    words = percent_words(estimate) if check.share else effect_words(estimate)
    return f"{words}, n {estimate.n:,}"


def health_sentence(report: HealthReport) -> str:
    """Return how many of the checks that a judge of this kind can fail warn, and how many are not measured."""
    warnings = report.in_state(State.WARNING)
    warned, sound, missing = len(warnings), len(report.in_state(State.OK)), len(report.in_state(State.NOT_MEASURED))
    idle = len(report.idle)
    open_ = f"; {idle} {'does' if idle == 1 else 'do'} not apply" if idle else ""
    open_ += f"; {missing} {'is' if missing == 1 else 'are'} not measured yet" if missing else ""
    if not warned:
        found = f"{report.judge}: none of {sound} checks warns{open_}."
        return found if sound else f"{report.judge}: nothing is measured yet."
    names = ", ".join(check_title(check)[0].lower() + check_title(check)[1:] for check in warnings)
    verb = "warns" if warned == 1 else "warn"
    return f"{report.judge}: {warned} of {warned + sound} checks {verb} ({names}){open_}."
