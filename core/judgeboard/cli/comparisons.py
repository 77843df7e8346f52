"""The command `compare versions`: which judge version is better?"""

import click

from judgeboard.cli import options

_OF_VERSIONS = (
    ("n", "change", "first_right", "second_right", "only_first", "only_second", "p", "p_mcnemar"),
    ("kappa_change", "sensitivity_change", "specificity_change"),
    ("unusable",),
)


@options.command(
    "judgeboard compare versions 'rag v1' 'rag v2'",
    "judgeboard compare versions large small --within 0.03 --json",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@options.with_default(
    "--within",
    type=options.FiniteRange(0, 1),
    default=0.02,
    help="B counts as equally good if its share of right verdicts is lower by at most this number, from 0 to 1.",
)
def versions_command(first: str, second: str, within: float) -> int:
    """Show whether judge version B is better than A.

    A and B are names (the newest version), titles ('rag v3') or fingerprints. The command compares
    both versions with the labels of people, on the answers that both versions judged. If answers
    were more or less likely to get a label, their labels have weights that correct this. Answers
    with the same passages count as one unit in the intervals. Exit code 0: B is better, or worse by
    at most --within; 1: B is worse; 2: there are too few labels to decide, and the output says how
    many are needed.
    """
    from judgeboard.measure.versus import compare_versions

    with options.seen(options.open_store()).reading() as connection:
        result = compare_versions(connection, first, second, within=within)
    options.show(result, result.lines(*_OF_VERSIONS))
    return result.conclusion.exit_code
