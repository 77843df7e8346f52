"""``judgeboard queue create|close|assign``: what leads do with a queue."""

import shlex
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.domain import QueueOrder

_SUBJECTS = ("answers", "pairs")


@click.command(
    "create",
    epilog=options.example(
        "judgeboard queue create worst --where rule=low_groundedness --assign Mara,Jon",
        "judgeboard queue create legal --where query_type=legal --order random --needed 3 --overlap 0.2 --blind-judge",
        "judgeboard queue create sides --subject pairs --needed 2",
    ),
)
@click.argument("name")
@options.where
@click.option(
    "--order",
    type=click.Choice([each.value for each in QueueOrder]),
    help="What comes first. Default: severity; random where it is blind to the judge, and for pairs.",
)
@click.option("--subject", type=click.Choice(_SUBJECTS), default="answers", show_default=True, help="What it holds.")
@click.option(
    "--needed",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    metavar="N",
    help="Reviews that an item needs.",
)
@click.option(
    "--overlap",
    type=options.FiniteRange(0, 1),
    default=1.0,
    metavar="SHARE",
    help="Share of the items that need --needed reviews, the others need one (1).",
)
@click.option("--blind-people", is_flag=True, help="Hide what other people said. Pairs always do.")
@click.option("--blind-judge", is_flag=True, help="Hide what judges said. Pairs always do.")
@click.option("--no-reveal", is_flag=True, help="Go on to the next item without showing the judge.")
@click.option("--assign", "assigned", metavar="NAMES", help="To whom it is given, with commas; everybody by default.")
@click.option(
    "--grades",
    default="groundedness,quality",
    show_default=True,
    help="What is asked for: label, groundedness, quality; any other name is a dimension of a rubric, 1 to 5.",
)
@click.option(
    "--sampling-rate",
    type=options.FiniteRange(0, 1, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Share of randomly sampled answers in the queue (default: 0). To sample more, raise `random_share` (Settings, "
    "or JUDGEBOARD_RANDOM_SHARE) and run `judgeboard flag`.",
)
@click.option(
    "--again",
    type=options.FiniteRange(0, 1, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Probability that reviewers get one of their own items again after a week, unannounced (default: 0).",
)
@click.option("--guidelines", type=click.Path(path_type=Path), help="A file of plain text for the reviewers.")
@click.option(
    "--seed",
    default="judgeboard",
    show_default=True,
    help="Seed of the overlap, the random sample and the random order.",
)
@click.option(
    "--lease-minutes", type=options.FiniteRange(0, min_open=True), default=10.0, help="How long an item is held (10)."
)
@as_json
@options.database
def create(
    name: str,
    where: tuple[str, ...],
    order: str | None,
    assigned: str | None,
    guidelines: Path | None,
    lease_minutes: float,
    as_json: bool,
    db: str | None,
    **rules: Any,
) -> None:
    """Make a queue of flagged answers, or of pairs.

    It holds what --where matches; answers that are flagged later join by themselves.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.filters import parse_where
    from judgeboard.queues import QueueRules, create_queue, people_named
    from judgeboard.queues.asked_for import unheard_of
    from judgeboard.queues.rules import orders_of
    from judgeboard.store.engine import open_store

    blind = rules["blind_judge"] or rules["subject"] == "pairs"
    asked = QueueRules(
        name,
        parse_where(where),
        order=QueueOrder(order or orders_of(blind=blind)[0]),
        needed=rules["needed"],
        overlap=rules["overlap"],
        blind_people=rules["blind_people"],
        blind_judge=rules["blind_judge"],
        reveal=not rules["no_reveal"],
        grades=tuple(options.listed(rules["grades"])),
        sampling_rate=rules["sampling_rate"],
        again_share=rules["again"],
        guidelines=None if guidelines is None else _text(guidelines),
        seed=rules["seed"],
        lease_seconds=round(lease_minutes * 60),
        subject=rules["subject"],
    )
    with closing(open_store(db)) as store:
        people = people_named(store, options.listed(assigned or ""))
        made = create_queue(store, asked, by=actor(), assigned=people)
        with store.reading() as connection:
            nowhere = unheard_of(connection, asked)
    for sentence in nowhere:
        click.echo(sentence, err=True)
    if as_json:
        names = [one.name for one in people]
        show_json(
            {"queue": made.queue.name, "items": made.joined, "sampled": made.sampled, "short": made.short}
            | {"given_to": names}
        )
        return
    noun = "pairs" if made.queue.subject == "pairs" else "answers"
    sampled = f", {made.sampled:,} of them randomly sampled" if asked.sampling_rate else ""
    short = f"; {made.short:,} more are wanted and not there" if made.short else ""
    click.echo(f"{made.queue.name}: {made.joined:,} {noun}{sampled}{short}")
    if made.queue.blind and not people:
        click.echo(
            "it is everybody's: what is blind is hidden from whoever holds an item; --assign hides it before, too"
        )
    theirs = people and actor() not in {one.name for one in people}
    click.echo(f"judgeboard queue {'show' if theirs else 'next'} {shlex.quote(made.queue.name)}")


@click.command("close", epilog=options.example("judgeboard queue close legal"))
@click.argument("name")
@as_json
@options.database
def close(name: str, as_json: bool, db: str | None) -> None:
    """Close a queue for good. It hands out nothing more; what was said in it stands."""
    from judgeboard.cli.terminal import actor
    from judgeboard.queues import close_queue
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        queue = close_queue(store, name, by=actor())
    if as_json:
        show_json({"queue": queue.name, "state": queue.state.value})
        return
    click.echo(f"{queue.name} is closed")


@click.command("assign", epilog=options.example("judgeboard queue assign legal Mara,jon@example.org --remove Ada"))
@click.argument("name")
@click.argument("people", default="")
@click.option("--remove", metavar="NAMES", help="Whom it is taken from, with commas.")
@as_json
@options.database
def assign(name: str, people: str, remove: str | None, as_json: bool, db: str | None) -> None:
    """Give a queue to people, or take it from them.

    PEOPLE are names with commas: an address is somebody who signs in, cli:USER a terminal's user.
    """
    from judgeboard.cli.terminal import actor
    from judgeboard.errors import BadInput
    from judgeboard.queues import assign_queue, people_named
    from judgeboard.store.engine import open_store
    from judgeboard.store.queues.queue_rows import assignees

    given, taken = options.listed(people), options.listed(remove or "")
    if not given and not taken:
        raise BadInput("name the people to whom the queue is given, or --remove NAMES")
    with closing(open_store(db)) as store:
        queue = assign_queue(store, name, by=actor(), add=people_named(store, given), remove=people_named(store, taken))
        with store.reading() as connection:
            names = [one.name for one in assignees(connection, queue.id)]
    if as_json:
        show_json({"queue": queue.name, "given_to": names})
        return
    click.echo(f"{queue.name} is given to {', '.join(names) or 'everybody'}")


def _text(file: Path) -> str:
    from judgeboard.errors import BadInput

    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"--guidelines {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"--guidelines {file} is not a text in UTF-8") from error
