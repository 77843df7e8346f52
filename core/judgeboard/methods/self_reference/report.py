"""Measures self-reference from the store: the report, its page and its texts."""

import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Estimate, Status
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import Note, note
from judgeboard.methods.self_reference import own_answers
from judgeboard.methods.self_reference import scores as figures
from judgeboard.methods.self_reference.queries import FAILED, SampledQuestion, load_samples, sampling_versions
from judgeboard.runs.method import RunAccount
from judgeboard.store import comparisons
from judgeboard.store.comparisons import PLAIN, REFERENCE, BothOrders, load_comparisons
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.statements import record_of


@dataclass(slots=True)
class Loaded:
    """The items of a version, the questions left out by reason, and the steps by status.

    ``other_reference`` counts items whose reference was another answer: they have no verdict in condition B.
    """

    items: list[figures.Item] = field(default_factory=list)
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
    """Return the items of a judge version from the first ``k`` samples of each question."""
    loaded, wanted = Loaded(), None if pair_ids is None else set(pair_ids)
    orders = _both_orders(load_comparisons(connection, [version_id]))
    compared = comparisons.compared_pairs(connection, version_id)
    questions = comparisons.question_groups(connection)
    for question in load_samples(connection, version_id):
        if source not in {None, question.source} or (wanted is not None and question.pair_id not in wanted):
            continue
        asked = compared.get(question.pair_id, ())
        loaded.steps.update(Status(status) for status in question.statuses)
        loaded.steps.update(status for status, _ in asked)
        loaded.most_samples = max(loaded.most_samples, len(question.answers))
        samples = zip(question.answers, question.statuses, strict=True)
        if len(question.answers) < k:
            loaded.fewer_samples += 1
        elif FAILED & set(question.statuses[:k]):
            loaded.failed_samples += 1
        # A usable sample whose text was forgotten; a sample without an answer has another status.
        elif any(answer is None and status == Status.OK for answer, status in samples):
            loaded.forgotten += 1
        else:
            majority = own_answers.majority(question.answers[:k], question.options)
            plain, reference = (
                orders.get((condition, question.pair_id), figures.NOT_ASKED) for condition in (PLAIN, REFERENCE)
            )
            references = {reference for _, reference in asked if reference is not None}
            if any(not _same_answer(each, majority, question.options) for each in references):
                loaded.other_reference += 1
                reference = figures.NOT_ASKED
            rights = _right_samples(question, k)
            right = None if majority.answer is None else rights[question.answers.index(majority.answer)]
            item = figures.Item(question.pair_id, question.query_type, question.gold, majority, right, plain, reference)
            loaded.items.append(replace(item, question=questions[question.pair_id], samples_right=rights))
    return loaded


def _right_samples(question: SampledQuestion, k: int) -> tuple[bool | None, ...]:
    """Return whether each of the first ``k`` samples is right: as the file says, or else by the correct answer."""
    correct = own_answers.reference_key(question.reference, question.options)
    keys = (own_answers.answer_key(answer, question.options) for answer in question.answers[:k])
    by_key = [None if correct is None else key == correct for key in keys]
    return tuple(of_key if stated is None else stated for stated, of_key in zip(question.correct, by_key, strict=False))


def _same_answer(reference: str, majority: own_answers.Majority, options: tuple[str, ...] | None) -> bool:
    if majority.answer is None:
        return False
    same_words = reference == own_answers.as_reference(majority.answer, options)
    return same_words or own_answers.answer_key(reference, options) == majority.key


def _both_orders(rows: list[BothOrders]) -> dict[tuple[str, int], figures.TwoOrders]:
    """Return the verdicts on the overall aspect, or on the judge's only aspect, by condition and pair."""
    aspects = {row.aspect for row in rows}
    aspect = OVERALL if OVERALL in aspects or len(aspects) != 1 else next(iter(aspects))
    return {
        (row.condition, row.pair_id): figures.TwoOrders(row.ab, row.ba, asked=row.asked_ab or row.asked_ba)
        for row in rows
        if row.aspect == aspect
    }


@dataclass(frozen=True, slots=True)
class SelfReferenceReport:
    """The figures of self-reference over the items of one judge version.

    The gate is on if the agreement is at least ``tau``: ``needed`` of ``k`` samples. ``gain`` is how much more often C
    is right than A and B. ``ties`` counts items with another answer as common as the majority's; ``ties_on`` counts
    those of them with the gate on. ``samples`` is how often single samples are right. On ``no_answer`` items B uses the
    verdict of A; ``from_without`` of them have that verdict. The counts in `Loaded` have the same names here.
    ``calls_planned`` is 0 for recorded samples.
    """

    judge: str
    model: str | None
    k: int
    tau: float
    needed: int
    items: int
    conditions: dict[str, figures.ConditionScores]
    gain: dict[str, Estimate]
    gate: figures.GateScores
    samples: figures.SampleScores
    slices: tuple[figures.SliceScores, ...]
    calibration: tuple[figures.AgreementLevel, ...]
    categories: tuple[figures.CategoryScores, ...]
    sweep: tuple[figures.SweepPoint, ...]
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
    tuned: figures.Tuned | None = None

    caveats: tuple[Note, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "caveats", tuple(_caveats(self)))


def _caveats(report: SelfReferenceReport) -> Iterator[Note]:
    compared = any(scores.not_asked < report.items for scores in report.conditions.values())
    counts = {
        "tied_samples_on" if report.ties_on else "tied_samples": report.ties_on or report.ties,
        "no_sample_answer": report.no_answer,
        "no_correct_answer": report.no_reference,
        "no_better_answer": report.no_gold * compared,
        "fewer_samples": report.fewer_samples,
        "failed_samples": report.failed_samples,
        "forgotten_samples": report.forgotten,
        "other_reference": report.other_reference,
    }
    yield from (note(code, n=n) for code, n in counts.items() if n)
    if report.tuned is not None and report.tuned.optimistic:
        yield note("optimistic_thresholds")


CONDITIONS = ("A", "B", "C")
"""A: no reference. B: the judge's own answer as reference. C: the own answer as reference if the gate is on."""


def measure_self_reference(
    store: Readable,
    judge_version: int | str | None = None,
    *,
    k: int | None = None,
    tau: float = own_answers.TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
    calls_planned: int = 0,
    account: RunAccount | None = None,
) -> SelfReferenceReport:
    """Measure the stored samples and comparisons of a judge version; makes no model calls.

    ``judge_version`` is optional if only one version has samples. The first ``k`` samples count (default: as many as
    the version takes, or 5). The gate is on if the agreement is at least ``tau`` (above 0, at most 1).
    ``tau_by_category`` also tunes a threshold per category. ``account`` is that of a run (default: the stored steps).
    Raises NotFound, or BadInput if ``tau`` or a condition is invalid or no question has ``k`` samples.
    """
    chosen = checked_conditions(conditions)
    with store.reading() as connection:
        version = chosen_version(connection, judge_version)
        sample_count = samples_used(version, k)
        needed = own_answers.samples_needed(tau, sample_count)
        loaded = load_items(connection, version.id, sample_count, source=source, pair_ids=pair_ids)
    if not loaded.items and account is None and not calls_planned:
        raise BadInput(_nothing(version, loaded, sample_count))
    report = report_of(version, loaded, sample_count, needed, account or RunAccount.of(loaded.steps))
    return replace(
        report,
        tau=tau,
        conditions={name: report.conditions[name] for name in chosen},
        tuned=figures.tuned_by_category(figures.items_of(loaded.items, sample_count)) if tau_by_category else None,
        calls_planned=calls_planned,
    )


def report_of(
    version: StoredVersion, loaded: Loaded, k: int, needed: int, account: RunAccount | None = None
) -> SelfReferenceReport:
    """Return the figures of loaded items; the gate is on if ``needed`` of ``k`` samples agree."""
    items = figures.items_of(loaded.items, k)
    on, selective = items.gate(needed), items.selective(needed)
    verdicts = {"A": items.without, "B": items.always, "C": selective}
    no_answer = ~items.answered
    return record_of(
        SelfReferenceReport,
        loaded,
        judge=version.title,
        model=version.model,
        k=k,
        tau=needed / k,
        needed=needed,
        items=items.n,
        conditions={name: figures.condition_scores(items, each, on) for name, each in verdicts.items()},
        gain={name: figures.gain(items, verdicts[name], selective) for name in ("A", "B")},
        gate=figures.gate_scores(items, on),
        samples=figures.sample_scores(items),
        slices=figures.slices(items, on),
        calibration=figures.calibration(items),
        categories=figures.categories(items, on, needed),
        sweep=figures.sweep(items),
        ties=int(items.tie.sum()),
        ties_on=int((items.tie & on).sum()),
        no_answer=int(no_answer.sum()),
        from_without=int((no_answer & items.always.usable).sum()),
        no_reference=int((items.answered & (items.right == figures.UNKNOWN)).sum()),
        no_gold=int((~items.gold).sum()),
        account=account or RunAccount(),
    )


def checked_conditions(conditions: Collection[str]) -> tuple[str, ...]:
    """Return the conditions in alphabetical order, or raise BadInput."""
    unknown = sorted(set(conditions) - set(CONDITIONS))
    if unknown or not conditions:
        raise BadInput(f"--conditions must be A, B or C, not {unknown[0] if unknown else 'nothing'!r}")
    return tuple(name for name in CONDITIONS if name in conditions)


def samples_used(version: StoredVersion, k: int | None = None) -> int:
    """Return the number of samples that count: ``k``, by default the version's number, or 5."""
    return k or int(version.params.get("samples") or own_answers.SAMPLES)


def chosen_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return the requested judge version; without a name, the only one with comparisons."""
    if which is not None:
        return get_version(connection, which)
    known = sampling_versions(connection)
    if not known:
        raise NotFound(
            "no judge has samples yet. To make them: `judgeboard compare ssr --pairs FILE --model M`. To import them: "
            "`judgeboard import --kind samples FILE`"
        )
    if len(known) > 1:
        titles = ", ".join(sorted(version.title for version in known))
        raise BadInput(f"several judges have samples. Choose one with --judge-version: {titles}")
    return known[0]


def _nothing(version: StoredVersion, loaded: Loaded, k: int) -> str:
    if loaded.forgotten:
        return f"the texts of all questions with {k} samples of {version.title} are forgotten"
    if loaded.failed_samples:
        return f"on all questions with {k} samples of {version.title} a call failed. Repeat them with --rejudge failed."
    if not loaded.fewer_samples:
        return f"{version.title} has no samples of these questions"
    most = loaded.most_samples
    return f"{version.title} has at most {most} samples per question, not {k}. Give --k {most}."


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item of the list: its majority, and the score in each condition (None: unmeasured)."""

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
    """The figures, the items (those that C gets wrong come first), and thresholds tuned by category."""

    report: SelfReferenceReport
    items: tuple[ListedItem, ...]
    tuned: figures.Tuned

    def listed(
        self, gate_on: bool | None = None, right: bool | None = None, category: str | None = None
    ) -> list[ListedItem]:
        """Return the items of a slice and a category; None means all."""
        return [
            item
            for item in self.items
            if gate_on in {None, item.gate_on} and right in {None, item.right} and category in {None, item.category}
        ]


def self_reference_page(
    connection: Connection, version: StoredVersion, k: int, needed: int | None = None
) -> SelfReferencePage:
    """Return the page of a judge version for ``k`` samples; the gate is on if ``needed`` (default: all) agree."""
    needed = needed or k
    loaded = load_items(connection, version.id, k)
    items = figures.items_of(loaded.items, k)
    return SelfReferencePage(
        report_of(version, loaded, k, needed), _listed(loaded.items, items, needed), figures.tuned_by_category(items)
    )


def _listed(items: list[figures.Item], arrays: figures.Items, needed: int) -> tuple[ListedItem, ...]:
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
            *(None if math.isnan(score) else score for score in item_scores),
        )
        for item, gate_on, item_scores in zip(items, on, scores, strict=True)
    ]
    return tuple(
        sorted(lines, key=lambda line: (line.selective is None, line.selective or 0, -line.agree, line.pair_id))
    )


SLICES = {
    (True, True): "Gate on, own answer right",
    (True, False): "Gate on, own answer wrong",
    (False, True): "Gate off, own answer right",
    (False, False): "Gate off, own answer wrong",
}
CONDITION_WORDS = {"A": "A no reference", "B": "B always", "C": "C selective"}
MEANINGS = (
    "The judge answers each question several times (samples). The gate is on if enough samples agree. "
    "The judge then compares two answers. Condition A: without its own answer. B: always with its own answer. "
    "C: with its own answer if the gate is on."
)


def findings(report: SelfReferenceReport) -> Iterator[Note]:
    """Yield the accuracy with the judge's own answer, the gain over A, how often the gate is on, and is then right."""
    accuracy, gain = report.conditions["C"].accuracy, report.gain["A"]
    yield note("own_answer_unknown" if accuracy.value is None else "own_answer", accuracy=accuracy)
    if gain.value is not None and gain.low is not None and gain.high is not None:
        yield note(gain_code(gain.low, gain.high), change=gain)
    yield note("gate", needed=report.needed, on=report.gate.on_rate, questions=report.items)
    if report.gate.on_rate.value:
        yield note("gate_right", right=report.gate.precision)


def gain_code(low: float, high: float) -> str:
    """Return what the interval of a difference between C and A shows."""
    if low == high == 0:
        return "own_answer_no_difference"
    if low <= 0 <= high:
        return "own_answer_unclear"
    return "own_answer_helps" if low > 0 else "own_answer_harms"


def samples_note(samples: figures.SampleScores) -> Note | None:
    """Return how often samples and their majority are right; None if the correct answers are not known."""
    if samples.mean.value is None:
        return None
    return note("samples_right", mean=samples.mean, majority=samples.majority, best=samples.best)


def noun(report: SelfReferenceReport) -> str:
    """Return the noun for the items: "pair" if the judge compared any, otherwise "question"."""
    asked = any(scores.not_asked < report.items for scores in report.conditions.values())
    return "pair" if asked else "question"


def compare_command(report: SelfReferenceReport) -> str:
    """Return the command that asks this judge in all conditions, in backquotes."""
    model = shlex.quote(report.model or "MODEL")
    return f"`judgeboard compare ssr --pairs FILE --model {model} --conditions A,B,C`"


def tuned_note(tuned: figures.Tuned) -> Note:
    """Return the accuracy with thresholds by category."""
    if tuned.accuracy.value is None:
        return note("tuned_unknown")
    return note("tuned_optimistic" if tuned.optimistic else "tuned", accuracy=tuned.accuracy)


def _known(estimate: Estimate) -> Estimate | None:
    return None if estimate.value is None else estimate


def gate_words(needed: int, k: int) -> str:
    """Return a gate as its field shows it: "4 of 5"."""
    return f"{needed} of {k}"


def share_column(title: str, width: int = 105) -> Column:
    """Return a column of shares with their intervals."""
    return Column(title, "share estimate", width=width)


_RIGHT_IF_ON = Column(
    "Right if on", "share estimate", width=118, help="How often the judge's own answer is right if the gate is on"
)
_WIDTH = 102  # px; all columns of the table of conditions fit a page of 1440 px


def conditions_table(report: SelfReferenceReport) -> Table:
    """Return the accuracy by condition."""
    columns: Columns[tuple[str, figures.ConditionScores]] = {
        Column("Condition", width=_WIDTH): lambda line: CONDITION_WORDS[line[0]],
        share_column("All", _WIDTH): lambda line: _known(line[1].accuracy),
        Column("Pairs", "count", width=55): lambda line: line[1].accuracy.n,
        Column("Inconsistent", "count", width=95, help="The two orders differ; each counts as half right"): (
            lambda line: line[1].splits
        ),
        share_column("Gate on", _WIDTH): lambda line: _known(line[1].on),
        share_column("Gate off", _WIDTH): lambda line: _known(line[1].off),
        Column("Unmeasured", "count", help="No usable verdict in both orders"): lambda line: line[1].unmeasured,
    }
    return Table.of(report.conditions.items(), columns)


def slices_table(report: SelfReferenceReport) -> Table:
    """Return the accuracy in A and B by gate and own answer."""
    columns: Columns[figures.SliceScores] = {
        Column("Slice", width=135): lambda part: SLICES[part.gate_on, part.majority_right],
        Column(f"{noun(report).capitalize()}s", "count", width=70): lambda part: part.n,
        share_column("Share of all"): lambda part: _known(part.share),
        share_column(CONDITION_WORDS["A"]): lambda part: _known(part.without),
        share_column(CONDITION_WORDS["B"]): lambda part: _known(part.always),
    }
    return Table.of(report.slices, columns).without_empty(CONDITION_WORDS.values())


def levels_table(report: SelfReferenceReport) -> Table:
    """Return how often the own answer is right, by the number of samples that agree."""
    columns: Columns[figures.AgreementLevel] = {
        Column("Agree"): lambda level: gate_words(level.agree, report.k),
        Column("Questions", "count", width=70): lambda level: level.n,
        Column("Right", "count", width=70): lambda level: level.right,
        share_column("Share right"): lambda level: _known(level.share),
    }
    return Table.of(report.calibration[::-1], columns)


def gates_table(report: SelfReferenceReport) -> Table:
    """Return the accuracy of C at every gate."""
    columns: Columns[figures.SweepPoint] = {
        Column("Gate threshold"): lambda point: gate_words(point.agree, report.k),
        share_column("C selective"): lambda point: _known(point.scores.accuracy),
        share_column("Gate on"): lambda point: _known(point.gate.on_rate),
        _RIGHT_IF_ON: lambda point: _known(point.gate.precision),
    }
    return Table.of(report.sweep, columns)


def categories_table(report: SelfReferenceReport) -> Table:
    """Return gate and accuracy by category, at the common threshold."""
    columns: Columns[figures.CategoryScores] = {
        Column("Category", width=130): lambda part: part.category,
        Column(f"{noun(report).capitalize()}s", "count", width=70): lambda part: part.n,
        share_column("Gate on"): lambda part: _known(part.gate.on_rate),
        _RIGHT_IF_ON: lambda part: _known(part.gate.precision),
        share_column(CONDITION_WORDS["A"]): lambda part: _known(part.without),
        share_column(CONDITION_WORDS["B"]): lambda part: _known(part.always),
        share_column(CONDITION_WORDS["C"]): lambda part: _known(part.selective),
    }
    return Table.of(report.categories, columns).without_empty(CONDITION_WORDS.values())


def tuned_table(tuned: figures.Tuned, k: int) -> Table:
    """Return the threshold of each category, and the accuracy of C with it."""
    columns: Columns[figures.TunedCategory] = {
        Column("Category"): lambda part: part.category,
        Column("Gate threshold"): lambda part: gate_words(part.agree, k) if part.agree <= k else "never on",
        Column("Pairs", "count"): lambda part: part.n,
        share_column("C selective"): lambda part: part.accuracy,
        Column("Optimistic"): lambda part: "yes" if part.optimistic else None,
    }
    return Table.of(tuned.categories, columns).without_empty({"Optimistic"})
