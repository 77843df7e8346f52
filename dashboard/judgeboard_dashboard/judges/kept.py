"""What the page of judges keeps between two drawings of it, for all sessions of the server."""

from functools import cache

from judgeboard.judge_health.kept_records import KeptRecords


@cache
def kept_records(_database: str) -> KeptRecords:
    """Return what was read of the judges of a database, by its address without the password."""
    return KeptRecords()
