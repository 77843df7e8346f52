"""``judgeboard agreement``: how far people, judges, and people and judges agree."""

from contextlib import closing
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
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
    help="People with each other, a judge with people, judges with each other, or a judge with its own repeats.",
)
@click.option(
    "--judge-version",
    "judge_versions",
    multiple=True,
    metavar="NAME|FINGERPRINT",
    help="The judge; for --of judges several, or none for all. For --of repeats a bare name is all its versions.",
)
@click.option(
    "--unit",
    type=click.Choice(["responses", "pairs"]),
    default="responses",
    show_default=True,
    help="Grades of answers, or which of two answers is better.",
)
@click.option("--aspect", help="Of pairs: on which aspect (overall).")
@click.option(
    "--grade",
    metavar="label|groundedness|quality|preference|DIMENSION",
    help="What was graded; a rubric's dimension by its name. Default: label, since only labels tell how many bad "
    "answers a judge misses; a note counts the reviews that give none. Of pairs: the preference.",
)
@click.option(
    "--human",
    type=click.Choice(["gold", "majority", "each"]),
    default="gold",
    show_default=True,
    help="What a judge is held against: what a lead settled, else people together (majority label, lower median "
    "quality, mean groundedness); people together, adjudications left out; or each person's grade, stacked.",
)
@click.option(
    "--unusable",
    type=click.Choice(["drop", "wrong", "tie"]),
    default="drop",
    show_default=True,
    help="Of pairs: what a verdict counts as that cannot be used.",
)
@click.option(
    "--by",
    type=click.Choice(["query_type", "judge_version", "generator", "source", "time", "length", "rule"]),
    help="Also each slice by itself, from ten on.",
)
@click.option("--alt-test", is_flag=True, help="May the judge stand in for a person? The alternative annotator test.")
@click.option(
    "--epsilon",
    type=options.FiniteRange(0, 1),
    help="With --alt-test: how much further from people the judge may be than a person; 0.2 for experts, 0.15 skilled, "
    "0.1 a crowd. Default 0.2.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Also write all of it to this file: one HTML page.")
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
    """Measure how far people and judges agree, with n, what was left out, and 95 % intervals.

    Each answer counts once, with each judge version's latest usable verdict, however often it was judged again. A
    figure that cannot be said is undefined, with the reason.
    """
    from judgeboard.agreement.measure import measure_agreement
    from judgeboard.cli.options import seen
    from judgeboard.reports.agreement import result_lines
    from judgeboard.store.engine import open_store

    if epsilon is not None and not alt_test:
        raise BadInput("--epsilon goes with --alt-test")
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
        from judgeboard.reports.json_output import to_json

        click.echo(to_json(result))
        return
    for line in result_lines(result):
        click.echo(line)
    if report is not None:
        click.echo(f"written to {report}")
