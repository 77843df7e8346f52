"""Who uses the tools: the user of a terminal, or a program with a key."""

from contextvars import ContextVar
from dataclasses import dataclass, replace

from judgeboard.errors import NotAllowed
from judgeboard.people.roster import seen_by_user
from judgeboard.receiving.keys import READ, Sender
from judgeboard.reports.terminal import local_user
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen

DRAFT, JUDGE = "draft", "judge"
CALLER: ContextVar["Caller"] = ContextVar("caller")
"""The caller of the tools, for each request."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a terminal, whose rights are those of the commands, or the ``sender`` of a request over HTTP."""

    store: Store
    sender: Sender | None = None

    @property
    def actor(self) -> str:
        """The name in rows and events."""
        return self.sender.actor if self.sender else local_user()

    @property
    def scopes(self) -> frozenset[str]:
        """What the caller may do. Without a key, only a person starts a run."""
        key = self.sender and self.sender.key
        return frozenset(key.scopes if key else (READ, DRAFT))

    @property
    def seen(self) -> Seen:
        """The database as the caller may see it."""
        if self.sender:
            return self.sender.seen(self.store)
        return seen_by_user(self.store, local_user(), lambda _words: None)

    def require(self, scope: str) -> None:
        """Raise NotAllowed if the caller's key lacks a scope."""
        if scope not in self.scopes:
            raise NotAllowed(f"{self.actor} lacks the scope {scope!r}")

    def limited(self, where: RowFilter) -> RowFilter:
        """Return a filter without the answers that the caller's key may not see, for work on all matching answers."""
        owner = self.sender.owner if self.sender else ""
        if owner and where.sources and set(where.sources) != {owner}:
            raise NotAllowed(f"this key is for the source {owner!r}")
        return replace(where, sources=(owner,)) if owner else where
