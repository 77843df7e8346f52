"""What the users of the assistant say of an answer."""

from typing import Any

from sample_source.dice import Dice
from sample_source.draft import Draft


def feedback(dice: Dice, draft: Draft) -> dict[str, Any] | None:
    """Return thumbs or stars from about a third of the users.

    They judge mostly whether they got an answer; that something was made up they notice half of the
    time.
    """
    if not dice.chance(1 / 3):
        return None
    noticed = draft.groundedness if dice.chance(0.5) else 1.0
    pleasure = 0.65 * (draft.quality - 1) / 3 + 0.35 * noticed
    if dice.chance(0.6):
        return {"thumbs": "up" if dice.chance(0.06 + 0.88 * pleasure) else "down"}
    return {"stars": min(5, max(1, round(1 + 4 * pleasure + dice.bell(0.7))))}
