"""``judgeboard stats``: the numbers of the pages, for people and for programs."""

import click

from judgeboard.cli import options


@click.command(epilog=options.example("judgeboard stats", "judgeboard stats --json | jq .agreement"))
@click.option(
    "--json", "as_json", is_flag=True, help="JSON alone on standard output; the same data gives the same bytes."
)
@options.database
def command(as_json: bool, db: str | None) -> None:
    """Count responses, reviews, judgments and flags, and measure how far each judge agrees with people."""
    from judgeboard.cli.terminal import seen
    from judgeboard.report import agreement_table, flags_table, judgments_table, measure
    from judgeboard.reports.json_output import to_json
    from judgeboard.reports.tables import text_lines
    from judgeboard.store.engine import open_store

    store = open_store(db)
    stats = measure(seen(store))
    store.close()
    if as_json:
        click.echo(to_json(stats))
        return
    click.echo(f"{stats.responses:,} responses, {stats.reviews:,} reviews")
    for table in (judgments_table(stats), flags_table(stats), agreement_table(stats)):
        if table.rows:
            click.echo("\n" + "\n".join(text_lines(table)))
