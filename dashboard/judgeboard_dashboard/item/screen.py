"""What is on the item page's screen: which answer, which flag, from which list."""

from dataclasses import dataclass

from judgeboard.filters import RowFilter
from judgeboard_dashboard.address import Query, query_of
from judgeboard_dashboard.filter_sentence import filter_sentence


@dataclass(frozen=True, slots=True)
class Listing:
    """The list that the item was opened from: next and previous stay in it."""

    where: RowFilter
    sort: str

    @property
    def words(self) -> str:
        """The list in words."""
        return "all flags" if self.where == RowFilter() else filter_sentence(self.where)

    def query(self, default_sort: str) -> Query:
        """Return the list as an address carries it."""
        query = query_of(self.where)
        if self.sort != default_sort:
            query["sort"] = [self.sort]
        return query


@dataclass(frozen=True, slots=True)
class Screen:
    """What a press belongs to, bound when the page was drawn: a press that arrives late means what its author saw.

    ``flag_id`` is the open flag that waits for a decision, None where there is nothing to decide. ``from_list`` says
    whether the item was opened as one of a list (``?flag=``), so that the next one follows a decision. ``edits`` is a
    review of one's own that a press changes, in which ``seconds_before`` were spent already.
    """

    response_id: int
    external_id: str
    flag_id: int | None
    judgment_seen_id: int | None
    listing: Listing
    from_list: bool
    edits: int | None = None
    seconds_before: float = 0.0

    @property
    def row(self) -> str:
        """What the guard and the widgets know this screen by."""
        flag = "" if self.flag_id is None else f"f{self.flag_id}"
        edits = "" if self.edits is None else f"e{self.edits}"
        return f"r{self.response_id}{flag}{edits}"
