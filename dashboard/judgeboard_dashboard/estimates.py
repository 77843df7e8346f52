"""How estimates stand in tables: as words with their interval, as plain numbers in a file."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from judgeboard.domain import Estimate
from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import interval, percent, percent_interval
from judgeboard_dashboard.tables import frame

FILE_COLUMNS = {"Value": "Float64", "Low": "Float64", "High": "Float64", "Answers": "Int64", "Why not": "str"}


def value_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "79 %" or "0.56", None where it is unmeasured."""
    if estimate.value is None:
        return None
    return percent(estimate.value) if share else two_decimals(estimate.value)


def interval_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "[77, 82]" or "[0.52, 0.61]"; where there is no value the reason, None without an interval."""
    if estimate.value is None:
        return estimate.reason
    return percent_interval(estimate) if share else interval(estimate)


def both_words(estimate: Estimate, *, share: bool) -> str:
    """Return "27 % [23, 31]", the reason where it is unmeasured."""
    words = (value_words(estimate, share=share), interval_words(estimate, share=share))
    return " ".join(word for word in words if word)


def in_percent(estimate: Estimate) -> float | None:
    """Return a share as it stands on a progress bar of 0 to 100."""
    return None if estimate.value is None else estimate.value * 100


def file_of(names: Mapping[str, str], rows: Iterable[tuple[tuple[Any, ...], Estimate]]) -> pd.DataFrame:
    """Return estimates as plain numbers for a file.

    Args:
        names: Title -> type of the columns that name a row.
        rows: What names the row, and its estimate.
    """
    return frame(
        {**names, **FILE_COLUMNS},
        ((*named, each.value, each.low, each.high, each.n, each.reason) for named, each in rows),
    )
