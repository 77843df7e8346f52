"""Our ticket system: reads the answers in its exports, and sends scores to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgeboard.imports.exports.entry import Entry, answer_row, each_row
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.store.tools import PushItem
from judgeboard.tools.target import Access, Connection, Target
from judgeboard.tools.tool import Tool


@each_row
def read_ticket(row: dict[str, Any]) -> Iterator[Entry]:
    yield Entry(answer_row({}, external_id=row["ticket"], query=row["customer"], answer=row["bot"]))


def access(address: str, environment: Mapping[str, str]) -> Access:
    return Access(address, headers={"x-tickets-key": environment.get("TICKETS_API_KEY", "")})


def send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        scores = {score.name: score.value for score in item.scores}
        http.send(
            "POST", f"/tickets/{item.external_id}/scores", {"by": item.author, "scores": scores}
        )


TICKETS = Tool(
    exports=(
        Export("a ticket system", "tickets", (Keys("ticket", "customer", "bot"),), read_ticket),
    ),
    target=Target("tickets", ("TICKETS_URL",), access, send),
)
