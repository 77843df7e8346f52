"""The work of people as a table, for pages, commands and files."""

from collections.abc import Sequence

from judgeboard.domain import Estimate
from judgeboard.formats.output import Column, Format, Table
from judgeboard.reviews.person_work import PersonWork
from judgeboard.stats.estimates import percent_words, points_words, with_n

SAME = (
    "Share of reviews that would not be in conflict: same decision and label, "
    "quality within 1, groundedness within 0.4"
)
_FIGURES: tuple[tuple[str, str, str], ...] = (
    ("gold", "With gold", f"{SAME}. Compared with adjudications by others"),
    ("others", "With others", f"{SAME}. Compared with other people on the same items"),
    ("own", "With self", f"{SAME}. Compared with their first review of a repeated item"),
    ("tests", "Tests correct", "Unannounced test items that agree with the gold label"),
    ("training", "Training correct", "Items of training queues that agree with the gold label"),
)


def work_table(everybody: Sequence[PersonWork], *, words: bool = False) -> Table:
    """Return one row for each person; with ``words`` estimates are texts with n, for readers."""
    share: Format = "text" if words else "share estimate"
    columns = (
        Column("Person", width=130),
        Column("Queues", "count", width=70, help="Open queues that are assigned to them"),
        Column(
            "Left",
            "count",
            width=55,
            help="Items left in these queues, also skipped ones that need a review",
        ),
        Column("Leased", "count", width=65, help="Items that they have leased now"),
        Column(
            "Reviews",
            "count",
            width=75,
            help="Their latest reviews, at most 1,000. All figures use only these.",
        ),
        Column(
            "Seconds",
            "text" if words else "estimate",
            width=120,
            help="Median per item; breaks are not counted",
        ),
        *(Column(title, share, width=140, help=about) for _, title, about in _FIGURES),
        Column(
            "Drift",
            share,
            width=190,
            help="Agreement with others in the last 30 days, minus agreement before",
        ),
    )
    rows = list[tuple[object, ...]]()
    for work in everybody:
        row = (
            work.person.name,
            len(work.queues),
            work.left,
            work.leased,
            work.reviews,
        )
        figures = [getattr(work, name) for name, *_ in _FIGURES]
        if words:
            drift = share_words(work.drift, sign=True)
            rows.append((*row, seconds_words(work.seconds), *map(share_words, figures), drift))
        else:
            rows.append((*row, work.seconds, *figures, work.drift))
    return Table(columns, tuple(rows))


def share_words(estimate: Estimate, *, sign: bool = False) -> str | None:
    """Return "79 % [70, 86], n = 44", with ``sign`` "-12 points …"; None where nothing was compared."""
    if estimate.value is None:
        return None
    return with_n(
        points_words(estimate, sign=True) if sign else percent_words(estimate), estimate.n
    )


def seconds_words(estimate: Estimate) -> str | None:
    """Return "12 s [10, 15], n = 44"; None where no time was measured."""
    if estimate.value is None:
        return None
    bounds = (
        ""
        if estimate.low is None or estimate.high is None
        else f" [{estimate.low:.0f}, {estimate.high:.0f}]"
    )
    return with_n(f"{estimate.value:.0f} s{bounds}", estimate.n)
