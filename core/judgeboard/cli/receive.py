"""The commands for what assistants send: `receive`, `keys` and `sources`."""

import click

from judgeboard.cli import options
from judgeboard.store.clock import utc_now
from judgeboard.text import counted

_SCOPES = ("ingest", "read", "review")


@options.command(
    "judgeboard receive --port 8600",
    "judgeboard receive --host 0.0.0.0 --db postgresql://judge@db/judgeboard",
    json=False,
)
@options.with_default(
    "--host",
    default="localhost",
    help="Address to listen on. Other machines need an address other than localhost, and a key.",
)
@options.port
def receive_command(host: str, port: int) -> None:
    """Receive traces, answers and feedback until Ctrl-C, without the pages. `judgeboard serve` receives them too.

    Creates the database if it is missing. Assistants send OpenTelemetry traces (OTLP over HTTP) to /v1/traces and
    /v1/logs, and JSON to /api/responses and /api/feedback.
    """
    from judgeboard.receiving.app import serve_receiver
    from judgeboard.settings.masking import log_with_time

    log_with_time()
    store = options.open_store(create=True)
    click.echo(f"receiving at http://{host}:{port} for {store.shown_url}   (Ctrl-C stops)", err=True)
    serve_receiver(store, "127.0.0.1" if host == "localhost" else host, port)


@options.group(
    "judgeboard keys create shop --source shop-assistant", "judgeboard keys list", "judgeboard keys revoke shop"
)
def keys_command() -> None:
    """Create, list and revoke keys of assistants and other programs. Without any key, only this machine may send."""


@options.command(
    "judgeboard keys create shop --source shop-assistant",
    "judgeboard keys create trial --days 30 --rate 50",
    "judgeboard keys create chat --scope read --scope review",
    group=keys_command,
)
@click.argument("name")
@click.option(
    "--scope",
    multiple=True,
    type=click.Choice(_SCOPES),
    help="What the key may do (default: ingest). ingest: send traces, answers and feedback. read: read answers, flags "
    "and the figures of the service. review: send reviews. Repeat for more scopes.",
)
@click.option("--source", help="The only source that the key may send or read (default: any).")
@click.option(
    "--days", type=options.FiniteRange(min=0, min_open=True), help="Days until the key expires (default: never)."
)
@click.option("--rate", type=options.FiniteRange(min=0, min_open=True), help="Requests per second (default: no limit).")
@options.with_default(
    "--max-body",
    type=options.FiniteRange(min=0, min_open=True, max=64),
    default=64.0,
    help="Size of a request in MiB, also after decompression (up to 64).",
)
def keys_create(
    name: str, scope: tuple[str, ...], source: str | None, days: float | None, rate: float | None, max_body: float
) -> None:
    """Create the key NAME and print its token. The token is not stored and cannot be shown again.

    Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`. For the SDK of Langfuse, NAME is the public key and
    the token is the secret key.
    """
    from judgeboard.receiving.keys import create_key

    token = create_key(
        options.open_store(create=True),
        name,
        scopes=scope or ("ingest",),
        source=source,
        requests_per_second=rate,
        max_body_mb=max_body,
        days=days,
        by=options.actor(),
    )
    options.show({"name": name, "token": token}, [token])


@options.command("judgeboard keys list", group=keys_command)
def keys_list() -> None:
    """List all keys by name, without their tokens."""
    from judgeboard.store.api_keys import list_keys

    with options.open_store().reading() as connection:
        keys = list_keys(connection)
    now = utc_now()
    lines = [
        f"{key.name}  {', '.join(key.scopes)}  source: {key.source or 'any'}  {key.unusable(now) or 'usable'}"
        + (f" until {key.expires_at:%d %b %Y}" if key.expires_at and not key.unusable(now) else "")
        for key in keys
    ]
    options.show({"keys": keys}, lines or ["There are no keys: only this machine may send."])


@options.command("judgeboard keys revoke shop", group=keys_command, json=False)
@click.argument("name")
def keys_revoke(name: str) -> None:
    """Revoke the key NAME: requests with it are refused from now on."""
    from judgeboard.store.api_keys import revoke_key

    with options.open_store().writing() as connection:
        revoke_key(connection, name, by=options.actor(), now=utc_now())
    options.echo(f"{name} is revoked")


@options.group(
    "judgeboard sources",
    "judgeboard sources --source shop --traces 5",
    "judgeboard sources map shop rag:question=attributes.app.question",
    invoke_without_command=True,
)
@click.option("--source", help="Show the traces of this source only.")
@options.with_default("--traces", type=click.IntRange(0, 1000), default=10, help="Number of latest traces to show.")
@click.option("--unused", is_flag=True, help="Show only traces without an answer.")
@click.pass_context
def sources_command(context: click.Context, source: str | None, traces: int, unused: bool) -> None:
    """Show the sources that send traces, and what became of the latest traces.

    For each trace: which span was taken as what, or why it has no answer.
    """
    if context.invoked_subcommand is not None:
        return
    from judgeboard.store.traces import count_waiting_feedback, latest_traces, list_sources

    with options.seen(options.open_store()).reading() as connection:
        sources = [each for each in list_sources(connection) if source in {None, each.source}]
        latest = latest_traces(connection, source, unused=unused, limit=traces) if traces else []
        waiting = count_waiting_feedback(connection)
    lines = [
        f"{each.source}  {counted(each.traces, 'trace')}: {counted(each.made, 'answer')}, "
        f"{each.none:,} without an answer, {each.waiting:,} waiting; last span at {each.last_at:%Y-%m-%d %H:%M:%S} UTC"
        for each in sources
    ]
    lines += [f"waiting feedback: {waiting:,}"] if waiting else []
    for trace in latest:
        lines.append(f"trace {trace.external_id}  {trace.source}  {trace.state}  {counted(trace.spans, 'span')}")
        lines += [f"    {what}: span {span}" for span, what in trace.used or ()]
        lines += [f"    {trace.reason}"] if trace.reason else []
    options.show(
        {"sources": sources, "waiting_feedback": waiting, "traces": latest},
        lines or ["No source has sent a trace yet."],
    )


@options.command(
    "judgeboard sources map shop rag:question=attributes.app.question answer=attributes.app.answer",
    "judgeboard sources map shop",
    group=sources_command,
    json=False,
)
@click.argument("source")
@click.argument("rules", nargs=-1, metavar="[SPAN NAME:]FIELD=PATH...")
def sources_map(source: str, rules: tuple[str, ...]) -> None:
    """Set the rules of SOURCE for spans that follow no known convention, and read its traces again.

    A rule says where a field is: question, answer, passages, model, session, user, query_type or metadata.NAME. A path
    is dotted and begins with attributes., resource. or name; it goes on into JSON. The rule score.NAME=1-5 names the
    scale of received scores that are not between 0 and 1. Without rules, the earlier ones are removed.
    """
    from judgeboard.store.traces import set_rules

    with options.open_store().writing() as connection:
        traces = set_rules(connection, source, rules, options.actor(), utc_now())
    options.echo(f"{source}: {counted(len(rules), 'rule')}; {counted(traces, 'trace')} will be read again")
