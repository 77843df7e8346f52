"""Text that both database engines can hold: without NUL and without lone surrogates."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def storable(text: str) -> tuple[str, bool]:
    """Return ``text`` with every NUL and lone surrogate as U+FFFD, with whether there was any.

    Lengths stay the same, so offsets into the text stay true.
    """
    changed = _UNSTORABLE.sub(REPLACEMENT, text)
    return changed, changed != text


def storable_or_none(text: str | None) -> str | None:
    """Return a text that both engines can hold, None for none."""
    if text is None or (text.isascii() and "\x00" not in text):  # the common case, far faster
        return text
    return storable(text)[0]


def unstorable(text: str) -> str | None:
    """Say which character of ``text`` cannot be stored, and where; None where all of it can."""
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    name = "NUL" if found[0] == "\x00" else f"lone surrogate U+{ord(found[0]):04X}"
    return f"{name} at character {found.start() + 1}"
