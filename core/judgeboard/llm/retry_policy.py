"""Whether a call is made again, after what wait."""

import email.utils
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

RETRIED_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""HTTP statuses that say "later": timeouts, rate limits, trouble of the server or of a gateway before it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, in seconds; what the endpoint asks for goes first.

    Where an endpoint asks for more than ``longest_wait_s`` no call follows: a run would stand still and say nothing.
    ``tries`` counts the calls for one request while nothing but "later" comes back; calls with another reply format
    or other parameters do not use them up.
    """

    tries: int = 5
    first_wait_s: float = 0.5
    longest_backoff_s: float = 20.0
    longest_wait_s: float = 60.0

    def again(self, failures: int, asked_for_s: float | None) -> bool:
        """Say whether to call again after ``failures`` (1 or more) calls and the wait that was asked for."""
        return failures < self.tries and (asked_for_s or 0.0) <= self.longest_wait_s

    def wait_s(self, failures: int, asked_for_s: float | None, chance: float) -> float:
        """Return the seconds to wait after ``failures`` (1 or more) calls; ``chance`` is uniform in 0..1.

        Without a wish of the endpoint: half to all of first x 2^(failures - 1), so that rows spread out. With one:
        that wish and up to a tenth more.
        """
        if asked_for_s is not None:
            return min(max(asked_for_s, 0.0) * (1 + chance / 10), self.longest_wait_s)
        backoff = min(self.first_wait_s * 2.0 ** min(failures - 1, 30), self.longest_backoff_s)
        return backoff * (0.5 + chance / 2)


def asked_wait_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date) asks for, else None."""
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / per_second
        except ValueError:
            try:
                seconds = (email.utils.parsedate_to_datetime(value) - now).total_seconds()
            except (ValueError, TypeError):
                continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
