"""What calls cost, by week, purpose and judge version."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert

from engines import on_sqlite
from graded_log import read
from judgeboard.domain import RunState
from judgeboard.measure.notes import note
from judgeboard.reports.costs import costs, costs_notes, costs_table
from judgeboard.store.runs import start_import_run
from judgeboard.store.tables import RUN
from judgeboard.text import utc_day

NOW = datetime(2026, 3, 12, 15, tzinfo=UTC)  # a Thursday


@on_sqlite
def test_each_call_counts_once_in_the_week_of_its_run(log):
    cheap, strict, free = log.version("cheap"), log.version("strict"), log.version("own")
    ids = log.answers(3)
    common = {"kind": "judge", "filter": {}, "actor": "test", "state": RunState.DONE.value}
    for version, started_at, cost_micro, n in (
        (cheap, NOW, 1_000_000, 3),
        (cheap, NOW - timedelta(days=4), 500_000, 1),  # the Sunday before
        (strict, NOW - timedelta(days=3, hours=15), 2_000_000, 2),  # Monday, 0:00
        (strict, NOW - timedelta(weeks=3), 9_000_000, 1),  # before the first week
        (free, NOW, None, 2),
    ):
        row = common | {"judge_version_id": version.id, "started_at": started_at}
        with log.store.writing() as connection:
            run_id = connection.execute(insert(RUN).returning(RUN.c.id), row).scalar_one()
        verdict = {"groundedness": 0.5, "cost_micro": cost_micro}
        log.say(version, dict.fromkeys(ids[:n], verdict), run_id)
    with log.store.writing() as connection:
        imported = start_import_run(connection, cheap, "test", NOW)
    log.say(cheap, {ids[0]: {"groundedness": 0.5}}, imported.id)
    shown = read(log.store, costs, NOW, weeks=2)
    assert shown.weeks == (datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
    assert [(line.judge, line.calls, line.unpriced, line.by_week) for line in shown.lines] == [
        ("strict v1", 2, 0, (0, 4_000_000)),
        ("cheap v1", 4, 0, (500_000, 3_000_000)),
        ("own v1", 2, 2, (0, 0)),
    ]
    assert [*costs_notes(shown)] == [
        note("calls_cost", calls=8, day=utc_day(shown.weeks[0]), cost="$ 7.50"),
        note("calls_left_out", calls=2),
    ]
    assert costs_table([shown.total]).rows == (("all", "all", 8, "$ 7.50", 2, "$ 7.00", "$ 0.50"),)
    nothing = read(log.store, costs, NOW + timedelta(weeks=9), weeks=2)
    assert [each.code for each in costs_notes(nothing)] == ["no_calls"]
