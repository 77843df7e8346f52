"""``judgeboard queue``: the commands of named queues, put together."""

import click

from judgeboard.cli import options
from judgeboard.cli.queue_bundles import export, merge
from judgeboard.cli.queue_making import assign, close, create
from judgeboard.cli.queue_reviewing import decide, next_, release, reveal, skip
from judgeboard.cli.queue_showing import list_, show


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


for each in (create, close, assign, list_, show, next_, decide, reveal, skip, release, export, merge):
    command.add_command(each)
