"""``judgeboard doctor``: check the database, the endpoint and the model, and say how to mend them."""

import click

from judgeboard.cli import options


@click.command(
    epilog=options.example(
        "judgeboard doctor", "judgeboard doctor --model gpt-4o-mini --base-url http://localhost:8000/v1"
    )
)
@click.option("--model", help="The judge's model.")
@click.option("--provider", help="API of the endpoint: openai or anthropic. Default: chosen by the model's name.")
@click.option("--base-url", help="Address of the endpoint, with /v1. Default: OPENAI_BASE_URL, else the provider's.")
@options.database
def command(model: str | None, provider: str | None, base_url: str | None, db: str | None) -> int:
    """Check what judging and serving need; exit code 0 when all is well, 1 when something must be mended."""
    from judgeboard.checkup import check_database, check_endpoint
    from judgeboard.cli.terminal import seen

    findings = [*check_database(db, seen), *check_endpoint(model, provider, base_url)]
    for finding in findings:
        click.echo(
            f"{'ok  ' if finding.ok else 'mend'}  {finding.what}" + (f"\n      {finding.fix}" if finding.fix else "")
        )
    return 0 if all(finding.ok for finding in findings) else 1
