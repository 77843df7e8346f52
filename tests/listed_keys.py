"""The keys that the list of keys of a screen names."""

from collections.abc import Iterator

MODE_KEY = "B"  # of the failure mode that tests choose by its letter


def keys_of(entry: str) -> Iterator[str]:
    """The keys that one entry of a list names, as Playwright names them."""
    if entry == "Ctrl Enter":
        yield "Control+Enter"
    elif entry.startswith("Shift"):
        yield f"Shift+{MODE_KEY}"
    else:
        for part in entry.split():
            first, dash, last = part.partition("–")
            yield from (str(digit) for digit in range(int(first), int(last) + 1)) if dash else (part,)
