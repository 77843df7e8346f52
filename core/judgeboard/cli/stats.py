"""``judgeboard stats``: the numbers of the pages, for people and for programs."""

import json

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
    from judgeboard.report import measure
    from judgeboard.store.engine import open_store

    store = open_store(db)
    numbers = measure(seen(store))
    store.close()
    if as_json:
        click.echo(json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=2))
        return
    click.echo(f"{numbers['responses']:,} responses, {numbers['reviews']:,} reviews")
    for version in numbers["judge_versions"]:
        if not any(version["counts"].values()):
            continue  # it compared pairs or answered for a suite: `judgeboard compare --recorded` counts those
        counts = ", ".join(f"{count:,} {status}" for status, count in version["counts"].items())
        click.echo(f"{version['name']} v{version['number']}: {counts}")
    for rule, states in numbers["flags"]["by_rule"].items():
        click.echo(f"{rule.replace('_', ' ')}: " + ", ".join(f"{count:,} {state}" for state, count in states.items()))
    for row in numbers["agreement"]:
        if row["query_type"] is None and row["n"]:
            click.echo(f"{row['judge']}, {row['grade']}, {row['n']:,} graded: " + _statistics(row))


def _statistics(row: dict[str, object]) -> str:
    from judgeboard.domain import Estimate
    from judgeboard.stats.words import number_words

    shown = []
    for name in ("agreement", "kappa", "weighted_kappa", "pearson", "spearman"):
        estimate = row.get(name)
        if isinstance(estimate, dict) and estimate["value"] is not None:
            known = Estimate(estimate["value"], estimate["low"], estimate["high"])
            shown.append(f"{name.replace('_', ' ')} {number_words(known)}")
    return ", ".join(shown) or "too few to say"
