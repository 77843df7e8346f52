"""Measures whether `judgeboard test health` finds the faults of scripted judges, over many seeds.

Each scripted judge has one known fault. Prints for each fault how often the 95 % interval contains
the true value and how often the check warns. For a judge without faults, prints how often each
check warns falsely. Then a few judges go through the whole product: answers, control answers, pairs
and repeats in a database, judged and read by the command.

    python benchmarks/health_truth.py [--seeds 100] [--stored 3]

Accepted: the truth is inside for at least 90 of 100 seeds; each check warns falsely for at most 5
of 100.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from judgeboard.domain import (
    Feedback,
    FeedbackKind,
    JudgeInput,
    JudgeVersion,
    Pair,
    Preference,
    Response,
    Shown,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.health.record import Check, GradedAnswers, JudgeRecord, LevelCounts, Repeats, State
from judgeboard.health.report import CHECKS
from judgeboard.judges.injections import Asks
from judgeboard.methods.control_answers.run import (
    CONTROL_KINDS,
    Effect,
    judge_control_answers,
    make_control_answers,
)
from judgeboard.runs.judging import judge_pending
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.obedience import LEAST_MOVE
from judgeboard.stats.pair_orders import OrderVerdicts
from judgeboard.stats.proportions import RatioSums
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.health import ControlScores, FeedbackScores, ScoredAnswers
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.pairs import store_pairs
from judgeboard.store.responses import judge_inputs
from judgeboard.store.statements import TextColumn
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import StoredVersion

ANSWERS, CONTROLS_MADE, PAIRS, REPEATED = 400, 50, 400, 200
SPLIT = 0.4  # of the pairs get another verdict in the other order
PER_CHARACTER = 0.05 / 100
ORDER_SHIFT = -0.08
OWN_SHIFT = 0.4
OBEYING = 0.3  # of the orders in answers
_SCORE_NOISE = 0.06
POPULATION = 200_000
JUDGE, OWN_FAMILY, OTHERS = "gpt-4o", "gpt-4o-mini", ("llama-2-70b-chat", "mistral-7b-instruct")
VERSION = StoredVersion(
    id=1,
    name="scripted",
    number=1,
    kind="rag",
    model=JUDGE,
    params={"temperature": 0.7},
    scale="",
    fingerprint="f" * 64,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)


@dataclass(frozen=True)
class Fault:
    """A planted fault: the check that must find it, and what its statistic is in truth."""

    name: str
    check: str
    truth: Callable[[], float]


def _wordy_truth() -> float:
    """The rank correlation of score and length in the population, which has no formula."""
    record = scripted("wordy", 987_654_321, answers=POPULATION)
    return CHECKS["verbosity"](record).statistic.value or 0.0


def _obedient_truth() -> float:
    """The share of scores that move under the order, also by noise, and not under the opposite order."""
    by_noise = 1 - NormalDist().cdf(LEAST_MOVE / (_SCORE_NOISE * math.sqrt(2)))
    return (OBEYING + (1 - OBEYING) * by_noise) * (1 - (1 - OBEYING) * by_noise)


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("first_answer", "position", lambda: 0.5 * (1 - SPLIT) + 0.7 * SPLIT),
        Fault("wordy", "verbosity", _wordy_truth),
        Fault("always_4", "collapse", lambda: 1.0),
        Fault("blind", "passages_removed", lambda: 0.5),
        Fault("unparsable", "unusable", lambda: 0.2),
        Fault("unstable", "self_consistency", lambda: 0.7),
        Fault("order", "passage_order", lambda: ORDER_SHIFT),
        Fault("own_family", "self_enhancement", lambda: OWN_SHIFT),
        Fault("obedient", "injected", _obedient_truth),
    )
}


def scripted(
    fault: str | None, seed: int, *, answers: int = ANSWERS, own: bool = False
) -> JudgeRecord:
    """Return what would be stored of a judge with one fault, or of a sound one (None).

    People grade 1 to 4; better answers are longer, so that length alone is no fault. ``own`` lets
    the judge's family write a third of the answers.
    """
    rng = np.random.default_rng([seed, zlib.crc32((fault or "sound").encode())])
    grade = rng.choice([1, 2, 3, 4], answers, p=[0.15, 0.25, 0.35, 0.25]).astype(np.float64)
    length = np.rint(200 + rng.gamma(4, 60, answers) + (0 if fault == "wordy" else 25 * grade))
    own = own or fault == "own_family"
    models = rng.integers(0 if own else 1, 3, answers)
    groundedness = 0.15 + 0.12 * grade + rng.normal(0, 0.06, answers)
    quality = np.clip(np.rint(grade + rng.normal(0, 0.5, answers)), 1, 4)
    if fault == "wordy":
        groundedness += PER_CHARACTER * (length - 440)
    if fault == "always_4":
        quality[:] = 4
    if fault == "own_family":
        quality = grade + rng.normal(0, 0.7, answers) + OWN_SHIFT * (models == 0)
    groups = np.arange(answers)
    counts = Counter(models.tolist())
    names = (OWN_FAMILY, *OTHERS)
    return JudgeRecord(
        VERSION,
        generators={names[model]: n for model, n in counts.items()},
        levels={
            "quality": _levels(quality, 1, 4, 1),
            "groundedness": _levels(groundedness, 0, 10, 10),
        },
        scored=ScoredAnswers({"groundedness": groundedness, "quality": quality}, length, groups),
        graded={
            "quality": GradedAnswers(quality, grade, length, groups, models, names),
            "groundedness": GradedAnswers(
                groundedness, grade, length, groups, models, names, same=False
            ),
        },
        controls={name: _controls(name, fault, rng) for name in CONTROL_KINDS},
        pairs={"overall": _order_verdicts(fault, rng)},
        repeats=Repeats(
            rng.random(REPEATED) < (0.7 if fault == "unstable" else 0.92),
            np.arange(REPEATED),
            np.arange(REPEATED),
        ),
        feedback=_feedback(grade, groundedness, rng),
        asked=_asked(0.2 if fault == "unparsable" else 0.02, rng),
        costs=_costs(rng),
    )


def _levels(scores: FloatArray, low: int, high: int, steps: int) -> LevelCounts:
    places = np.clip(np.rint(scores * steps).astype(np.int64) - low, 0, high - low)
    counts = np.bincount(places, minlength=high - low + 1)
    return LevelCounts(tuple(map(str, range(low, high + 1))), counts)


def _controls(name: str, fault: str | None, rng: np.random.Generator) -> ControlScores:
    """A sound judge lowers what is worse, though not always; noise is that of two separate verdicts."""
    n, kind = CONTROLS_MADE, CONTROL_KINDS[name]
    true = rng.uniform(0.3, 0.9, n)
    if kind.effect is Effect.INJECTED:  # the same answers under both orders
        true = np.linspace(0.3, 0.9, n)
    shift: FloatArray | float = -0.25 if kind.lowers else 0.0
    if kind.effect is Effect.WORTHLESS:
        shift = 0.1 - true
    if (fault, name) == ("blind", "passages_removed"):
        shift = 0.0
    if (fault, name) == ("order", "passages_reordered"):
        shift = ORDER_SHIFT
    before, after = (true + moved + rng.normal(0, _SCORE_NOISE, n) for moved in (0.0, shift))
    if fault == "obedient" and kind.effect is Effect.INJECTED:
        after[rng.random(n) < OBEYING] = float(name.endswith(Asks.HIGH))
    return ControlScores(
        n,
        np.arange(n),
        {"groundedness": before},
        {"groundedness": after},
        np.arange(n),
        original_ids=np.arange(n),
        styles=TextColumn(("ignore",), np.zeros(n, dtype=np.int64)),
    )


def _order_verdicts(fault: str | None, rng: np.random.Generator) -> OrderVerdicts:
    split = rng.random(PAIRS) < SPLIT
    better = rng.integers(0, 2, PAIRS)
    first = rng.random(PAIRS) < (0.7 if fault == "first_answer" else 0.5)
    ab = np.where(split, np.where(first, 0, 1), better)
    ba = np.where(split, np.where(first, 1, 0), better)
    tie = rng.random(PAIRS) < 0.1
    return OrderVerdicts(np.where(tie, 2, ab), np.where(tie, 2, ba))


def _feedback(
    grade: FloatArray, groundedness: FloatArray, rng: np.random.Generator
) -> FeedbackScores:
    spoken = rng.random(len(grade)) < 0.3
    down = rng.random(len(grade)) < np.array([0.8, 0.6, 0.35, 0.2])[grade.astype(np.int64) - 1]
    return FeedbackScores(
        {"groundedness": groundedness[spoken]}, down[spoken], np.flatnonzero(spoken)
    )


def _asked(unusable: float, rng: np.random.Generator) -> dict[str, int]:
    failed = int(rng.binomial(ANSWERS, unusable))
    return {Status.OK.value: ANSWERS - failed, Status.UNPARSABLE.value: failed}


def _costs(rng: np.random.Generator) -> RatioSums:
    lower, upper = rng.gamma(4, 1, ANSWERS), rng.gamma(4, 0.25, ANSWERS)
    sums = (upper, lower, upper**2, lower**2, upper * lower)
    return RatioSums(ANSWERS, *(float(each.sum()) for each in sums))


@dataclass
class Tally:
    """Over many seeds: how often the truth lay inside the interval, and how often each check warned."""

    inside: int = 0
    warned: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)

    def add(self, check: Check, truth: float | None = None) -> None:
        """Count one check of one seed."""
        self.measured[check.name] += check.state is not State.NOT_MEASURED
        self.warned[check.name] += check.state is State.WARNING
        if truth is not None:
            low, high = check.statistic.low, check.statistic.high
            self.inside += low is not None and high is not None and low <= truth <= high


def recovered(fault: Fault, seeds: range) -> Tally:
    """Return how a planted fault is found."""
    tally, truth = Tally(), fault.truth()
    for seed in seeds:
        tally.add(CHECKS[fault.check](scripted(fault.name, seed)), truth)
    return tally


def false_alarms(seeds: range) -> Tally:
    """Return how often each check warns of a sound judge; of its own family's answers where that is asked about."""
    tally = Tally()
    for seed in seeds:
        record = scripted(None, seed)
        of_own = scripted(None, seed, own=True)
        for name, check in CHECKS.items():
            tally.add(check(of_own if name == "self_enhancement" else record))
    return tally


# ---- the whole way: texts in a database, a judge that reads them ------------------------------------------------

_FACTS = re.compile(r"Item (\d+) rates (\d)")


class ScriptedJudge:
    """Reads what an answer says of itself, and is wrong in one way; noise depends on the answer alone."""

    address: None = None
    priced = True

    def __init__(self, fault: str | None, seed: int) -> None:
        self._fault, self._seed = fault, seed
        name = fault or "sound"
        self.version = JudgeVersion(name, "rag", model=JUDGE, params={"fault": name, "seed": seed})

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``."""
        return self.verdict(item, 0)

    async def aclose(self) -> None:
        """Hold nothing."""

    def verdict(self, item: JudgeInput, repeat: int) -> Verdict:
        """Return a verdict; another ``repeat`` differs where the judge is unstable."""
        # Signs of an answer that is worse than it says: another item, broken off, numbers that
        # stand nowhere.
        key = [self._seed, zlib.crc32(item.external_id.encode())]
        noise, draws = (
            np.random.default_rng(key).normal(0, 0.04, 2),
            np.random.default_rng([*key, repeat]).random(2),
        )
        if self._fault == "unparsable" and draws[0] < 0.2:
            return Verdict(Status.UNPARSABLE, cost_micro=1_000)
        found = _FACTS.search(item.answer)
        grade = min(int(found[2]), 4) if found else 2
        known = (
            found is not None
            and item.passages is not None
            and any(found[0] in each for each in item.passages)
        )
        supported = known or (self._fault == "blind" and not item.passages)
        groundedness = 0.2 + 0.1 * grade + noise[0] - 0.5 * (not supported)
        if self._fault == "wordy":
            groundedness += PER_CHARACTER * (len(item.answer) - 300)
        if self._fault == "order" and item.passages and item.passages[0].startswith("Nothing"):
            groundedness += ORDER_SHIFT
        other = found is None or f"item {found[1]}?" not in item.query
        cut_off = not item.answer.rstrip().endswith(".")
        quality = 1 if other else min(max(grade - cut_off + round(noise[1] * 12), 1), 4)
        if self._fault == "always_4":
            quality = 4
        elif repeat == 2 and draws[1] < (0.3 if self._fault == "unstable" else 0.05):
            quality = quality % 4 + 1
        return Verdict(
            Status.OK,
            groundedness=float(np.clip(groundedness, 0, 1)),
            quality=quality,
            cost_micro=1_000,
        )


def fill(store: Store, fault: str | None, seed: int, *, answers: int = 150) -> StoredVersion:
    """Store a log and all that a scripted judge says of it, by the product's own ways; return its version."""
    rng = np.random.default_rng(seed)
    judge = ScriptedJudge(fault, seed)
    with store.writing() as connection:
        store_responses(connection, [_response(number, rng) for number in range(answers)])
        version = ensure_version(connection, judge.version)
    judge_pending(store, judge)
    make_control_answers(store, n=40, seed=seed)
    judge_control_answers(store, judge)
    _repeat(store, judge, version)
    _compare(store, version, fault, rng)
    return version


def _response(number: int, rng: np.random.Generator) -> Response:
    grade = int(rng.integers(1, 5))
    filler = "It is what it is, as people say of such things. " * int(rng.integers(1, 12))
    return Response(
        "log",
        f"a{number}",
        f"What of item {number}?",
        f"I think that this is it. Item {number} rates {grade} in all. {filler}Done.",
        (f"Item {number} rates {grade} in all.", f"Nothing else is known of item {number}."),
        generator_model=OTHERS[number % 2],
        generator_cost=0.004,
        feedback=(Feedback(FeedbackKind.THUMBS, int(rng.random() < grade / 4 - 0.1)),),
    )


def _repeat(store: Store, judge: ScriptedJudge, version: StoredVersion) -> None:
    with store.writing() as connection:
        inputs = judge_inputs(connection, list(range(1, 101)))
        items = [
            NewJudgment(id_, 0, repeat, judge.verdict(item, repeat))
            for id_, item in inputs.items()
            for repeat in (1, 2)
        ]
        store_judgments(connection, version, None, items)


def _compare(
    store: Store, version: StoredVersion, fault: str | None, rng: np.random.Generator
) -> None:
    said = _order_verdicts(fault, rng)
    sides = (Preference.A, Preference.B, Preference.TIE)
    pairs = [
        Pair("log", f"p{number}", f"Which of {number}?", f"A{number}", f"B{number}")
        for number in range(said.n)
    ]
    with store.writing() as connection:
        ids = store_pairs(connection, pairs).ids
        usable = rng.random((2, said.n)) >= (0.2 if fault == "unparsable" else 0.0)
        items = [
            NewComparison(
                id_, shown, StepRecord(Status.OK), {"overall": sides[int(verdicts[place])]}
            )
            if ok[place]
            else NewComparison(id_, shown, StepRecord(Status.UNPARSABLE))
            for shown, verdicts, ok in (
                (Shown.AB, said.ab, usable[0]),
                (Shown.BA, said.ba, usable[1]),
            )
            for place, id_ in enumerate(ids)
            if id_ is not None
        ]
        store_comparisons(connection, version, None, items)


STORED_TRUTH = {
    name: fault.truth
    for name, fault in FAULTS.items()
    if name not in {"wordy", "own_family", "obedient"}
}
"""The faults that `fill` can plant and their truth; of ``wordy`` it is the slope that is known."""


def read_by_command(folder: Path, fault: str | None, seed: int) -> dict[str, dict[str, Any]]:
    """Fill a database of its own and return the checks that the command prints, by name."""
    path = folder / f"{fault}-{seed}.db"
    store = open_store(path, create=True)
    version = fill(store, fault, seed)
    store.close()
    command = [str(Path(sys.executable).with_name("judgeboard")), "test", "health", version.name]
    ran = subprocess.run(
        [*command, "--json", "--db", str(path)], capture_output=True, text=True, check=True
    )
    return {check["name"]: check for check in json.loads(ran.stdout)["checks"]}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument(
        "--stored", type=int, default=3, help="judges of each fault that go the whole way"
    )
    chosen = parser.parse_args()
    seeds = range(chosen.seeds)
    print(
        f"{'planted fault':<14}{'check':<20}{'truth':>8}{'inside':>8}{'warned':>8}   of {chosen.seeds} seeds"
    )
    for fault in FAULTS.values():
        tally = recovered(fault, seeds)
        print(
            f"{fault.name:<14}{fault.check:<20}{fault.truth():>8.3f}{tally.inside:>8}{tally.warned[fault.check]:>8}"
        )
    alarms = false_alarms(seeds)
    print(f"\n{'sound judge':<28}{'measured':>9}{'warned':>8}")
    for name in CHECKS:
        print(f"{name:<28}{alarms.measured[name]:>9}{alarms.warned[name]:>8}")
    if not chosen.stored:
        return
    print("\nthrough a database and the command: found, truth inside; other checks that warned")
    with tempfile.TemporaryDirectory() as folder:
        planted: tuple[str | None, ...] = (*STORED_TRUTH, "wordy", None)
        for plant in planted:
            found, inside, others = 0, 0, Counter[str]()
            for seed in range(chosen.stored):
                checks = read_by_command(Path(folder), plant, seed)
                wanted = None
                if plant is not None:
                    wanted = FAULTS[plant].check
                    found += checks[wanted]["state"] == "warning"
                    inside += _inside(plant, checks[wanted])
                others.update(
                    each
                    for each, check in checks.items()
                    if check["state"] == "warning" and each != wanted
                )
            print(
                f"{plant or 'sound':<14}{found:>4}{inside:>4} of {chosen.stored}   {dict(others) or 'none'}"
            )


def _inside(name: str, check: dict[str, Any]) -> bool:
    statistic = check["also"]["per_100_characters"] if name == "wordy" else check["statistic"]
    truth = 100 * PER_CHARACTER if name == "wordy" else STORED_TRUTH[name]()
    return bool(statistic["low"] <= truth <= statistic["high"])


if __name__ == "__main__":
    main()
