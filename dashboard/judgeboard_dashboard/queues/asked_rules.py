"""What the form of a new queue says, checked field by field with the checks of the core itself."""

from collections.abc import Mapping
from typing import Any

from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.queues import QueueRules

GOOD_NAME = "x"


def problems(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with each value, by the name of its field in `QueueRules`; empty where nothing is.

    An order made from scores in a queue that is blind to the judge is said beside the order.
    """
    found = {}
    for name, value in given.items():
        fields = {"name": GOOD_NAME, "order": QueueOrder.RANDOM, name: value}
        if reason := _refused(**fields):
            found[name] = reason
    if given.get("blind_judge") and (reason := _refused(name=GOOD_NAME, blind_judge=True, order=given["order"])):
        found["order"] = reason
    return found


def _refused(**fields: Any) -> str | None:
    try:
        QueueRules(**fields)
    except BadInput as error:
        return str(error)
    return None
