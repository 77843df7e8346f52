"""The group `sources`: the traces of assistants, the rules that read traces, and the keys of those who send."""

from dataclasses import replace

import click

from judgeboard.cli import options
from judgeboard.registry.scopes import SCOPES
from judgeboard.store.clock import utc_now
from judgeboard.text import counted


@options.group(
    "judgeboard sources",
    "judgeboard sources map shop rag:question=attributes.app.question",
    "judgeboard sources keys create shop --source shop",
    default="list",
)
def sources_command() -> None:
    """Receive what assistants send; manage sources and keys.

    Without a command, show the sources.
    """


@options.command(
    "judgeboard sources list",
    "judgeboard sources list shop --limit 5",
    group=sources_command,
    rows="sources",
)
@click.argument("source", required=False)
@options.with_default(
    "--limit", type=click.IntRange(0, 1000), default=10, help="Number of latest traces to show."
)
@click.option("--unused", is_flag=True, help="Show only traces without an answer.")
def sources_list(source: str | None, limit: int, unused: bool) -> None:
    """Show the sources and their latest traces. With SOURCE, show this source alone.

    The list shows for each trace which span gave the question, the answer and other fields, or why
    the trace has no answer.
    """
    from judgeboard.store.traces import count_waiting_feedback, latest_traces, list_sources

    with options.reading() as connection:
        sources = [each for each in list_sources(connection) if source in {None, each.source}]
        latest = latest_traces(connection, source, unused=unused, limit=limit) if limit else []
        feedback = count_waiting_feedback(connection)
    lines = [
        f"{each.source}  {counted(each.traces, 'trace')}: {counted(each.made, 'answer')}, "
        f"{each.none:,} without an answer, {each.waiting:,} waiting; last span at {each.last_at:%Y-%m-%d %H:%M:%S} UTC"
        for each in sources
    ]
    lines += [f"waiting feedback: {feedback:,}"] if feedback else []
    for trace in latest:
        lines.append(
            f"trace {trace.external_id}  {trace.source}  {trace.state}  {counted(trace.spans, 'span')}"
        )
        lines += [f"    {what}: span {span}" for span, what in trace.used or ()]
        lines += [f"    {trace.reason}"] if trace.reason else []
    options.show(
        {"sources": sources, "waiting_feedback": feedback, "traces": latest},
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
    """Set how the spans of SOURCE are read.

    Rules are for spans that follow no known convention. A rule FIELD=PATH says where a field is.
    FIELD is question, answer, passages, model, session, user, query_type or metadata.NAME. PATH is
    names with dots between them. It begins with `attributes.`, `resource.` or `name`. In a JSON
    text, it can go on: `attributes.input.question`. `SPAN NAME:` before FIELD limits the rule to
    spans of this name.

    Received scores are expected between 0 and 1. For another scale, add a rule such as
    score.NAME=1-5. New rules replace the earlier rules of the source. Without rules, the earlier
    rules are removed. The traces of the source are read again.
    """
    from judgeboard.store.traces import set_rules

    with options.open_store().writing() as connection:
        traces = set_rules(connection, source, rules, options.actor(), utc_now())
    options.echo(
        f"{source}: {counted(len(rules), 'rule')}; {counted(traces, 'trace')} will be read again"
    )


@options.command(
    "judgeboard sources receive --port 8600",
    "judgeboard sources receive --host 0.0.0.0 --db postgresql://judge@db/judgeboard",
    group=sources_command,
    json=False,
)
@options.with_default(
    "--host",
    default="localhost",
    help="Address to listen on. To receive from other machines, choose an address other than localhost, and "
    "create a key (`judgeboard sources keys`).",
)
@options.port
def sources_receive(host: str, port: int) -> None:
    """Receive traces, answers and feedback; serve no pages.

    Runs until Ctrl-C. `judgeboard serve` receives them too.

    Creates the database if it is missing. Assistants send OpenTelemetry traces (OTLP over HTTP) to
    /v1/traces and /v1/logs, and JSON to /api/responses and /api/feedback. They can also send OTLP
    over gRPC if the setting receive_grpc has an address for it.
    """
    from judgeboard.receiving.http import serve_receiver
    from judgeboard.receiving.receiver import asked_transports
    from judgeboard.settings.masking import log_with_time

    log_with_time()
    transports = asked_transports()
    store = replace(
        options.open_store(create=True), patience=None
    )  # senders are told to try again, and do not wait
    for transport, address in transports:
        click.echo(f"receiving {transport.title} at {address}", err=True)
    click.echo(
        f"receiving at http://{host}:{port} for {store.shown_url}   (Ctrl-C stops)", err=True
    )
    serve_receiver(store, "127.0.0.1" if host == "localhost" else host, port)


@options.group(
    "judgeboard sources keys create shop --source shop-assistant",
    "judgeboard sources keys list",
    "judgeboard sources keys revoke shop",
)
def keys_command() -> None:
    """Create, list and revoke keys for sending answers.

    Without any key, only this machine may send.
    """


@options.command(
    "judgeboard sources keys create shop --source shop-assistant",
    "judgeboard sources keys create trial --days 30 --rate 50",
    "judgeboard sources keys create chat --scope read --scope review",
    group=keys_command,
)
@click.argument("name")
@click.option(
    "--scope",
    multiple=True,
    type=click.Choice([*SCOPES]),
    help=f"What the key may do (default: ingest). {' '.join(f'{name}: {words}.' for name, words in SCOPES.items())} "
    "Repeat for more scopes.",
)
@click.option("--source", help="The only source that the key may send or read (default: any).")
@click.option(
    "--days",
    type=options.FiniteRange(min=0, min_open=True),
    help="Days until the key expires (default: never).",
)
@click.option(
    "--rate",
    type=options.FiniteRange(min=0, min_open=True),
    help="Maximum number of requests per second (default: no limit).",
)
@options.with_default(
    "--max-body",
    type=options.FiniteRange(min=0, min_open=True, max=64),
    default=64.0,
    help="Maximum size of a request in MiB, also after decompression; at most 64.",
)
def keys_create(
    name: str,
    scope: tuple[str, ...],
    source: str | None,
    days: float | None,
    rate: float | None,
    max_body: float,
) -> None:
    """Create the key NAME and print its token. The token is not stored and cannot be shown again.

    Send it as `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`. For the SDK of Langfuse, NAME is
    the public key and the token is the secret key.
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


@options.command(
    "judgeboard sources keys list",
    group=keys_command,
    rows="keys",
)
def keys_list() -> None:
    """List all keys by name, without their tokens."""
    from judgeboard.receiving.keys import last_use
    from judgeboard.store.api_keys import list_keys

    with options.open_store().reading() as connection:
        keys = [(key, last_use(connection, key)) for key in list_keys(connection)]
    now = utc_now()
    lines = [
        f"{key.name}  {', '.join(key.scopes)}  source: {key.source or 'any'}  {key.unusable(now) or 'usable'}"
        + (f" until {key.expires_at:%d %b %Y}" if key.expires_at and not key.unusable(now) else "")
        + (f"  last used {last_used:%d %b %Y}" if last_used else "")
        for key, last_used in keys
    ]
    rows = [key.as_json() | {"last_used": last_used} for key, last_used in keys]
    options.show({"keys": rows}, lines or ["There are no keys: only this machine may send."])


@options.command("judgeboard sources keys revoke shop", group=keys_command, json=False)
@click.argument("name")
def keys_revoke(name: str) -> None:
    """Revoke the key NAME. Requests with it are refused from now on. A new key can have the same name."""
    from judgeboard.receiving.keys import revoke

    revoke(options.open_store(), name, by=options.actor())
    options.echo(f"{name} is revoked")
