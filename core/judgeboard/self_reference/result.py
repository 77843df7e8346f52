"""What self-reference came to for one judge version: the figures of every page and command, with their notes."""

from dataclasses import dataclass, field

from judgeboard.domain import Estimate
from judgeboard.run_account import RunAccount
from judgeboard.self_reference.scores import (
    AgreementLevel,
    CategoryScores,
    ConditionScores,
    GateScores,
    SliceScores,
    SweepPoint,
)
from judgeboard.self_reference.tuning import Tuned


@dataclass(frozen=True, slots=True)
class SelfReferenceReport:
    """The figures of methods.md §5 over the items of one judge version.

    Attributes:
        judge: Title of the judge version that sampled and judged.
        model: Its model.
        k: Samples of each item.
        tau: The gate is on from this agreement on.
        needed: The same as a count of samples.
        items: All that was counted.
        conditions: Scores by condition; those that were asked for.
        gain: By how much C is right more often than A, and than B, on the same items.
        ties: Items on which another answer was as common as the majority's; ``ties_on`` of them reach the gate.
        no_answer: Items of which no sample has an answer: B takes the verdict of A.
        from_without: In how many of those it had a usable one.
        no_reference: Items with an answer, but not known whether it is correct.
        no_gold: Items of which it is not known which answer is better.
        fewer_samples: Questions left out because they have fewer than k samples.
        failed_samples: Questions left out because the call for one of their samples failed.
        forgotten: Questions left out because their texts were forgotten.
        other_reference: Items whose judge was shown another answer than this majority.
        account: What became of the steps.
        calls_planned: Calls of the run (an upper bound where items have no answer); 0 of recorded material.
        tuned: Thresholds by category, where they were asked for.
        notes: What a reader must know beside the figures.
    """

    judge: str
    model: str | None
    k: int
    tau: float
    needed: int
    items: int
    conditions: dict[str, ConditionScores]
    gain: dict[str, Estimate]
    gate: GateScores
    slices: tuple[SliceScores, ...]
    calibration: tuple[AgreementLevel, ...]
    categories: tuple[CategoryScores, ...]
    sweep: tuple[SweepPoint, ...]
    ties: int
    ties_on: int
    no_answer: int
    from_without: int
    no_reference: int
    no_gold: int
    fewer_samples: int
    failed_samples: int
    forgotten: int
    other_reference: int
    account: RunAccount
    calls_planned: int = 0
    tuned: Tuned | None = None

    notes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Write what a reader must know beside the figures, one sentence each."""
        object.__setattr__(self, "notes", tuple(_notes(self)))


def _notes(report: SelfReferenceReport) -> list[str]:
    k, notes = report.k, []
    if report.ties_on:
        notes.append(
            f"On {_questions(report.ties_on)} with the gate on two answers are as common: the first seen counts."
        )
    elif report.ties:
        notes.append(f"On {_questions(report.ties)} no answer is the most common one: the first seen counts.")
    if report.no_answer:
        notes.append(f"On {_questions(report.no_answer)} none of {k} tries has an answer: there B is the verdict of A.")
    if report.no_reference:
        notes.append(f"Of {_questions(report.no_reference)} the correct answer is not known: they are in no slice.")
    if report.no_gold and any(scores.not_asked < report.items for scores in report.conditions.values()):
        notes.append(f"Of {_pairs(report.no_gold)} it is not known which answer is better: they are in no accuracy.")
    notes += _left_out(report)
    if report.other_reference:
        notes.append(
            f"On {_pairs(report.other_reference)} the judge was shown another answer than the one that these tries "
            "agree on: there condition B does not count."
        )
    if report.tuned is not None and report.tuned.optimistic:
        notes.append("The thresholds of some categories were tuned on the items they are scored on: optimistic.")
    return notes


def _left_out(report: SelfReferenceReport) -> list[str]:
    notes = []
    if report.fewer_samples:
        notes.append(f"Left out for fewer than {report.k} tries: {_questions(report.fewer_samples)}.")
    if report.failed_samples:
        notes.append(
            f"Left out because the call for a try failed: {_questions(report.failed_samples)}. The same "
            "`judgeboard ssr` with `--rejudge failed` asks again."
        )
    if report.forgotten:
        notes.append(f"Left out because they were forgotten: {_questions(report.forgotten)}.")
    return notes


def _questions(number: int) -> str:
    return f"{number:,} {'question' if number == 1 else 'questions'}"


def _pairs(number: int) -> str:
    return f"{number:,} {'pair' if number == 1 else 'pairs'}"
