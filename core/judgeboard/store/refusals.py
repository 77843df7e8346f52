"""What to do where a database refuses: its driver names the fault, not the way out."""

CANNOT_WRITE = ("unable to open database file", "attempt to write a readonly database")  # as SQLite says it
_ADVICE = {
    **dict.fromkeys(
        CANNOT_WRITE, "this user must be able to write the file and its folder; give the rights, or --db a copy"
    ),
    "database is locked": "another process writes to it; try again when that one is done",
    "database or disk is full": "free some disk space, then do it again",
}
_NO_SPACE = "No space left on device"  # as PostgreSQL ends its line


def with_advice(words: str) -> str:
    """Return what a driver says of a fault, with what to do about it in brackets where that is known."""
    advice = _ADVICE["database or disk is full"] if _NO_SPACE in words else _ADVICE.get(words)
    return words if advice is None else f"{words} ({advice})"
