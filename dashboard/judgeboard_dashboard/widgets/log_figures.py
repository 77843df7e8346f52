"""Figures of the whole log that several pages show, kept for all sessions until rows are added."""

from typing import Any

from judgeboard.measure.agreement import agreement_of
from judgeboard.measure.agreement_result import AgreementResult
from judgeboard.measure.choice import AgreementChoice, Of
from judgeboard.measure.corrected_trend import CorrectedTrend, corrected_trend
from judgeboard.measure.news import news
from judgeboard.measure.periods import Period
from judgeboard.measure.rates import Rate, RateChoice, rate_of
from judgeboard.measure.result import Result
from judgeboard.measure.sample import log_revision
from judgeboard.measure.trend import Trend, trend
from judgeboard.store.clock import utc_now
from judgeboard.store.health import record_mark
from judgeboard.store.overview import signal_counts
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.session import kept_until_new_rows


def bad_share(version: StoredVersion | None) -> Rate:
    """Return the share of bad answers as in `judgeboard labels rate`, and the share of each query type in brief."""
    choice = RateChoice(by="query_type", brief_slices=True)
    return kept_until_new_rows(
        log_revision,
        lambda connection: rate_of(connection, version, choice),
        ("rate", None if version is None else version.id),
    )


def agreement_on_label(of: Of) -> AgreementResult:
    """Return the agreement on the label, of the judge and people or of people with each other.

    The same as in `judgeboard agreement`. Raises NotFound if no judge has rating pairs.
    """
    choice = AgreementChoice(of, grade="label")
    return kept_until_new_rows(
        log_revision, lambda connection: agreement_of(connection, choice), ("agreement", of)
    )


def corrected_shares(
    period: Period = "week", judge: int | str | None = None
) -> tuple[CorrectedTrend, Result | None]:
    """Return the corrected share of bad answers over time, with the findings of the detectors until today.

    The second result is the latest change, with coincidences; None without a change.
    """
    return kept_until_new_rows(
        log_revision,
        lambda connection: (
            shares := corrected_trend(connection, period=period, judge=judge),
            news(connection, shares),
        ),
        ("corrected", period, judge, utc_now().date()),
    )


def kept_trend(**choices: Any) -> Trend:
    """Return the result of `trend` for these arguments (default: the mean groundedness of the primary judge)."""
    key = "trend", tuple(sorted(choices.items())), utc_now().date()
    return kept_until_new_rows(log_revision, lambda connection: trend(connection, **choices), key)


def signals() -> dict[tuple[str, str], int]:
    """Return the numbers of answers by the signals of judge and users."""
    return kept_until_new_rows(
        lambda connection: record_mark(connection).judgments, signal_counts, ("signals",)
    )
