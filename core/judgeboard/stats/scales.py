"""The scales on which judge and people can be compared, with their declared categories."""

from dataclasses import dataclass
from typing import Any

from judgeboard.domain import Label, Preference
from judgeboard.stats.kappa import Weights


@dataclass(frozen=True, slots=True)
class Scale:
    """What a grade is made of.

    ``categories`` are declared, in their order; None is a continuous score. ``weights`` names the weighted kappa of
    ordered categories. ``bad`` is the position of the category that a judge is there to detect.
    """

    grade: str
    categories: tuple[Any, ...] | None = None
    weights: Weights | None = None
    bad: int | None = None


LABEL = Scale("label", (Label.HALLUCINATED.value, Label.GROUNDED.value), bad=0)
QUALITY = Scale("quality", (1, 2, 3, 4), weights="quadratic")
GROUNDEDNESS = Scale("groundedness")
PREFERENCE = Scale("preference", tuple(each.value for each in Preference))

SCALES = {scale.grade: scale for scale in (LABEL, QUALITY, GROUNDEDNESS)}
