"""Says in one sentence, with its numbers, why a stored flag was raised."""

from collections.abc import Mapping
from typing import Any

from judgeboard.flags import RULES

_SENTENCES = {rule.name: rule.why for rule in RULES}


def why(rule: str, details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return the sentence of a flag as stored. It may hold names from a log or a file: escape it like any text.

    One of a rule that is gone, or with details that an older program stored, is named by its rule alone.
    """
    try:
        return _SENTENCES[rule](details, params)
    except (LookupError, TypeError, ValueError):
        return f"Flagged by {rule}."
