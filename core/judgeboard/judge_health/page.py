"""Everything that the page of judges shows: the judges, the checks of one, its scores, answers that show a fault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.judge_health.check import Check, State, effect_words
from judgeboard.judge_health.collapse import least_even
from judgeboard.judge_health.commands import make_and_judge
from judgeboard.judge_health.kept_records import KeptRecords
from judgeboard.judge_health.neutral import NAMES
from judgeboard.judge_health.record import LevelCounts
from judgeboard.judge_health.report import HealthReport, health_of
from judgeboard.methods.control_kinds import CONTROL_KINDS
from judgeboard.stats.words import percent_words
from judgeboard.store.health.version_account import versions_in_use
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.responses.answer_starts import AnswerStart, answer_starts
from judgeboard.store.settings_table import primary_judge

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


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer that shows a fault, and the check that it shows."""

    check: Check
    answer: AnswerStart


@dataclass(frozen=True, slots=True)
class HealthPage:
    """The checks of one judge version; ``versions`` are those that can be chosen, the one shown unasked first."""

    versions: tuple[StoredVersion, ...]
    report: HealthReport
    sentence: str
    answers: tuple[ShownAnswer, ...]

    @property
    def levels(self) -> Mapping[str, LevelCounts]:
        """How often each level of each score was given in the log, first the score that the collapse check is of."""
        levels = self.report.record.levels
        first = least_even(self.report.record)
        return levels if first is None else {first: levels[first], **levels}

    def of_controls(self, checks: Sequence[Check]) -> tuple[Check, ...]:
        """Return those of the checks that controls are made for."""
        return tuple(check for check in checks if check.name in _KINDS)

    def controls_command(self, checks: Sequence[Check]) -> str:
        """Return the commands that make the controls of these checks and ask about all of them."""
        return make_and_judge(self.report.record, *(_KINDS[check.name] for check in checks))

    def checks(self, state: State) -> tuple[Check, ...]:
        """Return the checks that came to this; those that do not apply came to nothing."""
        return tuple(check for check in self.report.checks if check.state is state and check.applies)

    @property
    def idle(self) -> tuple[Check, ...]:
        """The checks of faults that a judge of this kind cannot have."""
        return tuple(check for check in self.report.checks if not check.applies)


def judges_in_use(connection: Connection) -> tuple[StoredVersion, ...]:
    """Return the judge versions with anything to check: the primary judge's newest first, then the newest."""
    primary = primary_judge(connection)
    newest = sorted(versions_in_use(connection), key=lambda version: -version.id)
    first = next((version for version in newest if version.name == primary), None)
    return tuple(newest) if first is None else (first, *(version for version in newest if version is not first))


def health_page(
    connection: Connection,
    versions: tuple[StoredVersion, ...],
    title: str | None,
    records: KeptRecords | None = None,
) -> HealthPage:
    """Return the page of the version with this title, of the first where there is none.

    Args:
        connection: An open transaction.
        versions: What `judges_in_use` gave, not empty.
        title: "rag v3"; None is not chosen.
        records: What was read of judges before, by the pages of the same database.
    """
    version = next((each for each in versions if each.title == title), versions[0])
    report = health_of(connection, version, records=records)
    picked = [(check, id_) for check in report.warnings for id_ in check.response_ids[:MOST_SHOWN]]
    known = answer_starts(connection, {id_ for _, id_ in picked})
    answers = tuple(ShownAnswer(check, known[id_]) for check, id_ in picked if id_ in known)
    return HealthPage(versions, report, page_sentence(report), answers)


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


def page_sentence(report: HealthReport) -> str:
    """Return how many of the checks that a judge of this kind can fail warn, and how many are not measured."""
    counts = {state: sum(check.state is state and check.applies for check in report.checks) for state in State}
    warned, sound, missing = (counts[state] for state in (State.WARNING, State.OK, State.NOT_MEASURED))
    idle = len(report.checks) - warned - sound - missing
    open_ = f"; {idle} {'does' if idle == 1 else 'do'} not apply" if idle else ""
    open_ += f"; {missing} {'is' if missing == 1 else 'are'} not measured yet" if missing else ""
    if not warned:
        found = f"{report.version.title}: none of {sound} checks warns{open_}."
        return found if sound else f"{report.version.title}: nothing is measured yet."
    names = ", ".join(check_title(check)[0].lower() + check_title(check)[1:] for check in report.warnings)
    verb = "warns" if warned == 1 else "warn"
    return f"{report.version.title}: {warned} of {warned + sound} checks {verb} ({names}){open_}."
