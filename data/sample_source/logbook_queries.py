"""What people ask of the table of ascents, worked out from its rows."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sample_source.dice import Dice
from sample_source.logbook import (
    CLIMBERS,
    GRADES,
    STYLES,
    Ascent,
    Logbook,
    month_key,
    month_name,
    months,
)

QUARTERS = ((1, 3, "the first quarter of"), (4, 6, "the second quarter of"))
LATER_QUARTERS = ((7, 9, "the third quarter of"), (10, 12, "the last quarter of"))
HALVES = ((1, 6, "the first half of"), (7, 12, "the second half of"))


@dataclass(frozen=True)
class Finding:
    """The result of one query: its key in ``knowledge/logbook.toml``, the words for phrases and SQL, the rows."""

    key: str
    words: dict[str, str]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Period:
    """A stretch of time with its name, its SQL condition and its test."""

    name: str
    where: str
    holds: Callable[[Ascent], bool]


def period(dice: Dice) -> Period:
    """Return a quarter, half or whole year."""
    year = dice.pick((2025, 2025, 2026))
    early = (*QUARTERS, HALVES[0])
    first, last, name = dice.pick(
        early if year == 2026 else (*early, *LATER_QUARTERS, HALVES[1], (1, 12, "all of"))
    )
    after = f"{year}-{last + 1:02}-01" if last < 12 else f"{year + 1}-01-01"
    where = f"day >= '{year}-{first:02}-01' AND day < '{after}'"
    return Period(
        f"{name} {year}", where, lambda row: row.day.year == year and first <= row.day.month <= last
    )


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return names with counts, most first, ties by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def placed(rows: list[tuple[str, int]]) -> dict[str, str]:
    """Return the first three and the last of a ranking as words."""
    words: dict[str, str] = {}
    for name, row in zip(("first", "second", "third", "last"), [*rows[:3], rows[-1]], strict=True):
        words |= {name: row[0], f"{name}_n": str(row[1])}
    return words


def styles(dice: Dice, book: Logbook) -> Finding | None:
    """Return one climber's ascents by style; None where two styles tie at an end."""
    climber = dice.pick(CLIMBERS)
    when = period(dice)
    rows = ranked(
        Counter(row.style for row in book.ascents if row.climber == climber and when.holds(row))
    )
    if len(rows) < 3 or rows[0][1] == rows[1][1] or rows[-1][1] == rows[-2][1]:
        return None
    total = sum(count for _, count in rows)
    words = {"climber": climber, "period": when.name, "where": when.where, "total": str(total)}
    words |= {
        "top": rows[0][0],
        "top_n": str(rows[0][1]),
        "low": rows[-1][0],
        "low_n": str(rows[-1][1]),
    }
    return Finding("styles", words, tuple((*row, total) for row in rows))


def top(dice: Dice, book: Logbook) -> Finding | None:
    """Return the climbers with most ascents at one crag; None where they tie."""
    crag = dice.pick(book.ascents).crag
    when = period(dice)
    rows = ranked(
        Counter(row.climber for row in book.ascents if row.crag == crag and when.holds(row))
    )[:6]
    if len(rows) < 4 or len({count for _, count in rows[:4]}) < 4:
        return None
    return Finding(
        "top", {"crag": crag, "period": when.name, "where": when.where} | placed(rows), tuple(rows)
    )


def hardest(dice: Dice, book: Logbook) -> Finding | None:
    """Return one climber's hardest ascents in one style."""
    climber, style = dice.pick(CLIMBERS), dice.pick(STYLES)
    own = [row for row in book.ascents if row.climber == climber and row.style == style]
    own.sort(key=lambda row: (-GRADES.index(row.grade), row.day))
    if len(own) < 4 or own[0].route == own[1].route:
        return None
    first, second = own[:2]
    words = {
        "climber": climber,
        "style": style,
        "route": first.route,
        "crag": first.crag,
        "grade": first.grade,
    }
    words |= {
        "day": first.day.isoformat(),
        "route2": second.route,
        "crag2": second.crag,
        "grade2": second.grade,
    }
    rows = tuple(
        (row.climber, row.style, row.grade, row.route, row.crag, row.day.isoformat())
        for row in own[:4]
    )
    return Finding("hardest", words, rows)


def tries(dice: Dice, book: Logbook) -> Finding | None:
    """Return the mean number of tries per redpoint around one grade; None where a grade has none."""
    place = dice.between(1, len(GRADES) - 3)
    when = period(dice)
    rows = []
    for grade in GRADES[place - 1 : place + 3]:
        counts = [
            row.tries
            for row in book.ascents
            if (row.grade, row.style) == (grade, "redpoint") and when.holds(row)
        ]
        if not counts:
            return None
        rows.append((grade, f"{sum(counts) / len(counts):.1f}", len(counts)))
    (grade, mean, count), (grade2, mean2, count2) = rows[1:3]
    words = {
        "grade": grade,
        "tries": mean,
        "n": str(count),
        "grade2": grade2,
        "tries2": mean2,
        "n2": str(count2),
    }
    return Finding("tries", words | {"period": when.name, "where": when.where}, tuple(rows))


def days(dice: Dice, book: Logbook) -> Finding | None:
    """Return the days that each climber spent outside in one month; None where they tie at an end."""
    month = dice.pick(months())
    seen = {
        (row.climber, row.day) for row in book.ascents if (row.day.year, row.day.month) == month
    }
    rows = ranked(Counter(climber for climber, _ in seen))
    if len(rows) < 5 or rows[0][1] == rows[1][1] or rows[-1][1] == rows[-2][1]:
        return None
    return Finding(
        "days", {"period": month_name(month), "month": month_key(month)} | placed(rows), tuple(rows)
    )


def firsts(dice: Dice, book: Logbook) -> Finding | None:
    """Return a climber's first ascent of a grade; None where there is none."""
    climber, grade = dice.pick(CLIMBERS), dice.pick(GRADES[3:])
    own = [row for row in book.ascents if row.climber == climber and row.grade == grade]
    if not own:
        return None
    row = own[0]
    words = {"climber": climber, "grade": grade, "route": row.route, "crag": row.crag}
    words |= {"day": row.day.isoformat(), "n": str(row.tries), "style": row.style}
    return Finding(
        "firsts",
        words,
        ((climber, grade, row.route, row.crag, words["day"], row.style, row.tries),),
    )
