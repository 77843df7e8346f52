"""Whether the share of bad answers is above or below a bound, looked at after every label of a planned queue.

Stopping as soon as an ordinary interval leaves out the bound would find differences by luck. A confidence sequence
(Waudby-Smith, Ramdas, 2024) holds at all times. It needs the labels in the order in which the answers were drawn.
"""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import decoded, people_values
from judgeboard.domain import Label
from judgeboard.stats.estimates import percent
from judgeboard.stats.ratings import SCALES
from judgeboard.stats.sample_size import confidence_sequence, decided_after
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import graded_reviews
from judgeboard.store.planned_draw import planned_items
from judgeboard.store.queues import ANSWERS, list_queues
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class OutcomeSoFar:
    """What the first ``labels`` of a planned queue, in drawn order, tell about the share of bad answers.

    ``low`` and ``high`` are a 95 % confidence sequence: it may be looked at after every label. ``decided_after`` is the
    number of labels after which it first left out the ``bound``, None if it never did.
    """

    queue: str
    bound: float
    labels: int
    answers: int
    low: float
    high: float
    decided_after: int | None

    @property
    def sentence(self) -> str:
        """What this means."""
        done = f"{counted(self.labels, 'label')} of the queue “{self.queue}”"
        if self.decided_after is not None:
            side = "above" if self.low > self.bound else "below"
            return (
                f"You may stop: the share of bad answers is {side} {percent(self.bound)}. The first "
                f"{self.decided_after:,} labels of the queue “{self.queue}” show it."
            )
        ends = f"between {percent(self.low)} and {percent(self.high)}"
        return f"Not decided yet after {done}: the share of bad answers is {ends}. Label on."


def outcome_so_far(connection: Connection, bound: float, where: RowFilter) -> OutcomeSoFar | None:
    """Return the outcome from the newest planned queue with this filter, None if there is none with a label.

    The queue must have been drawn before any answer had a label that counts.
    """
    queues = (each for each in list_queues(connection, subject=ANSWERS) if each.of_rate and each.filter == where)
    queue = next(
        (each for each in queues if not any(stratum["labelled"] for stratum in (each.plan or {})["strata"])), None
    )
    if queue is None or queue.plan is None:
        return None
    strata = queue.plan["strata"]
    answers = np.array([each["answers"] for each in strata], dtype=np.int64)
    is_bad = np.array([each["verdict"] == "bad" for each in strata])
    items = planned_items(connection, queue.id)
    people = people_values(graded_reviews(connection), SCALES["label"])
    bad = dict(zip(people.response_ids.tolist(), decoded(people.values, "label") == Label.HALLUCINATED, strict=True))
    last = min(each["next_position"] for each in strata)  # up to here, a random sample of all answers
    labels, verdicts = [], []
    for item in items:
        if item.position >= last or (item.is_open and item.response_id not in bad):
            break
        if item.response_id in bad:
            labels.append(bool(bad[item.response_id]))
            verdicts.append(bool(is_bad[item.stratum]))
    if not labels:
        return None
    total = int(answers.sum())
    y, v = np.array(labels, dtype=np.float64), np.array(verdicts, dtype=np.float64)
    if queue.plan["judge"] is None:
        lows, highs = confidence_sequence(y, total)
    else:
        share = float(answers[is_bad].sum()) / total
        lows, highs = (share + 2 * ends - 1 for ends in confidence_sequence((y - v + 1) / 2, total))
    lows, highs = np.maximum.accumulate(np.maximum(lows, 0)), np.minimum.accumulate(np.minimum(highs, 1))
    after = decided_after(lows, highs, bound)
    return OutcomeSoFar(queue.name, bound, len(labels), total, float(lows[-1]), float(highs[-1]), after)
