"""The clock for every stored time. Machines that share a PostgreSQL database use the clock of its server."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

CHECK_SECONDS = 60.0  # between two looks at the clock of the database


def elapsed() -> float:
    """Return the seconds since a fixed moment, with sleep. Setting the clock of this machine changes nothing."""
    counts_sleep = getattr(
        time, "CLOCK_BOOTTIME", None
    )  # only Linux, where `monotonic` stops while the machine sleeps
    return time.monotonic() if counts_sleep is None else time.clock_gettime(counts_sleep)


class DatabaseClock:
    """Tells the time of the database that this process uses; without a server, the time of this machine."""

    def __init__(self, elapsed: Callable[[], float] = elapsed) -> None:
        self._elapsed = elapsed
        self._zero: datetime | None = None  # the time of the database when `elapsed` was 0
        self._read_at = 0.0

    def now(self) -> datetime:
        """Return the time in UTC."""
        zero = self._zero
        return datetime.now(UTC) if zero is None else zero + timedelta(seconds=self._elapsed())

    def set_by(self, read: Callable[[], datetime], *, anew: bool) -> None:
        """Set the clock by ``read``, which asks the database; unless ``anew``, at most once a minute."""
        if not anew and self._zero is not None and self._elapsed() - self._read_at < CHECK_SECONDS:
            return
        began, own_time = self._elapsed(), datetime.now(UTC)
        moment = read().astimezone(UTC)
        self._read_at = self._elapsed()
        # When the reading began, the database had a time between these two. If the time of this
        # machine is between the two, the time of this machine counts.
        earliest, latest = moment - timedelta(seconds=self._read_at - began), moment
        self._zero = min(max(own_time, earliest), latest) - timedelta(seconds=began)


database_clock = DatabaseClock()
utc_now = database_clock.now
