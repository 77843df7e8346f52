"""The threshold of each category, chosen on other items than it is scored on (methods.md §5)."""

from dataclasses import dataclass, replace

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.self_reference.items import Items
from judgeboard.self_reference.scores import never_asked
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.half_credit import half_credit
from judgeboard.stats.resampling import SEED

FOLDS = 5
FEWEST = 10
"""With fewer items a category is tuned and scored on the same ones, and labelled optimistic."""


@dataclass(frozen=True, slots=True)
class TunedCategory:
    """The threshold of a category: ``agree`` of k samples as all its items would have it, k + 1 is never.

    ``by_fold`` are the thresholds that ``accuracy`` (of condition C) was scored with, each chosen on the other folds.
    """

    category: str
    n: int
    agree: int
    by_fold: tuple[int, ...]
    accuracy: Estimate
    optimistic: bool


@dataclass(frozen=True, slots=True)
class Tuned:
    """Condition C with a threshold for each category; ``optimistic`` where any of them could not be cross-validated."""

    accuracy: Estimate
    optimistic: bool
    categories: tuple[TunedCategory, ...] = ()


def tuned_by_category(items: Items) -> Tuned:
    """Return what thresholds by category come to.

    Items are dealt to folds of equal size, the same in every run. Of thresholds that do equally well the highest is
    taken, which shows the judge a reference least often.
    """
    everywhere = np.ones(items.n, dtype=np.bool_)
    for verdicts in (items.without, items.always):
        missing = never_asked(items, verdicts, everywhere)
        if missing:
            return Tuned(
                unmeasured(0, f"{missing}: tuning needs the conditions A and B on every item"), optimistic=False
            )
    measured = ~np.isnan(items.without.score) & ~np.isnan(items.always.score)
    named = np.array(items.categories, dtype=object)
    found, scores, order = [], [], np.argsort(items.pair_ids, kind="stable")
    for category in sorted(set(items.categories)):
        rows = order[(measured & (named == category))[order]]
        if not len(rows):
            continue
        at_each = np.stack([items.selective(needed).score[rows] for needed in range(1, items.k + 2)])
        one, said = _tuned(category, at_each)
        found.append(one)
        scores.append(said)
    if not found:
        return Tuned(unmeasured(0, "no item has usable verdicts in both conditions"), optimistic=False)
    optimistic = any(one.optimistic for one in found)
    return Tuned(_estimate(np.concatenate(scores), optimistic=optimistic), optimistic, tuple(found))


def _tuned(category: str, at_each: FloatArray) -> tuple[TunedCategory, FloatArray]:
    """Tune one category: ``at_each`` is the score of each item (columns) at each threshold (rows, from 1 of k on)."""
    n = at_each.shape[1]
    optimistic = n < FEWEST
    folds = _dealt(n)
    seen = [at_each if optimistic else at_each[:, folds != fold] for fold in range(FOLDS)]
    by_fold = [_best(each) for each in seen]
    said = at_each[np.array(by_fold)[folds] - 1, np.arange(n)]
    estimate = _estimate(said, optimistic=optimistic)
    return TunedCategory(category, n, _best(at_each), tuple(sorted(set(by_fold))), estimate, optimistic), said


def _dealt(n: int) -> IntArray:
    """Return the fold of each of ``n`` items: folds of equal size, shuffled, since files often come in a rhythm."""
    folds: IntArray = np.arange(n) % FOLDS
    return np.random.Generator(np.random.SFC64(SEED)).permutation(folds)


def _best(at_each: FloatArray) -> int:
    means = at_each.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[-1]) + 1


def _estimate(scores: FloatArray, *, optimistic: bool) -> Estimate:
    estimate = half_credit(scores)
    how = "optimistic: tuned on the same items" if optimistic else f"thresholds from the other of {FOLDS} folds"
    return replace(estimate, method=f"{estimate.method}; {how}")
