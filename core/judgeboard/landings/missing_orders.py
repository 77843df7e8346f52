"""The orders in which a file's judges were asked, as far as only the whole file tells."""

from dataclasses import dataclass, field

from judgeboard.domain import Shown

Key = tuple[str, str]
"""Source and outside id of a pair."""


@dataclass(slots=True)
class MissingOrder:
    """An order without a verdict: its raw text, and whether its row brought something else."""

    raw: str | None
    row_is_new: bool


@dataclass(slots=True)
class MissingOrders:
    """Collects, per judge, the orders that have verdicts and the (pair, order) that have none.

    Pairs go by source and outside id: the ids of a dry run's pairs are gone with it.

    A judge with verdicts in one order only was asked in that order; with both, both were asked of every pair that it
    has a row for. One without any verdict in the whole file was asked with A first, as the file has the answers.
    """

    _orders: dict[str, set[Shown]] = field(default_factory=dict)
    _missing: dict[str, dict[tuple[Key, Shown], MissingOrder]] = field(default_factory=dict)

    def note(self, judge: str, pair: Key, given: set[Shown], raws: dict[Shown, str], *, row_is_new: bool) -> None:
        """Take note of a row of a judge."""
        self._orders.setdefault(judge, set()).update(given)
        missing = self._missing.setdefault(judge, {})
        for shown in Shown:
            if shown not in given:
                missing.setdefault((pair, shown), MissingOrder(raws.get(shown), row_is_new))

    def judges(self) -> list[str]:
        """Return the judges that the file names."""
        return list(self._orders)

    def asked_in_vain(self, judge: str) -> dict[tuple[Key, Shown], MissingOrder]:
        """Return what a judge was asked without a usable verdict."""
        orders = self._orders[judge] or {Shown.AB}
        return {key: one for key, one in self._missing[judge].items() if key[1] in orders}
