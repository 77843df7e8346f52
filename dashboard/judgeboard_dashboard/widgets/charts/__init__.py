"""Altair charts. Each file has one family of charts."""
