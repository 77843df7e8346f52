"""The data of a judge version that checks read (no texts), a cache for the data, and the result of a check."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Lock
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import RECORDED, REPEATS, Estimate, Label
from judgeboard.health.models import ModelTable, shipped_models
from judgeboard.measure.all_answers import evenly_sampled
from judgeboard.measure.choice import GRADES, GradeName
from judgeboard.measure.notes import Note, note, paragraph
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.samples import labelled_answers
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, IntArray, no_ints
from judgeboard.stats.estimates import interval, number_words, unmeasured
from judgeboard.stats.pair_orders import OrderVerdicts
from judgeboard.stats.proportions import RatioSums
from judgeboard.stats.ratings import SCALES, positions_of_codes
from judgeboard.store import health
from judgeboard.store.comparisons import PLAIN, BothOrders, load_comparisons
from judgeboard.store.health import (
    ControlScores,
    FeedbackScores,
    RecordMark,
    ScoredAnswers,
    Scores,
)
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.overview import count_log
from judgeboard.store.preferences import is_one_order, order_verdicts
from judgeboard.store.sql_compiler import row_limits
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import repeated_answers

MEASURES = ("groundedness", "quality", "label", "score", "mark", "preference")


def given_by(scores: Scores) -> list[str]:
    """Return the measures that have at least one score, in the order of ``MEASURES``."""
    return [name for name in MEASURES if name in scores and bool((~np.isnan(scores[name])).any())]


@dataclass(frozen=True, slots=True, eq=False)
class GradedAnswers:
    """Answers that the version scored on one measure and people graded, with length, evidence group and generator.

    The answers represent all answers that the version judged: people graded all judged answers, or
    a random sample. ``graded`` counts all graded answers (default: as many); answers that people
    chose are left out. If ``same`` is False, people graded another measure; the grades then only
    tell which answers are equally good. ``models`` are positions in ``model_names``; the name ""
    means unknown.
    """

    judge: FloatArray
    people: FloatArray
    lengths: FloatArray
    groups: IntArray
    models: IntArray
    model_names: tuple[str, ...]
    same: bool = True
    graded: int | None = None

    @property
    def of_sample(self) -> tuple[Note, ...]:
        """How many of the graded answers are a random sample, if people chose the others."""
        if self.graded is None or self.graded <= len(self.judge):
            return ()
        return (note("only_sampled_grades", graded=self.graded, n=len(self.judge)),)


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Counts of each level of a measure; ``names`` are the levels.

    ``possible`` is the number of levels that the judge can give (None: all), for example fewer for
    a judge that gives 0 or 1 only.
    """

    names: tuple[str, ...]
    counts: IntArray
    possible: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Answers with a value in every repeat on the main ``measure``.

    ``same`` tells whether all repeats of an answer are equal. ``incomplete`` answers, without a
    value in every repeat, are left out.
    """

    same: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    response_ids: IntArray = field(default_factory=no_ints)
    groups: IntArray = field(default_factory=no_ints)
    measure: str = "quality"
    incomplete: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRecord:
    """The data of one judge version that the checks read. A check without data is not measured.

    ``generators`` counts judged answers by the model that wrote the answer (None: unknown).
    ``asked`` counts calls by status, in all methods. Of the unparsable calls, ``ties`` are ties of
    a jury; of the ok calls, ``mended`` had replies that were mended to be read. ``pairs`` are
    verdicts on pairs by aspect. ``costs`` sum the judge's costs (upper) and the generator's (lower)
    over answers with both. ``logged`` is the number of logged answers (None: unknown).
    """

    version: StoredVersion
    models: ModelTable = field(default_factory=shipped_models)
    generators: Mapping[str | None, int] = field(default_factory=dict)
    levels: Mapping[str, LevelCounts] = field(default_factory=dict)
    scored: ScoredAnswers = field(default_factory=ScoredAnswers)
    graded: Mapping[str, GradedAnswers] = field(default_factory=dict)
    controls: Mapping[str, ControlScores] = field(default_factory=dict)
    pairs: Mapping[str, OrderVerdicts] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    feedback: FeedbackScores = field(default_factory=FeedbackScores)
    asked: Mapping[str, int] = field(default_factory=dict)
    ties: int = 0
    mended: int = 0
    costs: RatioSums = field(default_factory=lambda: RatioSums(0, 0, 0, 0, 0, 0))
    logged: int | None = None

    @property
    def judged_all(self) -> bool:
        """Whether the version judged all logged answers, so that no answer is left to judge."""
        return self.logged is not None and sum(self.generators.values()) >= self.logged

    @property
    def judge_model(self) -> str:
        """The judge's model, or the name of a recorded judge."""
        return self.version.model or self.version.name


SMALL = 0.1  # below this value, two digits would hide an effect


class State(StrEnum):
    """The state of a check. A check that is not measured, or that shows nothing, is never ok."""

    OK = "ok"
    WARNING = "warning"
    NOT_CONCLUSIVE = "not_conclusive"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class Check:
    """One possible fault of a judge.

    ``name`` is a key of ``CHECKS``. ``statistic`` decides the state; with ``share`` it is shown in
    percent. ``also`` has more figures. The first of the ``notes`` is the finding. ``command``
    measures the fault or gives more detail. ``response_ids`` are answers that show the fault,
    clearest first. ``applies`` is False if a judge of this kind cannot have the fault; the state is
    then ok.
    """

    name: str
    state: State
    statistic: Estimate
    notes: tuple[Note, ...]
    command: str | None = None
    share: bool = False
    also: Mapping[str, Estimate] = field(default_factory=dict)
    response_ids: tuple[int, ...] = ()
    applies: bool = True

    @property
    def sentence(self) -> str:
        """All notes in words."""
        return paragraph(self.notes)


def not_measured(name: str, command: str | None, *notes: Note, n: int = 0) -> Check:
    """Return a check without a figure. The first note says why; ``command`` would measure the fault."""
    return Check(name, State.NOT_MEASURED, unmeasured(n, notes[0].text.rstrip(".")), notes, command)


def not_applicable(name: str, why: Note, *, share: bool = False, n: int = 0) -> Check:
    """Return a check of a fault that a judge of this kind cannot have."""
    return Check(
        name, State.OK, unmeasured(n, why.text.rstrip(".")), (why,), share=share, applies=False
    )


def effect_words(estimate: Estimate) -> str:
    """Return a figure with its interval; small figures have three digits."""
    if estimate.value is None or abs(estimate.value) >= SMALL or interval(estimate) is None:
        return number_words(estimate)
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def state_of(*, warns: bool) -> State:
    """Return warning or ok."""
    return State.WARNING if warns else State.OK


def half_widths(estimate: Estimate, harmless: float) -> float:
    """Return the distance between a figure and its harmless value, in units of half the width of its interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return 0.0
    distance = abs(estimate.value - harmless)
    return 0.0 if distance < TIE else distance / max((estimate.high - estimate.low) / 2, TIE)


_SCALE = re.compile(r"\s*(-?\d+)\s*(?:-|–|to|\.\.)\s*(-?\d+)\s*")
_MOST_LEVELS = 101
_SHORT = 20  # a scale with at most so many whole numbers is used in full
_DIVISIONS = (1, 2, 3, 4, 5, 10, 20, 25, 50)
_ROUNDING = 0.005  # of the length of the scale; scores often have two decimals

MOST = 8  # cached records; each has the arrays of up to 20,000 answers


def read_record(
    connection: Connection,
    version: StoredVersion,
    models: ModelTable,
    earlier: JudgeRecord | None = None,
) -> JudgeRecord:
    """Return the stored data of a version; an ``earlier`` record has the part that depends on judgments alone."""
    if earlier is None:
        counts = health.value_counts(connection, version.id)
        generators = health.judged_generators(connection, version.id)
        verdicts = load_comparisons(connection, [version.id], condition=PLAIN)
        one_order = is_one_order(version, verdicts)
        by_aspect: dict[str, list[BothOrders]] = {}
        for verdict in verdicts:
            by_aspect.setdefault(verdict.aspect, []).append(verdict)
        earlier = JudgeRecord(
            version=version,
            models=models,
            generators=generators or health.compared_generators(connection, version.id),
            levels={name: levels_of(name, of_name) for name, of_name in counts.items()},
            scored=health.scored_lengths(connection, version.id),
            pairs={
                aspect: order_verdicts(rows, one_order=one_order)
                for aspect, rows in by_aspect.items()
            },
            repeats=_repeats(connection, version),
            feedback=health.scored_feedback(connection, version.id),
            asked=health.asked_by_status(connection, version.id),
            ties=health.count_ties(connection, version.id),
            mended=health.count_mended(connection, version.id),
            costs=health.cost_sums(connection, version.id),
        )
    source = PairSource(connection)
    graded_answers: dict[str, GradedAnswers] = {}
    for grade in GRADES:
        pairs = source.pairs(version.id, grade)
        # A label that is derived from groundedness adds nothing to groundedness.
        pairs = pairs.at(~pairs.cut)
        if pairs.n:
            n, pairs = (
                pairs.n,
                pairs.at(np.isin(pairs.response_ids, _representative(connection, version, grade))),
            )
            judge, people = (  # a label is 1 (grounded) or 0, equal to its position
                side if grade == "label" else pairs.scale.named(side).astype(np.float64)
                for side in (pairs.judge, pairs.people)
            )
            graded_answers[grade] = _with_facts(
                connection, pairs.response_ids, pairs.groups, judge, people, graded=n
            )
    for grade in (grade for grade in GRADES if grade not in graded_answers):
        other = _by_other_grade(connection, source, version, grade)
        if other is not None:
            graded_answers[grade] = other
    return replace(
        earlier,
        graded=graded_answers,
        controls=health.control_rows(connection, version),
        logged=count_log(connection),
    )


def _repeats(connection: Connection, version: StoredVersion) -> Repeats:
    # A recorded judge has one version per rubric; all versions count. Combined repeats name their
    # member.
    versions = [version]
    if version.kind == RECORDED:
        of_judge = version.name, RECORDED
        versions = [
            each for each in list_versions(connection) if (each.name, each.kind) == of_judge
        ]
    elif version.kind == REPEATS:
        members = set(version.params.get("members") or ())
        versions = [each for each in list_versions(connection) if each.fingerprint in members]
    answers = repeated_answers(connection, [each.id for each in versions])
    measures = answers.measures()
    if not measures:
        return Repeats()
    main = measures[0]
    ids, groups = answers.response_ids[main.rows], answers.groups[main.rows]
    return Repeats(main.same, ids, groups, main.measure, main.incomplete + main.no_value)


def levels_of(name: str, value_counts: health.ValueCounts) -> LevelCounts:
    """Return all levels of a measure with their counts; the levels of scores between 0 and 1 are tenths."""
    if name == "label":
        return LevelCounts(
            (Label.HALLUCINATED.value, Label.GROUNDED.value), _binned(value_counts, 0, 1, 1)
        )
    values = value_counts.values
    ends = {"groundedness": (0, 1), "quality": (1, 4)}.get(name)
    if ends is None:
        # The ends of the scale as written, further apart if there are scores outside the scale.
        match = _SCALE.fullmatch(value_counts.scale or "")
        extent = int(np.floor(values.min())), int(np.ceil(values.max()))
        low, high = (int(match[1]), int(match[2])) if match else extent
        low = min(low, extent[0])
        ends = low, min(max(high, extent[1]), low + _MOST_LEVELS - 1)
    low, high = ends
    if name == "groundedness" or (high - low == 1 and bool((values != np.rint(values)).any())):
        names = tuple(f"about {low + tenth / 10:g}" for tenth in range(11))
        return LevelCounts(
            names, _binned(value_counts, 10 * low, 10 * high, 10), _possible(values, low, high, 11)
        )
    names = tuple(str(level) for level in range(low, high + 1))
    possible = None if len(names) <= _SHORT else _possible(values, low, high, len(names))
    return LevelCounts(names, _binned(value_counts, low, high, 1), possible)


def _possible(values: FloatArray, low: int, high: int, levels: int) -> int:
    """Return the number of levels of the coarsest even division of a scale that has all ``values``."""
    shares = (values - low) / (high - low)
    for parts in _DIVISIONS:
        if parts + 1 < levels and bool(
            (np.abs(shares - np.rint(shares * parts) / parts) < _ROUNDING).all()
        ):
            return parts + 1
    return levels


def _binned(value_counts: health.ValueCounts, low: int, high: int, steps: int) -> IntArray:
    places = np.clip(np.rint(value_counts.values * steps).astype(np.int64) - low, 0, high - low)
    return np.bincount(places, weights=value_counts.counts, minlength=high - low + 1).astype(
        np.int64
    )


def _by_other_grade(
    connection: Connection, source: PairSource, version: StoredVersion, measure: GradeName
) -> GradedAnswers | None:
    verdicts = source.verdicts(version.id)
    graded_as = max(GRADES, key=lambda grade: len(source.people(grade).response_ids))
    people = source.people(graded_as)
    quality = np.where(verdicts.quality > 0, verdicts.quality, np.nan)
    columns = {"groundedness": verdicts.groundedness, "quality": quality}
    ids = verdicts.response_ids
    scores = columns.get(measure, np.full(len(ids), np.nan))
    rows = np.flatnonzero(~np.isnan(scores) & np.isin(ids, people.response_ids))
    if not len(rows):
        return None
    n, rows = len(rows), rows[np.isin(ids[rows], _representative(connection, version, graded_as))]
    codes = people.values[np.searchsorted(people.response_ids, ids[rows])]
    values = (
        positions_of_codes(codes, SCALES["label"])
        if graded_as == "label"
        else codes.astype(np.float64)
    )
    groups = verdicts.evidence_groups[rows]
    judge = scores[rows].astype(np.float64)
    return _with_facts(connection, ids[rows], groups, judge, values, same=False, graded=n)


def _representative(connection: Connection, version: StoredVersion, grade: GradeName) -> IntArray:
    return evenly_sampled(labelled_answers(connection, version, grade=grade))


def _with_facts(
    connection: Connection,
    response_ids: IntArray,
    groups: IntArray,
    judge: FloatArray,
    people: FloatArray,
    *,
    same: bool = True,
    graded: int,
) -> GradedAnswers:
    lengths, models = health.answer_facts(connection, response_ids)
    return GradedAnswers(
        judge,
        people,
        lengths,
        groups,
        models.codes,
        models.names,
        same=same,
        graded=graded,
    )


class KeptRecords:
    """A cache of the records read last from one database, for all sessions of a server."""

    def __init__(self) -> None:
        """Start empty."""
        # By version, and by what limits the rows that a reader sees.
        self._cache: OrderedDict[object, tuple[RecordMark, JudgeRecord]] = OrderedDict()
        self._lock = Lock()

    def read(
        self, mark: RecordMark, connection: Connection, version: StoredVersion, models: ModelTable
    ) -> JudgeRecord:
        """Return the record of a version; from the cache if still valid.

        ``mark`` is of all rows, and older than the connection. A reader with very many hidden rows
        gets a record that is not kept.
        """
        limits = row_limits(connection)
        if limits is None:
            return read_record(connection, version, models)
        key, record = (version.id, limits), None
        with self._lock:
            entry = self._cache.get(key)
        if entry is not None and entry[1].models == models:
            read_at, earlier = entry
            if read_at == mark:
                return earlier
            if read_at.judgments == mark.judgments:
                record = read_record(connection, version, models, earlier)
        if record is None:
            record = read_record(connection, version, models)
        with self._lock:
            self._cache[key] = (mark, record)
            self._cache.move_to_end(key)
            while len(self._cache) > MOST:
                self._cache.popitem(last=False)
        return record


class TitledCheck(NamedTuple):
    """A check of a method, with its title on the page."""

    title: str
    measure: Callable[[JudgeRecord], Check]
