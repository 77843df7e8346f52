"""How often judge and people differ, in words."""

from judgeboard.agreement.words import EMPTY
from judgeboard.answer_pairs import GradeName


def times(n: int) -> str:
    """Return "never", "once", "twice" or "564 times"."""
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n:,} times")


def disagreement_sentence(grade: GradeName, gap: float, pairs: int, *, too_kind: int, too_harsh: int) -> str:
    """Return how many of ``pairs`` answers differ by ``gap`` or more (labels: at all), and in which direction."""
    if pairs == 0:
        return EMPTY
    apart = too_kind + too_harsh
    answers = "1 answer" if pairs == 1 else f"{pairs:,} answers"
    if apart == 0:
        how = "give different labels" if grade == "label" else f"differ by {gap:g} or more"
        return f"Judge and people never {how} on {answers}."
    how = "give different labels" if grade == "label" else f"are {gap:g} or more apart"
    first, second = (("harsh", too_harsh), ("kind", too_kind))
    if too_kind > too_harsh:
        first, second = second, first
    said = f"{times(first[1])} the judge was too {first[0]}, {times(second[1])} too {second[0]}"
    return f"On {apart:,} of {answers} judge and people {how}: {said}."
