"""The group `db` (the schema, the indexes, the events and the texts of a database), and `doctor`."""

import json
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import address_options
from judgeboard.errors import BadInput
from judgeboard.registry.methods import ENTRY_POINTS
from judgeboard.registry.plugins import has_plugins
from judgeboard.reports.terminal import progress
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import METADATA, RowFilter, describe
from judgeboard.text import counted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from judgeboard.store.engine import Store
    from judgeboard.store.tables import Event, Run


@options.group(
    "judgeboard db migrate",
    "judgeboard db backup /srv/safe/judgeboard-2026-03-01.db",
    "judgeboard db copy data/judgeboard.db postgresql://judge@db/judgeboard",
    "judgeboard db index metadata.tenant",
    "judgeboard db events --actor ann@example.org --since 2026-03-01",
)
def db_command() -> None:
    """Create, upgrade and back up the database; see past runs."""


@options.command(
    "judgeboard db events --actor ann@example.org --since 2026-03-01",
    "judgeboard db events --kind run --since 2026-03-01",
    "judgeboard db events --kind refused --json | jq .events[].actor",
    group=db_command,
    rows="events",
)
@click.option(
    "--kind", help="Only events of this kind, for example run, decide, set_setting or refused."
)
@click.option(
    "--actor", help="Only events of this actor: a person, a terminal (cli:USER) or a worker."
)
@click.option(
    "--response", metavar="ID", help="Only events about the answer with this external id."
)
@options.since("Only events from this day or time on (UTC if no time zone is given).")
@click.option(
    "--before",
    type=options.ROW_ID,
    metavar="N",
    help="Show the next page: only events with a number below N. With --kind run, N is the number of a run.",
)
@options.with_default(
    "--limit", type=click.IntRange(1, 10_000), default=50, help="Maximum number of events."
)
def db_events(
    kind: str | None,
    actor: str | None,
    response: str | None,
    since: datetime | None,
    before: int | None,
    limit: int,
) -> None:
    """Show who did what, and all runs, newest first. A run has its state, counts and the reason of a failure.

    Events contain names, ids and numbers, but no texts of the log. A run is listed at the time at
    which it began. Events about an answer in a blind queue are hidden from its reviewers until they
    have graded it.
    """
    from judgeboard.store.events import EventFilter, latest_events
    from judgeboard.store.responses import external_ids
    from judgeboard.store.runs import list_runs

    if kind == _RUN and response is not None:
        raise BadInput("no run is about one answer: leave out --response")
    event_filter = EventFilter(kind, actor, response, since)
    with options.reading() as connection:
        if kind == _RUN:
            runs = list_runs(
                connection, limit=limit + 1, before_id=before, actor=actor, since=since
            )
            newest = tuple(_events_of(connection, runs))
        else:
            newest = latest_events(connection, event_filter, limit=limit + 1, before_id=before)
        events, last = [*newest[:limit]], newest[limit - 1].id if len(newest) > limit else None
        if kind is None and response is None:
            # The runs of the time that this page is about. No run is on two pages.
            later = (
                latest_events(connection, event_filter, limit=1, before_id=before + 1)
                if before
                else ()
            )
            begin, end = (events[-1].at if last else since), (later[0].at if later else None)
            events += _events_of(
                connection, list_runs(connection, limit=limit, actor=actor, since=begin, until=end)
            )
            events.sort(key=lambda each: each.at, reverse=True)
        about = {event.response_id for event in events if event.response_id is not None}
        answers = external_ids(connection, about)
    rows = [
        {
            "id": event.id,
            "kind": event.kind,
            "actor": event.actor,
            "at": event.at,
            "response": answers.get(event.response_id or 0),
            "details": event.details,
        }
        for event in events
    ]
    options.show({"events": rows, "next": last}, map(_event_line, rows))
    if last is not None and not options.as_json():
        click.echo(f"for older events, add --before {last}", err=True)


_RUN = "run"  # the kind of a run in the list of events


def _events_of(connection: "Connection", runs: "Sequence[Run]") -> list["Event"]:
    """Return runs as events, each at the time of the start."""
    from judgeboard.store.judge_versions import version_titles
    from judgeboard.store.runs import run_counts
    from judgeboard.store.tables import Event

    titles = version_titles(connection)
    counts = run_counts(connection, [run.id for run in runs])
    events = []
    for run in runs:
        end_words = None if run.finished_at is None else f"{run.finished_at:%Y-%m-%d %H:%M:%S}"
        details: dict[str, Any] = {
            "of": run.kind,
            "judge": titles.get(run.judge_version_id or 0),
            "state": run.state.value,
            "ended": end_words,
        }
        details |= {"selected": run.selected, "asked": counts[run.id].asked} | counts[
            run.id
        ].by_status
        details |= {"reason": run.why_stopped and " ".join(run.why_stopped.split())}
        known_details = {name: value for name, value in details.items() if value is not None}
        events.append(
            Event(id=run.id, kind=_RUN, actor=run.actor, at=run.started_at, details=known_details)
        )
    return events


def _event_line(row: dict[str, Any]) -> str:
    about = f"  {row['response']}" if row["response"] is not None else ""
    details = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in row["details"].items()
    )
    number = f"run {row['id']}" if row["kind"] == _RUN else str(row["id"])
    who = f"{row['at']:%Y-%m-%d %H:%M:%S}  {row['actor']}  {row['kind']}"
    return f"{number}  {who}{about}  {details}".rstrip()


@options.command("judgeboard db migrate --db data/judgeboard.db", group=db_command, json=False)
def db_migrate() -> None:
    """Migrate the database to the schema of this version. Creates the database if it is missing.

    Then it computes facts about answers that figures need, such as which ones are refusals. This
    takes about a minute for a million answers. If it is interrupted, run it again: it continues
    where it stopped.
    """
    from judgeboard.store.engine import Store, connect, database_url
    from judgeboard.store.migrations import HEAD
    from judgeboard.store.opening import upgrade

    with closing(Store(connect(database_url(options.chosen_database()), create=True))) as store:
        begun, answers = time.perf_counter(), 0

        def show(number: int, share: float) -> None:
            nonlocal answers
            answers = number
            update(completed=share, total=1, units=number)

        with progress("facts of answers", "{task.fields[units]:,} answers", units=0) as update:
            before = upgrade(store, show)
        click.echo(
            f"{store.shown_url}: {'created' if before is None else f'was at {before}'}, now at {HEAD}"
        )
        if answers:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
                2**20 if sys.platform == "darwin" else 2**10
            )
            seconds = time.perf_counter() - begun
            click.echo(
                f"facts of {counted(answers, 'answer')} stored in {seconds:,.0f} s, with {memory:,.0f} MiB of memory"
            )


@options.command(
    "judgeboard db backup /srv/safe/judgeboard-2026-03-01.db", group=db_command, json=False
)
@click.argument("file", type=options.FILE)
def db_backup(file: Path) -> None:
    """Write a backup of the database to the new FILE. The backup is checked. The database stays in use.

    This command is for SQLite. For PostgreSQL, use pg_dump.
    """
    from judgeboard.store.backups import back_up
    from judgeboard.store.engine import database_url

    revision = back_up(database_url(options.chosen_database()), file)
    options.echo(
        f"{file}: written and checked ({file.stat().st_size / 2**20:,.1f} MiB, schema {revision})"
    )


@options.command(
    "judgeboard db restore /srv/safe/judgeboard-2026-03-01.db", group=db_command, json=False
)
@click.argument("file", type=options.FILE)
def db_restore(file: Path) -> None:
    """Replace the database by the backup FILE.

    The replaced database is not deleted: it stays in its folder under another name.

    Stop servers and workers first: a database that another process uses is not replaced. This
    command is for SQLite. For PostgreSQL, use pg_restore.
    """
    from judgeboard.store.backups import restore
    from judgeboard.store.engine import database_url

    url = database_url(options.chosen_database())
    restoration = restore(url, file)
    kept_words = "" if restoration.kept is None else f"; the earlier database is {restoration.kept}"
    options.echo(
        f"{url.database}: restored from {file} (schema {restoration.revision}){kept_words}"
    )


@options.command(
    "judgeboard db copy data/judgeboard.db postgresql://judge@db/judgeboard",
    "judgeboard db copy postgresql://judge@db/judgeboard copied.db",
    group=db_command,
    json=False,
    database=False,
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def db_copy(source: str, target: str) -> None:
    """Copy the database FROM into the empty database TO.

    For example, this moves a database from SQLite to PostgreSQL or back. FROM and TO are SQLite
    files or SQLAlchemy URLs. Stop servers and workers first. Everything is copied with its ids, and
    compared at the end. Left out is what tells what processes do now: workers, rate limits, the
    entries of the job engine. Jobs that have not ended go on in TO. If the command is interrupted,
    run it again: it continues where it stopped.
    """
    from judgeboard.runs.locks import refuse_work
    from judgeboard.store.copying import copy_database
    from judgeboard.store.engine import Store, connect, database_url
    from judgeboard.store.opening import open_store

    with (
        closing(open_store(source)) as original,
        closing(Store(connect(database_url(target), create=True))) as copy,
    ):
        refuse_work(original)
        with progress("copying") as update:
            counts = copy_database(
                original, copy, lambda done, total: update(completed=done, total=total)
            )
        for table, rows in counts.items():
            if rows:
                click.echo(f"{table:20}  {rows:>12,}")
        options.echo(
            f"{original.shown_url} is copied to {copy.shown_url}: {counted(sum(counts.values()), 'row')} of "
            f"{counted(len(counts), 'table')}, all equal"
        )


@options.command(
    "judgeboard db forget chat-4711 --source shop",
    "judgeboard db forget --where metadata.user=u-48213",
    "judgeboard db forget --unused --source shop --older-than 30",
    group=db_command,
    json=False,
)
@click.argument("response", required=False)
@click.option(
    "--source",
    help="Source of the answer; needed if several sources use this id. With --unused: source of the traces.",
)
@options.where
@click.option("--unused", is_flag=True, help="Delete the spans of all traces without an answer.")
@click.option(
    "--older-than",
    metavar="DAYS",
    type=options.FiniteRange(min=0, max=36_500),
    help="With --unused: only traces without a new span for this many days (default: all).",
)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def db_forget(
    response: str | None,
    source: str | None,
    where: RowFilter,
    unused: bool,
    older_than: float | None,
    yes: bool,
) -> None:
    """Delete all texts of an answer, of a trace or of a user. Scores and decisions are kept.

    Answers that came as traces have the user in metadata.user and the session in metadata.session.
    To delete all texts of a user: --where metadata.user=NAME.

    RESPONSE is the external id of the answer. The command deletes three kinds of texts: those of
    the answer, those about it (reasons, notes, comments), and those derived from it. Derived from
    it are control answers, regenerated answers, attempts, and pairs that contain the answer.
    RESPONSE can also be the id of a trace without an answer; `judgeboard sources --unused` shows
    these traces. To delete a withdrawn answer or a trace without an answer, give its id: --where
    does not find it. What is deleted cannot be restored. Events record who did it and when, and the
    id of each answer: `judgeboard db events --kind forget`.
    """
    from judgeboard.store.forgetting import (
        count_to_forget,
        forget_all_unused,
        forget_matching,
        forget_response,
    )

    has_filter = where != RowFilter()
    if response is None and not unused and not has_filter:
        raise click.UsageError(
            "give the id of an answer or a trace, or --where for all answers of a filter"
        )
    if response is not None and (unused or has_filter or older_than is not None):
        raise click.UsageError(f"{response} names what is deleted: remove the other options")
    if has_filter and (unused or older_than is not None or source is not None):
        raise click.UsageError(
            "--where selects what is deleted: remove the other options, or write --where source=NAME"
        )
    what = f"every text of {response}" if response else "the spans of traces without an answer"
    store = options.open_store()
    if has_filter:
        with store.reading() as connection:
            count = counted(count_to_forget(connection, where), "answer")
        what = f"every text of {count} ({describe(where)})"
    if not yes:
        click.confirm(f"Delete {what} in {store.shown_url}? This cannot be undone", abort=True)
    by = options.actor()
    if unused:
        before = None if older_than is None else utc_now() - timedelta(days=older_than)
        traces = sum(forget_all_unused(store, source=source, before=before, actor=by))
        outcome = counted(traces, "trace")
    elif has_filter:
        with store.writing() as connection:
            deletion = forget_matching(connection, where, actor=by)
        outcome = counted(deletion.answers, "answer")
        outcome += f" and {deletion.derived:,} derived from them" if deletion.derived else ""
    elif response is not None:
        with store.writing() as connection:
            ids = forget_response(connection, response, source=source, actor=by)
        outcome = response + (f" and {len(ids) - 1:,} derived from it" if len(ids) > 1 else "")
    click.echo(f"forgotten: {outcome}")
    _empty_log(store)


def _empty_log(store: "Store") -> None:
    """Empty the write-ahead log, which still has the texts."""
    if not store.checkpoint():
        click.echo(
            "another program reads the database; until it stops, the file keeps the old texts",
            err=True,
        )


@options.command(
    "judgeboard db expire --dry-run",
    "judgeboard db expire --source shop --yes",
    group=db_command,
    json=False,
)
@click.option("--source", help="Source of the answers (default: all).")
@click.option("--dry-run", is_flag=True, help="Only count what is deleted and what stays.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def db_expire(source: str | None, *, dry_run: bool, yes: bool) -> None:
    """Delete the texts that are kept no longer.

    Workers do this each night. Scores and decisions are kept.

    `keep_texts` of judgeboard.toml says for how long texts are kept after they were stored. Texts
    stay of answers that are reviewed, under review in an open queue, anchors or in a suite, and of
    pairs with a gold preference.
    """
    from judgeboard.store.retention import forget_expired

    store, now = options.open_store(), utc_now()
    expired = forget_expired(store, now, source=source, dry_run=True)
    if not expired:
        raise BadInput('all texts are kept: write keep_texts = "90 days" into judgeboard.toml')
    for each in expired:
        reasons = [f"{count:,} {reason}" for reason, count in each.kept.most_common()]
        stay = f"; {each.kept.total():,} stay: {', '.join(reasons)}" if reasons else ""
        derived = f" and {each.derived:,} derived from them" if each.derived else ""
        traces = f" and {counted(each.traces, 'trace')} without an answer" if each.traces else ""
        click.echo(
            f"{each.source}, older than {counted(each.days, 'day')}: the texts of {counted(each.answers, 'answer')}"
            f"{derived}{traces} go{stay}"
        )
    if dry_run:
        return
    if not yes:
        click.confirm(f"Delete these texts in {store.shown_url}? This cannot be undone", abort=True)
    forgotten = forget_expired(store, now, actor=options.actor(), source=source)
    answers = counted(sum(each.answers for each in forgotten), "answer")
    unused = counted(sum(each.traces for each in forgotten), "trace")
    click.echo(f"forgotten: {answers}, {unused} without an answer")
    _empty_log(store)


@options.command(
    "judgeboard db index",
    "judgeboard db index metadata.tenant metadata.user.plan",
    group=db_command,
    rows="fields",
)
@click.argument("fields", nargs=-1, metavar="[metadata.KEY]...")
@click.option("--drop", is_flag=True, help="Drop the indexes of these fields instead.")
def db_index(fields: tuple[str, ...], drop: bool) -> None:
    """Index metadata fields for fast filters and sorting. This matters in a large log.

    Without a field, the command lists the metadata fields of the newest and of the oldest answers,
    with frequent values.
    """
    from judgeboard.store.metadata import index_metadata, metadata_fields

    store = options.open_store()
    lines = []
    for field in fields:
        is_changed = index_metadata(store, field.removeprefix(METADATA), drop=drop)
        state = ("no longer indexed" if is_changed else "was not indexed") if drop else "indexed"
        lines.append(f"{field}: {state}{'' if is_changed or drop else ' already'}")
    with options.seen(store).reading() as connection:
        metadata = metadata_fields(connection)
    if not fields:
        lines = [
            f"{METADATA}{each.field}{' (indexed)' if each.indexed else ''}  {', '.join(each.values[:5])}".rstrip()
            for each in metadata
        ]
    options.show({"fields": metadata}, lines or ["the answers have no metadata"])


@options.command(
    "judgeboard doctor",
    "judgeboard doctor --model gpt-4o-mini --base-url http://localhost:8000/v1",
    rows="findings",
)
@click.option("--model", help="Name of the judge's chat model (default: JUDGEBOARD_MODEL).")
@address_options
def doctor_command(model: str | None, provider: str | None, base_url: str | None) -> int:
    """Check the database and the endpoint. Exit code 0: no problem was found; 1: something must be fixed.

    The command looks for damage of the database: it checks the file of SQLite, and compares answers
    with their hashes. It also names the settings that differ between this terminal and a server or
    a worker on the database, and the plugins of other packages.
    """
    from judgeboard.health.doctor import check_database, check_endpoint, plugin_finding, plugins

    findings = [
        *check_database(options.chosen_database(), options.seen),
        check_endpoint(model, provider, base_url),
    ]
    if has_plugins(ENTRY_POINTS):
        _load_methods(click.get_current_context().find_root().command)
    installed = plugins()
    findings += map(plugin_finding, installed)
    lines = [
        line
        for finding in findings
        for line in (
            f"{'ok ' if finding.ok else 'fix'}  {finding.what}{f': {finding.value}' if finding.value else ''}",
            *([f"     {finding.fix}"] if finding.fix else []),
        )
    ]
    options.show({"findings": findings, "plugins": installed}, lines)
    return 0 if all(finding.ok for finding in findings) else 1


def _load_methods(command: click.Command | None) -> None:
    """Load all that methods add, so that each part of a plugin that cannot be used is known."""
    from judgeboard.health.report import CHECKS
    from judgeboard.reports.datasets import shapes
    from judgeboard.store.export import exports

    _ = CHECKS, shapes(), exports()
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            _load_methods(command.get_command(context, name))
    elif command is not None:
        command.get_params(click.Context(command))
