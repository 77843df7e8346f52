"""The assistant's tables: ascents, gym visits and new boulders of an invented club, January 2025 to July 2026."""

from dataclasses import dataclass
from datetime import date, timedelta

from sample_source.dice import Dice
from sample_source.library import crags

CLIMBERS = (
    "Hanna",
    "Milo",
    "Priya",
    "Teun",
    "Sofie",
    "Rafael",
    "Yuki",
    "Ewa",
    "Lars",
    "Noor",
    "Callum",
    "Beatriz",
)
STYLES = ("onsight", "flash", "redpoint", "toprope")
GRADES = ("5a", "5b", "5c", "6a", "6a+", "6b", "6b+", "6c", "6c+", "7a", "7a+", "7b")
GYMS = ("Halle Nordkurve", "Granite House", "Lofthaus", "The Weighbridge", "Kletterwerk Süd")
SETTERS = ("Marlies", "Oskar", "Jolanda", "Tomé", "Fritzi", "Anouk")
FIRST_WORDS = (
    "Silent",
    "Crooked",
    "Northern",
    "Bitter",
    "Paper",
    "Second",
    "Lucky",
    "Borrowed",
    "Velvet",
    "Rainy",
)
LAST_WORDS = (
    "Postman",
    "Harbour",
    "Ladder",
    "Orchard",
    "Sermon",
    "Compass",
    "Thimble",
    "Lantern",
    "Dialect",
    "Pension",
)
ROUTES = tuple(f"{first} {last}" for first in FIRST_WORDS for last in LAST_WORDS)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST_DAY = date(2025, 1, 1)
LAST_DAY = date(2026, 7, 31)


@dataclass(frozen=True)
class Ascent:
    """One row of the table ``ascents``."""

    day: date
    climber: str
    crag: str
    route: str
    grade: str
    style: str
    tries: int


@dataclass(frozen=True)
class Visits:
    """One row of the table ``gym_visits``."""

    day: date
    gym: str
    members: int
    day_tickets: int


@dataclass(frozen=True)
class Boulders:
    """One row of the table ``boulders_set``."""

    month: str
    gym: str
    setter: str
    boulders: int


@dataclass(frozen=True)
class Logbook:
    """All three tables."""

    ascents: tuple[Ascent, ...]
    visits: tuple[Visits, ...]
    boulders: tuple[Boulders, ...]


def months() -> list[tuple[int, int]]:
    """Return (year, month) of every month that the tables cover."""
    return [
        (year, month)
        for year in (2025, 2026)
        for month in range(1, 13)
        if date(year, month, 1) <= LAST_DAY
    ]


def month_name(month: tuple[int, int]) -> str:
    """Return for instance ``May 2026``."""
    return f"{MONTHS[month[1] - 1]} {month[0]}"


def month_key(month: tuple[int, int]) -> str:
    """Return for instance ``2026-05``, as the tables have it."""
    return f"{month[0]}-{month[1]:02}"


def fill(dice: Dice) -> Logbook:
    """Return tables of about 2,600 ascents, 2,900 days of visits and 570 setting records."""
    days = (LAST_DAY - FIRST_DAY).days
    places = [crag["name"] for crag in crags()[:10]]
    level = {climber: 3 + dice.below(7) for climber in CLIMBERS}
    ascents = []
    for _ in range(2600):
        climber = CLIMBERS[int(dice.below(len(CLIMBERS) ** 2) ** 0.5)]
        style = dice.pick(STYLES)
        hardness = level[climber] + dice.between(-3, 2 if style == "redpoint" else 1)
        grade = GRADES[min(len(GRADES) - 1, max(0, hardness))]
        tries = 1 if style in {"onsight", "flash"} else dice.between(2, 3 + max(0, hardness))
        route = dice.pick(ROUTES)
        day = FIRST_DAY + timedelta(days=dice.below(days))
        ascents.append(
            Ascent(
                day, climber, places[ROUTES.index(route) % len(places)], route, grade, style, tries
            )
        )
    ascents.sort(key=lambda row: (row.day, row.climber, row.route))
    visits = []
    for number, gym in enumerate(GYMS):
        size = 60 + 35 * number
        busy = dice.shuffled((0.9, 1.0, 1.1, 1.2, 0.8, 1.3, 1.25))
        for offset in range(days + 1):
            day = FIRST_DAY + timedelta(days=offset)
            season = 1.2 if day.month in {11, 12, 1, 2, 3} else 0.85
            members = int(size * busy[day.weekday()] * season + dice.between(0, 25))
            visits.append(Visits(day, gym, members, int(members * dice.between(25, 60) / 100)))
    boulders = [
        Boulders(month_key(month), gym, setter, dice.between(8, 61))
        for month in months()
        for gym in GYMS
        for setter in SETTERS
    ]
    return Logbook(tuple(ascents), tuple(visits), tuple(boulders))
