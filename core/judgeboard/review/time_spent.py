"""How long somebody looked at an item, without the stretches in which nobody was there.

What a server sees of reading is presses, and reading itself is silent: a pause between two signs of life (the item
appears, a key, a field, another page of it) counts for as long as its texts could have been read slowly in it, and
for a minute at least; what is longer counts as that much. So a coffee costs a short item a minute, and a long context
is not cut down to what a quick one would take.
"""

SHORTEST_LIMIT, LONGEST_LIMIT = 60.0, 300.0  # seconds
READ_A_SECOND = 15.0  # characters: about 150 words a minute, a slow and careful reader


def longest_pause(characters: int) -> float:
    """Return the most seconds that one pause counts on an item whose texts have so many characters: 60 to 300."""
    return min(LONGEST_LIMIT, max(SHORTEST_LIMIT, characters / READ_A_SECOND))


def active_seconds(pauses: list[float], limit: float = SHORTEST_LIMIT) -> float:
    """Return the seconds of a time given as the pauses between its signs of life, each counted up to ``limit``.

    Raises:
        ValueError: A pause is negative.
    """
    if any(pause < 0 for pause in pauses):
        raise ValueError("a pause is a number of seconds from 0")
    return sum(min(pause, limit) for pause in pauses)
