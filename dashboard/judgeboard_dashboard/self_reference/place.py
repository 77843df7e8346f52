"""Where a person is on the page of self-reference, as its address carries it."""

from judgeboard_dashboard.picking import Rows

PAGE = "self_reference"
FIELDS = ("version", "tries", "gate", "listed", "category", "tables")

ALL = "All"
# What is listed, in words -> gate on or off, own answer right or wrong.
LISTED: dict[str, tuple[bool | None, bool | None]] = {
    ALL: (None, None),
    "Gate on": (True, None),
    "Gate off": (False, None),
    "Gate on, own answer right": (True, True),
    "Gate on, own answer wrong": (True, False),
    "Gate off, own answer right": (False, True),
    "Gate off, own answer wrong": (False, False),
}


def listed_words(gate_on: bool | None, right: bool | None = None) -> str:
    """Return what a slice is called in the list."""
    return next(words for words, narrowed in LISTED.items() if narrowed == (gate_on, right))


def gate_words(needed: int, k: int) -> str:
    """Return a gate as its field says it."""
    return f"{needed} of {k}"


def this_page(
    version: str, k: int, needed: int, *, listed: str = ALL, category: str | None = None, as_tables: bool = False
) -> Rows:
    """Return the page with these choices."""
    query: dict[str, str | list[str]] = {"version": version, "tries": str(k), "gate": gate_words(needed, k)}
    if listed != ALL:
        query["listed"] = listed
    if category is not None:
        query["category"] = category
    return Rows(PAGE, query | ({"tables": "true"} if as_tables else {}))
