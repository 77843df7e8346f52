"""Which answers a rejudge asks about: what the page's filter means, narrowed by a choice."""

from dataclasses import dataclass, replace
from typing import Literal

from judgeboard.filters import RowFilter
from judgeboard_dashboard.filter_sentence import filter_sentence

RowsName = Literal["open", "match", "failed", "plain"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a job selects: the filter, how a run asks (all, failed, plain), and both in words."""

    where: RowFilter
    mode: str
    words: str


def names(where: RowFilter) -> dict[RowsName, str]:
    """Return what can be chosen under a filter, in words."""
    return {
        "open": "Answers with an open flag",
        "match": "All answers" if where == RowFilter() else "All that the filter finds",
        "failed": "Those without a usable verdict",
        "plain": "Those not asked yet",
    }


def first_choice(where: RowFilter) -> RowsName:
    """Return what is chosen where nobody chose: who comes with a filter means what it finds."""
    return "open" if where == RowFilter() else "match"


def rows(name: RowsName, where: RowFilter) -> Rows:
    """Return what a choice under a filter selects."""
    if name == "open":
        flagged = replace(where, states=("open",))
        return Rows(
            flagged, "all", f"open flags, {filter_sentence(where)}" if where != RowFilter() else "all open flags"
        )
    if name == "failed":
        return Rows(where, "failed", f"without a usable verdict, {filter_sentence(where)}")
    if name == "plain":
        return Rows(where, "plain", f"not asked yet, {filter_sentence(where)}")
    return Rows(where, "all", filter_sentence(where))


def one(response_id: int) -> Rows:
    """Return the selection of one answer."""
    return Rows(RowFilter(response_ids=(response_id,)), "all", "one answer")


def job_words(where: RowFilter, mode: str) -> str:
    """Return in words what a job selected."""
    if where.response_ids is not None and len(where.response_ids) == 1:
        return "one answer"
    said = {"failed": "without a usable verdict, ", "plain": "not asked yet, "}.get(mode, "")
    return said + filter_sentence(where)
