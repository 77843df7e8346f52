"""Measures how often the detectors of the share of bad answers find a change, and how often they raise a false alarm.

Each week has 100 answers, of which people label a random sample of 40, or of 19. In the settings, each answer has a new
question, the same 60 questions recur each week, or half of the answers are to questions that recur. Questions differ
much in how often their answers are bad. From week 26 on, the share of bad answers is 12 points higher, or it never
changes. The detectors are those of ``judgeboard watch`` for one query type. Exits 1 if a bound is missed: with 40
labels, at least 90 % of the changes are found within 10 weeks, and without a change there are at most as many false
alarms as promised (104 weeks to one on average).

    python benchmarks/recurring_questions.py [--runs 300] [--seed 1]

With --make, it writes two logs of 40 weeks, one with new and one with recurring questions. In week 26, the share of bad
answers rises by 15 points. The labels are of the answers that ``random_share`` 0.19 draws, so they count after:

    python benchmarks/recurring_questions.py --make FOLDER
    export JUDGEBOARD_DB=FOLDER/new.db JUDGEBOARD_RANDOM_SHARE=0.19
    for kind in responses verdicts grades; do judgeboard import --kind $kind FOLDER/new/$kind.jsonl; done
    judgeboard flag; judgeboard watch; judgeboard trends; judgeboard trends --corrected
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import numpy as np

from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import BoolArray, IntArray, grouping
from judgeboard.stats.monitor import DIRECTIONS, alarm_limit, detect, difference_effect, found_changes, rate_error
from judgeboard.stats.rates import influences, strata_of, summed

WEEKS, ANSWERS, QUESTIONS, CHANGED = 40, 100, 60, 26
WITHIN = 10
LABELLED = (0.4, 0.19)  # the bound is for the first; with half of the labels, a change is found later
RECURRING = {"new": 0.0, "recurring": 1.0, "mixed": 0.5}
SENSITIVITY, SPECIFICITY = 0.73, 0.9  # as the judge track_b on RAGTruth
FOUND = 0.9
MONDAY = date(2025, 1, 6)


@dataclass(frozen=True)
class Answers:
    """One row per answer: its week, question, whether it is bad, the judge's verdict and whether it is labelled."""

    weeks: IntArray
    questions: IntArray
    bad: BoolArray
    judged_bad: BoolArray
    labelled: BoolArray


def made(rng: np.random.Generator, recurring: float, change: float, labelled: float) -> Answers:
    """Return a log in which a share of the questions recurs, and the bad share rises by ``change``."""
    n = WEEKS * ANSWERS
    weeks = np.repeat(np.arange(WEEKS), ANSWERS)
    recurs = rng.random(n) < recurring
    questions = np.where(recurs, rng.integers(0, QUESTIONS, n), QUESTIONS + np.arange(n))
    shares = rng.beta(0.4, 1.2, QUESTIONS + n)
    mean = 0.4 / 1.6
    bad = (rng.random(n) < shares[questions]) | ((weeks >= CHANGED) & (rng.random(n) < change / (1 - mean)))
    judged_bad = rng.random(n) < np.where(bad, SENSITIVITY, 1 - SPECIFICITY)
    return Answers(weeks, questions, bad, judged_bad, rng.random(n) < labelled)


def alarms(answers: Answers) -> list[int]:
    """Return the weeks in which a detector raises its first alarm."""
    groups = grouping(answers.questions, len(answers.weeks))
    rates, parts, kept = [], [], []
    for week in range(WEEKS):
        rows = answers.weeks == week
        strata, labelled = answers.judged_bad[rows].astype(np.int64), answers.labelled[rows]
        values = answers.bad[rows][labelled].astype(np.float64)
        population, labels = summed(strata, strata.astype(np.float64), groups.codes[rows], 2, labelled, values)
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
    return [kept[change.seen] for change in found_changes(states, alarm_limit(1, 52))]


def main() -> int:
    """Simulate and print, or write the two logs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--make", type=Path, help="folder for the two logs")
    asked = parser.parse_args()
    if asked.make:
        for name in ("new", "recurring"):
            write(made(np.random.default_rng(asked.seed), RECURRING[name], 0.15, LABELLED[1]), asked.make / name)
        return 0
    # Two detectors, each with one false alarm in 104 weeks on average, in 40 weeks.
    promised = 2 * WEEKS / alarm_limit(1, 52)
    missed = 0
    print(f"{asked.runs} runs each, in %; at most {promised:.0%} of runs may have a false alarm".replace("%", " %"))
    print(f"{'questions':10}  labels a week  found within {WITHIN} weeks  false alarms without a change")
    for place, (labelled, (name, recurring)) in enumerate(product(LABELLED, RECURRING.items())):
        rng = np.random.default_rng([asked.seed, place])
        changed = [alarms(made(rng, recurring, 0.12, labelled)) for _ in range(asked.runs)]
        found_in_time = sum(any(CHANGED <= week < CHANGED + WITHIN for week in weeks) for weeks in changed) / asked.runs
        false_alarms = sum(bool(alarms(made(rng, recurring, 0.0, labelled))) for _ in range(asked.runs)) / asked.runs
        missed += (labelled == LABELLED[0] and found_in_time < FOUND) + (false_alarms > promised)
        weekly = round(labelled * ANSWERS)
        print(f"{name:10}  {weekly:13}  {found_in_time * 100:21.1f}  {false_alarms * 100:29.1f}", flush=True)
    return int(missed > 0)


def write(answers: Answers, folder: Path) -> None:
    """Write a log as responses.jsonl, verdicts.jsonl and grades.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, list[dict[str, object]]] = {"responses": [], "verdicts": [], "grades": []}
    for row, (week, question, bad, judged_bad) in enumerate(
        zip(answers.weeks, answers.questions, answers.bad, answers.judged_bad, strict=True)
    ):
        id_ = f"a{row:05}"
        asked = MONDAY + timedelta(weeks=int(week), days=row % 7)
        kinds["responses"].append(
            {
                "id": id_,
                "query_type": "FAQ",
                "query": f"Made question {question}?",
                "passages": [f"Made passage of question {question}."],
                "answer": f"Made answer {row}.",
                "asked_at": asked.isoformat(),
            }
        )
        names = {True: "hallucinated", False: "grounded"}
        score = sampling_number("score", "made", id_) * 0.3 + (0.3 if judged_bad else 0.7)
        verdict = {"label": names[bool(judged_bad)], "groundedness": round(score, 3)}
        kinds["verdicts"].append({"response_id": id_, "judge": "made", **verdict})
        if sampling_number("judgeboard", "default", id_) < LABELLED[1]:
            kinds["grades"].append({"response_id": id_, "annotator": "made", "label": names[bool(bad)]})
    for kind, rows in kinds.items():
        (folder / f"{kind}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    print(f"{folder}: {len(answers.weeks):,} answers, {len(kinds['grades']):,} labels")


if __name__ == "__main__":
    sys.exit(main())
