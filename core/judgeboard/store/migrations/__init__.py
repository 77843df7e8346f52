"""Alembic migrations: the program works with the newest revision, ``HEAD``, and upgrades databases from ``OLDEST``."""

from pathlib import Path

OLDEST = "0006"
# The file of a revision begins with its number.
HEAD = max(file.name[:4] for file in (Path(__file__).parent / "versions").glob("[0-9]*.py"))
