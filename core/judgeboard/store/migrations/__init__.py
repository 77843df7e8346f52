"""Alembic migrations; ``HEAD`` is the revision this program works with."""

HEAD = "0005"
