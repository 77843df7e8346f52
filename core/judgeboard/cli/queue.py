"""``judgeboard queue``: the commands of named queues, put together."""

import click

from judgeboard.cli import options, queue_bundles, queue_making, queue_reviewing, queue_showing


@click.group(
    epilog=options.example(
        "judgeboard queue create legal --where query_type=legal --order oldest --needed 2 --blind-judge",
        "judgeboard queue next legal",
        "judgeboard queue decide TOKEN confirm --quality 2 --note 'the fee is made up'",
        "judgeboard queue show legal",
    )
)
def command() -> None:
    """Make queues of answers (or pairs) to review, work through them, see how far they are."""


for module in (queue_making, queue_showing, queue_reviewing, queue_bundles):
    for each in module.COMMANDS:
        command.add_command(each)
