"""A database for notebooks and programs: rows in, verdicts, frames and figures out.

``judgeboard.open`` returns a `Board`. The methods call the same functions as commands and pages do,
and work inside a running event loop. Messages and progress go to stderr.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Unpack

from judgeboard import formats
from judgeboard.domain import JudgeInput, Rejected, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.files import Column, ColumnType
from judgeboard.formats.output import Table, rows_table, text_lines, to_html
from judgeboard.health.family import run_warning
from judgeboard.imports.dates import DateOrder
from judgeboard.imports.importing import ImportSummary, import_file, requests_beside
from judgeboard.imports.reading import RESPONSES, ImportRequest, UnclearFile, clear_records
from judgeboard.judges.judge import Judge, JudgeOptions, concurrency_of
from judgeboard.llm.chat import earlier_turns
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import AgreementResult
from judgeboard.measure.choice import By, GradeName, Of, Unit
from judgeboard.measure.label_plans import Question
from judgeboard.measure.periods import Period
from judgeboard.measure.plans import plan_labels, plan_versions
from judgeboard.measure.rates import Rate, measure_rate
from judgeboard.measure.result import Result
from judgeboard.measure.samples import scored_version
from judgeboard.measure.thresholds import AIMS, Goal, measure_threshold
from judgeboard.measure.trend import QUERY_TYPE, Trend, trend
from judgeboard.measure.versus import Contrast, compare_versions
from judgeboard.people.roster import seen_by_user
from judgeboard.reports.terminal import judging_progress, local_user, progress
from judgeboard.runs.judging import JudgingSummary, judge_inputs, judge_pending, make_judge
from judgeboard.runs.named_judges import (
    at_last_address,
    find_judge,
    judge_keywords,
)
from judgeboard.settings.sections import STORED_FIELDS
from judgeboard.stats.paired import WITHIN
from judgeboard.stats.rates import Target
from judgeboard.stats.ratings import Human
from judgeboard.stats.thresholds import DELTA
from judgeboard.store.engine import Store
from judgeboard.store.export import ExportTable, exports, ratings_table
from judgeboard.store.filters import MeasureName, RowFilter, parse_where
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.judge_versions import get_version
from judgeboard.store.opening import open_store
from judgeboard.store.runs import PLAIN
from judgeboard.store.settings import check_primary_judge
from judgeboard.store.statements import record_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from judgeboard.formats.frame import Records

FRAME = "frame.jsonl"
"""The name of a frame in messages and in the list of imports."""
Where = RowFilter | str | Sequence[str] | None
"""Conditions such as ``query_type=complex``, as ``--where`` of the commands (default: no condition)."""


@dataclass(frozen=True, slots=True, repr=False)
class Added:
    """The result of `Board.add`: an import for each kind of rows, the answers first, and all rejected rows."""

    imports: tuple[ImportSummary, ...]
    rejected_rows: tuple[Rejected, ...]

    @property
    def new(self) -> int:
        """Number of new rows of all kinds."""
        return sum(each.new for each in self.imports)

    @property
    def rejected(self) -> "DataFrame":
        """The rejected rows: number of the row (of a frame from 0, of a file the line), field and reason."""
        return formats.frame.frame_of(
            self._rejected(), (Column("row", ColumnType.INTEGER), Column("field"), Column("reason"))
        )

    def __repr__(self) -> str:
        return "\n\n".join("\n".join(text_lines(table)) for table in self._tables())

    def _repr_html_(self) -> str:
        return "".join(map(to_html, self._tables()))

    def _tables(self) -> Iterator[Table]:
        counts = ("kind", "rows", "new", "unchanged", "rejected", "flags")
        uses = [
            (use, each.unread.get(use.theirs))
            for each in self.imports
            for use in each.columns
            if use.theirs
        ]
        tables = (
            [{name: getattr(each, name) for name in counts} for each in self.imports],
            [
                {
                    "column": use.theirs,
                    "field": use.ours,
                    "use": use.how,
                    "not read": unread and unread.reason,
                }
                for use, unread in uses
            ],
            self._rejected(),
            [{"note": note} for each in self.imports for note in each.messages],
        )
        return (rows_table(rows) for rows in tables if rows)

    def _rejected(self) -> list[dict[str, object]]:
        return [
            {"row": each.line, "field": each.field, "reason": each.reason}
            for each in self.rejected_rows
        ]


@dataclass(frozen=True, slots=True)
class Board(AbstractContextManager["Board"]):
    """A database. Frames and figures leave out rows that the user of this machine will review blind.

    ``store`` is for the functions of `judgeboard` that take one.
    """

    store: Store

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self.store.close()

    def add(
        self,
        rows: "Records | str | Path",
        *,
        columns: Mapping[str, str] | None = None,
        **request: Unpack[ImportRequest],
    ) -> Added:
        """Add rows, as `judgeboard import` does: rows that are stored already change nothing.

        Args:
            rows: A DataFrame, a list of dicts, or the path of a file. Another table is read by
                ``to_pandas()``.
            columns: The field of each column that is not recognised: ``{"Frage": "query"}``.
            request: More about the rows (`ImportRequest`), such as ``kind="grades"``, ``source`` or
                ``dry_run``.

        Raises:
            BadInput: The rows cannot be read, a column is unknown, or it is not clear which column
                is which field.
        """
        request |= {"mapping": columns, "actor": local_user()}
        rejected: list[Rejected] = []
        with ExitStack() as stack:
            stack.enter_context(_python_advice())
            file: str | Path | BinaryIO
            if isinstance(rows, str | Path):
                file, first = rows, 1
            else:
                file, first = stack.enter_context(formats.frame.frame_file(rows)), 0
                request["name"] = FRAME

            def reject(row: Rejected) -> None:
                rejected.append(replace(row, line=row.line - 1 + first, row=None))

            def add_kind(request: ImportRequest) -> ImportSummary:
                if not isinstance(file, str | Path):
                    file.seek(0)
                with progress("adding", "{task.fields[units]:,} rows", units=0) as update:
                    return import_file(
                        self.store,
                        file,
                        on_progress=lambda count, share: update(
                            completed=share or 0, total=1, units=count
                        ),
                        on_rejected=reject,
                        **request,
                    )

            answers = add_kind(request)
            other_imports = map(add_kind, requests_beside(answers, request))
            return Added((answers, *other_imports), tuple(rejected))

    def judge(
        self,
        judge: str | Judge,
        *,
        kind: str | None = None,
        where: Where = None,
        rejudge: Literal["all", "keep-flags", "failed"] | None = None,
        limit: int | None = None,
        max_cost: float | None = None,
        **options: object,
    ) -> JudgingSummary:
        """Judge the answers that have no verdict of a judge yet, as `judgeboard judge` does.

        Args:
            judge: A judge of judgeboard.toml or of the database, or a kind of judge; with a model,
                also a new name. A judge from `make_judge` is closed at the end.
            kind: The kind of a new judge (default: rag; rubric if a rubric is given).
            where: The answers to judge (default: all).
            rejudge: Judge again: ``all`` answers, all but ``keep-flags`` open, or answers whose
                judgment ``failed``.
            limit: Maximum number of answers.
            max_cost: Cost limit, in the currency of the prices.
            options: Options of the judge, such as ``model`` (`JudgeOptions`).

        Raises:
            BadInput: The options do not fit the kind of judge.
            NotFound: There is no such judge, and no option describes a new judge.
        """
        judge_to_ask = self._made_judge(judge, kind, options) if isinstance(judge, str) else judge
        with self.store.reading() as connection:
            check_primary_judge(connection, judge_to_ask.version.name)
        with judging_progress() as show:
            summary = judge_pending(
                self.store,
                judge_to_ask,
                where=_filter(where),
                mode=rejudge or PLAIN,
                limit=limit,
                max_cost=max_cost,
                concurrency=concurrency_of(options),
                actor=local_user(),
                on_progress=show,
                on_stop=_say_why,
                on_estimate=lambda estimate: _say(estimate.sentence),
            )
        if warning := run_warning(self.store, judge_to_ask.version.model, summary.run_id):
            _say(f"warning: {warning.text}")
        return summary

    def answers(self, where: Where = None) -> "DataFrame":
        """Return the table ``responses`` of `judgeboard export`: answers of all kinds that match (default: all)."""
        return self._frame(exports()["responses"], where)

    def judgments(self, where: Where = None) -> "DataFrame":
        """Return the judgments of the answers that match, also judgments that a newer judgment replaced."""
        return self._frame(exports()["judgments"], where)

    def flags(self, where: Where = None) -> "DataFrame":
        """Return the flags of the answers that match."""
        return self._frame(exports()["flags"], where)

    def reviews(self, where: Where = None) -> "DataFrame":
        """Return the reviews of the answers that match."""
        return self._frame(exports()["reviews"], where)

    def pairs(self, where: Where = None) -> "DataFrame":
        """Return the pairs of answers that match, with the preferences of people."""
        return self._frame(exports()["pairs"], where)

    def ratings(self, where: Where = None, *, judge_version: str | None = None) -> "DataFrame":
        """Return a row for each answer and person: the grades beside a judge's verdict (default: the primary judge)."""
        with self.store.reading() as connection:
            version = scored_version(connection, judge_version)
        return self._frame(ratings_table(version), where)

    def agreement(
        self,
        *,
        of: Of = "judge",
        judge_versions: Sequence[str] = (),
        unit: Unit = "responses",
        grade: str | None = None,
        human: Human = "gold",
        by: By | None = None,
        epsilon: float | None = None,
        where: Where = None,
    ) -> AgreementResult:
        """Measure how far judges and people agree (`measure_agreement`)."""
        return measure_agreement(
            self._seen(),
            of=of,
            judge_versions=judge_versions,
            unit=unit,
            grade=grade,
            human=human,
            by=by,
            epsilon=epsilon,
            where=_filter(where),
        )

    def rate(
        self,
        *,
        judge_version: str | None = None,
        by: By | None = None,
        target: Target = "app",
        where: Where = None,
        grade: GradeName | None = None,
        labels_from: Where = None,
    ) -> Rate:
        """Estimate how many of all answers are bad, or their mean grade (`measure_rate`)."""
        return measure_rate(
            self._seen(),
            judge_version=judge_version,
            by=by,
            target=target,
            where=_filter(where),
            grade=grade,
            labels_from=_filter(labels_from),
        )

    def trend(
        self,
        *,
        measure: MeasureName = "groundedness",
        criterion: str | None = None,
        own_label: str | None = None,
        period: Period = "week",
        judge_version: str | None = None,
        last: int | None = None,
        by: str = QUERY_TYPE,
    ) -> Trend:
        """Measure the answers over time, by query type or ``metadata.KEY``, as `judgeboard trends` does."""
        with self._seen().reading() as connection:
            return trend(
                connection,
                measure=measure,
                criterion=criterion,
                own_label=own_label,
                period=period,
                judge=None if judge_version is None else get_version(connection, judge_version).id,
                last=last,
                by=by,
            )

    def threshold(
        self,
        *,
        recall: float | None = None,
        precision: float | None = None,
        false_omission: float | None = None,
        cost: float | None = None,
        delta: float = DELTA,
        by: Literal["query_type"] | None = None,
        judge_version: str | None = None,
    ) -> tuple[Result, ...]:
        """Find the groundedness threshold that reaches one goal, as `judgeboard labels threshold` does."""
        aims = zip(AIMS, (recall, precision, false_omission, cost), strict=True)
        goals = [Goal(aim, value, delta) for aim, value in aims if value is not None]
        if len(goals) != 1:
            raise BadInput(f"give exactly one of {', '.join(AIMS)}")
        with self._seen().reading() as connection:
            return measure_threshold(
                connection, goals[0], by_query_type=by is not None, judge_version=judge_version
            )

    def compare(self, first: str, second: str, *, within: float = WITHIN) -> Contrast:
        """Compare two judge versions with the labels of people, as `judgeboard compare versions` does."""
        with self._seen().reading() as connection:
            return compare_versions(connection, first, second, within=within)

    def plan(
        self,
        *,
        width: float | None = None,
        difference: float | None = None,
        question: Question = "rate",
        judge_versions: Sequence[str] = (),
        target: Target = "app",
        by: Literal["query_type"] | None = None,
        where: Where = None,
    ) -> tuple[Result, ...]:
        """Plan how many answers to label, as `judgeboard labels plan` does.

        Args:
            width: The whole width of the 95 % interval, for the questions rate and kappa.
            difference: The smallest difference to find, for the question judges.
            question: What the labels are to show.
            judge_versions: The judge version whose verdicts are used (default: the primary), for
                judges both.
            target: The answers of the app, or only ``these``.
            by: Adds a plan for each query type.
            where: The answers that the plan is about.
        """
        aim, unused = (difference, width) if question == "judges" else (width, difference)
        if aim is None or unused is not None:
            raise BadInput("give a width for rate and kappa, and a difference for judges")
        with self._seen().reading() as connection:
            return plan_labels(
                connection,
                aim if difference is not None else aim / 2,
                question,
                versions=plan_versions(connection, judge_versions),
                where=_filter(where),
                target=target,
                by_query_type=by is not None,
            )

    def _made_judge(self, judge_name: str, kind: str | None, options: dict[str, object]) -> Judge:
        options_by_name: dict[str, object] = {}
        if kind is None:
            try:
                options_by_name = find_judge(lambda: self.store, judge_name, _say)
            except NotFound:
                if not options:
                    raise
        kind = kind or str(
            options_by_name.get(
                "kind", "rubric" if options.get("rubric") or options.get("label_schema") else "rag"
            )
        )
        fields = {*JudgeOptions.model_fields, *STORED_FIELDS}
        described = {name: value for name, value in options_by_name.items() if name in fields}
        described = {"name": judge_name} | described | options
        keywords = judge_keywords(lambda: self.store, kind, described)
        make = partial(make_judge, kind)
        return make(**at_last_address(self.store, make, keywords))

    def _seen(self) -> Seen:
        return seen_by_user(self.store, local_user(), _say)

    def _frame(self, table: ExportTable, where: Where) -> "DataFrame":
        with self._seen().reading() as connection:
            return formats.frame.frame_of(table.read(connection, _filter(where)), table.columns)


def open(database: str | Path | None = None) -> Board:  # noqa: A001 - read as judgeboard.open
    """Open a database: a path or an address of SQLAlchemy (default: as for commands). A missing database is created."""
    return Board(open_store(database, create=True))


def judge(
    rows: "Records",
    judge: str | Judge = "lexical",
    *,
    columns: Mapping[str, str] | None = None,
    max_cost: float | None = None,
    **options: object,
) -> "DataFrame":
    """Judge answers without a database. Return the rows as a frame, with the verdict in columns ``judge_…``.

    Rows are read as in `Board.add`. A row that cannot be read has the ``judge_status`` rejected,
    and the reason as ``judge_error``. Rows that are not reached, because of ``max_cost`` (in
    dollars) or a refusal, have no verdict.

    Args:
        rows: A DataFrame, a list of dicts, or another table with ``to_pandas()``.
        judge: A kind of judge, made with ``options`` (`JudgeOptions`), or a judge from
            `make_judge`, which is closed.
        columns: The field of each column that is not recognised: ``{"Frage": "query"}``.
        max_cost: Cost limit.
        options: Options of the judge, such as ``model``.

    Raises:
        BadInput: Rows or options cannot be used.
        EndpointRefused: The endpoint refuses key, model or address.
    """
    frame = formats.frame.to_frame(rows)
    if taken_names := {column.name for column in _VERDICT}.intersection(frame.columns):
        raise BadInput(f"the rows have a column {min(taken_names)!r} already: rename or drop it")
    verdicts = [dict[str, object]() for _ in range(len(frame))]
    items = []
    # Read the answers.
    with _python_advice(), formats.frame.frame_file(frame) as file:
        request: ImportRequest = {"kind": RESPONSES, "mapping": columns, "name": FRAME}
        with clear_records(file, request) as reading:
            for answer in reading:
                row = reading.line - 1
                if isinstance(answer, Rejected):
                    why = f"{answer.field}: {answer.reason}" if answer.field else answer.reason
                    verdicts[row] = {"judge_status": "rejected", "judge_error": why}
                else:
                    turns = earlier_turns(answer.messages)
                    items.append(record_of(JudgeInput, answer, response_id=row, turns=turns))
    # Judge the answers.
    judge_to_ask = make_judge(judge, **options) if isinstance(judge, str) else judge
    with judging_progress() as show:
        concurrency = concurrency_of(options)
        verdicts_by_row = judge_inputs(
            items,
            judge_to_ask,
            concurrency=concurrency,
            max_cost=max_cost,
            on_progress=show,
            on_stop=_say_why,
        )
    # Put each verdict beside the row.
    for row, verdict in verdicts_by_row.items():
        verdicts[row] = {column.name: value(verdict) for column, value in _VERDICT.items()}
    return formats.frame.beside(frame, verdicts, [*_VERDICT])


_VERDICT: Mapping[Column, Callable[[Verdict], object]] = {
    Column("judge_status"): lambda verdict: verdict.status.value,
    Column("judge_label"): lambda verdict: verdict.label and verdict.label.value,
    Column("judge_groundedness", ColumnType.NUMBER): lambda verdict: verdict.groundedness,
    Column("judge_quality", ColumnType.INTEGER): lambda verdict: verdict.quality,
    Column("judge_scores", ColumnType.JSON): lambda verdict: {
        each.dimension: each.value for each in verdict.scores
    },
    Column("judge_reasoning"): lambda verdict: verdict.reasoning,
    Column("judge_cost", ColumnType.NUMBER): lambda verdict: (
        verdict.cost_micro and verdict.cost_micro / 1_000_000
    ),
    Column("judge_error"): lambda verdict: verdict.error,
}


def _filter(where: Where) -> RowFilter | None:
    if isinstance(where, str):
        where = [where]
    return where if where is None or isinstance(where, RowFilter) else parse_where(where)


@contextmanager
def _python_advice() -> Iterator[None]:
    """Say how to name the columns in Python, if the columns are not clear."""
    try:
        yield
    except UnclearFile as unclear:
        mapping = unclear.mapping
        advice = f"Columns that are left over: {', '.join(mapping.left_over) or 'none'}."
        if mapping.is_usable:
            advice = f"To read them so: kind={mapping.kind!r}, columns={mapping.columns}, constants={mapping.constants}"
        if mapping.asks_dates is not None:
            advice = f"Choose dates={' or dates='.join(map(repr, map(str, DateOrder)))}."
        raise BadInput(f"{mapping.file}: {mapping.unclear}. Nothing was stored. {advice}") from None


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")


def _say_why(why: str, _in_flight: int) -> None:
    _say(f"stopped: {why}")
