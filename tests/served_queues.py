"""A served database with queues of answers of which a judge said things that nobody may see who grades blind."""

from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import text

from judgeboard.domain import (
    Claim,
    ClaimStatus,
    JudgeVersion,
    QueueOrder,
    Response,
    Status,
    Verdict,
)
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judging_log import address
from queue_case import QueueCase, queue_case
from served import serving

BLIND = {"blind_judge": True, "blind_people": True, "order": QueueOrder.OLDEST}
# What nobody who is to grade blind may be sent: what a judge said, who wrote the answer, what
# others said.
HIDDEN = (
    "hiddenreason",
    "hiddenclaim",
    "hiddenmodel",
    "hiddenjudge",
    "hiddenwriter",
    "hiddennote",
    "0.1234",
)


@dataclass
class ServedQueues:
    """A served database with queues."""

    url: str
    store: Store
    case: QueueCase
    names: int = field(default=0)

    def queue(self, answers, **rules):
        """Make a queue with answers of its own, named after it; return its name."""
        self.names += 1
        name = f"queue {self.names}"
        kind = f"type{self.names}"
        claim = Claim("hiddenclaim", ClaimStatus.CONTRADICTED)
        stored_verdict = Verdict(
            Status.OK, groundedness=0.1234, quality=2, reasoning="hiddenreason", claims=(claim,)
        )
        with self.store.writing() as connection:
            stored = [
                Response(
                    "log",
                    f"{kind}-{n:02}",
                    f"Question {n} of {name}?",
                    f"Answer {n}. It goes on.",
                    ("A **passage**.",),
                    kind,
                    "hiddenwriter",
                )
                for n in range(1, answers + 1)
            ]
            ids = store_responses(connection, stored).new
            judge = ensure_version(
                connection, JudgeVersion("hiddenjudge", "rag", "hiddenmodel", {"n": 1})
            )
            store_judgments(
                connection, judge, None, [NewJudgment(one, 0, 0, stored_verdict) for one in ids]
            )
        self.case.queue(name, where=RowFilter(query_types=(kind,)), **rules)
        return name

    def reviews(self):
        """(reviewer, decision, stage, groundedness, note) of every review, in order."""
        query = (
            "SELECT w.name, r.decision, r.stage, r.groundedness, r.note FROM review r "
            "JOIN reviewer w ON w.id = r.reviewer_id ORDER BY r.id"
        )
        with self.store.reading() as connection:
            return [tuple(row) for row in connection.execute(text(query))]


def queues_in(store, url=""):
    with store.writing() as connection:
        set_setting(
            connection, "implied_labels", ("low_groundedness",), "test"
        )  # else the first decision asks
    return ServedQueues(url, store, queue_case(store))


@contextmanager
def served_queues(store, port=None):
    with serving(address(store), port) as url:
        yield queues_in(store, url)
