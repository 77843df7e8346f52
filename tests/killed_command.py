"""A command that is killed while it asks, and given again."""

from sqlalchemy import func, select

from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judging_log import address, time_passes, until

FREE, AT_ONCE = 9, 3  # asks that come back before the kill, and that are in flight then


def stored(store, table):
    """How many rows of a table came of a run."""
    with store.reading() as connection:
        return int(
            connection.execute(select(func.count()).where(table.c.run_id.is_not(None))).scalar_one()
        )


def killed_then_repeated(store, endpoint, table, *words):
    """Kill a command when `FREE` rows of a table are stored and `AT_ONCE` calls in flight; then give it again."""
    options = ["--base-url", endpoint.url, "--concurrency", str(AT_ONCE), "--db", address(store)]
    endpoint.hold_after(FREE)
    with ReadCommand(*words, *options) as process:
        until(lambda: stored(store, table) == FREE, "what came back is stored")
        until(
            lambda: len(endpoint.server.requests) == FREE + AT_ONCE, "the next calls are in flight"
        )
        process.kill()
    time_passes(store)
    endpoint.release()
    assert run([*words, *options]) == 0


def killed_after(count, in_flight, held, steps, store, words):
    """Kill a command when ``count`` steps are stored and ``in_flight`` calls wait; then give it again."""
    held.hold_after(count)
    with ReadCommand(*words) as process:
        until(
            lambda: len(held.server.requests) == count + in_flight and steps() == count,
            f"{count} stored, {in_flight} in flight",
        )
        process.kill()
    time_passes(store)
    held.release()
    assert run(words) == 0
