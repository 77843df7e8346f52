"""How money and durations are said on every page."""

UNKNOWN = "unknown"


def money(micro: int | None) -> str:
    """Return millionths of a dollar as "$ 4.07", "$ 0.056", "$ 0"; None is "unknown", never 0."""
    if micro is None:
        return UNKNOWN
    dollars = micro / 1_000_000
    if dollars == 0:
        return "$ 0"
    if dollars >= 0.1:
        return f"$ {dollars:,.2f}"
    return f"$ {dollars:.2g}" if dollars >= 0.0001 else f"$ {dollars:.6f}"


def duration(seconds: float) -> str:
    """Return "6 s", "1 min 38 s", "2 h 5 min"; below a second "under 1 s"."""
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two(whole // 60, "min", whole % 60, "s")
    return _two(whole // 3600, "h", whole % 3600 // 60, "min")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"
