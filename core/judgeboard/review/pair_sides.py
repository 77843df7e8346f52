"""The order in which a person is shown a pair: which stored answer stands on which side."""

import hashlib

from judgeboard.domain import Preference, Shown


def order_for(pair_id: int, reviewer_id: int) -> Shown:
    """Return in which order a person is shown a pair: as good as random over pairs and people, and always the same."""
    digest = hashlib.sha256(f"shown:{pair_id}:{reviewer_id}".encode()).digest()
    return Shown.BA if digest[0] % 2 else Shown.AB


def stored_side(side: str, shown: Shown) -> Preference:
    """Return which stored answer stands at a side (left, tie, right) of a pair that is shown in this order."""
    if side == "tie":
        return Preference.TIE
    return Preference.A if (side == "left") == (shown is Shown.AB) else Preference.B


def shown_side(preference: Preference, shown: Shown) -> str:
    """Return at which side (left, tie, right) a stored answer stands in a pair that is shown in this order."""
    if preference is Preference.TIE:
        return "tie"
    return "left" if (preference is Preference.A) == (shown is Shown.AB) else "right"
