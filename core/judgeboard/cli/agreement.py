"""``judgeboard agreement``: how far people, judges, and people and judges agree."""

from contextlib import closing
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import show_json
from judgeboard.errors import BadInput


@click.command(
    epilog=options.example(
        "judgeboard agreement --judge-version 'rag v3' --by query_type",
        "judgeboard agreement --of people --grade quality --json",
        "judgeboard agreement --unit pairs --judge-version pandalm-7b --alt-test --epsilon 0.2",
        "judgeboard agreement --of repeats --judge-version gpt-4",
        "judgeboard agreement --report agreement.html",
    )
)
@click.option(
    "--of",
    type=click.Choice(["people", "judge", "judges", "repeats"]),
    default="judge",
    show_default=True,
    help="Raters to compare: people with each other, a judge with people, judges with each other, or a judge with its "
    "own repeats.",
)
@click.option(
    "--judge-version",
    "judge_versions",
    multiple=True,
    metavar="NAME|FINGERPRINT",
    help="Judge version: a fingerprint, 'rag v1', or a name for its newest version (default: the primary judge). With "
    "--of judges, repeat it (default: all judges). With --of repeats, a name means all its versions.",
)
@click.option(
    "--unit",
    type=click.Choice(["responses", "pairs"]),
    default="responses",
    show_default=True,
    help="What was graded: answers, or pairs of answers (which one is better).",
)
@click.option("--aspect", help="Aspect of the preference, for --unit pairs (default: overall).")
@click.option(
    "--grade",
    metavar="label|groundedness|quality|preference|DIMENSION",
    help="Grade to compare; a rubric's dimension by its name (default: label, or preference for --unit pairs). Only "
    "labels show how many bad answers a judge misses; the output says how many reviews have no label.",
)
@click.option(
    "--human",
    type=click.Choice(["gold", "majority", "each"]),
    default="gold",
    show_default=True,
    help="Grades by people to compare with. gold: the adjudication, else the majority label, lower median quality or "
    "mean groundedness of all reviewers. majority: the same without adjudications. each: every person's grade "
    "separately.",
)
@click.option(
    "--unusable",
    type=click.Choice(["drop", "wrong", "tie"]),
    default="drop",
    show_default=True,
    help="How an unusable verdict counts, for --unit pairs.",
)
@click.option(
    "--by",
    type=click.Choice(["query_type", "judge_version", "generator", "source", "time", "length", "rule"]),
    help="Also measure each slice separately, if it has at least 10 answers.",
)
@click.option("--alt-test", is_flag=True, help="Run the alternative annotator test: can the judge replace a person?")
@click.option(
    "--epsilon",
    type=options.FiniteRange(0, 1),
    help="How much worse than a person the judge may be, for --alt-test (default: 0.2). Use 0.2 for experts, "
    "0.15 for trained annotators, 0.1 for a crowd.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Also write an HTML report to this file.")
@json_option
@options.database
def agreement_command(
    of: str,
    judge_versions: tuple[str, ...],
    unit: str,
    aspect: str | None,
    grade: str | None,
    human: str,
    unusable: str,
    by: str | None,
    alt_test: bool,
    epsilon: float | None,
    report: Path | None,
    as_json: bool,
    db: str | None,
) -> None:
    """Measure the agreement of judges and people.

    Every figure has n, a 95 % interval and the number of excluded answers. Each answer counts once per judge
    version, with the latest usable verdict. A figure that is not available has a
    reason instead of a value.
    """
    from judgeboard.agreement.measure import measure_agreement
    from judgeboard.cli.options import seen
    from judgeboard.reports.agreement import result_lines
    from judgeboard.store.engine import open_store

    if epsilon is not None and not alt_test:
        raise BadInput("--epsilon needs --alt-test")
    with closing(open_store(db)) as store:
        result = measure_agreement(
            seen(store),
            of=of,  # type: ignore[arg-type]  # click has checked the choices
            judge_versions=judge_versions,
            unit=unit,  # type: ignore[arg-type]
            aspect=aspect,
            grade=grade,
            human=human,  # type: ignore[arg-type]
            unusable=unusable,  # type: ignore[arg-type]
            by=by,  # type: ignore[arg-type]
            epsilon=(0.2 if epsilon is None else epsilon) if alt_test else None,
        )
    if report is not None:
        from judgeboard.reports.agreement import report_page

        report.write_text(report_page([result]), encoding="utf-8")
    if as_json:
        show_json(result)
        return
    for line in result_lines(result):
        click.echo(line)
    if report is not None:
        click.echo(f"written to {report}")
