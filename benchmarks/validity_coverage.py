"""Measures how often the intervals of rates, trends and app versions contain the truth, and how often promises break.

Each line is a simulation with the functions of the product: answers are drawn from RAGTruth (or
made), labels are drawn from them, and the share of draws that contain the truth is compared with
the share that was published for the same method. A line is out if both differ by more than two
Monte-Carlo errors: those of 1,000 draws of ours and of the published draws. More draws make it rare
that a line is out by chance. Lines with "at most" are promises. Exits 1 if a line is out.

    python benchmarks/validity_coverage.py --data FOLDER [--draws 4000] [--seed 0] [--workers 2]

FOLDER contains ``ragtruth.responses.jsonl.gz``, ``ragtruth.human.jsonl.gz`` and
``ragtruth.judgements.jsonl.gz``.
"""

import argparse
import gzip
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping
from judgeboard.stats.intervals import mean_estimate, share_intervals
from judgeboard.stats.monitor import Window, detect, rate_error
from judgeboard.stats.rates import (
    Stratum,
    Target,
    design_effect,
    predicted_mean,
    rate,
    rogan_gladen,
    strata_of,
    summed,
    weighted_agreement,
)
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import confidence_threshold, score_grid, wrong_bound

JUDGE = "track_b_modernbert"
OTHERS = ("approach_1_modernbert", "track_a_deberta", "baseline_nli")
LABELS, ROGAN, STRATA, STRATA_D = (
    "labels only",
    "Rogan-Gladen",
    "verdict strata",
    "verdict strata, D",
)
PREDICTED, PREDICTED_D = "prediction-powered", "prediction-powered, D"

# Coverage in % by setting and method, of 2,000 draws.
RATES: Mapping[str, Mapping[str, float]] = {
    "these answers, n = 50": {LABELS: 96.2, ROGAN: 97.9, STRATA: 95.3, PREDICTED: 95.0},
    "these answers, n = 200": {LABELS: 96.3, ROGAN: 98.3, STRATA: 95.5, PREDICTED: 95.5},
    "the app, n = 50": {
        LABELS: 96.2,
        ROGAN: 96.9,
        STRATA: 94.6,
        STRATA_D: 95.5,
        PREDICTED: 93.9,
        PREDICTED_D: 94.5,
    },
    "the app, n = 200": {
        LABELS: 92.9,
        ROGAN: 96.7,
        STRATA: 92.3,
        STRATA_D: 94.3,
        PREDICTED: 92.5,
        PREDICTED_D: 94.9,
    },
    "the app, n = 400": {
        LABELS: 91.5,
        ROGAN: 97.9,
        STRATA: 89.0,
        STRATA_D: 94.1,
        PREDICTED: 88.8,
        PREDICTED_D: 93.8,
    },
    # The published simulation has scores, too, but does not say how they were made.
    "3 % bad, n = 100": {LABELS: 97.2, ROGAN: 97.6, STRATA: 94.1},
    "3 % bad, n = 400": {LABELS: 94.7, ROGAN: 98.0, STRATA: 95.1},
}
FLAGGED: Mapping[float, tuple[float, float]] = {
    0.02: (95.8, 96.8),
    0.05: (95.5, 96.6),
    0.1: (95.2, 96.0),
}
AGREEMENT: Mapping[float, Mapping[str, float]] = {
    0.05: {"kappa": 93.6, "sensitivity": 96.3, "specificity": 94.0, "recall": 95.3},
    0.1: {"kappa": 95.3, "sensitivity": 96.0, "specificity": 94.5, "recall": 95.1},
}
WEEKS: Mapping[int, tuple[float, float]] = {20: (96.9, 95.6), 40: (95.3, 94.6), 80: (96.2, 90.7)}
FALSE_ALARMS: Mapping[int, float] = {10: 7.8, 20: 11.0, 40: 16.8}
APPS: Mapping[int, tuple[float, float]] = {30: (93.5, 93.8), 50: (94.7, 94.9), 100: (94.8, 94.7)}
AT_THE_LIMIT: Mapping[float, tuple[float, float]] = {
    0: (4.2, 3.6),
    0.2: (11.9, 5.3),
    0.5: (17.5, 4.5),
}

OUR_DRAWS, THEIR_DRAWS = 1_000, 2_000  # of the Monte-Carlo error
ANSWERS_A_WEEK, A_YEAR, LIMIT = 300, 52, 104
MADE = {"answers": 5_000, "bad": 0.03, "recall": 0.5, "false": 0.03}


@dataclass
class Line:
    """A published share in % (``most``: of a promise, the greatest allowed), and the outcomes of our draws."""

    published: float | tuple[float, float]
    promise: bool = False
    theirs: int = THEIR_DRAWS
    hits: int = 0
    draws: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, estimate: Estimate, truth: float) -> None:
        """Count whether the interval contains the truth."""
        if estimate.low is not None and estimate.high is not None:
            self.widths.append(estimate.high - estimate.low)
            self.count(estimate.low - 1e-12 <= truth <= estimate.high + 1e-12)

    def count(self, hit: bool) -> None:
        """Count a draw."""
        self.hits += bool(hit)
        self.draws += 1

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest share that is expected, in %."""
        low, high = (
            self.published
            if isinstance(self.published, tuple)
            else (self.published, self.published)
        )
        return (0.0 if self.promise else low), high

    @property
    def error(self) -> float:
        """The Monte-Carlo error of the difference, in points. A promise is no simulation."""
        low, high = self.ends
        ours = 100 * self.hits / self.draws
        theirs = high if self.promise else min(max(ours, low), high)
        spreads = [
            share * (100 - share) for share in (min(max(each, 1), 99) for each in (ours, theirs))
        ]
        if self.promise:
            return math.sqrt(spreads[1] / OUR_DRAWS)
        return math.sqrt(spreads[0] / OUR_DRAWS + spreads[1] / self.theirs)

    @property
    def within(self) -> bool:
        """Whether our share is within two Monte-Carlo errors."""
        low, high = self.ends
        return low - 2 * self.error <= 100 * self.hits / self.draws <= high + 2 * self.error

    def words(self, name: str) -> str:
        """Return the line of the table."""
        low, high = self.ends
        known = (
            f"at most {high:g}"
            if self.promise
            else f"{high:.1f}"
            if low == high
            else f"{low:.1f}-{high:.1f}"
        )
        width = f"{np.mean(self.widths):.3f}" if self.widths else ""
        share = 100 * self.hits / self.draws
        return f"{name:58} {share:5.1f} {known:>11} {self.error:6.2f}  {'yes' if self.within else 'NO':6} {width:>5}"


@dataclass(frozen=True, eq=False)
class Answers:
    """One row per answer: people's label, the judge's verdict (both 1 for bad), its badness, and the evidence group."""

    bad: FloatArray
    judged: FloatArray
    badness: FloatArray
    groups: IntArray

    def __len__(self) -> int:
        return len(self.bad)

    def at(self, rows: IntArray, groups: IntArray) -> "Answers":
        """Return some of the rows in groups of these numbers."""
        return Answers(self.bad[rows], self.judged[rows], self.badness[rows], groups)

    def members(self) -> list[IntArray]:
        """Return the rows of each group."""
        order = np.argsort(self.groups, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.groups))[:-1])

    def cells(self) -> IntArray:
        """Return the number of answers of each group by 2 * verdict + label, shape (groups, 4)."""
        cells = (4 * self.groups + 2 * self.judged + self.bad).astype(np.int64)
        return np.bincount(cells, minlength=4 * (int(self.groups.max()) + 1)).reshape(-1, 4)

    def truths(self) -> dict[str, float]:
        """Return the rate and the agreement of all answers."""
        everything = np.ones(len(self), dtype=np.bool_)
        population, labels = _sums(self, everything)
        figures = weighted_agreement(population, labels, self.judged, "these")
        return {name: each.value or 0.0 for name, each in figures.items()} | {
            "rate": float(self.bad.mean())
        }


def main() -> int:
    """Simulate, print, and return the number of lines that are out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the RAGTruth files")
    parser.add_argument(
        "--draws", type=int, default=4_000, help="of intervals; a quarter of it of alarms"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    began, out = time.perf_counter(), 0
    known = _read(asked.data)
    print(f"{asked.draws:,} draws each, {asked.draws // 4:,} of alarms and promises; shares in %")
    print(f"{'':58}  ours   published  error  within width")
    intervals = (_rates, _flagged, _elsewhere, _weeks, _limits, _apps)
    parts = (*intervals, _false_alarms, _promises)
    with ProcessPoolExecutor(asked.workers) as pool:
        results = [
            pool.submit(
                part,
                known,
                np.random.default_rng((asked.seed, number)),
                asked.draws if part in intervals else asked.draws // 4,
            )
            for number, part in enumerate(parts)
        ]
        for result in results:
            for name, line in result.result().items():
                print(line.words(name), flush=True)
                out += not line.within
    print(f"lines that are out: {out}; {time.perf_counter() - began:.0f} s")
    return out


def _rates(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    lines = {
        f"{setting}: {name}": Line(share)
        for setting, row in RATES.items()
        for name, share in row.items()
    }
    for setting in RATES:
        n = int(setting.rsplit(" ", 1)[1])
        these = setting.startswith("these")
        truth = MADE["bad"] if "3 %" in setting else known.truths["rate"]
        for _ in range(draws):
            answers = (
                known.answers if these else _made(rng) if "3 %" in setting else known.resampled(rng)
            )
            labelled = np.zeros(len(answers), dtype=np.bool_)
            labelled[rng.choice(len(answers), n, replace=False)] = True
            for name, estimate in _rate_estimates(
                answers, labelled, RATES[setting], "these" if these else "app"
            ):
                lines[f"{setting}: {name}"].add(estimate, truth)
    return lines


def _rate_estimates(
    answers: Answers, labelled: BoolArray, wanted: Collection[str], target: Target
) -> Iterator[tuple[str, Estimate]]:
    bad, judged = answers.bad[labelled], answers.judged[labelled]
    n_bad, found, passed = (
        int(bad.sum()),
        int((bad * judged).sum()),
        int(((1 - bad) * (1 - judged)).sum()),
    )
    yield LABELS, share_intervals([n_bad], [len(bad)])[0]
    yield (
        ROGAN,
        rogan_gladen(
            int(answers.judged.sum()), len(answers), n_bad, found, len(bad) - n_bad, passed
        ),
    )
    population, labels = _sums(answers, labelled)
    counts = strata_of(population, labels)
    if any(each.answers and not each.labelled for each in counts):  # as the product joins strata
        counts = (Stratum(len(answers), len(bad), n_bad),)
        population, labels = _sums(answers, labelled, strata=np.zeros(len(answers), dtype=np.int64))
    yield STRATA, rate(counts, target)
    if STRATA_D in wanted:
        yield STRATA_D, rate(counts, target, design_effect(population, labels))
    one, rows = np.zeros(len(answers), dtype=np.int64), np.arange(len(answers))
    for name, groups in ((PREDICTED, rows), (PREDICTED_D, answers.groups)):
        if name in wanted:
            sums = summed(one, answers.badness, groups, 1, labelled, bad)
            yield name, predicted_mean(*sums, share=True, target=target)


def _flagged(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    """All answers judged bad are labelled, and a random share of the others."""
    lines: dict[str, Line] = {}
    for share, (of_these, of_app) in FLAGGED.items():
        place = f"all flagged and a random {share:g}"
        lines[f"{place}: these answers"] = Line(of_these)
        lines[f"{place}: the app, D"] = Line(of_app)
        lines |= {f"{place}: {name}": Line(each) for name, each in AGREEMENT.get(share, {}).items()}
        for _ in range(draws):
            for these, answers in ((True, known.answers), (False, known.resampled(rng))):
                labelled = (answers.judged == 1) | (rng.random(len(answers)) < share)
                population, labels = _sums(answers, labelled)
                counts = strata_of(population, labels)
                verdicts = answers.judged[labelled]
                if these:
                    lines[f"{place}: these answers"].add(
                        rate(counts, "these"), known.truths["rate"]
                    )
                    judged_bad = int(answers.judged.sum())
                    figures = weighted_agreement(
                        population, labels, verdicts, "these", judged_bad=judged_bad
                    )
                    if f"{place}: recall" in lines:
                        lines[f"{place}: recall"].add(
                            figures["sensitivity"], known.truths["sensitivity"]
                        )
                    continue
                estimate = rate(counts, "app", design_effect(population, labels))
                lines[f"{place}: the app, D"].add(estimate, known.truths["rate"])
                for name, figure in weighted_agreement(population, labels, verdicts).items():
                    if f"{place}: {name}" in lines:
                        lines[f"{place}: {name}"].add(figure, known.truths[name])
    return lines


def _elsewhere(_known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    """200 labels from a time with half of the answers bad; now a fifth is, and the judge errs as often."""
    holds, fails = Line(95.7), Line(0.0, promise=True)
    recall, specificity, n, now = 0.8, 0.9, 200, 0.2
    for _ in range(draws):
        bad = int(rng.binomial(n, 0.5))
        found, passed = int(rng.binomial(bad, recall)), int(rng.binomial(n - bad, specificity))
        answers = 10_000
        judged = int(rng.binomial(answers, now * recall + (1 - now) * (1 - specificity)))
        holds.add(rogan_gladen(judged, answers, bad, found, n - bad, passed), now)
        wrong = n - bad - passed
        strata = (
            Stratum(judged, found + wrong, found),
            Stratum(answers - judged, n - found - wrong, bad - found),
        )
        fails.add(rate(strata), now)
    return {
        "labels from elsewhere: Rogan-Gladen": holds,
        "labels from elsewhere: verdict strata": fails,
    }


def _weeks(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    lines = {}
    for n, (alone, grouped) in WEEKS.items():
        for name, published, of_groups in (
            ("answers apart", alone, False),
            ("groups of 6, no D", grouped, True),
        ):
            line = lines[f"a week with {n} labels, {name}"] = Line(published)
            for counts in known.weeks(rng, draws, n, of_groups=of_groups):
                line.add(rate(counts), known.truths["rate"])
    return lines


def _false_alarms(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    lines = {}
    for n, published, of_groups in (
        *((n, share, False) for n, share in FALSE_ALARMS.items()),
        (40, 28.2, True),
    ):
        name = (
            f"any alarm in 2 years, {n} labels a week{', groups of 6, no D' if of_groups else ''}"
        )
        # With 10 labels a week fewer alarms than published are false: weeks are joined until each
        # stratum has a label.
        line = lines[name] = Line(published, promise=True)
        for _ in range(draws):
            points = _points(known.weeks(rng, 2 * A_YEAR, n, of_groups=of_groups))
            line.count(any(_alarms(points, direction) for direction in ("rose", "fell")))
    return lines


def _points(weeks: list[tuple[Stratum, ...]]) -> list[tuple[float, float]]:
    """Return the rate and its error of each week; a week with an unlabelled stratum is joined with the next."""
    points = []
    waiting: tuple[Stratum, ...] | None = None
    for week in weeks:
        joined = week if waiting is None else tuple(map(_both, waiting, week))
        if all(each.labelled for each in joined):
            window, waiting = Window(joined), None
            points.append((window.rate.value or 0.0, rate_error(joined)))
        else:
            waiting = joined
    return points


def _both(one: Stratum, other: Stratum) -> Stratum:
    return Stratum(one.answers + other.answers, one.labelled + other.labelled, one.bad + other.bad)


def _alarms(points: list[tuple[float, float]], direction: Any) -> list[int]:
    return [at for at, state in enumerate(detect(points, direction)) if state.evidence >= LIMIT]


def _limits(_known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    """One test where exactly a tenth of the verdicts is wrong; 100 groups of 6 answers whose errors correlate."""
    lines: dict[str, Line] = {}
    risk, groups = 0.1, grouping(np.repeat(np.arange(100), 6), 600)
    for correlation, published in AT_THE_LIMIT.items():
        names = [
            f"a test at the limit passes, correlation {correlation:g}, {how}"
            for how in ("by answer", "D")
        ]
        lines |= {name: Line(share) for name, share in zip(names, published, strict=True)}
        for _ in range(draws):
            common = rng.random((100, 6)) < math.sqrt(correlation)
            wrong = np.where(
                common, rng.random((100, 1)) < risk, rng.random((100, 6)) < risk
            ).reshape(-1)
            for name, effect in zip(
                names, (1.0, design_effect_of_mean(wrong, groups)), strict=True
            ):
                lines[name].count(wrong_bound(int(wrong.sum()), len(wrong), 0.05, effect) <= risk)
    return lines


def _promises(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    """Choose a threshold on 107 groups; the promise is broken if too many of all verdicts beyond it are wrong."""
    lines: dict[str, Line] = {}
    members = known.answers.members()
    for name, (badness, judged) in known.judges.items():
        confidence: FloatArray = np.round(np.maximum(badness, 1 - badness), 9).astype(np.float64)
        wrong, grid = judged != known.answers.bad, score_grid(confidence)
        for agreement in (0.8, 0.9):
            line = lines[f"promise broken, agreement {agreement:g}, {name}"] = Line(5, promise=True)
            for _ in range(draws):
                chosen = [members[each] for each in rng.integers(0, len(members), 107)]
                rows = np.concatenate(chosen)
                groups = grouping(
                    np.repeat(np.arange(len(chosen)), list(map(len, chosen))), len(rows)
                )
                passed = confidence_threshold(
                    grid,
                    confidence[rows],
                    wrong[rows],
                    risk=1 - agreement,
                    design_effect=design_effect_of_mean(wrong[rows], groups),
                )
                beyond = confidence >= (2 if passed is None else passed.threshold)
                line.count(passed is not None and wrong[beyond].mean() > 1 - agreement)
    return lines


def _apps(known: "Known", rng: np.random.Generator, draws: int) -> dict[str, Line]:
    lines: dict[str, Line] = {}
    change, scores = known.change
    truth, one = float(change.mean()), np.zeros(len(change), dtype=np.int64)
    for n, (predicted, alone) in APPS.items():
        names = [f"app versions, {n} questions: {how}" for how in (PREDICTED, LABELS)]
        lines |= {
            name: Line(each, theirs=3_000)
            for name, each in zip(names, (predicted, alone), strict=True)
        }
        for _ in range(draws):
            rows = rng.integers(0, len(change), len(change))
            labelled = np.zeros(len(rows), dtype=np.bool_)
            labelled[:n] = True
            values = change[rows][labelled]
            sums = summed(one, scores[rows], np.arange(len(rows)), 1, labelled, values)
            lines[names[0]].add(predicted_mean(*sums, share=False), truth)
            lines[names[1]].add(mean_estimate(values, grouping(None, n)), truth)
    return lines


def _sums(answers: Answers, labelled: BoolArray, strata: IntArray | None = None) -> Any:
    of_rows = answers.judged.astype(np.int64) if strata is None else strata
    return summed(
        of_rows,
        answers.badness,
        answers.groups,
        int(of_rows.max()) + 1,
        labelled,
        answers.bad[labelled],
    )


def _made(rng: np.random.Generator) -> Answers:
    """Return answers of which few are bad; the judge finds half of these."""
    n = int(MADE["answers"])
    bad = rng.random(n) < MADE["bad"]
    judged = np.where(bad, rng.random(n) < MADE["recall"], rng.random(n) < MADE["false"]).astype(
        np.float64
    )
    return Answers(bad.astype(np.float64), judged, judged, np.arange(n))


@dataclass(frozen=True, eq=False)
class Known:
    """RAGTruth with one judge's verdicts, the badness and verdicts of several judges, and the changes of two apps."""

    answers: Answers
    judges: Mapping[str, tuple[FloatArray, FloatArray]]
    change: tuple[FloatArray, FloatArray]
    truths: Mapping[str, float]
    members: list[IntArray]

    def resampled(self, rng: np.random.Generator) -> Answers:
        """Return the answers of as many evidence groups, drawn with replacement."""
        chosen = [
            self.members[each] for each in rng.integers(0, len(self.members), len(self.members))
        ]
        sizes = [len(each) for each in chosen]
        return self.answers.at(np.concatenate(chosen), np.repeat(np.arange(len(chosen)), sizes))

    def weeks(
        self, rng: np.random.Generator, count: int, n: int, *, of_groups: bool = False
    ) -> list[tuple[Stratum, ...]]:
        """Return the strata (judged good, judged bad) of weeks of 300 answers with ``n`` labels by lot.

        With ``of_groups`` the answers come in groups of 6.
        """
        table = self.answers.cells()
        shares = table.sum(axis=0) / table.sum()
        if of_groups:
            of_six = table[table.sum(axis=1) == 6]
            cells = of_six[rng.integers(0, len(of_six), (count, ANSWERS_A_WEEK // 6))].sum(axis=1)
        else:
            cells = rng.multinomial(ANSWERS_A_WEEK, shares, count)
        left, wanted = np.full(count, ANSWERS_A_WEEK), np.full(count, n)
        labelled = np.zeros_like(cells)
        for cell in range(4):
            left -= cells[:, cell]
            labelled[:, cell] = rng.hypergeometric(cells[:, cell], left, wanted)
            wanted -= labelled[:, cell]
        return [
            (
                Stratum(int(of[0] + of[1]), int(drawn[0] + drawn[1]), int(drawn[1])),
                Stratum(int(of[2] + of[3]), int(drawn[2] + drawn[3]), int(drawn[3])),
            )
            for of, drawn in zip(cells.tolist(), labelled.tolist(), strict=True)
        ]


def _read(folder: Path) -> Known:
    rows = {row["id"]: row for row in _lines(folder / "ragtruth.responses.jsonl.gz")}
    people = {
        row["response_id"]: row["label"] for row in _lines(folder / "ragtruth.human.jsonl.gz")
    }
    verdicts: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in _lines(folder / "ragtruth.judgements.jsonl.gz"):
        verdicts[row["judge"]][row["response_id"]] = row
    ids = sorted(verdicts[JUDGE])
    bad = np.array([people[each] == "hallucinated" for each in ids], dtype=np.float64)
    evidence = [json.dumps([rows[each]["query"], rows[each]["context"]]) for each in ids]
    groups = np.unique(evidence, return_inverse=True)[1]
    judges = {
        name: (
            np.array([1 - verdicts[name][each]["groundedness"] for each in ids]),
            np.array(
                [verdicts[name][each]["label"] == "hallucinated" for each in ids], dtype=np.float64
            ),
        )
        for name in (JUDGE, *OTHERS)
    }
    mean = np.mean([judges[name][0] for name in (JUDGE, *OTHERS[:2])], axis=0)
    judges["mean of three"] = (mean, (mean > 0.5).astype(np.float64))
    badness, judged = judges[JUDGE]
    answers = Answers(bad, judged, badness, groups)
    sides: list[dict[str, int]] = [
        {rows[each]["source_id"]: at for at, each in enumerate(ids) if rows[each]["model"] == model}
        for model in ("llama-2-7b-chat", "llama-2-70b-chat")
    ]
    both = sorted(sides[0].keys() & sides[1].keys())
    before, after = ([side[each] for each in both] for side in sides)
    change = (bad[after] - bad[before], badness[after] - badness[before])
    return Known(answers, judges, change, answers.truths(), answers.members())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
