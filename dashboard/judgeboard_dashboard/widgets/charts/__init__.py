"""Altair charts, one family a file."""
