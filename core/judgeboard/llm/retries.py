"""Which failed calls are made again, how often, after what wait."""

import email.utils
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, in seconds; what the endpoint asks for goes first.

    Where an endpoint asks for more than ``longest_wait_s`` no call follows: a run would stand still and say nothing.
    ``tries`` counts the calls for one request that failed in a way that may pass; calls with another reply format or
    other parameters do not use them up.
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


_USUAL = RetryPolicy()

RETRIES: Mapping[int | str, RetryPolicy] = MappingProxyType(
    {
        "timeout": _USUAL,
        "connection": _USUAL,
        408: _USUAL,  # request timeout
        409: _USUAL,  # conflict, as some gateways call a lock
        429: _USUAL,  # rate limit
        500: _USUAL,
        502: _USUAL,  # trouble of the server or of a gateway before it
        503: _USUAL,
        504: _USUAL,
        520: _USUAL,  # 520 to 524: Cloudflare
        521: _USUAL,
        522: _USUAL,
        523: _USUAL,
        524: _USUAL,
        529: _USUAL,  # overloaded, as Anthropic says it
    }
)
"""From what came of a call, an HTTP status or the way it failed, to when it is made again; others are not."""


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
