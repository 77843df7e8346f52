"""Alembic migrations: the program works with revision ``HEAD`` and upgrades databases from ``OLDEST`` on."""

OLDEST, HEAD = "0006", "0019"
