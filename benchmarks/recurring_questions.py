"""Measures how often the detectors find a change, and how often they raise a false alarm, where questions recur.

Each week has 100 answers, of which people label a random sample of 40, or of 19. In the settings,
each answer has a new question, the same 60 questions recur each week, or half of the answers are to
questions that recur. Questions differ much in how often their answers are bad. ``watch`` reads the
share of bad answers from verdicts and labels: from week 26 on, it is 12 points higher, or it never
changes. ``trends`` reads the mean groundedness, also where a week has 1 or 2 answers only: from
week 26 on, it is 0.06 lower, or it never changes. The detectors are those of all answers.

Exits 1 if a bound is missed:

- With 40 labels, and with the groundedness of 100 answers, at least 90 % of the changes are found
  within 10 weeks.
- Without a change, not more runs have a false alarm than on independent normal figures, up to
  chance (exact binomial test, 5 % divided by the number of settings). The promise is an average: a
  detector with the limit A has A weeks or more to a false alarm. By Ville's inequality, evidence
  that begins at 1 reaches A with a probability of 1 / A at most. If it began anew each week, 2 x 40
  / A of the runs could have a false alarm, 77 %. But it begins anew only after it fell to 1, and it
  goes beyond the limit when it reaches it. So the share is far smaller if the standard errors are
  right, and 77 % would hide most faults of a standard error. The benchmark simulates it first.
- The first log of each setting of ``watch``, stored in a database, has the same alarms in
  ``corrected_trend``.

    python benchmarks/recurring_questions.py [--runs 300] [--seed 1]

With --make, it writes two logs of 40 weeks, one with new and one with recurring questions. In week
26, the share of bad answers rises by 15 points. The labels are of the answers that ``random_share``
0.19 draws, so they count after:

    python benchmarks/recurring_questions.py --make FOLDER
    export JUDGEBOARD_DB=FOLDER/new.db JUDGEBOARD_RANDOM_SHARE=0.19
    for kind in responses verdicts grades; do judgeboard import --kind $kind FOLDER/new/$kind.jsonl; done
    judgeboard flags apply; judgeboard trends watch; judgeboard trends; judgeboard trends --corrected
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import binom

import judgeboard
from judgeboard.flags.rules import sampling_number
from judgeboard.imports.importing import import_file
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.periods import PeriodSums
from judgeboard.measure.trend_figures import ALL_ANSWERS, MEASURES, GroupedValues, alarm_limits
from judgeboard.people.roster import change_settings
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping
from judgeboard.stats.monitor import (
    DIRECTIONS,
    detect,
    difference_effect,
    found_changes,
    rate_error,
)
from judgeboard.stats.rates import influences, strata_of, summed
from judgeboard.text import EPOCH

WEEKS, ANSWERS, QUESTIONS, CHANGED = 40, 100, 60, 26
WITHIN = 10
LABELLED = (
    0.4,
    0.19,
)  # the bound is for the first; with half of the labels, a change is found later
SPARSE = (1, 2)  # answers a week
RECURRING = {"new": 0.0, "recurring": 1.0, "mixed": 0.5}
SENSITIVITY, SPECIFICITY = 0.73, 0.9  # as the judge track_b on RAGTruth
JUDGED = (
    0.3,
    0.7,
)  # the lowest groundedness of an answer that the judge calls bad, and of one that it calls good
RISE, FALL = 0.12, 0.06  # of the share of bad answers, and of the mean groundedness
FOUND = 0.9
MONDAY = date(2025, 1, 6)
FIRST_DAY = (MONDAY - EPOCH.date()).days
LIMIT = alarm_limits([ALL_ANSWERS], "week")[ALL_ANSWERS]


@dataclass(frozen=True)
class Answers:
    """One row per answer: week, question, whether it is bad, verdict of the judge, whether labelled, groundedness."""

    weeks: IntArray
    questions: IntArray
    bad: BoolArray
    judged_bad: BoolArray
    labelled: BoolArray
    scores: FloatArray


def made(
    rng: np.random.Generator,
    recurring: float,
    change: float,
    labelled: float,
    weekly: int = ANSWERS,
) -> Answers:
    """Return a log in which a share of the questions recurs, and the bad share rises by ``change``."""
    n = WEEKS * weekly
    weeks = np.repeat(np.arange(WEEKS), weekly)
    recurs = rng.random(n) < recurring
    questions = np.where(recurs, rng.integers(0, QUESTIONS, n), QUESTIONS + np.arange(n))
    shares = rng.beta(0.4, 1.2, QUESTIONS + n)
    mean = 0.4 / 1.6
    bad = (rng.random(n) < shares[questions]) | (
        (weeks >= CHANGED) & (rng.random(n) < change / (1 - mean))
    )
    judged_bad = rng.random(n) < np.where(bad, SENSITIVITY, 1 - SPECIFICITY)
    is_labelled = rng.random(n) < labelled
    scores = np.round(np.where(judged_bad, *JUDGED) + rng.uniform(0, 0.3, n), 3)
    return Answers(weeks, questions, bad, judged_bad, is_labelled, scores)


def watch_alarms(answers: Answers) -> list[int]:
    """Return the weeks in which a detector of the share of bad answers raises its first alarm."""
    groups = grouping(answers.questions, len(answers.weeks))
    rates, parts, kept = [], [], []
    for week in range(WEEKS):
        rows = answers.weeks == week
        strata, labelled = answers.judged_bad[rows].astype(np.int64), answers.labelled[rows]
        values = answers.bad[rows][labelled].astype(np.float64)
        population, labels = summed(
            strata, strata.astype(np.float64), groups.codes[rows], 2, labelled, values
        )
        counts = [each for each in strata_of(population, labels) if each.answers]
        if all(each.labelled for each in counts):
            value = sum(each.answers * each.bad / each.labelled for each in counts) / ANSWERS
            rates.append((value, rate_error(counts)))
            parts.append(influences(strata, labelled, values))
            kept.append(week)
    rows = np.isin(answers.weeks, kept)
    errors = np.array([error for _, error in rates])
    numbers = np.repeat(np.arange(len(kept)), ANSWERS)
    effect = difference_effect(np.concatenate(parts), numbers, groups.at(rows), errors**-2)
    widened = [(value, error * math.sqrt(effect)) for value, error in rates]
    states = {direction: detect(widened, direction) for direction in DIRECTIONS}
    return [kept[change.seen] for change in found_changes(states, LIMIT)]


def stored_alarms(answers: Answers, share: float) -> list[int]:
    """Return the same weeks from a database in which people labelled the answers that ``random_share`` draws."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(answers, folder)
        store = judgeboard.open_store(folder / "log.db", create=True)
        try:
            # Without a threshold no rule picks an answer: the strata are the verdicts.
            change_settings(store, {"random_share": share, "low_groundedness": 0.0}, "benchmark")
            for kind in ("responses", "verdicts", "grades"):
                import_file(store, folder / f"{kind}.jsonl", kind=kind)
            judgeboard.raise_flags(store)
            with store.reading() as connection:
                monitor = corrected_trend(connection).panels[0].monitor()
        finally:
            store.close()
    return (
        []
        if monitor is None
        else sorted((change.seen_day - FIRST_DAY) // 7 for change in monitor.changes)
    )


def trend_alarms(answers: Answers) -> list[int]:
    """Return the week in which the trend of groundedness shows a change."""
    scores, days = answers.scores, FIRST_DAY + 7 * answers.weeks
    starts, counts = np.unique(days, return_counts=True)
    total, squares = (
        np.bincount(answers.weeks, weights=each).tolist() for each in (scores, np.square(scores))
    )
    sums = PeriodSums(tuple(starts.tolist()), tuple(counts.tolist()), tuple(total), tuple(squares))
    measure, values = MEASURES["groundedness"], GroupedValues(days, scores, answers.questions)
    change = measure.change(sums, values, measure.errors(sums, values.change_effect("week")), LIMIT)
    return [] if change is None else [(change.seen_day - FIRST_DAY) // 7]


def normal_false_alarms(runs: int = 20_000) -> float:
    """Return the share of series of independent normal figures without a change in which a detector finds one."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(runs):
        rates = [(value, 1.0) for value in rng.normal(size=WEEKS).tolist()]
        alarms += bool(
            found_changes({direction: detect(rates, direction) for direction in DIRECTIONS}, LIMIT)
        )
    return alarms / runs


@dataclass(frozen=True)
class Setting:
    """Logs, by how much their share of bad answers rises, their detectors, and whether most changes must be found."""

    figure: str
    questions: str
    weekly: str
    log: Callable[[np.random.Generator, float], Answers]
    change: float
    alarms: Callable[[Answers], list[int]]
    must_find: bool


def settings() -> list[Setting]:
    """Return all settings."""

    def log(
        recurring: float, labelled: float, weekly: int, rng: np.random.Generator, change: float
    ) -> Answers:
        return made(rng, recurring, change, labelled, weekly)

    watched = [
        Setting(
            "bad share",
            questions,
            f"{round(labelled * ANSWERS)} labels",
            partial(log, recurring, labelled, ANSWERS),
            RISE,
            watch_alarms,
            labelled == LABELLED[0],
        )
        for labelled, (questions, recurring) in product(LABELLED, RECURRING.items())
    ]
    trends = [
        Setting(
            "groundedness",
            questions,
            f"{weekly} answer{'' if weekly == 1 else 's'}",
            partial(log, recurring, 0.0, weekly),
            FALL / (SENSITIVITY + SPECIFICITY - 1) / (JUDGED[1] - JUDGED[0]),
            trend_alarms,
            weekly == ANSWERS,
        )
        for weekly, (questions, recurring) in product((ANSWERS, *SPARSE), RECURRING.items())
    ]
    return watched + trends


def main() -> int:
    """Simulate and print, or write the two logs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--make", type=Path, help="folder for the two logs")
    asked = parser.parse_args()
    if asked.make:
        for name in ("new", "recurring"):
            answers = made(np.random.default_rng(asked.seed), RECURRING[name], 0.15, LABELLED[1])
            print(write(_drawn(answers, LABELLED[1]), asked.make / name))
        return 0
    every, normal = settings(), normal_false_alarms()
    most = int(binom.ppf(1 - 0.05 / len(every), asked.runs, normal)) / asked.runs
    promised = len(DIRECTIONS) * WEEKS / LIMIT
    print(f"{asked.runs} runs of {WEEKS} weeks each, in %")
    print(f"promised: at most {promised:.2f} false alarms on average in {WEEKS} weeks")
    print(f"on normal figures {normal * 100:.1f} have one; at most {most * 100:.1f} may")
    print(
        f"{'figure':14}{'questions':11}{'each week':13}found within {WITHIN} weeks  false alarms without a change"
    )
    missed = 0
    for place, setting in enumerate(every):
        rng = np.random.default_rng([asked.seed, place])
        changed = [setting.alarms(setting.log(rng, setting.change)) for _ in range(asked.runs)]
        found = (
            sum(any(CHANGED <= week < CHANGED + WITHIN for week in weeks) for weeks in changed)
            / asked.runs
        )
        false_alarms = (
            sum(bool(setting.alarms(setting.log(rng, 0.0))) for _ in range(asked.runs)) / asked.runs
        )
        out = (setting.must_find and found < FOUND) or false_alarms > most
        missed += out
        print(
            f"{setting.figure:14}{setting.questions:11}{setting.weekly:13}{found * 100:21.1f}"
            f"{false_alarms * 100:31.1f}{'  OUT' if out else ''}",
            flush=True,
        )
    equal = 0
    for place, (share, recurring) in enumerate(product(LABELLED, RECURRING.values())):
        answers = _drawn(
            made(np.random.default_rng([asked.seed, place]), recurring, RISE, share), share
        )
        equal += sorted(watch_alarms(answers)) == stored_alarms(answers, share)
    print(
        f"{equal} of {len(LABELLED) * len(RECURRING)} stored logs have the same alarms in `corrected_trend`"
    )
    return int(missed > 0 or equal < len(LABELLED) * len(RECURRING))


def _drawn(answers: Answers, share: float) -> Answers:
    """Return the answers with the labels of those that ``random_share`` draws."""
    drawn = [
        sampling_number("judgeboard", "default", _id(row)) < share
        for row in range(len(answers.weeks))
    ]
    return replace(answers, labelled=np.array(drawn))


def _id(row: int) -> str:
    return f"a{row:05}"


def write(answers: Answers, folder: Path) -> str:
    """Write a log as responses.jsonl, verdicts.jsonl and grades.jsonl; return how large it is."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, list[dict[str, object]]] = {"responses": [], "verdicts": [], "grades": []}
    names = {True: "hallucinated", False: "grounded"}
    rows = zip(
        *(
            answers.weeks,
            answers.questions,
            answers.bad,
            answers.judged_bad,
            answers.labelled,
            answers.scores,
        ),
        strict=True,
    )
    for row, (week, question, bad, judged_bad, labelled, score) in enumerate(rows):
        asked = MONDAY + timedelta(weeks=int(week), days=row % 7)
        kinds["responses"].append(
            {
                "id": _id(row),
                "query_type": "FAQ",
                "query": f"Made question {question}?",
                "passages": [f"Made passage of question {question}."],
                "answer": f"Made answer {row}.",
                "asked_at": asked.isoformat(),
            }
        )
        verdict = {"label": names[bool(judged_bad)], "groundedness": float(score)}
        kinds["verdicts"].append({"response_id": _id(row), "judge": "made", **verdict})
        if labelled:
            kinds["grades"].append(
                {"response_id": _id(row), "annotator": "made", "label": names[bool(bad)]}
            )
    for kind, of_kind in kinds.items():
        (folder / f"{kind}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in of_kind))
    return f"{folder}: {len(answers.weeks):,} answers, {len(kinds['grades']):,} labels"


if __name__ == "__main__":
    sys.exit(main())
