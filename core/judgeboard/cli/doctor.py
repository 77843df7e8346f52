"""The command `doctor`: is anything wrong with the database or the endpoint?"""

import click

from judgeboard.cli import options
from judgeboard.cli.asking import address_options


@options.command("judgeboard doctor", "judgeboard doctor --model gpt-4o-mini --base-url http://localhost:8000/v1")
@click.option("--model", help="Name of the judge's chat model (default: JUDGEBOARD_MODEL).")
@address_options
def doctor_command(model: str | None, provider: str | None, base_url: str | None) -> int:
    """Check the database and the endpoint. Exit code 0: no problem was found; 1: something must be fixed.

    Looks for damage of the database: checks the file of SQLite, and compares answers with their hashes.
    """
    from judgeboard.health.checkup import check_database, check_endpoint

    findings = [*check_database(options.chosen_database(), options.seen), check_endpoint(model, provider, base_url)]
    lines = [
        line
        for finding in findings
        for line in (
            f"{'ok ' if finding.ok else 'fix'}  {finding.what}",
            *([f"     {finding.fix}"] if finding.fix else []),
        )
    ]
    options.show({"findings": findings}, lines)
    return 0 if all(finding.ok for finding in findings) else 1
