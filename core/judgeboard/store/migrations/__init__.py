"""Alembic migrations: the program works with revision ``HEAD`` and upgrades databases from ``OLDEST`` on."""

OLDEST, HEAD = "0005", "0005"
