"""The pairs that a person goes through one after the other, as their list held them when they opened it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from judgeboard.pairs.report import PairLine


class PairWalk:
    """Pairs of one list by id, and those of them that the person has not judged yet.

    It is made once from the whole list; going on through it reads nothing, and a pair keeps its place where deciding
    it takes it off the list.
    """

    def __init__(self, aspect: str, lines: Iterable[PairLine]) -> None:
        """Take the lines of the list, by pair; ``aspect`` is what they are compared in."""
        self.aspect = aspect
        by_id = {line.pair_id: line.mine for line in lines}
        self._pair_ids = sorted(by_id)
        self._waiting = [pair_id for pair_id in self._pair_ids if not by_id[pair_id]]

    def __len__(self) -> int:
        """Return how many pairs the list holds."""
        return len(self._pair_ids)

    def place(self, pair_id: int) -> int | None:
        """Return where a pair stands in the list, from 1; None where it does not."""
        found = bisect_left(self._pair_ids, pair_id)
        return found + 1 if found < len(self._pair_ids) and self._pair_ids[found] == pair_id else None

    def judged(self, pair_id: int) -> None:
        """Take a pair from those that wait."""
        found = bisect_left(self._waiting, pair_id)
        if found < len(self._waiting) and self._waiting[found] == pair_id:
            del self._waiting[found]

    def following(self, pair_id: int) -> int | None:
        """Return the next other pair that waits, from the start again at the end; None where none does."""
        found = bisect_right(self._waiting, pair_id)
        following = self._waiting[found % len(self._waiting)] if self._waiting else None
        return None if following == pair_id else following
