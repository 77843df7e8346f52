"""The command `judge`: judge answers with one judge, or in another way that an option of a method chooses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import judge_kind, judge_of_options, named_judge
from judgeboard.cli.asking import (
    account_lines,
    at_last_address,
    run_options,
    stored_judge_options,
    warned,
)
from judgeboard.cli.groups import LaterOptions
from judgeboard.errors import BadInput
from judgeboard.registry.methods import JudgeOption, load_object, with_methods
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.judges.judge import Judge
    from judgeboard.runs.judging import JudgingSummary
    from judgeboard.store.engine import Store


KEEP = "To keep these flags open, use `--rejudge keep-flags`."


@dataclass(frozen=True, slots=True)
class Judging:
    """What the command `judge` was told to do.

    ``asked`` describes the judge; ``rejudge`` is a mode of `judge_pending`. ``warnings`` are shown
    at the end. ``options`` are the names of all options of methods that were typed.
    """

    store: "Store"
    named: str | None
    number: int | None
    kind: str
    asked: dict[str, object]
    where: RowFilter
    limit: int | None
    rejudge: str | None
    max_cost: float | None
    options: tuple[str, ...]
    warnings: dict[str, list[str]]

    def make_judges(self, described: Sequence[dict[str, object]], *combined: str) -> list["Judge"]:
        """Return the judges, each at the address of the last run; ``combined`` are the names of combined verdicts.

        Raises BadInput if the primary judge would be none of these judges.
        """
        from judgeboard.runs.judging import make_judge
        from judgeboard.store.settings import check_primary_judge

        make = partial(make_judge, self.kind)
        judges = [make(**at_last_address(self.store, make, each)) for each in described]
        with self.store.reading() as connection:
            check_primary_judge(connection, *(each.version.name for each in judges), *combined)
        return judges

    def ask(
        self,
        judge: "Judge",
        max_cost: float | None,
        run: "Callable[..., JudgingSummary] | None" = None,
    ) -> "JudgingSummary":
        """Let a judge judge, and return the summary; ``run`` takes the options of `judge_pending` (the default)."""
        from judgeboard.health.family import run_warning
        from judgeboard.runs.estimates import flag_words
        from judgeboard.runs.jobs import flags_at_stake
        from judgeboard.runs.judging import judge_pending

        flags = flag_words(
            flags_at_stake(self.store, judge.version, self.where, self.rejudge or "plain")
        )
        if flags and run is None:
            options.echo(f"{flags} {KEEP}", err=True)
        begin = run or partial(judge_pending, mode=self.rejudge or "plain")
        with run_options(self.asked, max_cost) as how:
            summary = begin(self.store, judge, where=self.where, limit=self.limit, **how)
        self.warnings["warnings"] += warned(
            [run_warning(self.store, judge.version.model, summary.run_id)]
        )["warnings"]
        return summary


@options.command(
    "judgeboard judge --judge lexical",
    "judgeboard judge strict",
    "judgeboard judge strict-v2 --model gpt-4o-mini --prompt strict-v2.txt --since 2026-05-01 --max-cost 10",
    "judgeboard judge --model llama-3.1-8b-instruct --base-url http://localhost:8000/v1",
    "judgeboard judge --judge rag --model gpt-4o-mini --where query_type=complex --rejudge all --max-cost 5",
    "judgeboard judge --judge rubric --rubric house.yaml --model gpt-4o-mini",
)
@named_judge
@judge_kind()
@click.option(
    "--judge-version",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="Number of the version of the judge NAME to use. Default: the judge as judgeboard.toml describes it, or the "
    "version that `judgeboard align --accept` accepted in its place. If judgeboard.toml has no judge NAME, the "
    "default is the newest version.",
)
@stored_judge_options
@click.option(
    "--limit",
    type=click.IntRange(1, 10**9),
    help="Maximum number of answers to judge (default: no limit).",
)
@options.where
@click.option(
    "--rejudge",
    type=click.Choice(["all", "keep-flags", "failed"]),
    help="Judge again: all answers; all, but keep the open flags of audits and of other judges; or the answers without "
    "a usable verdict (default: only answers not judged yet).",
)
def judge_command(
    named: str | None,
    kind: str | None,
    number: int | None,
    where: RowFilter,
    rejudge: str | None,
    limit: int | None,
    max_cost: float | None,
    **judge_fields: object,
) -> int:
    """Judge the answers that have no verdict of this judge yet.

    NAME is a judge of judgeboard.toml or of the database, or a kind of judge. If there is no judge
    NAME yet, describe it with --model, --prompt or --judge. To describe a judge without judging
    anything, add [judges.NAME] to judgeboard.toml. To continue a run that stopped early, repeat the
    command. Exit code 0: no call failed; 1: some calls failed, or no reply was usable; 2: the run
    stopped early (key, address, cost limit, wrong option); 130: Ctrl-C.
    """
    from judgeboard.runs.named_judges import judge_keywords
    from judgeboard.store.overview import count_log

    method_options: list[tuple[JudgeOption, Any]] = click.get_current_context().meta.get(_GIVEN, [])
    with_models = any(option.names_models for option, _ in method_options)
    if number is not None and (named is None or kind is not None or with_models):
        raise BadInput(
            "--judge-version is the number of a version of NAME: add NAME, and remove --judge and --jury"
        )
    kind = judge_of_options(named, kind, judge_fields, with_models=with_models, number=number)
    keywords, store = judge_keywords(options.open_store, kind, judge_fields), options.open_store()
    judging = Judging(
        store,
        named=named,
        number=number,
        kind=kind,
        asked=keywords,
        where=where,
        limit=limit,
        rejudge=rejudge,
        max_cost=max_cost,
        options=tuple(option.name for option, _ in method_options),
        warnings={"warnings": []},
    )
    if method_options:
        option, value = method_options[-1]
        code: int = load_object(option.run)(value, judging)
        return code
    (judge,) = judging.make_judges([judging.asked])
    summary = judging.ask(judge, max_cost)
    lines = summary_lines(summary)
    if judge_fields["logprobs"]:
        lines += expected_lines(judging.store, summary)
    options.show(summary, lines, judging.warnings)
    if summary.exit_code == 0:
        with judging.store.reading() as connection:
            has_answers = summary.selected or count_log(connection)
        options.suggest(*(("serve",) if has_answers else options.FIRST_STEP))
    return summary.exit_code


_GIVEN = "judgeboard.cli.judge"


def _parameter(option: JudgeOption) -> click.Option:
    """Return an option of a method for click. The command finds the value in the context."""

    def keep(context: click.Context, _option: click.Parameter, value: Any) -> None:
        if value is not None:
            context.meta.setdefault(_GIVEN, []).append((option, value))

    type_ = click.STRING if option.numbers is None else click.IntRange(*option.numbers)
    return click.Option(
        [option.name],
        type=type_,
        metavar=option.metavar,
        help=option.help,
        expose_value=False,
        callback=keep,
    )


# The options of methods stand after --rejudge.
judge_command.declared.insert(
    1 + next(at for at, each in enumerate(judge_command.declared) if each.name == "rejudge"),
    LaterOptions(
        lambda taken: with_methods(
            "option",
            dict[str, click.Option](),
            lambda each: {option.name: _parameter(option) for option in each.judge_options},
            reserved=(*taken, "--help", "-h"),
        ).values()
    ),
)


def expected_lines(store: "Store", summary: "JudgingSummary") -> list[str]:
    """Return how many verdicts of a run have an expected score."""
    from judgeboard.store.judgments import count_expected

    if summary.run_id is None:
        return []
    with store.reading() as connection:
        scored = count_expected(connection, summary.run_id)
    return [f"expected score: {scored:,} of {summary.ok:,}"]


def summary_lines(summary: "JudgingSummary") -> list[str]:
    """Return the outcome of a run as lines for a terminal."""
    from judgeboard.measure.notes import note

    if summary.selected == 0:
        return [note("nothing_to_judge", judge=summary.judge).text]
    lines = [*account_lines(f"{summary.judge}, run {summary.run_id}", summary)]
    if summary.asked > summary.ok and not summary.not_reached:
        lines.append(note("judge_failed_again").text)
    return lines
