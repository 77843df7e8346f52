"""Flags: raised, superseded, and what became of them."""
