"""Self-reference read from the store and measured: the report, its page and its words."""

import shlex
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Estimate, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.methods.own_answers import (
    SAMPLES,
    TAU,
    Majority,
    answer_key,
    as_reference,
    majority,
    reference_key,
    samples_needed,
)
from judgeboard.methods.self_reference_scores import (
    NOT_ASKED,
    UNKNOWN,
    AgreementLevel,
    CategoryScores,
    ConditionScores,
    GateScores,
    Item,
    Items,
    SliceScores,
    SweepPoint,
    Tuned,
    TwoOrders,
    calibration,
    categories,
    condition_scores,
    gain,
    gate_scores,
    items_of,
    slices,
    sweep,
    tuned_by_category,
)
from judgeboard.runs.method import RunAccount
from judgeboard.stats.estimates import percent, percent_interval, percent_words
from judgeboard.store.comparisons import PLAIN, REFERENCE, BothOrders, load_comparisons
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs import PairItem, load_pairs
from judgeboard.store.samples import (
    FAILED,
    SampledQuestion,
    StoredOrder,
    StoredTry,
    compared_pairs,
    load_samples,
    orders_of,
    sampling_versions,
    tries_at,
)


@dataclass(slots=True)
class Loaded:
    """The items of a version, what was left out of them, and how many of its steps ended how.

    ``fewer_samples`` counts questions with fewer than k samples; ``failed_samples`` those with one whose call failed,
    so that what they agree on is not known; ``forgotten`` those whose answers were blanked since;
    ``other_reference`` items whose judge was shown another answer than the majority of these samples: their verdict in
    condition B does not count.
    """

    items: list[Item] = field(default_factory=list)
    fewer_samples: int = 0
    failed_samples: int = 0
    forgotten: int = 0
    most_samples: int = 0
    other_reference: int = 0
    steps: Counter[Status] = field(default_factory=Counter)


def load_items(
    connection: Connection,
    version_id: int,
    k: int,
    *,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
) -> Loaded:
    """Return the items of a judge version from the first ``k`` samples of each question.

    Args:
        connection: A transaction.
        version_id: Who sampled and judged.
        k: How many samples of a question count.
        source: Only questions of this source.
        pair_ids: Only these questions.
    """
    loaded, wanted = Loaded(), None if pair_ids is None else set(pair_ids)
    said = _both_orders(load_comparisons(connection, [version_id]))
    compared = compared_pairs(connection, version_id)
    for question in load_samples(connection, [version_id]):
        if (source is not None and question.source != source) or (
            wanted is not None and question.pair_id not in wanted
        ):
            continue
        loaded.steps.update(Status(status) for status in question.statuses)
        loaded.steps.update({Status(name): n for name, n in compared.statuses.get(question.pair_id, {}).items()})
        loaded.most_samples = max(loaded.most_samples, len(question.answers))
        if len(question.answers) < k:
            loaded.fewer_samples += 1
            continue
        if FAILED & set(question.statuses[:k]):
            loaded.failed_samples += 1
            continue
        if _forgotten(question):
            loaded.forgotten += 1
            continue
        found = majority(question.answers[:k], question.options)
        plain, reference = (said.get((condition, question.pair_id), NOT_ASKED) for condition in (PLAIN, REFERENCE))
        shown = compared.references.get(question.pair_id, set())
        if any(not _same_answer(each, found, question.options) for each in shown):
            loaded.other_reference += 1
            reference = NOT_ASKED
        loaded.items.append(_item(question, found, plain, reference))
    return loaded


def _forgotten(question: SampledQuestion) -> bool:
    """Whether an answer that was read once is gone: it is no sample without an answer."""
    return any(
        answer is None and status == Status.OK
        for answer, status in zip(question.answers, question.statuses, strict=True)
    )


def _item(question: SampledQuestion, found: Majority, plain: TwoOrders, reference: TwoOrders) -> Item:
    correct = reference_key(question.reference, question.options)
    right = None if correct is None or found.key is None else found.key == correct
    return Item(question.pair_id, question.query_type, question.gold, found, right, plain, reference)


def _same_answer(shown: str, found: Majority, options: tuple[str, ...] | None) -> bool:
    if found.answer is None:
        return False
    return shown == as_reference(found.answer, options) or answer_key(shown, options) == found.key


def _both_orders(rows: list[BothOrders]) -> dict[tuple[str, int], TwoOrders]:
    """Return the overall verdicts by condition and pair; a judge of a single other aspect speaks by that."""
    aspects = {row.aspect for row in rows}
    aspect = OVERALL if OVERALL in aspects or len(aspects) != 1 else next(iter(aspects))
    return {
        (row.condition, row.pair_id): TwoOrders(row.ab, row.ba, asked=row.asked_ab or row.asked_ba)
        for row in rows
        if row.aspect == aspect
    }


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


CONDITIONS = ("A", "B", "C")
"""Without a reference; always with its own answer as reference; only where the gate is on."""


def measure_self_reference(
    store: Readable,
    judge_version: int | str | None = None,
    *,
    k: int | None = None,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
    calls_planned: int = 0,
    account: RunAccount | None = None,
) -> SelfReferenceReport:
    """Measure what a judge version sampled and judged; nothing is asked.

    Args:
        store: Where the samples are.
        judge_version: As `get_version` takes it; not needed where only one has sampled.
        k: The first so many samples of a question count; by default as many as the version takes, else 5.
        tau: The gate is on from this agreement on, above 0 and at most 1.
        conditions: Which of A, B, C.
        tau_by_category: Also tune the threshold of each category on other items.
        source: Only questions of this source.
        pair_ids: Only these questions.
        calls_planned: What a run said before it began; 0 where only what is stored is read.
        account: What became of its steps; by default those of the version on these questions.

    Raises:
        BadInput: ``tau`` or a condition is none, or no question has ``k`` samples.
        NotFound: There is no such version, or none has sampled.
    """
    named = checked_conditions(conditions)
    with store.reading() as connection:
        version = chosen_version(connection, judge_version)
        used = samples_used(version, k)
        needed = samples_needed(tau, used)
        loaded = load_items(connection, version.id, used, source=source, pair_ids=pair_ids)
    if not loaded.items and account is None and not calls_planned:
        raise BadInput(_nothing(version, loaded, used))
    report = report_of(version, loaded, used, needed, account or RunAccount.of(loaded.steps))
    return replace(
        report,
        tau=tau,
        conditions={name: report.conditions[name] for name in named},
        tuned=tuned_by_category(items_of(loaded.items, used)) if tau_by_category else None,
        calls_planned=calls_planned,
    )


def report_of(
    version: StoredVersion, loaded: Loaded, k: int, needed: int, account: RunAccount | None = None
) -> SelfReferenceReport:
    """Return the figures of items that were read, with the gate on from ``needed`` of ``k`` samples."""
    items = items_of(loaded.items, k)
    on, selective = items.gate(needed), items.selective(needed)
    verdicts = {"A": items.without, "B": items.always, "C": selective}
    no_answer = ~items.answered
    return SelfReferenceReport(
        judge=version.title,
        model=version.model,
        k=k,
        tau=needed / k,
        needed=needed,
        items=items.n,
        conditions={name: condition_scores(items, each, on) for name, each in verdicts.items()},
        gain={name: gain(items, verdicts[name], selective) for name in ("A", "B")},
        gate=gate_scores(items, on),
        slices=slices(items, on),
        calibration=calibration(items),
        categories=categories(items, on, needed),
        sweep=sweep(items),
        ties=int(items.tie.sum()),
        ties_on=int((items.tie & on).sum()),
        no_answer=int(no_answer.sum()),
        from_without=int((no_answer & items.always.usable).sum()),
        no_reference=int((items.answered & (items.right == UNKNOWN)).sum()),
        no_gold=int((~items.gold).sum()),
        fewer_samples=loaded.fewer_samples,
        failed_samples=loaded.failed_samples,
        forgotten=loaded.forgotten,
        other_reference=loaded.other_reference,
        account=account or RunAccount(),
    )


def checked_conditions(conditions: Collection[str]) -> tuple[str, ...]:
    """Return conditions in their order.

    Raises:
        BadInput: One is not A, B or C, or there is none.
    """
    unknown = sorted(set(conditions) - set(CONDITIONS))
    if unknown or not conditions:
        raise BadInput(f"--conditions takes A, B and C, not {unknown[0] if unknown else 'nothing'!r}")
    return tuple(name for name in CONDITIONS if name in conditions)


def samples_used(version: StoredVersion, k: int | None = None) -> int:
    """Return how many samples of a question count: ``k``, else as many as the version takes, else 5."""
    return k or int(version.params.get("samples") or SAMPLES)


def chosen_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return the judge version that is asked for; without a name the only one that has sampled.

    Raises:
        BadInput: Several have sampled and none is named.
        NotFound: There is no such version, or none has sampled.
    """
    if which is not None:
        return get_version(connection, which)
    known = sampling_versions(connection)
    if not known:
        raise NotFound(
            "no judge has sampled answers yet: `judgeboard ssr --pairs FILE --model M`, or bring recorded samples with "
            "`judgeboard import --kind samples FILE`"
        )
    if len(known) > 1:
        raise BadInput(f"several judges have sampled: choose one with --judge-version: {_titles(known)}")
    return known[0]


def _titles(versions: list[StoredVersion]) -> str:
    return ", ".join(sorted(version.title for version in versions))


def _nothing(version: StoredVersion, loaded: Loaded, k: int) -> str:
    if loaded.forgotten:
        return f"all questions that {version.title} has {k} samples of were forgotten"
    if loaded.failed_samples:
        return f"calls for samples of all questions with {k} failed: ask {version.title} again with --rejudge failed"
    if not loaded.fewer_samples:
        return f"{version.title} has no samples of these questions"
    most = loaded.most_samples
    return f"{version.title} has no question with {k} samples, at most {most}: give --k {most}"


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item in a line: what its samples agree on, and how the conditions score it (None: unmeasured)."""

    pair_id: int
    category: str
    answer: str | None
    agree: int
    gate_on: bool
    right: bool | None
    without: float | None
    always: float | None
    selective: float | None


@dataclass(frozen=True, slots=True)
class SelfReferencePage:
    """The figures, the items that C gets wrong first, and what thresholds by category come to."""

    report: SelfReferenceReport
    items: tuple[ListedItem, ...]
    tuned: Tuned

    def listed(
        self, gate_on: bool | None = None, right: bool | None = None, category: str | None = None
    ) -> list[ListedItem]:
        """Return the items of a slice and a category; None does not narrow."""
        return [
            item
            for item in self.items
            if gate_on in {None, item.gate_on} and right in {None, item.right} and category in {None, item.category}
        ]


def self_reference_page(
    connection: Connection, version: StoredVersion, k: int, needed: int | None = None
) -> SelfReferencePage:
    """Return the page of a judge version, of ``k`` samples, with the gate on from ``needed`` of them."""
    needed = needed or k
    loaded = load_items(connection, version.id, k)
    items = items_of(loaded.items, k)
    return SelfReferencePage(
        report_of(version, loaded, k, needed), _listed(loaded.items, items, needed), tuned_by_category(items)
    )


def _listed(items: list[Item], arrays: Items, needed: int) -> tuple[ListedItem, ...]:
    on = arrays.gate(needed).tolist()
    scores = zip(
        *(each.score.tolist() for each in (arrays.without, arrays.always, arrays.selective(needed))), strict=True
    )
    lines = [
        ListedItem(
            item.pair_id,
            item.category,
            item.majority.answer,
            item.majority.agree,
            gate_on,
            item.right,
            *(None if score != score else score for score in said),  # noqa: PLR0124 - NaN alone differs from itself
        )
        for item, gate_on, said in zip(items, on, scores, strict=True)
    ]
    return tuple(sorted(lines, key=_badness))


def _badness(line: ListedItem) -> tuple[bool, float, int, int]:
    score = line.selective
    return score is None, 0 if score is None else score, -line.agree, line.pair_id


@dataclass(frozen=True, slots=True)
class OneItem:
    """A pair with everything that a judge version sampled and said of it."""

    pair: PairItem
    tries: tuple[StoredTry, ...]
    orders: tuple[StoredOrder, ...]


def one_item(connection: Connection, version_id: int, pair_id: int) -> OneItem:
    """Return one item.

    Raises:
        NotFound: There is no such pair.
    """
    pairs = load_pairs(connection, [pair_id])
    if not pairs:
        raise NotFound(f"no pair {pair_id}")
    return OneItem(
        pairs[0],
        tuple(tries_at(connection, version_id, pair_id)),
        tuple(orders_of(connection, version_id, pair_id)),
    )


CONDITION_WORDS = {"A": "A no reference", "B": "B always", "C": "C selective"}
MEANINGS = (
    "The gate is on where at least so many of the judge's own tries agree. "
    "Condition A: it compares without its own answer; B: always with it; C: with it where the gate is on."
)


def report_sentence(report: SelfReferenceReport) -> str:
    """Say what the three conditions come to, then how often the gate is on and how good its answer is."""
    return f"{_conditions(report)} {_gate(report)}"


def noun(report: SelfReferenceReport) -> str:
    """Return what the items are called: questions where nobody was asked to compare answers, else pairs."""
    asked = any(scores.not_asked < report.items for scores in report.conditions.values())
    return "pair" if asked else "question"


def compare_command(report: SelfReferenceReport) -> str:
    """Return the command that asks this judge in all conditions, in backquotes."""
    model = shlex.quote(report.model or "MODEL")
    return f"`judgeboard ssr --pairs FILE --model {model} --conditions A,B,C`"


def _conditions(report: SelfReferenceReport) -> str:
    said = {name: scores.accuracy for name, scores in report.conditions.items()}
    where = f"{report.needed} of {report.k} of its own tries agree"
    if said["C"].value is None:
        why = said["C"].reason or "unknown"
        return f"How well the judge compares when it is shown its own answer is not measured: {why}."
    text = (
        f"Shown its own answer where {where}, the judge prefers the better one on {percent_words(said['C'])} of "
        f"{_count(said['C'].n, 'pair')}"
    )
    others = {"A": "without a reference", "B": "always shown it"}
    known = [
        f"{words} on {percent(value)}" for name, words in others.items() if (value := said[name].value) is not None
    ]
    return text + (f"; {', '.join(known)}." if known else ".") + _gained(report.gain["A"])


def _gained(gain: Estimate) -> str:
    if gain.value is None or gain.low is None or gain.high is None:
        return ""
    if gain.low == gain.value == gain.high == 0:
        return " That is no difference on any pair."
    if gain.low <= 0 <= gain.high:
        return " That may be chance: the difference to no reference is not clear."
    more = "more" if gain.value > 0 else "less"
    points = f"{abs(gain.value) * 100:.1f} points [{_points(gain)}]"
    return f" That is {points} {more} than without."


def _points(gain: Estimate) -> str:
    ends = sorted(abs(end) * 100 for end in (gain.low or 0, gain.high or 0))
    return ", ".join(f"{end:.1f}" for end in ends)


def _gate(report: SelfReferenceReport) -> str:
    rate, precision = report.gate.on_rate, report.gate.precision
    if rate.value is None:
        return "Nothing was tried yet."
    if rate.value == 0:
        return f"The gate is on for none of {_count(report.items, 'question')}."
    text = f"The gate is on for {percent(rate.value)} of {_count(report.items, 'question')}"
    if precision.value is None:
        return f"{text}; {precision.reason}."
    return f"{text}; its answer is then right on {percent(precision.value)} {percent_interval(precision)}."


def tuned_sentence(tuned: Tuned) -> str:
    """Say what a threshold for each category comes to, and whether it was chosen on the pairs it is scored on."""
    if tuned.accuracy.value is None:
        return "What a gate for each category would come to needs the conditions A and B on every pair."
    chosen = "partly on the same pairs, so this is optimistic" if tuned.optimistic else "on other pairs"
    return f"With a gate for each category, chosen {chosen}, C comes to {percent_words(tuned.accuracy)}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"
