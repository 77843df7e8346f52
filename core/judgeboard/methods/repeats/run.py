"""Repeats: ask one judge version several times about the same answers, and measure the agreement of the verdicts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import RECORDED, REPEATS, Estimate, JudgeVersion
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.judges.judge import Judge
from judgeboard.measure.agreement import agreed_with_people
from judgeboard.measure.agreement_result import answers_words
from judgeboard.measure.choice import CountedGrades, GradeName
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import AnswerRatings, PairSource
from judgeboard.measure.repeats import temperature_note, temperature_of
from judgeboard.runs.combining import RULE, store_combined, stored_members
from judgeboard.runs.judging import Ask, JudgingSummary, VerdictMethod, judge_options
from judgeboard.runs.method import (
    Begun,
    RunAccount,
    RunOptions,
    RunOutcome,
    Selected,
    check_limit,
    id_keys,
    run_method,
)
from judgeboard.runs.runner import blocking
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.proportions import share
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.jobs import TaskKey
from judgeboard.store.judge_versions import (
    ensure_version,
    get_version,
    list_versions,
    not_found,
    versions_asked_again,
)
from judgeboard.store.responses import last_logged_id
from judgeboard.store.run_steps import count_missing, missing_repeats, next_answers
from judgeboard.store.statements import record_of
from judgeboard.store.tables import StoredVersion
from judgeboard.store.traces import inputs_to_judge
from judgeboard.store.verdicts import by_repeat, repeated_answers


def repeats_version(version: StoredVersion, repeats: int) -> JudgeVersion:
    """Return the version for combined verdicts of ``repeats`` repeats, for example "rag x3"."""
    params = {"members": [version.fingerprint], "repeats": repeats, "rule": RULE}
    return JudgeVersion(
        f"{version.name} x{repeats}",
        REPEATS,
        model=version.model,
        params=params,
        scale=version.scale,
    )


class _RepeatsMethod(VerdictMethod[JudgingSummary]):
    kind = REPEATS

    def __init__(
        self, judge: Judge, repeats: int, where: RowFilter, limit: int | None, actor: str
    ) -> None:
        self.judge = judge
        self._repeats = repeats
        self._where = where
        self._limit = limit
        self._actor = actor

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        if self._repeats < 2:
            raise BadInput(f"--repeats must be 2 or more, not {self._repeats}")
        check_limit(self._limit)
        up_to = last_logged_id(connection)
        if self._limit is not None:
            first = next_answers(
                connection, self._where, after_id=None, up_to=up_to, limit=self._limit
            )
            up_to = first[-1] if first else 0
        question = {
            "where": self._where.as_dict(),
            "repeats": self._repeats,
            "limit": self._limit,
            "up_to": up_to,
        }
        return question, count_missing(connection, version.id, self._repeats, self._where, up_to)

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        next_ids = partial(next_answers, where=self._where, up_to=begun.run.filter["up_to"])
        # Repeat 0 is the plain verdict, so the key is the key of a plain run.
        parts = ["", *map(str, range(1, self._repeats))]
        return (
            TaskKey(key.item_id, part) for key in id_keys(begun.store, next_ids) for part in parts
        )

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Ask]:
        with begun.store.reading() as connection:
            repeats_to_ask = missing_repeats(
                connection, begun.version.id, self._repeats, [key.item_id for key in keys]
            )
        tasks = {TaskKey(id_, str(repeat or "")): (id_, repeat) for id_, repeat in repeats_to_ask}
        tasks_left = {key: tasks[key] for key in keys if key in tasks}
        items = inputs_to_judge(begun.store, sorted({id_ for id_, _ in tasks_left.values()}))
        return {
            key: Ask(items[id_], 0, repeat)
            for key, (id_, repeat) in tasks_left.items()
            if id_ in items
        }

    def summarise(self, outcome: RunOutcome) -> JudgingSummary:
        combine_repeats(
            outcome.store, outcome.version, self._repeats, where=self._where, actor=self._actor
        )
        return JudgingSummary.of_run(outcome)


async def judge_repeats_async(
    store: Store,
    judge: Judge,
    repeats: int,
    *,
    where: RowFilter | None = None,
    limit: int | None = None,
    **options: Unpack[RunOptions],
) -> JudgingSummary:
    """Ask a judge ``repeats`` times (at least 2) about each answer; store each repeat and the combined verdict.

    Repeat 0 is the verdict of a plain run. Stored repeats are not asked again. Answers with all
    repeats get a combined verdict. An unfinished run of the same command continues with the answers
    that were logged at the start. Only the first ``limit`` answers of the log are used. The judge
    is closed at the end. ``options`` are fields of `RunOptions`.
    """
    actor = options.get("actor", "library")
    return await run_method(
        store, _RepeatsMethod(judge, repeats, where or RowFilter(), limit, actor), **options
    )


judge_repeats = blocking(judge_repeats_async)


def combine_repeats(
    store: Store, version: StoredVersion, repeats: int, *, where: RowFilter, actor: str
) -> None:
    """Store the combined verdict of every answer that has all repeats."""
    with store.writing() as connection:
        answer_opinions = by_repeat(connection, version.id, where)
        complete = {
            id_: [each.opinions[number].verdict for number in range(repeats)]
            for id_, each in sorted(answer_opinions.items())
            if all(number in each.opinions for number in range(repeats))
        }
        if complete:
            combined_version = ensure_version(connection, repeats_version(version, repeats))
            store_combined(connection, combined_version, complete, actor)


_ASKED_AGAIN = "asked more than once"
_GRADES: tuple[GradeName, ...] = ("quality", "groundedness", "label")


@dataclass(frozen=True, slots=True)
class Repeated:
    """One measure over the repeats.

    ``items`` answers have a value in every repeat, ``incomplete`` only in some, ``no_value`` in
    none. ``accuracy`` is the agreement with people. This figure describes ``accuracy_answers``
    answers; None: only answers that people graded.
    """

    measure: str
    items: int
    incomplete: int
    no_value: int
    self_consistency: Estimate
    krippendorff_alpha: Estimate
    icc: Estimate
    cronbach_alpha: Estimate
    spread: Estimate
    accuracy: Estimate
    accuracy_answers: int | None

    @property
    def left_out(self) -> dict[str, int]:
        """The answers that were judged repeatedly but are not among ``items``, by reason."""
        counts = {
            "no value in some repeat": self.incomplete,
            "no value in any repeat": self.no_value,
        }
        return {reason: n for reason, n in counts.items() if n}


@dataclass(frozen=True, slots=True)
class RepeatsReport:
    """A judge's repeats on every measure, for the ``answers`` that match ``where`` and were judged more than once.

    ``temperature`` is None if the temperature is unknown or differs between versions.
    """

    judge: str
    versions: tuple[str, ...]
    where: dict[str, Any]
    repeats: int
    answers: int
    account: RunAccount
    temperature: float | None
    main: Repeated
    measures: tuple[Repeated, ...]
    caveats: tuple[Note, ...]

    def table(self) -> Table:
        """Return how far the repeats agree with each other and with people, by measure."""
        columns: Columns[Repeated] = {
            Column("Measure", width=110): lambda each: each.measure,
            Column("All repeats equal", "share estimate", width=115): lambda each: (
                each.self_consistency
            ),
            Column("Alpha", "estimate", width=125): lambda each: each.krippendorff_alpha,
            Column("Spread", "estimate", width=125): lambda each: each.spread,
            Column(
                "ICC(1)",
                "estimate",
                width=125,
                help="Intraclass correlation: reliability of one repeat",
            ): (lambda each: each.icc),
            Column(
                "Cronbach's alpha",
                "estimate",
                width=125,
                help="Reliability of the mean of all repeats",
            ): (lambda each: each.cronbach_alpha),
            Column("Answers", "count", width=65): lambda each: each.items,
            Column("With people", "share estimate", width=115): lambda each: each.accuracy,
            Column("On", width=160): lambda each: answers_words(
                each.accuracy.n, each.accuracy_answers
            ),
        }
        return Table.of(self.measures, columns)


def repeats_report(
    connection: Connection,
    *,
    version: int | str | None = None,
    name: str | None = None,
    where: RowFilter | None = None,
) -> RepeatsReport:
    """Return the agreement of a judge with itself on answers with several repeats (that match ``where``).

    Give one judge ``version``, or a ``name`` to pool the answers of all versions of that judge.
    Each measure leaves out answers without a value in every repeat. Raises NotFound, which lists
    the judges with repeats.
    """
    versions = _versions(connection, version, name)
    where = where or RowFilter()
    answers_with_repeats = repeated_answers(connection, [each.id for each in versions], where)
    title = name or versions[0].title
    if not answers_with_repeats.answers and where != RowFilter():
        raise NotFound(f"{title} has no repeats of the answers that match: {describe(where)}")
    if not answers_with_repeats.answers:
        options = judge_options(versions[0])
        code = (
            "import_repeats"
            if versions[0].kind == RECORDED
            else "no_repeats"
            if options is None
            else "judge_repeats"
        )
        raise NotFound(note(code, judge=title, options=options or "").text)
    source = PairSource(connection, CountedGrades(where=where))
    measures = []
    by_grade: dict[GradeName, tuple[Estimate, int | None]] = {}
    for each in answers_with_repeats.measures():
        accuracy, answers = unmeasured(0, f"people do not grade {each.measure}"), None
        if each.measure in _GRADES:
            grade: GradeName = "quality" if each.measure == "quality" else "label"
            if grade not in by_grade:
                by_grade[grade] = _agreed(source, versions, grade)
            accuracy, answers = by_grade[grade]
        measures.append(
            record_of(
                Repeated, each, items=len(each.rows), accuracy=accuracy, accuracy_answers=answers
            )
        )
    if not measures:
        raise NotFound(f"{title} has no usable verdict in any repeat")
    temperature = temperature_of(versions)
    return RepeatsReport(
        judge=title,
        versions=tuple(each.title for each in versions),
        where=where.as_dict(),
        repeats=max(len(answer.opinions) for answer in answers_with_repeats.answers),
        answers=len(answers_with_repeats.answers),
        account=RunAccount.of(
            Counter(
                opinion.verdict.status
                for each in answers_with_repeats.answers
                for opinion in each.opinions.values()
            )
        ),
        temperature=temperature,
        main=measures[0],
        measures=tuple(measures),
        caveats=(temperature_note(temperature),),
    )


def _versions(
    connection: Connection, version: int | str | None, name: str | None
) -> list[StoredVersion]:
    if version is None:
        versions = [each for each in list_versions(connection) if each.name == name]
        if versions:
            return versions
        raise not_found(
            connection, name or "", versions_asked_again(connection), _ASKED_AGAIN, what="judge"
        )
    try:
        return [get_version(connection, version)]
    except NotFound:
        raise not_found(
            connection, version, versions_asked_again(connection), _ASKED_AGAIN
        ) from None


def _agreed(
    source: PairSource, versions: Sequence[StoredVersion], grade: GradeName
) -> tuple[Estimate, int | None]:
    """Return the agreement of repeat 0, the current verdict, with people, and the number of described answers.

    None: the agreement describes only graded answers.
    """
    ratings = AnswerRatings(source, grade)
    if len(versions) == 1:
        agreement = agreed_with_people(ratings, versions[0])
        return agreement.accuracy, agreement.answers
    pairs = [ratings.compared(version) for version in versions]
    hits = np.concatenate([each.judge == each.people for each in pairs])
    if not hits.size:
        return unmeasured(0, "people graded none of these answers"), None
    return share(hits, np.concatenate([each.groups for each in pairs])), None


def version_report(connection: Connection, version: StoredVersion) -> RepeatsReport:
    """Return the agreement of a version's repeats; stores nothing.

    If the version combines repeats, the repeats of the member are used; for a recorded judge, the
    repeats of all rubrics. Raises NotFound if there is nothing to show.
    """
    if version.kind == RECORDED:
        return repeats_report(connection, name=version.name)
    if version.kind == REPEATS:
        return repeats_report(connection, version=stored_members(connection, version)[0].id)
    return repeats_report(connection, version=version.id)
