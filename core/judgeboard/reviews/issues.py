"""Issues: opened and changed by leads, and the share of answers with the problem before and after the fix."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import Action, Estimate, FlagState, IssueState
from judgeboard.errors import BadInput
from judgeboard.measure.notes import Note, note
from judgeboard.measure.periods import PlausibleDays, by_period, start_of
from judgeboard.measure.trend import Point
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.people.roster import people_named
from judgeboard.reviews.checks import checked_text
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.clock import utc_now
from judgeboard.store.day_sums import DaySums
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filter_conditions import needs_verdict
from judgeboard.store.filters import PARTS, RowFilter
from judgeboard.store.issues import (
    LONGEST_TITLE,
    answers_by_day,
    flags_by_state,
    insert_issue,
    list_issues,
)
from judgeboard.store.tables import Issue
from judgeboard.text import utc_day

# These fields choose the answers in which a problem is counted. The other fields are signs of the
# problem.
_AMONG = (
    *(each.plural for each in PARTS.values()),
    *("kinds", "metadata", "day_from", "day_to", "no_time", "graded"),
)


def issue_filter(where: RowFilter) -> RowFilter:
    """Return the filter of a new issue.

    A filter without states selects open and confirmed flags, if the filter names rules or has no
    sign of a problem. Raises BadInput for an empty filter.
    """
    if where == RowFilter():
        raise BadInput(
            "an issue needs a filter: choose a failure mode, a rule or other values first"
        )
    signs = set(where.as_dict()) - {*_AMONG, "judge", "judge_version"}
    if where.states or (signs and not where.rules):
        return where
    return replace(where, states=(FlagState.CONFIRMED.value, FlagState.OPEN.value))


def save_issue(store: Store, issue: Issue, *, by: Actor, now: datetime | None = None) -> Issue:
    """Open an issue (number 0), or change the one with this number; the default day of a fix is today.

    Raises:
        BadInput: The title, the description or the filter cannot be used, or somebody else changed
            the issue meanwhile.
        NotFound: Nobody has the name of the owner.
    """
    at, title = now or utc_now(), checked_text("the title", " ".join(issue.title.split()))
    if title is None or len(title) > LONGEST_TITLE:
        raise BadInput(f"the title of an issue has 1 to {LONGEST_TITLE} characters")
    fixed_day = None if issue.state is IssueState.OPEN else issue.fixed_day
    if issue.state is IssueState.FIXED and fixed_day is None:
        fixed_day = utc_day(at)
    owner = people_named(store, [issue.owner], new=False)[0].name if issue.owner else None
    with allowed(store, by, Action.KEEP_ISSUES) as connection:
        number = (
            issue.number
            or max((stored_issue.number for stored_issue in list_issues(connection)), default=0) + 1
        )
        name = actor_name(by)
        saved = issue.changed(
            number=number,
            version=issue.version + 1,
            title=title,
            by=name,
            description=checked_text("the description", issue.description),
            owner=owner,
            fixed_day=fixed_day,
            filter=issue_filter(issue.filter),
            at=at,
            id=None,
        )
        insert_issue(connection, saved)
        record_event(
            connection,
            "save_issue",
            name,
            details={"issue": number, "state": issue.state.value},
            now=at,
        )
    return saved


@dataclass(frozen=True, slots=True)
class IssueFigures:
    """The number of answers of an issue, the flags by state, the last UTC day with such an answer, and shares.

    ``before`` and ``after`` are the shares of the problem in answers given before and after the
    fix. Without a fix, all answers count as before. ``where`` of each week filters the answers with
    the problem. Answers ``without_time``, and ``misdated`` answers without a plausible date (see
    `PlausibleDays`), are left out of the shares.
    """

    answers: int
    without_time: int
    misdated: int
    flags: dict[str, int]
    last_day: int | None
    before: Estimate
    after: Estimate
    weeks: tuple[Point, ...]


def measure_issue(
    connection: Connection, issue: Issue, now: datetime | None = None
) -> IssueFigures:
    """Return the figures of an issue.

    The shares are of the answers in the same `PARTS` of the log, with the same metadata and days.
    If the filter names failure modes, only reviewed answers count. If the filter limits the score,
    only answers with a score count.
    """
    where, fixed_day = issue.filter, issue.fixed_day
    hits = answers_by_day(connection, where)
    # The filter of all answers that the shares of an issue refer to.
    fields = {name: getattr(where, name) for name in _AMONG}
    if needs_verdict(where):
        fields |= {"judge": where.judge, "judge_version": where.judge_version}
        fields["min_score"] = None if where.min_score is where.max_score is None else 0.0
        fields["min_quality"] = None if where.min_quality is where.max_quality is None else 1
    every = answers_by_day(connection, RowFilter(**fields), reviewed=bool(where.failure_modes))
    plausible = PlausibleDays.at(now)
    days = sorted(day for day in every if day is not None and plausible.include(day))
    sides = [
        [day for day in days if (fixed_day is None or day < fixed_day) is early]
        for early in (True, False)
    ]
    before, after = share_intervals(
        [sum(hits.get(day, 0) for day in side) for side in sides],
        [sum(every[day] for day in side) for side in sides],
    )
    sums = [DaySums("", day, None, every[day], hits.get(day, 0), 0) for day in days]
    weeks = by_period(sums, "week", start_of(days[0], "week") if days else 0)
    shares = share_intervals([round(total) for total in weeks.total], weeks.n)
    return IssueFigures(
        answers=sum(hits.values()),
        without_time=hits.get(None, 0),
        misdated=sum(n for day, n in hits.items() if not plausible.include(day)),
        flags=flags_by_state(connection, where),
        last_day=max(
            (day for day in hits if day is not None and plausible.include(day)), default=None
        ),
        before=before,
        after=after,
        weeks=tuple(
            Point(first, last, share, segment, replace(where, day_from=first, day_to=last))
            for start, share, segment in zip(
                weeks.starts, shares, weeks.segments("week"), strict=True
            )
            for first, last in [
                (max(start, where.day_from or start), min(start + 6, where.day_to or start + 6))
            ]
        ),
    )


def issue_notes(issue: Issue, figures: IssueFigures) -> Iterator[Note]:
    """Yield the share of answers with the problem; with a fix, the shares before and after, and the change."""
    before, after = figures.before, figures.after
    if issue.fixed_day is None:
        yield note("issue_reviewed" if issue.filter.failure_modes else "issue", share=before)
        return
    yield note("issue_fixed", before=before, after=after)
    fell, rose = (
        (after.high or 1.0) < (before.low or 0.0),
        (after.low or 0.0) > (before.high or 1.0),
    )
    yield note("issue_fell" if fell else "issue_rose" if rose else "issue_unclear")
