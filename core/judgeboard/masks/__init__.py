"""Masks: personal data in texts are replaced before anything is stored.

The core calls `rules` and `counts` by name, through `registry/masks.py`.
"""

from judgeboard.registry.methods import Registration

REGISTRATION = Registration(tables=f"{__name__}.tables")
