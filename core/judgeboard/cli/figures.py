"""The commands `agreement` and `stats`: figures of stored answers, judgments and reviews."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.asking import refuse_given
from judgeboard.errors import MissingOption

if TYPE_CHECKING:
    from judgeboard.measure.choice import By, Of, Unit
    from judgeboard.stats.alternative_annotator import Small
    from judgeboard.stats.pair_orders import InconsistentAs, UnusableAs
    from judgeboard.stats.ratings import Human
    from judgeboard.store.filters import RowFilter

    class AgreementKeywords(TypedDict):
        """The options of `agreement` that are keyword arguments of `measure_agreement`."""

        of: Of
        judge_versions: tuple[str, ...]
        unit: Unit
        aspect: str | None
        grade: str | None
        human: Human
        unusable: UnusableAs
        inconsistent: InconsistentAs
        by: By | None
        small: Small
        implied_labels: bool
        where: RowFilter


@options.command(
    "judgeboard agreement --judge-version 'rag v3' --by query_type",
    "judgeboard agreement --of people --grade quality --json",
    "judgeboard agreement --unit pairs --judge-version pandalm-7b --alt-test --epsilon 0.2",
    "judgeboard agreement --unit pairs --judge-version gpt-4 --inconsistent drop",
    "judgeboard agreement --of repeats --judge-version gpt-4",
    "judgeboard agreement --schema support --where source=billing",
    "judgeboard agreement --report agreement.html",
)
@options.with_default(
    "--of",
    type=click.Choice(["people", "judge", "judges", "repeats"]),
    default="judge",
    help="Raters to compare: people with each other, a judge with people, judges with each other, or a judge with its "
    "own repeats.",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the primary judge). With --of "
    "judges, repeat it (default: all judges). With --of repeats, a name stands for all versions of that judge.",
)
@options.with_default(
    "--unit",
    type=click.Choice(["responses", "pairs"]),
    default="responses",
    help="What was graded: answers, or pairs of answers (which one is better).",
)
@click.option("--aspect", help="Aspect of the preference, for --unit pairs (default: overall).")
@click.option(
    "--grade",
    metavar="label|groundedness|quality|preference|NAME",
    help="What to compare: a grade, or the name of a score, a rubric dimension or a label set (default: label; "
    "preference for --unit pairs). Only --grade label shows how many bad answers a judge misses. The output then also "
    "counts the reviews without a label.",
)
@options.with_default(
    "--human",
    type=click.Choice(["gold", "majority", "mean", "each"]),
    default="gold",
    help="Grades by people to compare with. gold: the adjudication; without one, the majority (label), the lower "
    "median (quality) or the mean (groundedness). majority: as gold, but adjudications do not count. mean: the mean "
    "of people's scores. each: every person's grade separately.",
)
@options.pair_verdicts
@click.option(
    "--by",
    metavar="query_type|judge_version|generator|source|time|length|rule|metadata.KEY",
    help="Also measure each slice separately, if it has at least 10 answers.",
)
@options.where
@options.implied_labels
@options.decorator(
    click.option(
        "--alt-test",
        is_flag=True,
        help="Run the alternative annotator test: can the judge replace a person?",
    ),
    click.option(
        "--epsilon",
        type=options.FiniteRange(0, 1),
        help="How much worse than a person the judge may be, for --alt-test (default: 0.2). Use 0.2 for experts, "
        "0.15 for trained annotators, 0.1 for a crowd.",
    ),
    options.with_default(
        "--small",
        type=click.Choice(["skip", "wilcoxon"]),
        default="skip",
        help="With --alt-test: test for people with fewer than 30 items. skip: these people are not tested. wilcoxon: "
        "the signed-rank test.",
    ),
    group="Stand-in test",
)
@click.option(
    "--schema",
    metavar="NAME",
    help="Measure only the fields of this label schema: agreement of people with each other, and with the "
    "judges that fill it in.",
)
@click.option(
    "--report",
    type=options.FILE,
    help="Also write an HTML report to this file: a first page for decision makers, then all statistics.",
)
@click.option(
    "--full",
    is_flag=True,
    help="List every pair of raters and every person, also with --json (default: only the 50 lines with the most "
    "items).",
)
def agreement_command(
    alt_test: bool,
    epsilon: float | None,
    report: Path | None,
    schema: str | None,
    full: bool,
    **keywords: "Unpack[AgreementKeywords]",
) -> None:
    """Measure the agreement between judges and people.

    Every figure has n, a 95 % interval and the number of excluded answers. Each answer counts once
    per judge version, with the latest usable verdict. A figure that is not available has a reason
    instead of a value.
    """
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.agreement import measure_agreement
    from judgeboard.measure.agreement_result import shortened
    from judgeboard.measure.fields import field_agreement
    from judgeboard.reports.agreement import (
        fields_table,
        next_command,
        result_lines,
        stand_ins_of_fields,
    )
    from judgeboard.stats.estimates import MIN_PAIRS
    from judgeboard.store.filters import RowFilter, filter_sentence

    if epsilon is not None and not alt_test:
        raise MissingOption("--epsilon needs --alt-test", "--alt-test")
    tested = (0.2 if epsilon is None else epsilon) if alt_test else None
    if schema is not None:
        where = keywords["where"]
        unread = {*keywords, "report", "full"} - {"small", "implied_labels", "where"}
        refuse_given(
            click.get_current_context(),
            "--schema measures each field with the statistic of its type",
            unread,
        )
        with options.reading() as connection:
            fields = field_agreement(
                connection,
                schema,
                epsilon=tested,
                small=keywords["small"],
                implied_labels=keywords["implied_labels"],
                where=where,
            )
        filtered = [] if where == RowFilter() else [filter_sentence(where)]
        output = {"schema": schema, "where": where.as_dict(), "fields": fields}
        options.show(
            output, [*filtered, *text_lines(fields_table(fields)), *stand_ins_of_fields(fields)]
        )
        return
    store = options.seen(options.open_store())
    if report is not None and keywords["of"] != "repeats" and keywords["by"] is None:
        keywords["by"] = "query_type"  # the first page has a chart by query type
    result = measure_agreement(store, epsilon=tested, **keywords)
    result = result if full else shortened(result)
    lines = [*result_lines(result)]
    if report is not None:
        from judgeboard.formats.files import write_whole
        from judgeboard.reports.agreement import report_page
        from judgeboard.reports.front_page import log_summary

        with store.reading() as connection:
            page = report_page([result], log_summary(connection, [result])).encode()
        write_whole(report, lambda file: file.write(page))
        lines.append(f"written to {report}")
    options.show(result, lines)
    more = next_command(result)
    if more is not None:
        options.suggest_command(more)
    elif report is None and result.n >= MIN_PAIRS:
        options.suggest_command(options.same_command("--report", "agreement.html"))


@options.command("judgeboard stats", "judgeboard stats --json | jq .agreement")
def stats_command() -> None:
    """Show counts, and how far each judge agrees with people.

    Counts responses, reviews, judgments and flags. The same data gives the same JSON, byte for
    byte.
    """
    from judgeboard.formats.output import text_lines
    from judgeboard.measure.notes import note
    from judgeboard.reports.stats import (
        agreement_tables,
        flags_table,
        judgments_table,
        left_out_table,
        masks_table,
        measure_log,
        missing_intervals,
        stats_notes,
    )

    stats = measure_log(options.seen(options.open_store()))
    lines = [note("log", responses=stats.responses, reviews=stats.reviews).text]
    for table in (
        judgments_table(stats),
        flags_table(stats),
        *agreement_tables(stats),
        left_out_table(stats),
        masks_table(stats),
    ):
        lines += ["", *text_lines(table)] if table.rows else []
    options.show(
        stats, [*lines, *missing_intervals(stats), *(each.text for each in stats_notes(stats))]
    )
