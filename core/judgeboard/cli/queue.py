"""The commands of ``judgeboard queue``: create, assign, close, list, export and merge queues; store label schemas."""

import difflib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import refuse_given
from judgeboard.cli.drawn_options import drawn
from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput, MissingOption, NotFound
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted, file_text

if TYPE_CHECKING:
    from judgeboard.formats.output import Columns
    from judgeboard.reviews.queues import PersonProgress, QueueProgress
    from judgeboard.store.engine import Store
    from judgeboard.store.queue_filling import CreatedQueue
    from judgeboard.store.tables import Reviewer


@options.group(
    "judgeboard queue create legal --where query_type=legal --order oldest --needed 2 --blind-judge --assign Mara,Jon",
    "judgeboard queue export legal --reviewer mara@example.org mara.jsonl",
    "judgeboard queue list legal",
)
def queue_command() -> None:
    """Create review queues and label schemas.

    A queue has answers or pairs. People review its items on the page Review, or in a file of `queue
    export`.
    """


@options.command(
    "judgeboard queue create worst --where rule=low_groundedness --assign Mara,Jon",
    "judgeboard queue create legal --where query_type=legal --needed 3 --overlap 0.2 --assign Mara,Jon,Kim",
    "judgeboard queue create sides --subject pairs --needed 2 --assign Mara,Jon",
    "judgeboard queue create gold --preset random --limit 200 --assign Mara,Jon",
    "judgeboard queue create rates --plan rate --n 200 --assign Mara",
    "judgeboard queue create differ --plan judges --n 150 --judge-version 'rag v2' --judge-version 'rag v3' "
    "--assign Mara",
    group=queue_command,
)
@options.named_section("queues", "name")
@options.where
@click.option(
    "--plan",
    type=click.Choice(["rate", "judges"]),
    help="Draw --n answers at random. rate: from all answers, flagged or not, to estimate the share of bad answers. "
    "Answers that already have a label in a random sample are left out. judges: from the answers on which the "
    "verdicts of two judge versions differ. In a queue with --plan, reviewers do not see the judge, and each decision "
    "implies a label (unless --no-implied-labels is given). `judgeboard labels plan` shows how many "
    "answers are needed.",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    help="With --plan: judge version, as name (newest version), 'name v3' or fingerprint (default: the primary "
    "judge). Its verdicts divide the answers into groups (strata), and answers are drawn from each group. For --plan "
    "judges, give the option twice.",
)
@drawn("judgeboard.settings.sections:QueueSettings")
def create(
    name: str,
    where: RowFilter,
    plan: str | None,
    judge_versions: tuple[str, ...],
    assign: tuple[str, ...] | None,
    label_schema: str | None,
    **typed_options: object,
) -> None:
    """Create a review queue of flagged answers, or of pairs.

    The queue contains the open flags that match --where. Answers that are flagged later are added
    automatically, unless the queue has a --limit. Options that you leave out are taken from
    [queues.NAME] in judgeboard.toml.
    """
    from judgeboard.formats.label_schema import read_schema
    from judgeboard.measure.notes import note
    from judgeboard.measure.plans import draw_plan
    from judgeboard.reviews.queues import (
        NoPeople,
        add_schema,
        check_people,
        create_queue,
        queue_warnings,
    )
    from judgeboard.store.queues import new_queue

    new = new_queue(name, where, **_chosen(plan, judge_versions, typed_options))
    refuse_given(
        click.get_current_context(),
        "beside the other options of this queue, an option has no effect",
        new.unused(),
    )
    store = options.open_store()
    # The command that a plan prints works unchanged: the queue is for this user.
    is_yours = assign is None and plan is not None
    names = [options.actor()] if is_yours else list(assign or ())
    if names:
        options.reviewer(store)  # stores this user, who may be in --assign
    try:
        people, invited = _people(store, names)
        check_people(new, people)
    except NoPeople as error:
        command = options.same_command("--assign", options.actor())
        raise BadInput(f"{error}, for example to yourself: `{command}`") from error
    if label_schema is not None and "." in label_schema:  # no name has a dot
        schema_version = add_schema(store, read_schema(Path(label_schema)), by=options.actor())
        label_schema = schema_version.title
    with store.reading() as connection:
        drawn_plan = None if plan is None else draw_plan(connection, where, judge_versions)
    result = create_queue(
        store, new, by=options.actor(), assigned=people, schema=label_schema, plan=drawn_plan
    )
    with store.reading() as connection:
        warnings = queue_warnings(connection, result.queue)
    for sentence in warnings:
        options.echo(sentence, err=True)
    counts = {"items": result.joined, "sampled": result.sampled, "short": result.short}
    who = {"assigned_to": [person.name for person in people], "invited": invited}
    yours = [note("queue_is_yours", queue=name).text] if is_yours and result.joined else []
    options.show({"queue": name} | counts | who, [*_created_lines(store, result, invited), *yours])
    if result.joined:
        options.suggest("queue", "list", result.queue.name)


def _chosen(
    plan: str | None, judge_versions: Sequence[str], typed_options: Mapping[str, object]
) -> dict[str, object]:
    """Return the options of a queue: typed options replace options of the preset and of the plan."""
    from judgeboard.settings.sections import PLANNED, PRESETS

    queue_options: dict[str, object] = {}
    for name, preset in PRESETS.items():
        if typed_options["preset"] == name:
            queue_options |= preset.options.given()
            if plan is not None and preset.options.sort is not QueueOrder.RANDOM:
                raise BadInput(
                    f"--plan draws answers at random, and --preset {name} does not: remove one of them"
                )
    if plan is not None:
        queue_options |= PLANNED.given()
    elif judge_versions:
        raise MissingOption("--judge-version needs --plan", "--plan", "rate", "--n", "200")
    queue_options |= {
        key: value for key, value in typed_options.items() if value is not None and key != "preset"
    }
    if path := typed_options["guidelines"]:
        queue_options["guidelines"] = file_text(Path(str(path)), f"--guidelines {path}")
    if plan is not None and "max_items" not in queue_options:
        raise MissingOption("--plan needs the number of answers: add --n", "--n", "200")
    if len(judge_versions) != 2 if plan == "judges" else len(judge_versions) > 1:
        raise BadInput("--plan judges needs --judge-version twice, and --plan rate takes one")
    return queue_options


def _people(store: "Store", names: Sequence[str]) -> tuple[list["Reviewer"], list[str]]:
    """Return the people with these names, and the names of unknown people, who are invited.

    Where people sign in, an unknown name raises NotFound, with the command that adds a person.
    """
    from judgeboard.people.roster import list_people, people_named
    from judgeboard.store.reviewers import people_sign_in

    with store.reading() as connection:
        known_ids, sign_in = (
            {line.person.id for line in list_people(connection)},
            people_sign_in(connection),
        )
    people = []
    for name in names:
        new = not sign_in or name.casefold().startswith("cli:")
        try:
            people += people_named(store, [name], new=new, by=options.actor())
        except NotFound as error:
            if "`" in str(error):  # an address, with the command that adds the person
                raise
            raise NotFound(
                f"{error}. To add a person: `judgeboard people add ann@example.org`"
            ) from None
    people = list(dict.fromkeys(people))
    return people, [
        person.name for person in people if person.id not in known_ids and person.origin != "cli"
    ]


def _created_lines(
    store: "Store", created: "CreatedQueue", invited: Sequence[str]
) -> Iterator[str]:
    """Yield the contents of a new queue, the invited people, and why the queue is empty."""
    from judgeboard.formats.output import fact_lines
    from judgeboard.measure.notes import note
    from judgeboard.people.roster import list_people

    with store.reading() as connection:
        known_names = {line.person.name for line in list_people(connection)} - {*invited}
    lacking = created.short or (created.queue.max_items or 0) - created.joined
    facts = {
        "Queue": created.queue.name,
        "Items": created.joined,
        "Random sample": created.sampled if created.queue.sampling_rate else None,
        "Missing": lacking if created.joined and lacking > 0 else None,
        "Labelled again": created.labelled or None,
        "Invited": ", ".join(invited),
        "Similar names": ", ".join(
            each for name in invited for each in difflib.get_close_matches(name, known_names, n=1)
        ),
    }
    yield from fact_lines(facts)
    if not created.joined:
        plan = created.queue.plan
        if plan is None or not any(stratum["answers"] for stratum in plan["strata"]):
            yield note("queue_no_match").text
        elif plan["other_judge"] is None:
            yield note("queue_all_labelled").text
        else:
            judges = {"first": plan["judge"], "second": plan["other_judge"]}
            yield note("queue_judges_alike", **judges).text
    if invited:
        yield note("enters_name").text


@options.command(
    "judgeboard queue list",
    "judgeboard queue list legal --json",
    group=queue_command,
    rows="queues",
)
@click.argument("name", required=False)
@click.option("--open", "only_open", is_flag=True, help="Omit closed queues.")
def list_(name: str | None, only_open: bool) -> None:
    """List the queues, open ones and the newest first.

    With NAME, show the rules and the progress of this queue. The progress shows, for each reviewer,
    the number of reviews and the median time per item in seconds.
    """
    from judgeboard.formats.output import Column, Columns, Table, text_lines
    from judgeboard.reviews.queues import queue_progress
    from judgeboard.store.queues import list_queues

    with options.open_store().reading() as connection:
        if name is not None:
            progress = queue_progress(connection, name)
            options.show(progress, _progress_lines(progress))
            return
        queues = list_queues(connection, only_open=only_open)
        each_progress = [queue_progress(connection, queue, with_people=False) for queue in queues]
    columns: Columns[QueueProgress] = {
        Column("Queue"): lambda progress: progress.queue.name,
        Column("State"): lambda progress: progress.queue.state,
        **_counts(),
    }
    none = (
        "There are no queues yet. To create one: `judgeboard queue create NAME --where FIELD=VALUE`"
    )
    lines = (
        text_lines(Table.of(each_progress, columns).without_empty()) if each_progress else [none]
    )
    options.show({"queues": each_progress}, lines)


@options.command(
    "judgeboard queue export legal --reviewer mara@example.org --limit 50 mara.jsonl",
    group=queue_command,
)
@click.argument("name")
@click.argument("file", type=options.FILE)
@click.option(
    "--reviewer", required=True, metavar="WHO", help="Name of the person who will review the items."
)
@options.with_default(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    metavar="N",
    help="Maximum number of items.",
)
@click.option(
    "--lease-days",
    type=options.FiniteRange(0, 60, min_open=True),
    default=7.0,
    help="Days for which the items are reserved for the reviewer (default: 7, at most 60).",
)
def export(name: str, file: Path, reviewer: str, limit: int, lease_days: float) -> None:
    """Export items to a file, for a reviewer without access. The reviewer needs no database.

    The file contains the guidelines, and one line per item with its texts and fields to fill in. It
    contains no judgments and no reviews. When the reviewer has filled it in, `queue merge` stores
    the reviews.
    """
    from judgeboard.people.roster import people_named
    from judgeboard.reviews.bundles import export_bundle

    store = options.open_store()
    (person,) = people_named(store, [reviewer])
    bundle = export_bundle(
        store, name, person, file, items=limit, by=options.actor(), lease=timedelta(days=lease_days)
    )
    until = f"reserved for {person.name} until {bundle.until:%Y-%m-%d %H:%M} UTC"
    items_in_file = f"{counted(bundle.items, 'item')} in {file}"
    command = f"judgeboard queue merge {shlex.quote(str(file))}"
    options.show(bundle, [f"{items_in_file}, {until}", f"After it is filled in: `{command}`"])


@options.command(
    "judgeboard queue merge mara.jsonl", "judgeboard queue merge - --json", group=queue_command
)
@click.argument("file", type=options.FILE)
def merge(file: Path) -> int:
    """Store the reviews from a file of `queue export`.

    Merging the same file twice stores each review once. If a line is invalid, the command names it
    and stores nothing. A line is refused if somebody else has since reviewed or leased its item, or
    if its texts differ from the stored texts. Refused lines are skipped: the other lines are
    stored, and the exit code is 1.
    """
    from judgeboard.reviews.bundles import merge_bundle

    result = merge_bundle(options.open_store(), file, by=options.actor())
    counts = (
        f"{result.queue}, {result.reviewer}: {result.merged:,} stored, {result.already:,} stored before, "
        f"{result.unfilled:,} not filled in, {len(result.refused):,} refused"
    )
    refusals = [f"line {line.line}, item {line.item}: {line.reason}" for line in result.refused]
    options.show(result, [counts, *refusals])
    return 1 if refusals else 0


def _progress_lines(progress: "QueueProgress") -> Iterator[str]:
    from judgeboard.formats.output import Column, Columns, Table, fact_lines, text_lines

    queue = progress.queue
    facts = {
        "Queue": f"{queue.name} ({queue.state})",
        "Created by": queue.created_by,
        "Assigned to": ", ".join(person.name for person in progress.assigned_to) or "everybody",
        **progress.rules,
        **{column.title: value(progress) for column, value in _counts().items()},
        "Several reviews": (
            f"{progress.several_finished:,} of {progress.several:,} finished"
            if queue.reviews_needed > 1
            else None
        ),
        "Sampled": progress.sampled if queue.sampling_rate else None,
        "Missing": progress.short or None,
    }
    yield from fact_lines(facts)
    columns: Columns[PersonProgress] = {
        Column("Person"): lambda person: person.reviewer.name,
        Column("Done", "count"): lambda person: person.done,
        Column("Unsure", "count"): lambda person: person.unsure,
        Column("Skipped", "count"): lambda person: person.skipped,
        Column("Leased", "count"): lambda person: person.leases,
        Column("Median", "count", unit="s"): lambda person: (
            person.median_seconds and round(person.median_seconds)
        ),
        Column("Last", "time"): lambda person: person.last,
    }
    if progress.people:
        yield from text_lines(Table.of(progress.people, columns))


def _counts() -> "Columns[QueueProgress]":
    from judgeboard.formats.output import Column

    return {
        Column("Answers or pairs", "count"): lambda progress: progress.items,
        Column("Open", "count"): lambda progress: progress.waiting,
        Column("Leased", "count"): lambda progress: progress.leased,
        Column("Agreed", "count"): lambda progress: progress.agreed,
        Column("Declined", "count"): lambda progress: progress.declined or None,
        Column("In conflict", "count"): lambda progress: progress.conflict or None,
        Column("Adjudicated", "count"): lambda progress: progress.adjudicated or None,
        Column("Left", "count"): lambda progress: progress.left or None,
        Column("Reviews", "count"): lambda progress: progress.reviews,
        Column("Needed", "count"): lambda progress: progress.reviews_needed,
    }


@options.group(
    "judgeboard queue schema add support.yaml",
    "judgeboard queue create audit --schema support --order random --blind-judge --assign Mara,Jon",
)
def schema_command() -> None:
    """Store, list and print label schemas. A stored version never changes.

    A schema is a YAML file with a name and fields of the types category, yes_no, scale, number,
    text, spans and ranking. It may also name these built-in fields: label, groundedness, quality,
    note, corrected_answer.
    """


@options.command("judgeboard queue schema add support.yaml", group=schema_command)
@click.argument("file", type=options.FILE)
def schema_add(file: Path) -> None:
    """Store the label schema in FILE: the fields that reviewers fill in.

    A changed schema with the same name gets the next version number.

    FILE may also be a rubric. Each dimension becomes a required scale that keeps its levels and
    their descriptions.
    """
    from judgeboard.formats.label_schema import read_schema
    from judgeboard.reviews.queues import add_schema

    version = add_schema(options.open_store(), read_schema(file), by=options.actor())
    next_step = f"`judgeboard queue create NAME --schema '{version.title}'`"
    fields = counted(len(version.content.fields), "field")
    options.show({"schema": version.title}, [f"{version.title}: {fields}. Next: {next_step}"])


@options.command(
    "judgeboard queue schema list",
    "judgeboard queue schema list 'support v2'",
    group=schema_command,
    rows="schemas",
)
@click.argument("name", required=False)
def schema_list(name: str | None) -> None:
    """List all versions of label schemas, by name. With NAME, print one schema as YAML.

    NAME is a title ("support v2"), or the name of a schema (its newest version).
    """
    from judgeboard.formats.label_schema import as_yaml
    from judgeboard.store.label_schemas import list_schemas, schema_named

    with options.open_store().reading() as connection:
        versions = list_schemas(connection) if name is None else [schema_named(connection, name)]
    if name is not None:
        (version,) = versions
        schema_json = {"schema": version.title, **version.content.as_json()}
        options.show(schema_json, [as_yaml(version.content).rstrip()], verbatim=True)
        return
    lines = [
        f"{each.title}  {', '.join(field.name for field in each.content.fields)}"
        for each in versions
    ]
    rows = [
        {"schema": each.title, **each.content.as_json(), "created_by": each.created_by}
        for each in versions
    ]
    options.show(
        {"schemas": rows},
        lines or ["There are no label schemas yet. To add one: `judgeboard queue schema add FILE`"],
    )
