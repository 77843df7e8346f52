"""``judgeboard queue``: queues made, listed, shown, and their bundles; the group of all its commands."""

import shlex
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, show_json
from judgeboard.cli.queue_reviewing import decide, next_, release, reveal, skip
from judgeboard.domain import QueueOrder

if TYPE_CHECKING:
    from judgeboard.reviews.queues import PersonProgress, QueueProgress
    from judgeboard.store.queues import Queue


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
    from judgeboard.cli.options import actor
    from judgeboard.reviews.checks import people_named
    from judgeboard.reviews.queues import QueueRules, create_queue, orders_of, unknown_values
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

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
        repeat_rate=rules["again"],
        guidelines=None if guidelines is None else _text(guidelines),
        seed=rules["seed"],
        lease_seconds=round(lease_minutes * 60),
        subject=rules["subject"],
    )
    with closing(open_store(db)) as store:
        people = people_named(store, options.listed(assigned or ""))
        made = create_queue(store, asked, by=actor(), assigned=people)
        with store.reading() as connection:
            nowhere = unknown_values(connection, asked)
    for sentence in nowhere:
        click.echo(sentence, err=True)
    if as_json:
        names = [one.name for one in people]
        show_json(
            {"queue": made.queue.name, "items": made.joined, "sampled": made.sampled, "short": made.short}
            | {"assigned_to": names}
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
    from judgeboard.cli.options import actor
    from judgeboard.reviews.queues import close_queue
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
    from judgeboard.cli.options import actor
    from judgeboard.errors import BadInput
    from judgeboard.reviews.checks import people_named
    from judgeboard.reviews.queues import assign_queue
    from judgeboard.store.engine import open_store
    from judgeboard.store.queues import assignees

    given, taken = options.listed(people), options.listed(remove or "")
    if not given and not taken:
        raise BadInput("name the people to whom the queue is given, or --remove NAMES")
    with closing(open_store(db)) as store:
        queue = assign_queue(store, name, by=actor(), add=people_named(store, given), remove=people_named(store, taken))
        with store.reading() as connection:
            names = [one.name for one in assignees(connection, queue.id)]
    if as_json:
        show_json({"queue": queue.name, "assigned_to": names})
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


@click.command("list", epilog=options.example("judgeboard queue list"))
@click.option("--open", "only_open", is_flag=True, help="Leave out closed ones.")
@as_json
@options.database
def list_(only_open: bool, as_json: bool, db: str | None) -> None:
    """List the queues, the open and newest first."""
    from judgeboard.reviews.queues import queue_progress
    from judgeboard.store.engine import open_store
    from judgeboard.store.queues import list_queues

    with closing(open_store(db)) as store, store.reading() as connection:
        queues = list_queues(connection, only_open=only_open)
        found = [queue_progress(connection, queue, with_people=False) for queue in queues]
    if as_json:
        show_json({"queues": [progress_json(one) for one in found]})
        return
    if not found:
        click.echo("No queue yet: judgeboard queue create NAME --where FIELD=VALUE")
    for one in found:
        click.echo(f"{one.queue.name}  {one.queue.state.value}  {_counts(one)}")


@click.command("show", epilog=options.example("judgeboard queue show legal", "judgeboard queue show legal --json"))
@click.argument("name")
@as_json
@options.database
def show(name: str, as_json: bool, db: str | None) -> None:
    """Show the rules of a queue and how far it is.

    What each person has done there is part of it: seconds are the median of what they took for an item.
    """
    from judgeboard.reviews.queues import queue_progress
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store, store.reading() as connection:
        found = queue_progress(connection, name)
    if as_json:
        show_json(progress_json(found))
        return
    for line in progress_lines(found):
        click.echo(line)


def progress_lines(found: "QueueProgress") -> list[str]:
    """Return how far a queue is, in lines for a terminal."""
    queue = found.queue
    lines = [
        f"{queue.name} ({queue.state.value}), made by {queue.created_by}",
        *(f"  {rule}" for rule in found.rules),
        f"given to {', '.join(one.name for one in found.assigned_to) or 'everybody'}",
        _counts(found),
        f"{found.reviews:,} of {found.reviews_needed:,} reviews",
    ]
    if queue.reviews_needed > 1:
        lines.append(f"overlap: {found.several:,} need {queue.reviews_needed}, {found.several_finished:,} finished")
    if queue.sampling_rate:
        short = f", {found.short:,} more were requested, but none are left" if found.short else ""
        lines.append(f"random sample: {found.sampled:,} answers{short}")
    if found.conflict:
        lines.append(f"{found.conflict:,} split: judgeboard adjudicate --queue {shlex.quote(queue.name)}")
    return lines + [_person(one) for one in found.people]


def progress_json(found: "QueueProgress") -> dict[str, Any]:
    """Return how far a queue is, as JSON values."""
    return {
        "queue": queue_json(found.queue),
        "rules": list(found.rules),
        "items": {
            "all": found.items,
            **{name: getattr(found, name) for name in ("waiting", "held", "agreed", "conflict", "adjudicated", "left")},
        },
        "reviews": {"given": found.reviews, "needed": found.reviews_needed},
        "overlap": {"share": found.queue.overlap, "items": found.several, "finished": found.several_finished},
        "random_sample": {"rate": found.queue.sampling_rate, "items": found.sampled, "short": found.short},
        "assigned_to": [one.name for one in found.assigned_to],
        "people": [
            {
                "name": one.reviewer.name,
                "origin": one.reviewer.origin,
                "given": one.given,
                "done": one.done,
                "unsure": one.unsure,
                "skipped": one.skipped,
                "holds": one.holds,
                "median_seconds": one.median_seconds,
                "last": None if one.last is None else _time(one.last),
            }
            for one in found.people
        ],
    }


def queue_json(queue: "Queue") -> dict[str, Any]:
    """Return a queue as JSON values."""
    return {
        "name": queue.name,
        "state": queue.state.value,
        "subject": queue.subject,
        "where": queue.filter.as_dict(),
        "order": queue.sort.value,
        "needed": queue.reviews_needed,
        "overlap": queue.overlap,
        "blind_people": queue.blind_people,
        "blind_judge": queue.blind_judge,
        "reveal": queue.reveal,
        "grades": list(queue.grades),
        "sampling_rate": queue.sampling_rate,
        "again": queue.repeat_rate,
        "seed": queue.seed,
        "lease_minutes": queue.lease_seconds / 60,
        "guidelines": queue.guidelines,
        "created_by": queue.created_by,
        "created_at": _time(queue.created_at),
    }


def _counts(found: "QueueProgress") -> str:
    parts = [f"{found.items:,} {found.queue.subject}", f"{found.waiting:,} waiting", f"{found.leased:,} held"]
    parts.append(f"{found.agreed:,} settled")
    parts += [
        f"{count:,} {word}"
        for count, word in ((found.conflict, "conflict"), (found.adjudicated, "adjudicated"), (found.left, "left"))
        if count
    ]
    return ", ".join(parts)


def _person(one: "PersonProgress") -> str:
    seconds = "–" if one.median_seconds is None else f"{one.median_seconds:.0f} s"
    last = "–" if one.last is None else f"{one.last:%Y-%m-%d %H:%M} UTC"
    return (
        f"  {one.reviewer.name}: {one.done:,} done, {one.unsure:,} unsure, {one.skipped:,} skipped, "
        f"{one.holds:,} held, median {seconds}, last {last}"
    )


def _time(at: Any) -> str:
    from judgeboard.text import iso_z

    return iso_z(at)


@click.command(
    "export", epilog=options.example("judgeboard queue export legal --reviewer mara@example.org --items 50 mara.jsonl")
)
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reviewer", required=True, metavar="WHO", help="Who reviews it, by name.")
@click.option("--items", type=click.IntRange(1, 1000), default=50, show_default=True, metavar="N", help="How many.")
@click.option(
    "--hold-days",
    type=options.FiniteRange(0, 60, min_open=True),
    default=7.0,
    help="For how long nobody else gets them (7).",
)
@as_json
@options.database
def export(name: str, file: Path, reviewer: str, items: int, hold_days: float, as_json: bool, db: str | None) -> None:
    """Write items of a queue to a file.

    Somebody fills it in without the database, and `queue merge` brings it back. The file holds guidelines and texts,
    a line an item, with empty fields; nothing of judges or people.
    """
    from judgeboard.cli.options import actor
    from judgeboard.reviews.bundles import export_bundle
    from judgeboard.reviews.checks import people_named
    from judgeboard.store.engine import open_store
    from judgeboard.text import iso_z

    with closing(open_store(db)) as store:
        (who,) = people_named(store, [reviewer])
        made = export_bundle(store, name, who, file, items=items, by=actor(), hold=timedelta(days=hold_days))
    if as_json:
        values = {"bundle": made.bundle, "queue": made.queue, "reviewer": who.name, "items": made.items}
        show_json(values | {"until": iso_z(made.until), "file": str(file)})
        return
    noun = "item" if made.items == 1 else "items"
    click.echo(f"{made.items:,} {noun} for {who.name} in {file}, theirs until {made.until:%Y-%m-%d %H:%M} UTC")
    click.echo(f"once filled in: judgeboard queue merge {file}")


@click.command("merge", epilog=options.example("judgeboard queue merge mara.jsonl", "judgeboard queue merge - --json"))
@click.argument("file", type=click.Path(path_type=Path))
@as_json
@options.database
def merge(file: Path, as_json: bool, db: str | None) -> None:
    """Bring a file of `queue export` back.

    What was filled in is stored as its reviewer's words; the same file again stores nothing twice. Where a line cannot
    be used it is named, and nothing of the file is stored. Conflicts are listed: items that somebody else has by now,
    or texts that are not the stored ones.
    """
    from judgeboard.cli.options import actor
    from judgeboard.reviews.bundles import merge_bundle
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        came = merge_bundle(store, file, by=actor())
    if as_json:
        conflicts = [
            {"line": one.line, "item": one.item_id, "reason": one.reason, "kept": one.kept} for one in came.conflicts
        ]
        values = {"queue": came.queue, "reviewer": came.reviewer, "merged": came.merged, "already": came.already}
        show_json(values | {"unfilled": came.unfilled, "conflicts": conflicts})
        return
    click.echo(
        f"{came.queue}, {came.reviewer}: {came.merged:,} merged, {came.already:,} already there, "
        f"{came.unfilled:,} not filled in, {len(came.conflicts):,} in conflict"
    )
    for one in came.conflicts:
        click.echo(f"line {one.line}, item {one.item_id}: {one.reason}")


@click.group(
    epilog=options.example(
        "judgeboard queue create legal --where query_type=legal --order oldest --needed 2 --blind-judge",
        "judgeboard queue next legal",
        "judgeboard queue decide TOKEN confirm --quality 2 --note 'the fee is made up'",
        "judgeboard queue show legal",
    )
)
def queue_command() -> None:
    """Make queues of answers (or pairs) to review, work through them, see how far they are."""


for each in (create, close, assign, list_, show, next_, decide, reveal, skip, release, export, merge):
    queue_command.add_command(each)
